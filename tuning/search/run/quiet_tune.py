"""Keeps Ray Tune from printing lines of its own."""

from __future__ import annotations

from typing import Any

from ray.tune.progress_reporter import TrialProgressCallback

from tuning.trial.protocol import DriverOnly, drop_rows


class QuietTune(DriverOnly, TrialProgressCallback):
    """In place of Tune's own callback, which prints a line for a trial that is taken back before it began, also if quiet."""

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any) -> None:
        """Print nothing, and keep Tune from holding rows that were written, as its snapshots have all last results in them."""
        drop_rows(result)

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Print nothing."""

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Print nothing."""
