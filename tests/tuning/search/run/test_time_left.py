"""The time left is an estimate from measured speed; before there is one, there is none."""

from pathlib import Path

import pytest

from search_spaces import Assignment
from tests.tuning.search.fakes import SHORT as STEPS
from tests.tuning.search.fakes import SHORT_RUNG as RUNG
from tests.tuning.search.fakes import AskedStudy, Clock, study
from tuning.algorithms.registry import algorithm
from tuning.experiment.option_values import Budget
from tuning.search.promotion.choosing import LastPart
from tuning.search.promotion.confirmation import Confirmation
from tuning.search.record.ledger import Ledger
from tuning.search.record.trials import Costs
from tuning.search.run.time_left import BudgetLeft, TimeLeft, Work

SPACE = algorithm("ppo").space
LIMITS = {"steps": float(STEPS)}
DEFAULT = algorithm("ppo").preset("default", {}, LIMITS)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def estimate(
    clock: Clock, trials: int = 4, ended: list[int] | None = None, unfinished: dict[int, int] | None = None
) -> TimeLeft:
    return TimeLeft(trials, 1000, ended or [], unfinished or {}, clock)


def run(left: TimeLeft, clock: Clock, number: int, *reports: tuple[float, int]) -> None:
    """Start a trial whose function begins now, and let it report at these times so many steps."""
    begin = clock.now
    left.on_start(number)
    for clock.now, steps in reports:
        left.on_report(number, steps, clock.now - begin)


def test_the_first_report_gives_a_pace_without_the_time_before_the_trial_began(clock: Clock) -> None:
    left = estimate(clock, trials=1)
    left.on_start(0)
    clock.now = 30.0  # the process had to start
    left.on_report(0, 100, 10.0)
    assert left.seconds() == pytest.approx(90.0)
    assert left.is_bound  # the pace is not faster than that


def test_two_reports_tell_pace_and_building_apart(clock: Clock) -> None:
    left = estimate(clock, trials=3)
    run(left, clock, 0, (60.0, 100), (70.0, 200))
    assert left.seconds() == pytest.approx(80.0 + 100.0 + 100.0)
    assert not left.is_bound
    clock.now = 80.0
    assert left.seconds() == pytest.approx(70.0 + 100.0 + 100.0)
    clock.now = 500.0
    assert left.seconds() == pytest.approx(100.0 + 100.0)


def test_building_is_measured_in_processes_that_are_taken_over(clock: Clock) -> None:
    left = estimate(clock, trials=3)
    run(left, clock, 0, (60.0, 0), (160.0, 1000))
    left.on_ended(0)
    run(left, clock, 1, (180.0, 100))
    # Ten seconds of these twenty were building; the next trial takes as long.
    assert left.seconds() == pytest.approx(90.0 + 10.0 + 100.0)


def test_an_odd_trial_at_the_end_runs_alone(clock: Clock) -> None:
    left = estimate(clock, trials=3)
    for number in (0, 1):
        left.on_start(number)
        left.on_report(number, 0, 0.0)
    clock.now = 10.0
    for number in (0, 1):
        left.on_report(number, 500, 10.0)
    assert left.seconds() == pytest.approx(10.0 + 20.0)


def test_trials_that_ended_early_let_others_be_expected_to(clock: Clock) -> None:
    left = estimate(clock, trials=3)
    run(left, clock, 0, (0.0, 0), (10.0, 1000))
    left.on_ended(0)
    assert left.seconds() == pytest.approx(20.0)
    run(left, clock, 1, (10.0, 0), (12.0, 200))
    left.on_ended(1)
    assert left.seconds() == pytest.approx(6.0)


def test_steps_of_an_earlier_run_are_neither_speed_nor_left(clock: Clock) -> None:
    left = estimate(clock, trials=3, ended=[1000], unfinished={1: 900, 2: 400})
    run(left, clock, 1, (0.0, 900), (10.0, 950))
    assert left.seconds() == pytest.approx(10.0 + 120.0)


def test_a_trial_that_stops_keeps_its_steps_and_goes_on_from_its_checkpoint(clock: Clock) -> None:
    left = estimate(clock, trials=1)
    run(left, clock, 0, (0.0, 0), (10.0, 400))
    left.on_left(0)
    assert left.seconds() == pytest.approx(15.0)
    run(left, clock, 0, (10.0, 300))
    assert left.seconds() == pytest.approx(17.5)


class Used:
    """What a search has used; a step of it costs so many of the default's.

    Attributes:
        amount: in the budget's unit.
        whole: the budget.
        done_steps: steps so far, weighed; None where each costs one.
    """

    def __init__(self, whole: float) -> None:
        self.amount, self.whole = 0.0, whole
        self.done_steps: float | None = None

    def used(self) -> float:
        return self.amount

    def done(self) -> float:
        return self.amount if self.done_steps is None else self.done_steps

    def ahead(self) -> float:
        return (self.whole - self.amount) * self.done() / self.amount


def spend(left: BudgetLeft, used: Used, clock: Clock, *moments: tuple[float, float]) -> None:
    """Let trials report at these times, when so much was used."""
    for clock.now, used.amount in moments:
        left.on_report(0, 1, 0.0)


def test_a_budget_of_time_is_left_by_the_clock_alone(clock: Clock) -> None:
    used = Used(60.0)
    left = BudgetLeft(Budget(60.0, "seconds"), used, clock)
    assert left.seconds() == 60.0
    used.amount = 45.0
    assert left.seconds() == 15.0
    used.amount = 61.0
    assert left.seconds() == 0.0


def test_a_budget_of_steps_is_left_by_the_pace_since_the_first_evaluation(clock: Clock) -> None:
    used = Used(1000.0)
    left = BudgetLeft(Budget(1000.0, "steps"), used, clock)
    spend(left, used, clock, (20.0, 0.0))  # processes start
    assert left.seconds() is None
    spend(left, used, clock, (40.0, 100.0), (60.0, 300.0))
    # 10 steps a second, and 700 are left.
    assert left.seconds() == 70.0
    clock.now = 65.0
    assert left.seconds() == 65.0


def test_the_pace_is_that_of_the_last_half(clock: Clock) -> None:
    used = Used(20_000.0)
    left = BudgetLeft(Budget(20_000.0, "steps"), used, clock)
    # 50 steps a second for two minutes, then 5 for a minute and 10 for another.
    fast = [(10.0 * i, 500.0 * i) for i in range(1, 13)]
    slow = [(120.0 + 10.0 * i, 6000.0 + 50.0 * i) for i in range(1, 7)]
    spend(left, used, clock, *fast, *slow, *((180.0 + 10.0 * i, 6300.0 + 100.0 * i) for i in range(1, 7)))
    assert left.seconds() == pytest.approx((20_000.0 - 6900.0) / 7.5)


def test_the_pace_is_that_of_weighed_steps_and_what_is_ahead_is_weighed_too(clock: Clock) -> None:
    used = Used(1000.0)
    left = BudgetLeft(Budget(1000.0, "steps"), used, clock)
    # The first hundred steps cost one each, the next three: two seconds for each weighed step.
    for clock.now, used.amount, used.done_steps in ((20.0, 100.0, 100.0), (620.0, 200.0, 400.0)):
        left.on_report(0, 1, 0.0)
    assert left.seconds() == 800.0 * (400.0 / 200.0) * 2.0


def by_formula(assignment: Assignment) -> float:
    return 1.0 if assignment == DEFAULT else 3.0


@pytest.fixture
def memory(tmp_path: Path) -> AskedStudy:
    """A study with the default, and then a trial with a step that costs three times as much."""
    return study(tmp_path, [DEFAULT], sampler="random")


def search(memory: AskedStudy) -> None:
    memory.train(0.1)
    memory.train(0.2, 0.2)


def work(memory: AskedStudy, amount: float, confirms: bool = False) -> Work:
    ledger = Ledger(memory, Budget(amount, "steps"), RUNG)
    # A budget of steps counts all alike.
    part = LastPart(Confirmation(Costs(SPACE), DEFAULT, STEPS, RUNG), ledger, 0.15, 0.2) if confirms else None
    return Work(ledger, Costs(SPACE, by_formula), part)


def test_what_is_done_is_weighed_and_what_is_left_of_the_search_costs_as_much_on_average(memory: AskedStudy) -> None:
    before = work(memory, 10_000.0)
    assert (before.used(), before.done(), before.ahead()) == (0.0, 0.0, 10_000.0)  # as the default
    search(memory)
    whole = work(memory, 10_000.0)
    assert (whole.used(), whole.done()) == (300.0, 700.0)
    assert whole.ahead() == pytest.approx(9_700.0 * 7.0 / 3.0)
    # So it is where the budget pays for no confirmation.
    assert work(memory, 10_000.0, confirms=True).ahead() == pytest.approx(9_700.0 * 7.0 / 3.0)


def test_the_default_counts_with_its_cost_where_the_search_did_not_try_it(tmp_path: Path) -> None:
    memory = study(tmp_path, sampler="random")
    search(memory)
    # It trains both of its trials again, beside the default.
    assert work(memory, 40_000.0, confirms=True).ahead() == pytest.approx((39_700.0 - 6_000.0) * 3.0 + 6_000.0 * 7.0 / 3.0)
