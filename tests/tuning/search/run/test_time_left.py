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
from tuning.search.run.time_left import BudgetLeft, Work

SPACE = algorithm("ppo").space
LIMITS = {"steps": float(STEPS)}
DEFAULT = algorithm("ppo").preset("default", {}, LIMITS)


@pytest.fixture
def clock() -> Clock:
    return Clock()


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
        left.on_report()


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
        left.on_report()
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
