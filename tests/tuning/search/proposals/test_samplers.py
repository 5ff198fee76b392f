"""Every sampler that settings name proposes, and the same for the same seed."""

from typing import get_args, get_type_hints

import optuna
import pytest

from tuning.experiment.settings import Settings
from tuning.search.proposals.samplers import SAMPLERS, startup_trials


def test_settings_name_all_of_them() -> None:
    assert set(SAMPLERS) == set(get_args(get_type_hints(Settings)["sampler"]))


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_seed_repeats_what_is_drawn(name: str) -> None:
    drawn = []
    for seed in (1, 1, 2):
        study = optuna.create_study(sampler=SAMPLERS[name](seed, 10))
        for _ in range(3):
            study.add_trial(
                optuna.trial.create_trial(
                    params={"x": 0.5}, distributions={"x": optuna.distributions.FloatDistribution(0.0, 1.0)}, value=0.0
                )
            )
        drawn.append(study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)}).params["x"])
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_trials_before_the_model_are_a_quarter_of_the_budget_within_bounds() -> None:
    assert [startup_trials(trials) for trials in (0, 1, 4, 16, 40, 1000)] == [10, 2, 2, 4, 10, 10]


@pytest.mark.parametrize("name", ["tpe", "gp"])
def test_a_model_begins_after_the_startup_trials_and_knows_all_hyperparameters_together(name: str) -> None:
    space = {key: optuna.distributions.FloatDistribution(0.0, 1.0) for key in "xy"}
    for count, is_modelled in ((2, False), (3, True)):
        study = optuna.create_study(sampler=SAMPLERS[name](1, 3))
        for number in range(count):
            study.add_trial(
                optuna.trial.create_trial(params={"x": 0.1 * number, "y": 0.5}, distributions=space, value=float(number))
            )
        assert set(study.ask().relative_params) == (set(space) if is_modelled else set())
