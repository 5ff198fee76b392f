"""A budget of time ends the search once, even between two evaluations; one of steps needs no watch."""

from types import SimpleNamespace
from typing import Any

import pytest

from tuning.experiment.budget import Budget
from tuning.search.run.budget_watch import BudgetWatch


@pytest.mark.parametrize(
    ("budget", "spent", "stopping", "ends"),
    [
        (Budget(1.0, "seconds"), True, False, True),
        (Budget(1.0, "seconds"), False, False, False),
        (Budget(1.0, "seconds"), True, True, False),
        (Budget(1.0, "steps"), True, False, False),
        (None, True, False, False),
    ],
)
def test_when_it_ends(budget: Budget | None, spent: bool, stopping: bool, ends: bool) -> None:
    ended: list[bool] = []
    ledger: Any = SimpleNamespace(budget=budget, is_spent=lambda: spent)
    control: Any = SimpleNamespace(is_stopping=stopping, finish=lambda: ended.append(True))
    BudgetWatch(ledger, control).on_step_end(0, [])
    assert bool(ended) == ends
