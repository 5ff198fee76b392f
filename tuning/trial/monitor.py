"""Measures what the process of a trial takes of its machine, memory and time, and stops it where that is too much."""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from types import TracebackType
from typing import Any, Self

import psutil

from tuning.memory.gpus import loads
from tuning.memory.prediction import size
from tuning.runtime.stopwatch import Stopwatch
from tuning.trial.checkpoint_files import TrialState
from tuning.trial.device import Device

SECONDS = 1.0  # between two measurements
# A grant is a promise to the machine: a trial above it goes on, and its memory is learned, as long as the machine has enough.
FAR_ABOVE = 1.5  # of what it was granted: it ends even so
LITTLE_LEFT = 0.1  # of the machine's memory; with less, trials above their grant stop before their next update
# With less than this they end at once: in the middle of a long update a trial would not come to `check` in time.
LEAST_LEFT = 0.03
ENDED_STATUS = 77  # exit status of a process that ended itself so
# Columns of `reports`, with what `Load` calls them.
_OF_THE_CARD = {
    "gpu_memory_bytes": "used_bytes", "gpu_utilization": "utilization", "gpu_temperature_c": "temperature_c",
    "gpu_power_w": "power_w", "process_vram_bytes": "own_bytes",
}  # fmt: skip


class MemoryLimitError(MemoryError):
    """A trial takes more host memory than it was granted."""


class Monitor:
    """A thread that measures once a second, while the monitor is entered.

    Attributes:
        peak_rss_bytes: largest measured host memory of this process.
        peak_vram_bytes: largest GPU memory of this process by the driver's figures; 0 without these.
    """

    def __init__(
        self,
        ram_limit: int,
        marker: Path,
        card: int | None = None,
        end: Callable[[int], None] = os._exit,
        seconds: float = SECONDS,
    ) -> None:
        """Prepare it.

        Args:
            ram_limit: host memory that the process was granted, bytes; 0 for no limit.
            marker: file into which the process writes its memory before it ends at once.
            card: NVML's index of its card; None without one.
            end: ends the process, with a status.
            seconds: between two measurements.
        """
        self._limit, self._marker, self._card, self._end, self._seconds = ram_limit, marker, card, end, seconds
        self._process = psutil.Process()
        self._measured, self._lock = defaultdict[str, list[float]](list), threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)
        self.peak_rss_bytes = self.peak_vram_bytes = 0

    def __enter__(self) -> Self:
        self._process.cpu_percent()  # it measures from one call to the next
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def check(self) -> None:
        """Compare the peak of host memory with the grant.

        Raises a MemoryLimitError if it is far above it, or above it on a machine that has little memory left.
        """
        self._see_rss()
        if self._is_too_much(self.peak_rss_bytes, LITTLE_LEFT):
            raise MemoryLimitError(
                f"host memory: {size(self.peak_rss_bytes)}, above the {size(self._limit)} that were granted, and the machine "
                f"has {size(psutil.virtual_memory().available)} left"
            )

    def _is_too_much(self, rss: int, least_left: float) -> bool:
        """Whether a process has so much more than its grant that it has to end, where a part of the memory has to be left."""
        if not self._limit or rss <= self._limit:
            return False
        memory = psutil.virtual_memory()
        return rss > FAR_ABOVE * self._limit or memory.available < least_left * memory.total

    def take(self) -> dict[str, float]:
        """Means since the last call, by column of `reports`, without what could not be measured; they begin anew."""
        with self._lock:
            measured, self._measured = self._measured, defaultdict(list)
        return {name: fmean(values) for name, values in measured.items()}

    def _run(self) -> None:
        while not self._over.wait(self._seconds):
            self._look()

    def _see_rss(self) -> int:
        rss = int(self._process.memory_info().rss)
        self.peak_rss_bytes = max(self.peak_rss_bytes, rss)
        return rss

    def _look(self) -> None:
        rss, memory = self._see_rss(), psutil.virtual_memory()
        if self._is_too_much(rss, LEAST_LEFT):
            # The system might kill another process instead, without a message.
            self._marker.write_text(str(rss), encoding="utf-8")
            self._end(ENDED_STATUS)
        now: dict[str, float | None] = {
            "machine_memory_bytes": memory.total - memory.available,
            "cpu_cores": self._process.cpu_percent() / 100.0,
        }
        if self._card is not None:
            load = loads()[self._card]
            now |= {column: getattr(load, name) for column, name in _OF_THE_CARD.items()}
            self.peak_vram_bytes = max(self.peak_vram_bytes, load.own_bytes or 0)
        with self._lock:
            for name, value in now.items():
                if value is not None:
                    self._measured[name].append(value)


class Measurements:
    """Measures a trial while it trains, from when it `started` by `time.perf_counter`; stopwatches time its parts."""

    def __init__(self, device: Device, monitor: Monitor | None, started: float) -> None:
        self.environment, self.learner, self.evaluation = Stopwatch(), Stopwatch(), Stopwatch()
        self._device, self._monitor, self._last = device, monitor, started

    def take(self, state: TrialState) -> dict[str, Any]:
        """Add the time since the last call and the peaks of memory to the state of the trial. It changes the state.

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
        rss = int(psutil.Process().memory_info().rss)
        state.seconds += seconds
        for name, value in parts.items():
            setattr(state, name, getattr(state, name) + value)
        allocated, peak_vram, peak_process_vram = self._device.memory()
        usage, peak_rss = dict[str, float](), rss
        if self._monitor:
            usage = self._monitor.take()
            peak_rss = max(peak_rss, self._monitor.peak_rss_bytes)
            peak_process_vram = max(peak_process_vram, self._monitor.peak_vram_bytes)
        state.peak_rss_bytes = max(state.peak_rss_bytes, peak_rss)
        state.peak_vram_bytes = max(state.peak_vram_bytes, peak_vram)
        state.peak_process_vram_bytes = max(state.peak_process_vram_bytes, peak_process_vram)
        return {
            **parts,
            "rest_seconds": seconds - sum(parts.values()),
            "rss_bytes": rss,
            "vram_bytes": allocated,
            **usage,
        }
