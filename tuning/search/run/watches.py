"""What Ray Tune calls at each pass of its loop: ends a search in time, and stops one whose storage is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ray.tune import Callback
from ray.tune.experiment import Trial
from ray.tune.progress_reporter import TrialProgressCallback

from common.storage.faults import StorageLostError
from tuning.search.record.ledger import Ledger
from tuning.search.run.run_control import RunControl
from tuning.storage.search_files import SearchFiles
from tuning.trial.protocol import DriverOnly, drop_rows

LEFT_SECONDS = 300.0  # that trials have to write a checkpoint and end


class StorageWatch(DriverOnly, Callback):
    """Stops the search once its files can no longer be written where they belong.

    Trials see in the storage that their run stops. Where the driver cannot write there, they do not see it. So the search ends
    after `LEFT_SECONDS` without them, and their processes end with it.

    Args:
        files: of the search.
        control: of this run.
        clock: seconds.
    """

    def __init__(self, files: SearchFiles, control: RunControl, clock: Callable[[], float] = time.monotonic) -> None:
        self._files, self._control, self._clock = files, control, clock
        self._since: float | None = None

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """One pass of Tune's loop has ended.

        Raises:
            StorageLostError: if trials go on for long after the search was told to stop.
        """
        if not (failure := self._files.failure):
            return
        if self._since is None:
            self._since = self._clock()
            self._control.say(f"stopping: {failure}")
            if not self._control.reason:
                self._control.stop(failure)
        elif self._clock() - self._since > LEFT_SECONDS:
            raise StorageLostError(failure)


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


class QuietTune(DriverOnly, TrialProgressCallback):
    """In place of Tune's own callback, which prints a line for a trial that is taken back before it began, also if quiet."""

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any) -> None:
        """Print nothing, and keep Tune from holding rows that were written, as its snapshots have all last results in them."""
        drop_rows(result)

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Print nothing."""

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Print nothing."""
