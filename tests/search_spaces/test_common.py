"""Hyperparameters that algorithms share."""

import pytest

from search_spaces.a2c import A2C
from search_spaces.common import FALLING, PLAIN, SHAPES, schedule
from search_spaces.parameter import Kind
from search_spaces.ppo import PPO
from search_spaces.sac import SAC
from tuning.algorithms import schedule as schedules
from tuning.algorithms.precision import NEED_GPU


def test_shapes_are_those_that_a_schedule_can_have() -> None:
    assert SHAPES == schedules.SHAPES


def test_a_schedules_end_acts_only_where_the_value_falls() -> None:
    shape, final = schedule("rate")
    assert (shape.name, final.name) == ("rate_schedule", "rate_final")
    assert final.only_if is not None
    assert final.only_if.values == FALLING
    # An exponential decay never reaches 0.
    assert final.low > 0.0


@pytest.mark.parametrize("space", [PPO, A2C, SAC], ids=["ppo", "a2c", "sac"])
def test_what_needs_a_gpu_is_a_switch_that_is_off(space: object) -> None:
    for name in NEED_GPU:
        parameter = space[name]  # type: ignore[index]
        assert (parameter.kind, parameter.default, parameter.search) == (Kind.FLAG, False, None)


@pytest.mark.parametrize("space", [PPO, A2C, SAC], ids=["ppo", "a2c", "sac"])
def test_what_libraries_have_in_common_is_valid_everywhere(space: object) -> None:
    space.check(PLAIN)  # type: ignore[attr-defined]


def test_the_activation_is_searched_by_sac_alone() -> None:
    """With relu the actions of all hours of PPO and A2C first fall together, and many policies do nothing."""
    assert [space["activation"].search is not None for space in (PPO, A2C, SAC)] == [False, False, True]
    assert PPO["activation"].default == A2C["activation"].default == "tanh"
    PPO.check({"activation": "relu"})  # it can be set
