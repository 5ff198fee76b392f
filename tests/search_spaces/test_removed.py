"""What is gone does not keep older trials from being read, unless it did something in them."""

import pytest

from search_spaces import SpaceError
from search_spaces.removed import REMOVED, without_removed
from tuning.algorithms.registry import algorithm


@pytest.mark.parametrize("algo", ["ppo", "a2c", "sac"])
def test_what_is_gone_is_in_no_space(algo: str) -> None:
    assert not set(REMOVED) & {parameter.name for parameter in algorithm(algo).space.parameters}


def test_an_assignment_loses_what_did_nothing() -> None:
    assert without_removed({"gamma": 0.9, **REMOVED}) == without_removed({"gamma": 0.9}) == {"gamma": 0.9}


def test_what_did_something_is_named() -> None:
    with pytest.raises(SpaceError, match=r"^profile_hours=6, which this version does not have"):
        without_removed({"profile_hours": 6, "gamma": 0.9})
