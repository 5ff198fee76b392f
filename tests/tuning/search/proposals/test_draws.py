"""A search draws what follows from its study, and the same after the study is opened again."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from search_spaces import Assignment, SearchSpace
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.proposals.drawing import Drawing, Excess
from tuning.search.proposals.draws import Draws
from tuning.search.record.ledger import TimeNotes
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import CONFIRMS, SAME_AS
from tuning.trial.proposal import Proposal

SPACE = algorithm("ppo").space
NONE_SEARCHED = {parameter.name: parameter.default for parameter in SPACE.parameters}


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return create(Settings(name="one", dir=str(tmp_path)))


def draws(
    experiment: Experiment,
    space: SearchSpace = SPACE,
    fixed: Assignment | None = None,
    starts: Sequence[Assignment] = (),
    excess: Excess | None = None,
    **settings: Any,
) -> Draws:
    changed = replace(experiment.settings, **settings)
    memory = StudyMemory.open(replace(experiment, settings=changed))
    return Draws(memory, Drawing(changed, space, {"gamma": 0.9} if fixed is None else fixed, {"steps": 1e6}, starts, excess))


def ask(of: Draws) -> Proposal:
    return of.memory.add(of.draw())


def test_the_pace_reaches_the_draw(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    of, told = draws(experiment, budget="20m", steps=100_000), []
    monkeypatch.setattr("tuning.search.proposals.drawing.propose", lambda number, startup, *others: told.append(startup))
    ask(of)
    notes = TimeNotes(of.memory)
    notes.note_seconds(1.0)
    assert math.isnan(notes.pace)
    of.memory.report(0, 25_000, 0.1)
    notes.note_seconds(50.0)
    assert notes.pace == 500.0
    ask(of)
    assert told == [4, 6]


def test_fixed_values_are_in_every_proposal(experiment: Experiment) -> None:
    of = draws(experiment)
    assert {ask(of).hyperparameters["gamma"] for _ in range(5)} == {0.9}


def small(experiment: Experiment) -> Draws:
    """Draws so few assignments that they soon come again."""
    either = optuna.distributions.CategoricalDistribution([False, True])
    space = SearchSpace(tuple(replace(own, search=either) if own.name == "shared_layers" else own for own in SPACE.parameters))
    fixed = {name: value for name, value in NONE_SEARCHED.items() if name != "shared_layers"}
    return draws(experiment, space, fixed)


def test_an_assignment_that_was_tried_is_not_run_again(experiment: Experiment) -> None:
    of, run = small(experiment), []
    for _ in range(12):
        proposal = ask(of)
        if proposal.same_as is None:
            run.append(proposal)
            if len(run) == 1:
                of.memory.report(proposal.number, 10, 0.25)
                of.memory.complete(proposal.number, 0.5)
            else:
                of.memory.run_out_of_memory(proposal.number, "too big")
    assert len(run) == 2
    trials = small(experiment).memory.trials()
    first, second = (proposal.number for proposal in run)
    for trial in trials:
        same = first if trial.params == trials[first].params else second
        assert trial.state is (TrialState.COMPLETE if same == first else TrialState.PRUNED)
        assert trial.value == (0.5 if same == first else None)
        assert bool(trial.constraints) == (same == second)
        assert trial.user_attrs.get(SAME_AS) == (None if trial.number in (first, second) else same)


def test_a_failure_may_be_tried_again(experiment: Experiment) -> None:
    of = small(experiment)
    for number in range(8):
        assert ask(of).same_as is None
        of.memory.fail(number, "bad luck")


def test_without_a_search_an_assignment_is_run_as_often_as_asked(experiment: Experiment) -> None:
    of = draws(experiment, fixed=NONE_SEARCHED)
    for number in range(3):
        assert ask(of).same_as is None
        of.memory.complete(number, 0.1)


@pytest.mark.parametrize("sampler", ["tpe", "random", "gp", "cmaes"])
def test_a_study_that_is_opened_again_proposes_what_it_would_have(tmp_path: Path, sampler: str) -> None:
    proposals = []
    for name, reopen in (("whole", False), ("cut", True)):
        experiment = create(Settings(name=name, dir=str(tmp_path), sampler=sampler))  # type: ignore[arg-type]
        of, found = draws(experiment), []
        for number in range(14):
            if reopen and number in (3, 12):
                of = draws(experiment)
                of.memory.adopt_unfinished()
            found.append(ask(of))
            of.memory.complete(number, -abs(float(found[-1].hyperparameters["clip_range"]) - 0.3))  # type: ignore[arg-type]
        proposals.append(found)
    assert proposals[0] == proposals[1]
    assert len({tuple(proposal.hyperparameters.values()) for proposal in proposals[0]}) == 14


def test_another_seed_proposes_otherwise(experiment: Experiment, tmp_path: Path) -> None:
    other = create(Settings(name="other", dir=str(tmp_path), seed=1))
    assert ask(draws(experiment)) != ask(draws(other))


def test_the_first_trials_start_from_given_assignments_and_teach_the_sampler(experiment: Experiment) -> None:
    starts = [algorithm("ppo").preset(name) for name in ("script-after", "rllib")]
    of = draws(experiment, fixed={}, starts=starts)
    proposals = [ask(of) for _ in range(3)]
    for proposal, start in zip(proposals, starts, strict=False):
        assert proposal.hyperparameters == pytest.approx(start)
    assert proposals[2].hyperparameters not in starts
    trials = of.memory.trials()
    assert trials[0].params["learning_rate"] == 3e-4
    assert trials[0].params["log2_n_steps"] == 10
    # 4,000 is no power of two: it holds for this trial, and the sampler learns from the nearest.
    assert (proposals[1].hyperparameters["n_steps"], trials[1].params["log2_n_steps"]) == (4000, 12)
    assert trials[0].params.keys() == trials[1].params.keys() == trials[2].params.keys()


def test_a_training_that_confirms_is_no_new_trial_to_try(experiment: Experiment) -> None:
    of = draws(experiment, excess=lambda assignment: (5, "does not fit"))
    for _ in range(3):
        ask(of)
    drawn = of.draw()
    drawn.state, drawn.datetime_complete = TrialState.RUNNING, None
    drawn.user_attrs = {"hyperparameters": drawn.user_attrs["hyperparameters"], CONFIRMS: 0}
    of.memory.add(drawn)
    assert (of.in_vain, of.searched) == (3, 3)
