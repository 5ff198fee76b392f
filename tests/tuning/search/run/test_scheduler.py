"""Whether Tune is told to go on with a trial, without Tune."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from results import load
from tests.tuning.search.fakes import REPORTS, Control, PrunesAll, adapters, decide
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.record.attributes import REQUIRED
from tuning.trial.protocol import EVALUATION, IDLE, OBJECTIVE, SCORE, SHORTFALL, STEPS


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return create(Settings(name="one", dir=str(tmp_path), trials=2, reports=REPORTS))


def test_the_pruner_decides_at_evaluations_alone(experiment: Experiment) -> None:
    searcher, scheduler = adapters(experiment)
    searcher.suggest("a")
    assert decide(scheduler, **{STEPS: 10}) == "CONTINUE"
    assert decide(scheduler, **{STEPS: 20, EVALUATION: 1, SCORE: 0.1}) == "STOP"


def test_after_its_last_evaluation_a_trial_is_complete_and_not_pruned(experiment: Experiment) -> None:
    searcher, scheduler = adapters(experiment)
    searcher.suggest("a")
    last = {STEPS: 4096, EVALUATION: REPORTS, SCORE: 0.1}
    assert decide(scheduler, **last) == "CONTINUE"
    searcher.on_trial_complete("a", last)
    assert load(experiment.paths.folder).trials["state"].tolist() == ["complete"]


def test_the_study_is_told_the_objective_and_what_is_missing_not_the_score(tmp_path: Path) -> None:
    aimed = create(
        Settings(name="one", dir=str(tmp_path), trials=2, reports=REPORTS, objective="peak_kw", require=("ev_served>=0.9",))
    )
    searcher, scheduler = adapters(aimed)
    searcher.suggest("a")
    missing = {SCORE: 0.9, OBJECTIVE: 40.0, SHORTFALL: 0.5}
    decide(scheduler, **{STEPS: 20, EVALUATION: 1, **missing})
    decide(scheduler, **{STEPS: 30, EVALUATION: 2, **missing, SHORTFALL: 0.0})
    last = {STEPS: 4096, EVALUATION: REPORTS, **missing}
    searcher._pruned.clear()
    searcher.on_trial_complete("a", last)
    (trial,) = searcher._memory.trials()
    lowest, met = trial.intermediate_values.values()
    assert met == -40.0
    assert lowest < -1e15
    assert (trial.value, trial.constraints[REQUIRED]) == (-40.0, 0.5)


@pytest.mark.parametrize("score", [math.nan, -math.inf])
@pytest.mark.parametrize(("budget", "told"), [("40000", "STOP"), ("", "CONTINUE")])
def test_a_rating_that_is_no_number_gets_no_more_of_a_budget(tmp_path: Path, score: float, budget: str, told: str) -> None:
    of = create(Settings(name="one", dir=str(tmp_path), trials=2, reports=REPORTS, budget=budget, scheduler="median"))
    searcher, scheduler = adapters(of)
    searcher.ledger.budget = of.settings.limit
    searcher.suggest("a")
    result = {STEPS: 20, EVALUATION: 1, SCORE: score}
    assert decide(scheduler, **result) == told
    (trial,) = searcher._memory.trials()
    assert trial.intermediate_values == {}
    searcher.on_trial_complete("a", result)
    assert load(of.paths.folder).trials["state"].tolist() == ["failed"]


def test_an_evaluation_notes_the_time_and_lets_freeze_thaw_decide(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PrunesAll, "should_prune", lambda self, number: False)
    searcher, scheduler = adapters(experiment)
    searcher.suggest("a")
    noted: list[int] = []
    monkeypatch.setattr(searcher.ledger, "note_time", lambda: noted.append(1))
    for evaluation, goes_on in ((1, True), (2, False), (REPORTS, False)):
        monkeypatch.setattr(searcher, "goes_on", lambda number, is_new, goes_on=goes_on: goes_on)
        told = decide(scheduler, **{STEPS: 20, EVALUATION: evaluation, SCORE: 0.1})
        # After its last evaluation a trial ends by itself.
        assert told == ("CONTINUE" if goes_on or evaluation == REPORTS else "STOP")
    assert len(noted) == 3
    assert list(searcher._memory.trials()[0].intermediate_values) == [1365, 2730, 4096]


def test_a_trial_with_a_policy_that_does_nothing_is_stopped_by_no_pruner(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PrunesAll, "should_prune", lambda self, number: False)
    control = Control()
    searcher, scheduler = adapters(experiment, control)
    searcher.suggest("a")
    assert decide(scheduler, **{STEPS: 1400, EVALUATION: 1, SCORE: 0.0, IDLE: True}) == "CONTINUE"
    last = {STEPS: 2800, EVALUATION: 2, SCORE: 0.0}
    assert decide(scheduler, **last) == "CONTINUE"
    assert decide(scheduler, **last, **{IDLE: True}) == "STOP"
    searcher._records.update(0, noticed="policy does nothing: as it was told")
    searcher.on_trial_complete("a", last)
    (row,) = load(experiment.paths.folder).trials.to_dict("records")
    assert (row["state"], row["noticed"]) == ("pruned", "policy does nothing: as it was told")
    assert ("say", "trial 0: policy does nothing: as it was told") in control.told


@pytest.mark.parametrize("is_idle", [False, True])
def test_a_trial_that_trains_another_again_is_stopped_by_no_pruner(experiment: Experiment, is_idle: bool) -> None:
    searcher, scheduler = adapters(experiment)
    searcher.suggest("a")
    assert not searcher.confirms(0)
    searcher._proposals[0] = replace(searcher._proposals[0], confirms=0, confirm_run=0, confirm_role="default")
    for evaluation in range(1, REPORTS):
        told = decide(scheduler, **{STEPS: 1400 * evaluation, EVALUATION: evaluation, SCORE: 0.0, IDLE: is_idle})
        assert told == "CONTINUE"
