"""What holds of every search space, and hyperparameters that algorithms share."""

import pytest

from search_spaces import Kind, SearchSpace
from search_spaces.common import FALLING, REWARD_SHARE, SHAPES, schedule, with_reward_share
from tests.search_spaces.draws import drawn
from tuning.algorithms import rllib_base
from tuning.algorithms.registry import AlgorithmSpec, algorithm

BUDGET = {"steps": 1e6}
FROM_THE_REPORTS = {"rtx4060-before", "rtx4060-after", "script-before", "script-after", "oom-before", "oom-safe"}
ALL = pytest.mark.parametrize("spec", [algorithm(name) for name in ("ppo", "a2c", "sac")], ids=lambda spec: spec.name)


@ALL
def test_defaults_are_valid_conditions_name_what_comes_before_and_draws_are_valid(spec: AlgorithmSpec) -> None:
    space, seen = spec.space, {"steps"}
    space.check({p.name: p.default for p in space.parameters}, BUDGET)
    for parameter in space.parameters:
        assert parameter.meaning
        assert parameter.name not in seen
        for condition in (parameter.at_most, parameter.only_if, parameter.searched_from):
            assert condition is None or condition.name in seen
        seen.add(parameter.name)
    for steps in (1e6, 20_000, 2048, 600):
        for assignment in drawn(space, 50, {}, {"steps": steps}):
            space.check(assignment, {"steps": steps})


@ALL
def test_presets_are_valid_full_assignments_and_no_other_value_switches_off_what_they_set(spec: AlgorithmSpec) -> None:
    assert {"default", "stable-baselines3"} | FROM_THE_REPORTS <= spec.presets.keys()
    for name, given in spec.presets.items():
        values = spec.preset(name)
        assert list(values) == [parameter.name for parameter in spec.space.parameters]
        assert {key: values[key] for key in given} == given
        spec.space.check(values, BUDGET)
        spec.space.check(given, BUDGET)


@ALL
def test_what_needs_a_gpu_is_a_switch_that_is_off(spec: AlgorithmSpec) -> None:
    parameter = spec.space["pin_memory"]
    assert (parameter.kind, parameter.default, parameter.search) == (Kind.FLAG, False, None)


def test_a_schedules_end_acts_only_where_the_value_falls() -> None:
    assert tuple(rllib_base.SHAPES) == SHAPES
    shape, final = schedule("rate")
    assert (shape.name, final.name) == ("rate_schedule", "rate_final")
    assert final.only_if is not None
    assert final.only_if.values == FALLING
    # An exponential decay never reaches 0.
    assert final.low > 0.0


def test_the_share_is_one_more_hyperparameter_with_the_users_share_as_its_default() -> None:
    own: SearchSpace = algorithm("ppo").space
    space = with_reward_share(own, 0.3)
    assert space.parameters[:-1] == own.parameters
    assert space.complete({})[REWARD_SHARE] == 0.3
    share = space.distributions({})[REWARD_SHARE]
    assert (share.low, share.high) == (0.0, 1.0)  # type: ignore[attr-defined]
