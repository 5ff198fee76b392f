"""What holds of PPO's and A2C's spaces beside what holds of all."""

import math
from typing import Any

import pytest

from search_spaces import SearchSpace
from search_spaces.on_policy import A2C, PPO
from tests.search_spaces.draws import drawn
from tuning.algorithms.networks.views import DEAD_ZONE


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
