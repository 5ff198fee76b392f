"""The confirmation begins with the last part of a budget, earlier where it needs more, and never where that does not pay."""

from pathlib import Path
from typing import Any

import pytest

from tests.tuning.search.fakes import AskedStudy, asked_study
from tuning.algorithms.registry import algorithm
from tuning.experiment.budget import Budget
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.search.promotion.confirmation import Confirmation
from tuning.search.promotion.last_part import LastPart
from tuning.search.record.ledger import Costs, Ledger

SPACE = algorithm("ppo").space
STEPS, RUNG = 1000, 100
LIMITS = {"steps": float(STEPS)}
DEFAULT = algorithm("ppo").preset("default", {}, LIMITS)
LEAST = 4.0 * STEPS  # two rounds of the best and of the default


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def memory(tmp_path: Path) -> AskedStudy:
    """A study with the default and one other trial, each after a rung."""
    experiment = create(Settings(name="one", dir=str(tmp_path), steps=STEPS, reports=10, sampler="random"))
    memory = asked_study(experiment, {}, STEPS, [DEFAULT])
    for number in range(2):
        memory.ask()
        memory.report(number, RUNG, 0.1 * (number + 1))
        memory.freeze(number)
    return memory


def has_used(memory: AskedStudy, steps: float) -> None:
    memory.used_steps = lambda least: {0: round(steps)}  # type: ignore[method-assign]


def last_part(memory: AskedStudy, budget: Budget, used: float, parts: tuple[float, float] = (0.15, 0.2)) -> LastPart:
    """After so much of the budget; of time, one step takes a second."""
    clock, costs = Clock(), Costs(SPACE)
    has_used(memory, 0)
    ledger = Ledger(memory, budget, RUNG, clock, costs=costs)
    has_used(memory, used)
    clock.now += used
    return LastPart(Confirmation(costs, DEFAULT, STEPS, RUNG), ledger, *parts)


def begins_at(memory: AskedStudy, budget: Budget) -> float:
    """Part of the budget at which the confirmation begins, where one rung follows another; infinite for never."""
    rungs = range(round(0.75 * budget.amount), round(budget.amount), RUNG)
    parts = (used / budget.amount for used in rungs if last_part(memory, budget, used).has_begun(set()))
    return next(parts, float("inf"))


@pytest.mark.parametrize("unit", ["steps", "seconds"])
@pytest.mark.parametrize(
    ("amount", "at"),
    [
        (40 * STEPS, 0.85),  # the least pays for more than is needed
        (28 * STEPS, 0.85),
        (23 * STEPS + 33, 0.82),  # that needs 17.4 hundredths, and a rung
        (19 * STEPS, float("inf")),  # that needs 21: it stays a search
    ],
)
def test_it_begins_with_the_least_part_and_earlier_where_that_does_not_pay(
    memory: AskedStudy, unit: Any, amount: float, at: float
) -> None:
    assert begins_at(memory, Budget(amount, unit)) == pytest.approx(at, abs=0.006)


def test_what_runs_is_evaluated_in_time_for_the_confirmation(memory: AskedStudy) -> None:
    budget = Budget(23.0 * STEPS, "seconds")
    found = last_part(memory, budget, 0.82 * budget.amount - RUNG)
    assert not found.has_begun(set())
    assert found.has_begun({0, 1})


def test_what_has_begun_goes_on_though_the_pace_changes(memory: AskedStudy) -> None:
    budget, used = Budget(23.0 * STEPS, "seconds"), 0.825 * 23.0 * STEPS
    found = last_part(memory, budget, used)
    assert found.has_begun(set())
    drawn = found.next(set())
    assert drawn is not None
    memory.add(drawn)
    # A pace three times as high: the least part would pay for the rounds by now.
    has_used(memory, 3 * used)
    assert found.has_begun({2})
    # The search goes on, as with a larger budget: the part is decided anew.
    memory.complete(2, 0.1)
    memory.thaw(0)
    memory.report(0, 2 * RUNG, 0.2)
    assert not found.has_begun({0})
    memory.freeze(0)
    memory.ask()
    assert not found.has_begun({3})


def test_a_search_that_can_pay_for_no_confirmation_plans_with_all_that_is_left(memory: AskedStudy) -> None:
    budget = Budget(10.0 * RUNG, "steps")
    left = {rung: last_part(memory, budget, rung * RUNG, (0.5, 0.5)).search_steps_left(set()) for rung in range(1, 8)}
    assert [left[rung] for rung in (1, 4)] == [4 * RUNG, RUNG]
    assert [left[rung] for rung in (5, 7)] == [5 * RUNG, 3 * RUNG]


def test_the_search_plans_with_less_where_its_confirmation_begins_earlier(memory: AskedStudy) -> None:
    budget = Budget(23.0 * STEPS, "seconds")
    assert last_part(memory, budget, 0.5 * budget.amount).search_steps_left(set()) == pytest.approx(0.35 * budget.amount)
    ahead = LEAST + RUNG
    near = last_part(memory, budget, 0.81 * budget.amount).search_steps_left(set())
    assert near == pytest.approx(0.19 * budget.amount - ahead)


@pytest.mark.parametrize(
    ("amount", "steps"),
    [
        (40 * STEPS, 6 * STEPS),  # the least pays for it
        (23 * STEPS, 4.6 * STEPS),  # only the most does
        (19 * STEPS, 0.0),  # nothing does
    ],
)
def test_what_the_confirmation_will_take_is_told_before_it_begins(memory: AskedStudy, amount: float, steps: float) -> None:
    found = last_part(memory, Budget(amount, "steps"), 2 * RUNG).expected()
    assert found == (pytest.approx(steps), [0, 1] if steps else [])


def test_once_it_has_begun_all_that_is_left_is_for_the_confirmation(memory: AskedStudy) -> None:
    found = last_part(memory, Budget(23.0 * STEPS, "steps"), 0.825 * 23.0 * STEPS)
    drawn = found.next(set())
    assert drawn is not None
    memory.add(drawn)
    has_used(memory, 22.0 * STEPS)
    assert found.expected() == (pytest.approx(STEPS), [0, 1])
