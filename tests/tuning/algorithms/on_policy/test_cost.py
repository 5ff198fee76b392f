"""The expected time of a step rises with what a step does."""

import pytest

from tuning.algorithms.networks.sizes import Problem
from tuning.algorithms.registry import algorithm

SITE = Problem(60, 5, 60)
HOMES = Problem(30, 1, 30, agents=5)


@pytest.mark.parametrize("name", ["ppo", "a2c"])
@pytest.mark.parametrize("change", [{"hidden_sizes": "512,512"}, {"n_steps": 64, "batch_size": 64}])
def test_larger_networks_and_shorter_rollouts_cost_more(name: str, change: dict[str, object]) -> None:
    spec = algorithm(name)
    default, changed = spec.space.complete({"n_steps": 256}), spec.space.complete({"n_steps": 256, **change})  # type: ignore[dict-item]
    assert spec.seconds(changed, SITE) > spec.seconds(default, SITE) > 0.0


@pytest.mark.parametrize("name", ["ppo", "a2c"])
def test_a_policy_for_each_building_learns_from_each(name: str) -> None:
    spec = algorithm(name)
    default = spec.space.complete({})
    alone = Problem(30, 1, 30)
    assert spec.seconds(default, HOMES) > spec.seconds(default, alone)


def test_epochs_multiply_the_learning() -> None:
    spec = algorithm("ppo")
    one, two, four = (spec.seconds(spec.space.complete({"n_epochs": n}), SITE) for n in (1, 2, 4))
    assert four - two == pytest.approx(2 * (two - one))
