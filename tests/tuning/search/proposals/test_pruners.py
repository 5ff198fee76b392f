"""Every pruner that settings name stops the worst of equals, except the one that stops nothing."""

from typing import get_args, get_type_hints

import optuna
import pytest

from tuning.experiment.settings import Settings
from tuning.search.proposals.pruners import PRUNERS


def test_settings_name_all_of_them() -> None:
    assert set(PRUNERS) == set(get_args(get_type_hints(Settings)["scheduler"]))


@pytest.mark.parametrize("name", sorted(PRUNERS))
def test_which_trial_is_stopped_first(name: str) -> None:
    study = optuna.create_study(direction="maximize", pruner=PRUNERS[name](900, 9))
    stopped = []
    for number in range(8):
        trial = study.ask()
        # One that waits for half of a trial has seen nothing by now.
        trial.report(-float(number), 450 if name == "median" else 100)
        if trial.should_prune():
            stopped.append(number)
        study.tell(trial, -float(number))
    if name == "median":
        # Five trials are let through, whatever they do.
        assert stopped == [5, 6, 7]
    assert name not in ("none", "freeze-thaw") or stopped == []


def test_the_median_pruner_stops_none_before_half_of_its_steps() -> None:
    study = optuna.create_study(direction="maximize", pruner=PRUNERS["median"](900, 9))
    for number in range(8):
        trial = study.ask()
        found = []
        for steps in range(100, 1000, 100):
            trial.report(-float(number), steps)
            found.append(trial.should_prune())
        study.tell(trial, -float(number))
        assert found == [False] * 4 + [number > 4] * 5


def test_hyperband_gives_each_trial_its_first_evaluation() -> None:
    pruner = PRUNERS["hyperband"](900, 9)
    assert isinstance(pruner, optuna.pruners.HyperbandPruner)
    assert (pruner._min_resource, pruner._max_resource) == (100, 900)
