"""Hyperparameters that algorithms share."""

import math

import optuna
import pytest

from search_spaces import SearchSpace
from search_spaces.a2c import A2C
from search_spaces.common import FALLING, PLAIN, SHAPES, schedule
from search_spaces.parameter import Kind
from search_spaces.ppo import PPO
from search_spaces.sac import SAC
from tuning.algorithms import schedule as schedules
from tuning.algorithms.networks.planned_storages import DEAD_ZONE
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


@pytest.mark.parametrize("space", [PPO, A2C], ids=["ppo", "a2c"])
def test_with_a_plan_deviations_are_searched_from_where_changes_of_it_count(space: SearchSpace) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    drawn = {
        plan: [space.suggest(study.ask(), {"plan": plan}, {"steps": 1e6})["log_std_init"] for _ in range(40)]
        for plan in ("none", "yesterday", "learned")
    }
    assert min(drawn["none"]) < -2.5  # type: ignore[type-var, operator]
    for plan in ("yesterday", "learned"):
        assert min(math.exp(value) for value in drawn[plan]) > DEAD_ZONE  # type: ignore[arg-type]
        assert max(drawn[plan]) > -0.2  # type: ignore[type-var, operator]


def test_the_activation_is_searched_by_sac_alone() -> None:
    """With relu the actions of all hours of PPO and A2C first fall together, and many policies do nothing."""
    assert [space["activation"].search is not None for space in (PPO, A2C, SAC)] == [False, False, True]
    assert PPO["activation"].default == A2C["activation"].default == "tanh"
    PPO.check({"activation": "relu"})  # it can be set
