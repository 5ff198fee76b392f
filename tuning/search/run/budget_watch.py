"""Ends a search in time."""

from __future__ import annotations

from typing import Any

from ray.tune import Callback
from ray.tune.experiment import Trial

from tuning.search.record.ledger import Ledger
from tuning.search.run.run_control import RunControl
from tuning.trial.protocol import DriverOnly


class BudgetWatch(DriverOnly, Callback):
    """Ends the search when a budget of time is over: between two evaluations too.

    A budget of steps needs no watch, as trials are only given what it pays for.

    Args:
        ledger: of the budget.
        control: of this run.
    """

    def __init__(self, ledger: Ledger, control: RunControl) -> None:
        self._ledger, self._control = ledger, control

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """One pass of Tune's loop has ended."""
        budget = self._ledger.budget
        if budget and budget.is_time and self._ledger.is_spent() and not self._control.is_stopping:
            self._control.finish()
