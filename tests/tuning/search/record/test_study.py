"""The study keeps everything."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from tests.tuning.search.fakes import ask
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import Key, alike, repeats
from tuning.search.run.driver import pruner_of


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return create(Settings(name="one", dir=str(tmp_path)))


def memory(experiment: Experiment, **settings: Any) -> StudyMemory:
    changed = replace(experiment, settings=replace(experiment.settings, **settings))
    return StudyMemory.open(changed, pruner_of(changed.settings))


def stored(experiment: Experiment) -> list[optuna.trial.FrozenTrial]:
    return memory(experiment)._study.get_trials()


@pytest.mark.parametrize(("env", "same"), [("", {1}), ("CartPole-v1", set())])
def test_in_an_environment_policies_that_are_rated_equally_may_differ(experiment: Experiment, env: str, same: set[int]) -> None:
    study = memory(experiment, env=env)
    for _ in range(2):
        study.report(ask(experiment, study).number, 10, 500.0)
    assert alike(study.trials()) == repeats(study.trials(), 10).keys() == same


def test_what_misses_a_requirement_violates_a_constraint_and_keeps_its_value(experiment: Experiment) -> None:
    study = memory(experiment)
    for _ in range(4):
        ask(experiment, study)
    for number, shortfall in enumerate((0.2, 0.0, None)):
        study.complete(number, -50.0 - number, shortfall)
    study.report(3, 100, -1e15)
    study.stop(3, TrialState.PRUNED, misses={Key.REQUIRED: 0.3})
    trials = stored(experiment)
    assert [trial.constraints.get(Key.REQUIRED) for trial in trials] == [0.2, 0.0, None, 0.3]
    assert [trial.value for trial in trials[:3]] == [-50.0, -51.0, -52.0]
    # Optuna takes none that violates one for the best.
    assert study._study.best_trial.number == 1


def test_trials_that_go_on_are_running_again_and_the_others_are_as_they_were(experiment: Experiment) -> None:
    study = memory(experiment)
    proposals = [ask(experiment, study) for _ in range(4)]
    for number in range(3):
        study.report(number, 100, number / 10)
    study.complete(0, 0.1)
    study.complete(1, 0.2)
    study.stop(2, TrialState.PRUNED)
    study.reopen([1])
    # The same from the file.
    for again in (study, memory(experiment)):
        assert [again.proposal(n) for n in range(4)] == proposals
        assert [p.number for p in again.adopt_unfinished()] == [1, 3]
        assert [again.trial(n).state for n in range(3)] == [TrialState.COMPLETE, TrialState.RUNNING, TrialState.PRUNED]
    again.report(1, 200, 0.4)
    again.complete(1, 0.4)
    told = memory(experiment)._study.get_trials()
    assert told[1].intermediate_values == {100: 0.1, 200: 0.4}
    assert [trial.value for trial in told[:3]] == [0.1, 0.4, 0.2]
    # And once more to the same budget.
    again.reopen([0])
    assert [p.number for p in memory(experiment).adopt_unfinished()] == [0, 3]
    assert memory(experiment)._study.get_trials()[1].value == 0.4
    # And as often as one likes.
    for _ in range(4):
        memory(experiment).reopen([0])
        assert [p.number for p in memory(experiment).adopt_unfinished()] == [0, 3]


def test_a_trial_that_goes_on_misses_requirements_by_what_it_misses_at_its_new_end(experiment: Experiment) -> None:
    study = memory(experiment)
    for number, shortfall in enumerate((0.2, 0.3)):
        ask(experiment, study)
        study.complete(number, -50.0, shortfall)
    study.reopen([0])
    study.adopt_unfinished()
    study.complete(0, -51.0, 0.0)
    assert [trial.constraints for trial in stored(experiment)] == [{Key.REQUIRED: 0.0}, {Key.REQUIRED: 0.3}]


def test_a_kill_while_trials_are_taken_over_leaves_the_study_of_before(experiment: Experiment) -> None:
    study = memory(experiment)
    for number in range(3):
        ask(experiment, study)
        study.complete(number, 0.1)
    journal = experiment.paths.study
    before = len(journal.read_bytes())
    study.reopen([0, 2])
    after = journal.read_bytes()
    lines = [i + 1 for i in range(before, len(after)) if after[i : i + 1] == b"\n"]
    for cut in (before, *lines[:-1]):
        journal.write_bytes(after[:cut])
        assert memory(experiment).adopt_unfinished() == []
        memory(experiment).reopen([0, 2])
        again = memory(experiment)
        assert [p.number for p in again.adopt_unfinished()] == [0, 2]
        assert len(again.trials()) == 3


@pytest.mark.parametrize("preset", ["", "default"])
@pytest.mark.parametrize("scheduler", ["freeze-thaw", "asha", "median", "hyperband", "none"])
def test_a_pruner_stops_what_is_worst_but_not_where_all_have_one_preset(
    experiment: Experiment, scheduler: str, preset: str
) -> None:
    study = memory(experiment, scheduler=scheduler, evaluations=9, steps=900, preset=preset)
    stopped = []
    for number in range(12):
        ask(experiment, study)
        for steps in range(100, 1000, 100):
            study.report(number, steps, -float(number))
            if study.should_prune(number):
                stopped.append(number)
                study.stop(number, TrialState.PRUNED)
                break
        else:
            study.complete(number, -float(number))
    assert bool(stopped) == (scheduler in ("asha", "median", "hyperband") and not preset)
    assert 0 not in stopped
