"""Steps are added up from the study, time over all runs; a budget is spent when it does not pay for one evaluation more."""

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest

from search_spaces import Assignment
from tests.tuning.search.fakes import AskedStudy, Clock, asked_study
from tests.tuning.search.fakes import study as asked
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import create
from tuning.experiment.option_values import Budget
from tuning.experiment.settings import Settings
from tuning.search.record.ledger import Ledger, plans_wait
from tuning.search.record.study import pace
from tuning.search.record.trials import Costs, Key

RUNG = 100
SPACE = algorithm("ppo").space


def memory(**steps: int) -> Any:
    """A study of trials that have taken so many steps."""
    return Noted(dict(steps), 50.0)


class Noted:
    """A study of which some steps and the time so far are known."""

    def __init__(self, steps: Mapping[Any, int], seconds: float = 0.0) -> None:
        self.used_steps, self.seconds = lambda least: steps, seconds


def test_without_a_budget_nothing_is_ever_spent_and_steps_are_what_was_used() -> None:
    ledger = Ledger(memory(a=10**9), None, RUNG)
    assert not ledger.is_spent([1, 2])
    assert ledger.used() == 1e9
    assert ledger.steps_left() == ledger.steps_in_all() == ledger.steps_promised() == math.inf


def test_steps_of_running_trials_count_up_to_their_next_evaluation() -> None:
    ledger = Ledger(memory(a=300, b=200), Budget(800.0, "steps"), RUNG)
    assert (ledger.used(), ledger.steps_left([0])) == (500.0, 200.0)
    assert not ledger.is_spent([0, 1])
    assert ledger.is_spent([0, 1, 2])


def test_a_trial_with_all_of_its_steps_takes_no_more_before_its_process_has_ended() -> None:
    steps = {0: 300, 1: 200}
    study: Any = Noted(steps)
    ledger = Ledger(study, Budget(800.0, "steps"), RUNG, most_steps=300)
    assert ledger.steps([0, 1]) == 600.0
    assert ledger.steps_left([0]) == 300.0


@pytest.mark.parametrize(
    ("used", "rung", "spent"),
    [(950, RUNG, False), (951, RUNG, True), (667, 333, False), (1000, 333, True)],
)
def test_half_a_rung_is_rounded_away_and_more_is_not_paid_for(used: int, rung: int, spent: bool) -> None:
    assert Ledger(memory(a=used), Budget(1000.0, "steps"), rung).is_spent() is spent


def test_time_is_that_of_all_runs_and_is_written_into_the_study() -> None:
    clock, study = Clock(), memory(a=300)
    ledger = Ledger(study, Budget(100.0, "seconds"), RUNG, clock)
    clock.now += 25.0
    assert ledger.seconds == ledger.used() == 75.0
    assert not ledger.is_spent([0, 1, 2])
    ledger.note_time()
    assert study.seconds == 75.0
    # 300 steps took 75 s.
    assert ledger.steps_left() == 100.0
    clock.now += 25.0
    assert ledger.is_spent()


def test_before_the_first_evaluation_the_steps_that_a_time_pays_for_are_unknown() -> None:
    clock = Clock()
    ledger = Ledger(memory(), Budget(100.0, "seconds"), RUNG, clock)
    assert (ledger.steps_in_all(), ledger.steps_ahead([0]), ledger.steps_promised()) == (math.inf, 2.0 * RUNG, math.inf)
    clock.now += 10.0
    assert ledger.steps_left() == math.inf
    # What runs counts already, and time that is over pays for nothing.
    assert ledger.steps_left([0]) == 40.0 * RUNG / 60.0
    clock.now += 100.0
    assert ledger.steps_left([0]) == 0.0


def test_what_a_time_pays_for_is_told_in_steps_of_the_default() -> None:
    # A third of the steps are the default's; each of the others cost ten times as much.
    space = algorithm("ppo").space
    hyperparameters = [space.complete({}), space.complete({"n_epochs": 10})]
    trials = [optuna.trial.create_trial(value=0.0, user_attrs={Key.HYPERPARAMETERS: each}) for each in hyperparameters]
    for number, trial in enumerate(trials):
        trial.number = number
    used: dict[int, int] = {}
    study: Any = Noted(used)
    study.trials = lambda: trials
    costs, clock = Costs(space, lambda assignment: 10.0 if assignment["n_epochs"] == 10 else 1.0), Clock()
    ledger = Ledger(study, Budget(100.0, "seconds"), RUNG, clock, costs=costs)
    used |= {0: 100, 1: 200}
    clock.now += 50.0
    assert ledger.steps() == 300.0
    assert ledger.steps_left() == 100.0 + 10 * 200.0
    assert ledger.steps_left([1]) == 100.0 + 10 * 300.0
    # Half of the time is over, so all of it pays for twice as many.
    assert ledger.steps_in_all() == 2 * (100.0 + 10 * 200.0)
    # The next evaluation of each trial, and of one that costs as much as steps did in the mean.
    assert ledger.steps_ahead() == pytest.approx(RUNG * 2100.0 / 300.0)
    assert ledger.steps_ahead([0, 1]) == pytest.approx(RUNG * (3200.0 / 500.0 + 1.0 + 10.0))


def test_time_is_noted_under_any_budget_so_that_another_run_knows_the_pace(tmp_path: Path) -> None:
    experiment = create(Settings(name="one", dir=str(tmp_path), steps=1000, evaluations=10, sampler="random"))

    def opened() -> AskedStudy:
        return asked_study(experiment, {}, 1000)

    clock, before = Clock(), opened()
    assert math.isnan(pace(before))
    ledger = Ledger(before, Budget(1000.0, "steps"), RUNG, clock)
    before.train(0.1, 0.1, 0.1, 0.1)
    clock.now += 40.0
    ledger.note_time()
    later = opened()
    assert pace(later) == RUNG / 10.0
    timed = Ledger(later, Budget(100.0, "seconds"), RUNG, clock)
    assert (timed.used(), timed.steps_left(), timed.steps_in_all()) == (40.0, 6.0 * RUNG, 10.0 * RUNG)


def test_a_budget_of_steps_pays_for_itself_and_counts_what_runs_as_used() -> None:
    ledger = Ledger(memory(a=700), Budget(1000.0, "steps"), RUNG)
    assert (ledger.steps_in_all([0]), ledger.steps_ahead([0])) == (1000.0, 0.5 * RUNG)


def test_a_part_of_the_budget_is_spent_earlier() -> None:
    ledger = Ledger(memory(a=700), Budget(1000.0, "steps"), RUNG)
    assert [ledger.steps_left(part=part) for part in (1.0, 0.8, 0.5)] == [300.0, 100.0, 0.0]
    assert not ledger.is_spent(part=0.8)
    assert ledger.is_spent([0], part=0.8)
    assert not ledger.is_spent([0])


def test_what_the_whole_budget_promises_does_not_depend_on_the_clock() -> None:
    clock = Clock()
    ledger = Ledger(memory(a=700), Budget(100.0, "seconds"), RUNG, clock)  # 50 seconds are noted
    clock.now += 30.0
    assert ledger.steps_promised() == 1400.0
    assert ledger.steps_in_all() < 1400.0
    assert Ledger(memory(a=700), Budget(1000.0, "steps"), RUNG).steps_promised() == 1000.0


def test_what_a_trial_does_not_say_has_its_default() -> None:
    asked: list[Assignment] = []

    def cost(assignment: Assignment) -> float:
        asked.append(assignment)
        return 3.0

    costs = Costs(SPACE, cost)
    trial = optuna.trial.create_trial(value=0.0, user_attrs={Key.HYPERPARAMETERS: {"n_epochs": 7}})
    assert costs.of(trial) == costs.of(trial) == 3.0
    assert asked == [SPACE.whole({"n_epochs": 7})]  # computed once
    assert costs.assignment(trial) == asked[0]


def test_only_a_budget_of_time_knows_what_costs_more() -> None:
    trial = optuna.trial.create_trial(value=0.0, user_attrs={Key.HYPERPARAMETERS: {"n_epochs": 7}})
    assert Costs(SPACE).of(trial) == 1.0
    budgets = (Budget(9.0, "seconds"), Budget(9.0, "steps"), None)
    found = [Costs.under(budget, SPACE, lambda one: 3.0).of(trial) for budget in budgets]
    assert found == [3.0, 1.0, 1.0]


def test_policies_with_a_plan_wait_once_one_more_evaluation_would_be_more_than_half(tmp_path: Path) -> None:
    starts = [SPACE.complete({"plan": plan}, {"steps": 1000.0}) for plan in ("none", "learned")]
    study = asked(tmp_path, starts)
    wait = partial(plans_wait, study, Costs(SPACE), RUNG)
    assert wait()  # a search begins with one without
    plain, planned = study.ask().number, study.ask().number
    assert wait()  # both run to their first evaluation
    study.report(planned, RUNG, 0.1)
    study.freeze(planned)
    study.report(plain, RUNG, 0.1)
    assert not wait(), "the other runs on to its second evaluation"
    assert wait(as_frozen=plain)
    again = study.draw()
    again.set_user_attr(Key.CONFIRMS, plain)
    confirming = study.add(again).number
    study.report(confirming, 10 * RUNG, 0.1)
    assert wait(as_frozen=plain), "what confirms is no part of the search"
