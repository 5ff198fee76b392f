"""Errors that commands report in one line."""

import pytest

from common.errors import UsageError, UserError


def test_a_usage_error_is_caught_as_a_user_error_and_as_a_value_error() -> None:
    for kind in (UserError, ValueError):
        with pytest.raises(kind, match="no such thing"):
            raise UsageError("no such thing")
