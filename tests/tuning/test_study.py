"""The study remembers everything, and proposes the same when it is opened again."""

from dataclasses import replace
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from search_spaces import SPACES
from search_spaces.presets import preset
from tuning.experiment import Experiment, create
from tuning.settings import Settings
from tuning.study import HYPERPARAMETERS, REASON, StudyMemory

LIMITS = {"steps": 1e6}


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return create(Settings(name="one", dir=str(tmp_path)))


def memory(experiment: Experiment, **settings: object) -> StudyMemory:
    return StudyMemory(
        replace(experiment, settings=replace(experiment.settings, **settings)), SPACES["ppo"], {"gamma": 0.9}, LIMITS
    )


def stored(experiment: Experiment) -> list[optuna.trial.FrozenTrial]:
    return memory(experiment)._study.get_trials()


def test_what_is_told_is_remembered(experiment: Experiment) -> None:
    study = memory(experiment)
    proposals = [study.ask() for _ in range(4)]
    assert [p.number for p in proposals] == [0, 1, 2, 3]
    study.report(0, 100, 0.1)
    study.complete(0, 0.2)
    study.report(1, 100, -0.3)
    study.prune(1)
    study.fail(2, "out of luck")
    trials = stored(experiment)
    assert [t.state for t in trials] == [TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL, TrialState.RUNNING]
    assert trials[0].value == 0.2
    assert trials[1].intermediate_values == {100: -0.3}
    assert trials[1].value == -0.3
    assert trials[2].user_attrs[REASON] == "out of luck"
    assert [t.user_attrs[HYPERPARAMETERS] for t in trials] == [p.hyperparameters for p in proposals]


def test_fixed_values_are_in_every_proposal(experiment: Experiment) -> None:
    study = memory(experiment)
    assert {study.ask().hyperparameters["gamma"] for _ in range(5)} == {0.9}


def test_what_was_never_told_is_handed_out_again(experiment: Experiment) -> None:
    first = memory(experiment)
    proposals = [first.ask() for _ in range(3)]
    first.complete(1, 0.5)
    again = memory(experiment)
    assert again.unfinished() == [proposals[0], proposals[2]]
    again.report(0, 1, 0.1)
    again.complete(0, 0.1)
    again.complete(2, 0.2)
    assert {t.state for t in stored(experiment)} == {TrialState.COMPLETE}


def test_an_evaluation_that_comes_twice_counts_once(experiment: Experiment) -> None:
    first = memory(experiment)
    first.ask()
    first.report(0, 1, 0.1)
    again = memory(experiment)
    again.unfinished()
    again.report(0, 1, 0.1)
    again.report(0, 2, 0.3)
    assert stored(experiment)[0].intermediate_values == {1: 0.1, 2: 0.3}


def test_a_trial_cut_off_before_it_was_drawn_is_told_as_failed(experiment: Experiment) -> None:
    memory(experiment)._study.ask()
    again = memory(experiment)
    assert again.unfinished() == []
    assert stored(experiment)[0].state is TrialState.FAIL


def test_running_out_of_memory_is_a_violated_constraint(experiment: Experiment) -> None:
    study = memory(experiment)
    study.ask()
    study.run_out_of_memory(0, "too big")
    (trial,) = stored(experiment)
    assert trial.state is TrialState.PRUNED
    assert max(trial.constraints.values()) > 0.0
    assert trial.user_attrs[REASON] == "too big"


@pytest.mark.parametrize("sampler", ["tpe", "random", "gp", "cmaes"])
def test_a_study_that_is_opened_again_proposes_what_it_would_have(tmp_path: Path, sampler: str) -> None:
    proposals = []
    for name, reopen in (("whole", False), ("cut", True)):
        experiment = create(Settings(name=name, dir=str(tmp_path), sampler=sampler))  # type: ignore[arg-type]
        study, found = memory(experiment), []
        for i in range(14):
            if reopen and i in (3, 12):
                study = memory(experiment)
            found.append(study.ask())
            study.complete(i, -abs(float(found[-1].hyperparameters["clip_range"]) - 0.3))  # type: ignore[arg-type]
        proposals.append(found)
    assert proposals[0] == proposals[1]
    assert len({tuple(p.hyperparameters.values()) for p in proposals[0]}) == 14


def test_another_seed_proposes_otherwise(experiment: Experiment, tmp_path: Path) -> None:
    other = create(Settings(name="other", dir=str(tmp_path), seed=1))
    assert memory(experiment).ask() != memory(other).ask()


@pytest.mark.parametrize(("pruner", "pruned"), [("median", True), ("hyperband", True), ("none", False)])
def test_the_pruner_stops_what_is_worst(experiment: Experiment, pruner: str, pruned: bool) -> None:
    study = memory(experiment, pruner=pruner, reports=9, steps=900)
    stopped = []
    for number in range(12):
        study.ask()
        for steps in range(100, 1000, 100):
            study.report(number, steps, -float(number))
            if study.should_prune(number):
                stopped.append(number)
                study.prune(number)
                break
        else:
            study.complete(number, -float(number))
    assert bool(stopped) == pruned
    assert 0 not in stopped


def test_the_first_trials_start_from_given_assignments_and_teach_the_sampler(experiment: Experiment) -> None:
    space = SPACES["ppo"]
    starts = [preset("ppo", name, space) for name in ("script-after", "rllib")]
    study = StudyMemory(experiment, space, {}, LIMITS, starts)
    proposals = [study.ask() for _ in range(3)]
    for proposal, start in zip(proposals, starts, strict=False):
        assert proposal.hyperparameters == pytest.approx(start)
    assert proposals[2].hyperparameters not in starts
    trials = stored(experiment)
    assert trials[0].params["learning_rate"] == 3e-4
    assert trials[0].params["log2_n_steps"] == 10
    # 4,000 is no power of two: it holds for this trial and is nothing that the sampler could draw.
    assert "log2_n_steps" not in trials[1].params
