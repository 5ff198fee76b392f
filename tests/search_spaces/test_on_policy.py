"""What holds of PPO's and A2C's spaces beside what holds of all."""

import math
from typing import Any

import pytest

from search_spaces import SearchSpace, SpaceError
from search_spaces.on_policy import A2C, PPO
from tests.search_spaces.draws import drawn
from tuning.algorithms.networks.views import DEAD_ZONE


def test_a_minibatch_is_never_larger_than_the_rollout() -> None:
    with pytest.raises(SpaceError, match="batch_size=512: it is at most n_steps=256"):
        PPO.check({"batch_size": 512, "n_steps": 256})


def test_a2cs_batch_size_is_not_searched_as_no_result_depends_on_it() -> None:
    assert A2C["batch_size"].search is None
    assert A2C["batch_size"].default is None


@pytest.mark.parametrize("space", [PPO, A2C], ids=["ppo", "a2c"])
def test_with_a_plan_deviations_are_searched_from_where_changes_of_it_count(space: SearchSpace) -> None:
    begins: Any = {
        plan: [own["log_std_init"] for own in drawn(space, 40, {"plan": plan}, {"steps": 1e6})]
        for plan in ("none", "yesterday", "learned")
    }
    assert min(begins["none"]) < -2.5
    for plan in ("yesterday", "learned"):
        assert math.exp(min(begins[plan])) > DEAD_ZONE
        assert max(begins[plan]) > -0.2
