"""The study keeps everything, and proposes the same after it is opened again."""

import math
from dataclasses import replace
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from envs.objective.aim import Aim, Outcome
from search_spaces import SearchSpace
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.record.attributes import HYPERPARAMETERS, REASON, REQUIRED, SAME_AS
from tuning.search.record.study import StudyMemory

LIMITS = {"steps": 1e6}


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return create(Settings(name="one", dir=str(tmp_path)))


def memory(experiment: Experiment, **settings: object) -> StudyMemory:
    return StudyMemory.open(
        replace(experiment, settings=replace(experiment.settings, **settings)), algorithm("ppo").space, {"gamma": 0.9}, LIMITS
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


def test_what_misses_a_requirement_violates_a_constraint_and_keeps_its_value(experiment: Experiment) -> None:
    study = memory(experiment)
    for _ in range(4):
        study.ask()
    for number, shortfall in enumerate((0.2, 0.0, None)):
        study.complete(number, -50.0 - number, shortfall)
    study.report(3, 100, -1e15)
    study.prune(3, 0.3)
    trials = stored(experiment)
    assert [trial.constraints.get(REQUIRED) for trial in trials] == [0.2, 0.0, None, 0.3]
    assert [trial.value for trial in trials[:3]] == [-50.0, -51.0, -52.0]
    # Optuna takes none that violates one for the best.
    assert study._study.best_trial.number == 1


def test_the_pruner_stops_what_misses_requirements_where_others_meet_them(experiment: Experiment) -> None:
    aim = Aim.parse(objective="peak_kw", require=("ev_served>=0.9",))
    study = memory(experiment, scheduler="median", steps=200)
    for number in range(7):
        study.ask()
        # The last two have the lowest peaks. One of them serves too little.
        outcome = Outcome(0.0, 100.0 - number, 0.2 if number == 5 else 0.0)
        study.report(number, 100, aim.rating(outcome))
        if number < 5:
            study.complete(number, aim.goal(outcome), outcome.shortfall)
    assert [study.should_prune(number) for number in (5, 6)] == [True, False]


def test_the_pace_is_that_of_the_evaluations_and_reaches_the_draw(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, told = memory(experiment, budget="20m", steps=100_000), []
    monkeypatch.setattr("tuning.search.proposals.drawing.propose", lambda number, startup, *others: told.append(startup))
    study.ask()
    study.note_seconds(1.0)
    assert math.isnan(study.pace)
    study.report(0, 25_000, 0.1)
    study.note_seconds(50.0)
    assert study.pace == 500.0
    study.ask()
    assert told == [4, 6]


def test_fixed_values_are_in_every_proposal(experiment: Experiment) -> None:
    study = memory(experiment)
    assert {study.ask().hyperparameters["gamma"] for _ in range(5)} == {0.9}


def test_what_was_never_told_is_handed_out_again(experiment: Experiment) -> None:
    first = memory(experiment)
    proposals = [first.ask() for _ in range(3)]
    first.complete(1, 0.5)
    again = memory(experiment)
    assert again.unfinished() == again.adopt_unfinished() == [proposals[0], proposals[2]]
    again.report(0, 1, 0.1)
    again.complete(0, 0.1)
    again.complete(2, 0.2)
    assert {t.state for t in stored(experiment)} == {TrialState.COMPLETE}


def test_an_evaluation_that_comes_twice_counts_once(experiment: Experiment) -> None:
    first = memory(experiment)
    first.ask()
    first.report(0, 1, 0.1)
    again = memory(experiment)
    again.adopt_unfinished()
    assert not again.report(0, 1, 0.1)
    assert again.report(0, 2, 0.3)
    assert stored(experiment)[0].intermediate_values == {1: 0.1, 2: 0.3}


def test_a_kill_at_any_byte_leaves_whole_trials_and_the_same_proposals(experiment: Experiment) -> None:
    """Cut the journal at every byte of a trial's entries, as a kill in the middle of a write would."""
    study = memory(experiment)
    study.ask()
    journal = experiment.paths.study
    before, seal = journal.read_bytes(), journal.with_suffix(".seal").read_bytes()
    second = study.ask()
    study.report(0, 100, 0.5)
    study.complete(0, 0.5)
    after = journal.read_bytes()
    for cut in (*range(len(before), len(after), 97), len(after) - 1, len(after)):
        journal.write_bytes(after[:cut])
        journal.with_suffix(".seal").write_bytes(seal)  # written after each append, so never ahead of it
        # What a killed writer leaves beside it.
        Path(f"{journal}.lock").touch()
        again = memory(experiment)
        running = again.adopt_unfinished()
        assert all(proposal.hyperparameters for proposal in running)
        if again.count == 1:
            assert again.ask() == second
        assert again.proposals()[1] == second
        if again.state(0) is TrialState.RUNNING:
            again.report(0, 100, 0.5)
            again.complete(0, 0.5)
        assert stored(experiment)[0].intermediate_values == {100: 0.5}


def small_memory(experiment: Experiment) -> StudyMemory:
    """A study with so few assignments that they soon come again."""
    fixed = {
        parameter.name: parameter.default
        for parameter in algorithm("ppo").space.parameters
        if parameter.name != "shared_layers"
    }
    space = SearchSpace(
        tuple(
            replace(parameter, search=optuna.distributions.CategoricalDistribution([False, True]))
            if parameter.name == "shared_layers"
            else parameter
            for parameter in algorithm("ppo").space.parameters
        )
    )
    return StudyMemory.open(
        experiment, space, space.parse({k: "none" if v is None else str(v) for k, v in fixed.items()}), LIMITS
    )


def test_an_assignment_that_was_tried_is_not_run_again(experiment: Experiment) -> None:
    study, run = small_memory(experiment), []
    for _ in range(12):
        proposal = study.ask()
        if proposal.same_as is None:
            run.append(proposal)
            if len(run) == 1:
                study.report(proposal.number, 10, 0.25)
                study.complete(proposal.number, 0.5)
            else:
                study.run_out_of_memory(proposal.number, "too big")
    assert len(run) == 2
    assert small_memory(experiment).unfinished() == []
    first, second = (proposal.number for proposal in run)
    for trial in small_memory(experiment)._study.get_trials():
        same = first if trial.params == small_memory(experiment)._study.get_trials()[first].params else second
        assert trial.state is (TrialState.COMPLETE if same == first else TrialState.PRUNED)
        assert trial.value == (0.5 if same == first else None)
        assert bool(trial.constraints) == (same == second)
        assert trial.user_attrs.get(SAME_AS) == (None if trial.number in (first, second) else same)


def test_a_failure_may_be_tried_again(experiment: Experiment) -> None:
    study = small_memory(experiment)
    for number in range(8):
        assert study.ask().same_as is None
        study.fail(number, "bad luck")


def test_without_a_search_an_assignment_is_run_as_often_as_asked(experiment: Experiment) -> None:
    fixed = {parameter.name: parameter.default for parameter in algorithm("ppo").space.parameters}
    study = StudyMemory.open(experiment, algorithm("ppo").space, fixed, LIMITS)
    for number in range(3):
        assert study.ask().same_as is None
        study.complete(number, 0.1)


def test_trials_that_go_on_are_running_again_and_the_others_are_as_they_were(experiment: Experiment) -> None:
    study = memory(experiment)
    proposals = [study.ask() for _ in range(4)]
    for number in range(3):
        study.report(number, 100, number / 10)
    study.complete(0, 0.1)
    study.complete(1, 0.2)
    study.prune(2)
    study.reopen([1])
    # The same from the file.
    for again in (study, memory(experiment)):
        assert again.proposals() == proposals
        assert [p.number for p in again.adopt_unfinished()] == [1, 3]
        assert [again.state(n) for n in range(3)] == [TrialState.COMPLETE, TrialState.RUNNING, TrialState.PRUNED]
    again.report(1, 200, 0.4)
    again.complete(1, 0.4)
    told = memory(experiment)._study.get_trials()
    assert told[1].intermediate_values == {100: 0.1, 200: 0.4}
    assert [trial.value for trial in told[:3]] == [0.1, 0.4, 0.2]
    # And once more to the same budget.
    again.reopen([0])
    assert [p.number for p in memory(experiment).unfinished()] == [0, 3]
    assert memory(experiment)._study.get_trials()[1].value == 0.4


def test_a_trial_that_goes_on_misses_requirements_by_what_it_misses_at_its_new_end(experiment: Experiment) -> None:
    study = memory(experiment)
    for number, shortfall in enumerate((0.2, 0.3)):
        study.ask()
        study.complete(number, -50.0, shortfall)
    study.reopen([0])
    study.adopt_unfinished()
    study.complete(0, -51.0, 0.0)
    assert [trial.constraints for trial in stored(experiment)] == [{REQUIRED: 0.0}, {REQUIRED: 0.3}]


def test_a_kill_while_trials_are_taken_over_leaves_the_study_of_before(experiment: Experiment) -> None:
    study = memory(experiment)
    for number in range(3):
        study.ask()
        study.complete(number, 0.1)
    journal = experiment.paths.study
    before, seal = len(journal.read_bytes()), journal.with_suffix(".seal").read_bytes()
    study.reopen([0, 2])
    after = journal.read_bytes()
    lines = [i + 1 for i in range(before, len(after)) if after[i : i + 1] == b"\n"]
    for cut in (before, *lines[:-1]):
        journal.write_bytes(after[:cut])
        journal.with_suffix(".seal").write_bytes(seal)
        assert memory(experiment).unfinished() == []
        memory(experiment).reopen([0, 2])
        again = memory(experiment)
        assert [p.number for p in again.unfinished()] == [0, 2]
        assert again.count == 3


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


@pytest.mark.parametrize(
    ("scheduler", "pruned"),
    [("freeze-thaw", False), ("asha", True), ("median", True), ("hyperband", True), ("none", False)],
)
def test_the_scheduler_stops_what_is_worst(experiment: Experiment, scheduler: str, pruned: bool) -> None:
    study = memory(experiment, scheduler=scheduler, reports=9, steps=900)
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


@pytest.mark.parametrize("scheduler", ["asha", "median", "hyperband"])
def test_with_a_preset_none_is_stopped_as_all_are_alike(experiment: Experiment, scheduler: str) -> None:
    study = memory(experiment, scheduler=scheduler, reports=9, steps=900, preset="default")
    for number in range(12):
        study.ask()
        for steps in range(100, 1000, 100):
            study.report(number, steps, -float(number))
            assert not study.should_prune(number)
        study.complete(number, -float(number))


def test_the_first_trials_start_from_given_assignments_and_teach_the_sampler(experiment: Experiment) -> None:
    space = algorithm("ppo").space
    starts = [algorithm("ppo").preset(name) for name in ("script-after", "rllib")]
    study = StudyMemory.open(experiment, space, {}, LIMITS, starts)
    proposals = [study.ask() for _ in range(3)]
    for proposal, start in zip(proposals, starts, strict=False):
        assert proposal.hyperparameters == pytest.approx(start)
    assert proposals[2].hyperparameters not in starts
    trials = stored(experiment)
    assert trials[0].params["learning_rate"] == 3e-4
    assert trials[0].params["log2_n_steps"] == 10
    # 4,000 is no power of two: it holds for this trial, and the sampler learns from the nearest.
    assert (proposals[1].hyperparameters["n_steps"], trials[1].params["log2_n_steps"]) == (4000, 12)
    assert trials[0].params.keys() == trials[1].params.keys() == trials[2].params.keys()


def test_a_trial_of_an_older_version_keeps_what_its_names_meant(experiment: Experiment) -> None:
    study = memory(experiment)
    proposal = study.ask()
    older = {name: value for name, value in proposal.hyperparameters.items() if name != "kl_target"} | {"target_kl": 0.02}
    frozen = study._study.get_trials()[0]
    frozen.user_attrs[HYPERPARAMETERS] = older
    study._study.add_trial(frozen)
    found = memory(experiment).proposals()[1].hyperparameters
    assert (found["kl_target"], found["target_kl"]) == (0.02, None)
