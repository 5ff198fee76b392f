"""Steps are weighed by what they cost, also where the budget counts them alike; what confirms counts with its own cost."""

from pathlib import Path

import pytest

from search_spaces import Assignment
from tests.tuning.search.fakes import AskedStudy, asked_study
from tuning.algorithms.registry import algorithm
from tuning.experiment.budget import Budget
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.search.promotion.confirmation import Confirmation
from tuning.search.promotion.last_part import LastPart
from tuning.search.record.costs import Costs
from tuning.search.record.ledger import Ledger
from tuning.search.run.work import Work

SPACE = algorithm("ppo").space
STEPS, RUNG = 1000, 100
LIMITS = {"steps": float(STEPS)}
DEFAULT = algorithm("ppo").preset("default", {}, LIMITS)


def by_formula(assignment: Assignment) -> float:
    return 1.0 if assignment == DEFAULT else 3.0


@pytest.fixture
def memory(tmp_path: Path) -> AskedStudy:
    """A study with the default, and then a trial with a step that costs three times as much."""
    experiment = create(Settings(name="one", dir=str(tmp_path), steps=STEPS, reports=10, sampler="random"))
    return asked_study(experiment, {}, STEPS, [DEFAULT])


def search(memory: AskedStudy) -> None:
    for number in range(2):
        memory.ask()
        for rung in range(1, number + 2):
            memory.report(number, rung * RUNG, 0.1 * (number + 1))
        memory.freeze(number)


def work(memory: AskedStudy, amount: float, confirms: bool = False) -> Work:
    ledger = Ledger(memory, Budget(amount, "steps"), RUNG)
    # A budget of steps counts all alike.
    part = LastPart(Confirmation(Costs(SPACE), DEFAULT, STEPS, RUNG), ledger, 0.15, 0.2) if confirms else None
    return Work(ledger, Costs(SPACE, by_formula), part)


def test_before_the_first_evaluation_what_is_left_counts_as_the_default(memory: AskedStudy) -> None:
    whole = work(memory, 10_000.0)
    assert (whole.used(), whole.done(), whole.ahead()) == (0.0, 0.0, 10_000.0)


def test_what_is_done_is_weighed_and_what_is_left_of_the_search_costs_as_much_on_average(
    memory: AskedStudy,
) -> None:
    search(memory)
    whole = work(memory, 10_000.0)
    assert (whole.used(), whole.done()) == (300.0, 700.0)
    assert whole.ahead() == pytest.approx(9_700.0 * 7.0 / 3.0)


def test_the_part_that_confirms_costs_what_the_default_and_the_best_cost(memory: AskedStudy) -> None:
    search(memory)
    assert work(memory, 40_000.0, confirms=True).ahead() == pytest.approx((39_700.0 - 6_000.0) * 7.0 / 3.0 + 6_000.0 * 2.0)


def test_where_nothing_will_be_confirmed_all_that_is_left_is_for_the_search(memory: AskedStudy) -> None:
    search(memory)
    assert work(memory, 10_000.0, confirms=True).ahead() == pytest.approx(9_700.0 * 7.0 / 3.0)


def test_the_default_counts_with_its_cost_where_the_search_did_not_try_it(tmp_path: Path) -> None:
    experiment = create(Settings(name="two", dir=str(tmp_path), steps=STEPS, reports=10, sampler="random"))
    memory = asked_study(experiment, {}, STEPS)
    search(memory)
    # It trains both of its trials again, beside the default.
    assert work(memory, 40_000.0, confirms=True).ahead() == pytest.approx((39_700.0 - 6_000.0) * 3.0 + 6_000.0 * 7.0 / 3.0)
