"""Stops a search whose storage is lost, or taken over by another run."""

from __future__ import annotations

from typing import Any

from ray.tune import Callback
from ray.tune.experiment import Trial

from tuning.search.run_control import RunControl
from tuning.storage.search_files import SearchFiles
from tuning.trial.protocol import DriverOnly


class StorageWatch(DriverOnly, Callback):
    """Stops the search once its files can no longer be written where they belong.

    Args:
        files: of the search.
        control: of this run.
    """

    def __init__(self, files: SearchFiles, control: RunControl) -> None:
        self._files, self._control = files, control

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """One pass of Tune's loop has ended."""
        if (failure := self._files.failure) and not self._control.reason:
            self._control.stop(failure)
