"""Stops a search whose storage is lost, or taken over by another run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ray.tune import Callback
from ray.tune.experiment import Trial

from common.storage.faults import StorageLostError
from tuning.search.run.run_control import RunControl
from tuning.storage.search_files import SearchFiles
from tuning.trial.protocol import DriverOnly

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
