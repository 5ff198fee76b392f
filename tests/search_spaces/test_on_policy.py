"""What holds of PPO's and A2C's spaces beside what holds of all."""

import math

import optuna
import pytest

from search_spaces import SearchSpace, SpaceError
from search_spaces.on_policy import A2C, PPO
from tuning.algorithms.networks.planned_storages import DEAD_ZONE


def test_a_minibatch_is_never_larger_than_the_rollout() -> None:
    with pytest.raises(SpaceError, match="batch_size=512: it is at most n_steps=256"):
        PPO.check({"batch_size": 512, "n_steps": 256})


def test_a2cs_batch_size_is_not_searched_as_no_result_depends_on_it() -> None:
    assert A2C["batch_size"].search is None
    assert A2C["batch_size"].default is None


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
