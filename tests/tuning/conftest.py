"""Plans that are made up."""

from collections.abc import Iterator

import pytest

from envs.environments.seen_year import seen_rows
from tests.envs.made_up_plans import made_up_plan


@pytest.fixture
def a_plan(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Random numbers in place of plans."""
    monkeypatch.setattr("envs.environments.seen_year.shadow", made_up_plan)
    seen_rows.cache_clear()
    yield
    seen_rows.cache_clear()
