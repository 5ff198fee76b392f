"""The two kinds of error that commands report in one line."""

from common.errors import InconsistentError, UserError


def test_a_users_error_and_a_fault_of_the_project_are_told_apart() -> None:
    assert not issubclass(UserError, InconsistentError)
    assert not issubclass(InconsistentError, UserError)
