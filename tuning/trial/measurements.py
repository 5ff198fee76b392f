"""Time and memory of a trial's process, from one report to the next."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from tuning.runtime.stopwatch import Stopwatch, rss_bytes
from tuning.trial.checkpoint_files import TrialState
from tuning.trial.device import Device
from tuning.trial.monitor import Monitor, Usage


class Measurements:
    """Measures a trial while it trains.

    Attributes:
        environment: times its environments.
        learner: times its gradient steps.
        evaluation: times its evaluations.
    """

    def __init__(self, device: Device, monitor: Monitor | None, started: float) -> None:
        """Begin to measure.

        Args:
            device: that the trial learns on.
            monitor: watches its process; None without one.
            started: when the trial began, by `time.perf_counter`.
        """
        self.environment, self.learner, self.evaluation = Stopwatch(), Stopwatch(), Stopwatch()
        self._device, self._monitor, self._last = device, monitor, started

    def take(self, state: TrialState) -> dict[str, Any]:
        """Add the time since the last call and the peaks of memory to the state of the trial.

        Args:
            state: of the trial; it is changed.

        Returns:
            Columns of `reports`. `rest_seconds` is the time for building, saving and waiting.
        """
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        parts = {
            "environment_seconds": self.environment.take(),
            "learner_seconds": self.learner.take(),
            "evaluation_seconds": self.evaluation.take(),
        }
        rss = rss_bytes()
        state.seconds += seconds
        for name, value in parts.items():
            setattr(state, name, getattr(state, name) + value)
        usage, peak_rss, peak_process_vram = Usage(), rss, self._device.process_peak_bytes()
        if self._monitor:
            usage = self._monitor.take()
            peak_rss = max(peak_rss, self._monitor.peak_rss_bytes)
            peak_process_vram = max(peak_process_vram, self._monitor.peak_vram_bytes)
        state.peak_rss_bytes = max(state.peak_rss_bytes, peak_rss)
        state.peak_vram_bytes = max(state.peak_vram_bytes, self._device.peak_bytes())
        state.peak_process_vram_bytes = max(state.peak_process_vram_bytes, peak_process_vram)
        return {
            **parts,
            "rest_seconds": seconds - sum(parts.values()),
            "rss_bytes": rss,
            "vram_bytes": self._device.allocated_bytes(),
            **asdict(usage),
        }
