"""What a search hands out, and what becomes of each trial. Without Ray."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from common.units import GIB, MIB
from results import load
from search_spaces import Assignment
from tests.tuning.roomy import planner
from tests.tuning.search.fakes import REPORTS, RUNG, STEPS, Searched, StopsAll, changed, evaluated, states, two_begun
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.option_values import Budget
from tuning.experiment.settings import Settings
from tuning.memory.prediction import CardBaseline
from tuning.search.promotion.choosing import MOST_IN_VAIN, LastPart
from tuning.search.promotion.confirmation import Confirmation
from tuning.search.promotion.thawing import Thawing
from tuning.search.record.ledger import Ledger
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import Costs, Key
from tuning.storage.search_files import Home, SearchFiles
from tuning.trial.evaluations import did_nothing
from tuning.trial.protocol import Report
from tuning.trial.records import TrialRecords


def test_a_trial_gets_what_cuda_takes_of_its_card_with_its_grant(experiment: Experiment) -> None:
    baseline = CardBaseline(640 * MIB, 64 * MIB, 500 * MIB, "measured on this card")
    card = planner(experiment.settings, experiment.paths.folder, gpus=1, card_bytes=8 * GIB, baseline=baseline)
    handout = Searched(experiment, planner=card).search.hand_out()
    assert handout.place.grant.context_bytes == baseline.context
    assert handout.place.grant.vram_bytes > baseline.vram()


def test_trust_reaches_a_trial_by_its_handout_alone(experiment: Experiment) -> None:
    for trusted in (False, True):
        handout = Searched(experiment.trusting(trusted)).search.hand_out()
        assert handout.home.trusted is trusted
    assert "trust_scenario" not in experiment.paths.settings.read_text(encoding="utf-8")


def test_a_trial_goes_on_once_what_is_known_of_it_is_where_it_belongs(experiment: Experiment) -> None:
    class Files(SearchFiles):
        steps = tuple[int, ...]()

        def hand_out(self, home: Home, number: int) -> Home:
            assert TrialRecords(experiment).row(number)["state"] == "running"
            return replace(home, storage="memory://here", lease=7)

        def flush(self) -> None:
            self.steps = (*self.steps, of.record.study.standing(0).checkpoint)

    files = Files()
    of = Searched(experiment, files=files)
    handout = of.search.hand_out()
    assert (handout.home.storage, handout.home.lease) == ("memory://here", 7)
    of.search.take(0, Report(500, saved=True))
    assert files.steps == (500,)


def test_a_trial_of_a_larger_machine_is_not_begun_on_one_where_it_cannot_fit(experiment: Experiment) -> None:
    two_begun(experiment)
    small = planner(experiment.settings, experiment.paths.folder, ram_bytes=2**29)
    of = Searched(experiment, planner=small)
    assert of.begin() is None
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["oom", "oom"]
    assert trials["error"].str.contains("does not fit").all()


def test_an_assignment_that_cannot_fit_is_never_begun(experiment: Experiment) -> None:
    def excess(assignment: Assignment) -> tuple[int, str]:
        return (5, "does not fit") if assignment["clip_range"] > 0.25 else (-5, "")

    of = Searched(experiment, trials=12, excess=excess)
    begun = set(iter(of.begin, None))
    trials = load(experiment.paths.folder).trials
    refused = trials[trials["state"] == "oom"]
    assert 0 < len(refused) < 12
    assert begun == set(range(12)) - set(refused["trial"])
    assert trials["hp_clip_range"].gt(0.25).equals(trials["state"] == "oom")
    assert (refused["error"] == "does not fit").all()
    ended = [told for told in of.control.told if told[0] == "on_ended"]
    assert ended == [("on_ended", number, "oom", None) for number in refused["trial"]]
    missing = [max(trial.constraints.values()) for trial in of.memory.trials()]
    assert missing == [5.0 if number in refused["trial"].tolist() else 0.0 for number in range(12)]


def thawing(experiment: Experiment, steps: int, trials: float = 3, freezes: bool = True) -> Searched:
    """A search with a budget of steps; with `freezes` trials give way to one another."""
    ledger = Ledger(StudyMemory.open(experiment), Budget(steps, "steps"), RUNG)
    of = Searched(
        changed(experiment, retries=1), trials=trials, freezes=freezes, ledger=ledger,
        planner=planner(experiment.settings, experiment.paths.folder, cores=8),
    )  # fmt: skip
    ledger.memory = of.memory
    return of


def test_it_is_said_which_trial_one_trains_again(experiment: Experiment) -> None:
    of = thawing(experiment, 12 * STEPS, trials=2, freezes=False)
    first = of.begin()
    assert first == 0
    confirmation = Confirmation(Costs(algorithm("ppo").space), of.rows.assignment(first), STEPS, RUNG)
    of.search._choosing = replace(of.choosing, last_part=LastPart(confirmation, of.ledger, 0.5, 0.5))
    of.complete(first, 0.1)
    second = of.begin()
    assert second == 1
    of.complete(second, 0.2)
    assert not of.control.lines
    begun = [of.begin(), of.begin()]
    again = {number: of.memory.trial(number).user_attrs[Key.CONFIRMS] for number in begun if number is not None}
    names = {0: "the default", 1: "the hyperparameters of trial 1"}
    assert set(again.values()) == set(names)
    told = [f"trial {number}: {names[confirms]}, with a fresh seed" for number, confirms in again.items()]
    assert of.control.lines == told


def advance(of: Searched, number: int, evaluation: int) -> bool:
    """Whether a trial that was evaluated keeps its slot; if not, its process ends."""
    kept = of.tell(number, evaluation)
    if not kept:
        of.end(number, evaluation)
    return kept


@pytest.mark.parametrize("freezes", [True, False])
def test_what_is_frozen_as_the_budget_is_spent_goes_on_with_a_larger_one(experiment: Experiment, freezes: bool) -> None:
    of = thawing(experiment, RUNG, freezes=freezes)
    assert of.begin() == 0
    assert not advance(of, 0, 1)
    assert of.begin() is None
    assert states(experiment) == ["frozen"]
    later = thawing(experiment, 2 * RUNG, trials=1, freezes=freezes)
    assert later.begin() == 0
    assert states(experiment) == ["running"]


def test_a_trial_that_does_what_another_one_does_gives_way_and_is_told(experiment: Experiment) -> None:
    of = thawing(experiment, 100 * RUNG, trials=2)
    assert [of.begin(), of.begin()] == [0, 1]
    assert all(advance(of, number, 1) for number in range(2))
    assert not advance(of, 1, 2)
    noticed = "policy is rated exactly as trial 0 after all of its evaluations"
    assert of.rows.row(1)["noticed"] == noticed
    assert f"trial 1: {noticed}; it does not go on" in of.control.lines
    assert of.begin() is None
    assert advance(of, 0, 2)


@pytest.mark.parametrize("freezes", [True, False])
def test_beside_a_trial_that_waits_to_run_alone_others_are_frozen_only_if_they_go_on_later(
    experiment: Experiment, freezes: bool
) -> None:
    of = thawing(experiment, 100 * RUNG, trials=2, freezes=freezes)
    assert [of.begin(), of.begin()] == [0, 1]
    of.run_out(0)
    assert advance(of, 1, 1) is not freezes
    if not freezes:
        return
    assert of.begin() == 0
    assert of.begin() is None
    of.complete(0)
    assert of.begin() == 1


def test_a_thawed_trial_is_evaluated_anew_before_it_gives_way(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    of = thawing(experiment, 100 * RUNG, trials=2)
    assert [of.begin(), of.begin()] == [0, 1]
    # Nothing begins beside trial 0 any more, and as soon as either trial has a slot the other one is preferred.
    of.run_out(0)
    assert not advance(of, 1, 1)
    preferred = {0: 1, 1: 0, None: 1}
    monkeypatch.setattr(Thawing, "choose", lambda self, drawn, steps_left, as_frozen=None: preferred[as_frozen])
    assert of.begin() == 0
    assert not advance(of, 0, 1)
    assert of.begin() == 1
    preferred[None] = 0
    # It waits until it can run alone.
    assert of.begin() is None
    assert advance(of, 1, 1)
    assert not advance(of, 1, 2)
    assert of.begin() == 0
    assert advance(of, 0, 1)
    assert not advance(of, 0, 2)


def test_a_space_in_which_nothing_fits_ends_the_search_until_the_machine_is_larger(experiment: Experiment) -> None:
    lacking = [5]
    of = Searched(experiment, trials=math.inf, excess=lambda assignment: (lacking[0], "does not fit"))
    for _ in range(2):
        assert of.begin() is None
    assert len(of.memory.trials()) == MOST_IN_VAIN
    assert sum("no new trial begins" in line for line in of.control.lines) == 1
    lacking[0] = -5
    assert of.begin() == MOST_IN_VAIN


def test_trials_that_fail_at_once_use_the_budget_up(experiment: Experiment) -> None:
    of, begun = thawing(changed(experiment, retries=0), 3 * RUNG, trials=math.inf), 0
    while of.begin() is not None:
        of.crash(begun, "Traceback\nValueError: bad")
        if of.rows.row(begun)["state"] == "failed":
            begun += 1
    assert begun == 3


def test_a_trial_that_waits_after_it_was_lost_is_owed_its_next_evaluation(experiment: Experiment) -> None:
    of = thawing(experiment, 3 * RUNG, trials=2, freezes=False)
    assert [of.begin(), of.begin()] == [0, 1]
    of.lose(1)
    assert [advance(of, 0, evaluation) for evaluation in (1, 2)] == [True, False]
    assert of.begin() == 1
    assert not advance(of, 1, 1)
    assert of.begin() is None


def test_no_more_are_handed_out_at_once_than_the_cluster_holds_now(experiment: Experiment) -> None:
    of, most = Searched(experiment), [1]
    of.search._at_once = lambda: most[0]
    assert of.begin() == 0
    assert of.begin() is None
    most[0] = 2
    assert of.begin() == 1


def test_the_pruner_decides_at_evaluations_but_the_last(experiment: Experiment) -> None:
    of = Searched(experiment, pruner=StopsAll())
    of.begin()
    assert of.search.take(0, Report(10))
    assert not of.tell(0, 1)
    of.end(0, 1)
    assert states(experiment) == ["pruned"]
    of.begin()
    assert of.tell(1, REPORTS)
    of.end(1)
    assert states(experiment) == ["pruned", "complete"]


def test_the_study_is_told_the_objective_and_what_is_missing_not_the_score(tmp_path: Path) -> None:
    settings = Settings(
        name="one", dir=str(tmp_path), trials=2, evaluations=REPORTS, objective="peak_kw", require=("ev_served>=0.9",)
    )
    of = Searched(create(replace(settings, steps=4096)))
    of.begin()
    of.tell(0, 1, 0.9, objective=40.0, shortfall=0.5)
    of.tell(0, 2, 0.9, objective=40.0, shortfall=0.0)
    of.tell(0, REPORTS, 0.9, objective=40.0, shortfall=0.5)
    of.end(0)
    trial = of.memory.trial(0)
    lowest, met, last = trial.intermediate_values.values()
    assert met == -40.0
    assert lowest == last < -1e15
    assert (trial.value, trial.constraints[Key.REQUIRED]) == (-40.0, 0.5)


def idle(evaluation: int, is_idle: bool = True, number: int = 0) -> Report:
    """The report of an evaluation of a policy that does nothing."""
    row = {"trial": number, "steps": evaluation * RUNG + 10, "year": 0, "score": 0.0, "changed_kwh": 0.0 if is_idle else 1.0}
    row |= {"uncontrolled_import_kwh": 1.0, "uncontrolled_export_kwh": 0.0}
    return replace(evaluated(evaluation, 0.0), evaluations=[row])


def test_a_trial_with_a_policy_that_does_nothing_is_stopped_by_no_pruner(experiment: Experiment) -> None:
    of = Searched(experiment)
    of.begin()
    assert of.search.take(0, idle(1))
    assert not of.search.take(0, idle(2))
    of.end(0, 2, 0.0)
    (row,) = load(experiment.paths.folder).trials.to_dict("records")
    noticed = did_nothing(2)
    assert (row["state"], row["noticed"]) == ("pruned", noticed)
    assert f"trial 0: {noticed}" in of.control.lines
    # One that did something once goes on.
    of.begin()
    assert of.search.take(1, idle(1, is_idle=False, number=1))
    assert of.search.take(1, idle(2, number=1))
    assert load(experiment.paths.folder).trials["noticed"].isna().tolist() == [False, True]


@pytest.mark.parametrize("is_idle", [False, True])
def test_a_trial_that_trains_another_again_is_stopped_by_no_pruner(experiment: Experiment, is_idle: bool) -> None:
    of = Searched(experiment, pruner=StopsAll())
    of.begin()
    trial = of.search._trials[0]
    trial.proposal = replace(trial.proposal, confirms=0, confirm_run=0, confirm_role="default")
    for evaluation in range(1, REPORTS):
        assert of.search.take(0, idle(evaluation, is_idle))
