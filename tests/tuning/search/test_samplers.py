"""Every sampler that settings name proposes, and the same for the same seed."""

from typing import get_args, get_type_hints

import optuna
import pytest

from tuning.experiment.settings import Settings
from tuning.search.samplers import SAMPLERS


def test_settings_name_all_of_them() -> None:
    assert set(SAMPLERS) == set(get_args(get_type_hints(Settings)["sampler"]))


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_seed_repeats_what_is_drawn(name: str) -> None:
    drawn = []
    for seed in (1, 1, 2):
        study = optuna.create_study(sampler=SAMPLERS[name](seed))
        for _ in range(3):
            study.add_trial(
                optuna.trial.create_trial(
                    params={"x": 0.5}, distributions={"x": optuna.distributions.FloatDistribution(0.0, 1.0)}, value=0.0
                )
            )
        drawn.append(study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)}).params["x"])
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
