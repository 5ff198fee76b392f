"""SAC's search space and presets."""

import pytest
from optuna.distributions import IntDistribution

from search_spaces import SpaceError
from search_spaces.sac import SAC
from tests.search_spaces.draws import drawn


@pytest.mark.parametrize("name", ["ent_coef_initial", "target_entropy", "alpha_learning_rate"])
def test_what_acts_on_a_learned_entropy_coefficient_is_refused_beside_a_fixed_one(name: str) -> None:
    with pytest.raises(SpaceError, match=f"{name}=.*it acts only with ent_coef none"):
        SAC.check({"ent_coef": 0.1, name: 0.5})


def test_the_buffers_range_ends_with_the_first_that_holds_the_whole_trial() -> None:
    assert {h["buffer_size"] for h in drawn(SAC, 60, {}, {"steps": 250_000})} == {2**15, 2**16, 2**17, 2**18}
    assert {h["buffer_size"] for h in drawn(SAC, 60, {}, {"steps": 20_000})} == {2**15}


def test_a_draw_costs_at_most_four_times_the_defaults_gradient_steps() -> None:
    default = SAC["gradient_steps"].default / SAC["train_freq"].default  # type: ignore[operator]
    parts = {h["gradient_steps"] / h["train_freq"] / default for h in drawn(SAC, 60, {}, {"steps": 250_000})}
    assert parts == {0.5, 1.0, 2.0, 4.0}


@pytest.mark.parametrize(("steps", "most"), [(1_000, 2), (60_000, 3), (100_000, 4), (160_000, 5), (1_000_000, 5)])
def test_a_short_trial_is_drawn_with_enough_gradient_steps(steps: int, most: int) -> None:
    assert SAC.distributions({}, {"steps": float(steps)})["log2_train_freq_per_gradient_steps"] == IntDistribution(2, most)
    value = SAC.assignment({"log2_train_freq_per_gradient_steps": most}, {"train_freq": 64}, {"steps": float(steps)})
    assert value["gradient_steps"] == 64 >> most
    # Short trials take as many as the densest draw, longer ones at least 5,000.
    assert most == 2 or steps >> most >= 5_000
