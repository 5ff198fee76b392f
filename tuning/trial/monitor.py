"""Measures what the process of a trial takes of its machine, memory and time, and stops it where that is too much."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from tuning.memory.gpus import Load, loads
from tuning.memory.prediction import size
from tuning.runtime.stopwatch import Stopwatch, rss_bytes
from tuning.trial.checkpoint_files import TrialState
from tuning.trial.device import Device

SECONDS = 1.0  # between two measurements
# A grant is a promise to the machine: a trial above it goes on, and its memory is learned, as long as the machine has enough.
FAR_ABOVE = 1.5  # of what it was granted: it ends even so
LITTLE_LEFT = 0.1  # of the machine's memory; with less, trials above their grant stop before their next update
# With less than this they end at once: in the middle of a long update a trial would not come to `check` in time.
LEAST_LEFT = 0.03
ENDED_STATUS = 77  # exit status of a process that ended itself so


class MemoryLimitError(MemoryError):
    """A trial takes more host memory than it was granted."""


@dataclass
class Usage:
    """What a process and its machine took over some time, as means; None where it cannot be measured.

    Attributes:
        gpu_memory_bytes: of the card's memory, by all processes.
        gpu_utilization: share of the time in which the card computed.
        gpu_temperature_c: of the card, Celsius.
        gpu_power_w: of the card, watts.
        process_vram_bytes: of the card's memory, by this process.
        machine_memory_bytes: of the host's memory, by all processes.
        cpu_cores: busy cores of this process.
    """

    gpu_memory_bytes: float | None = None
    gpu_utilization: float | None = None
    gpu_temperature_c: float | None = None
    gpu_power_w: float | None = None
    process_vram_bytes: float | None = None
    machine_memory_bytes: float | None = None
    cpu_cores: float | None = None


@dataclass
class _Sums:
    """Sums and counts of measurements, by name."""

    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, value: float | None) -> None:
        if value is not None:
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + 1

    def means(self) -> dict[str, float]:
        return {name: total / self.counts[name] for name, total in self.sums.items()}


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
        rss: Callable[[], int] | None = None,
        end: Callable[[int], None] = os._exit,
        seconds: float = SECONDS,
    ) -> None:
        """Prepare it.

        Args:
            ram_limit: host memory that the process was granted, bytes; 0 for no limit.
            marker: file into which the process writes its memory before it ends at once.
            card: NVML's index of its card; None without one.
            rss: measures the host memory of the process; psutil by default.
            end: ends the process.
            seconds: between two measurements.
        """
        self._limit, self._marker, self._card, self._end, self._seconds = ram_limit, marker, card, end, seconds
        self._process = psutil.Process()
        self._rss = rss or (lambda: int(self._process.memory_info().rss))
        self._sums, self._lock = _Sums(), threading.Lock()
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

        Raises:
            MemoryLimitError: if it is far above it, or above it on a machine that has little memory left.
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

    def take(self) -> Usage:
        """Means since the last call; they begin anew."""
        with self._lock:
            means, self._sums = self._sums.means(), _Sums()
        return Usage(**means)

    def _run(self) -> None:
        while not self._over.wait(self._seconds):
            self._look()

    def _see_rss(self) -> int:
        rss = self._rss()
        self.peak_rss_bytes = max(self.peak_rss_bytes, rss)
        return rss

    def _look(self) -> None:
        rss, memory = self._see_rss(), psutil.virtual_memory()
        if self._is_too_much(rss, LEAST_LEFT):
            # The system might kill another process instead, without a message.
            self._marker.write_text(str(rss), encoding="utf-8")
            self._end(ENDED_STATUS)
        load = self._load()
        with self._lock:
            self._sums.add("machine_memory_bytes", memory.total - memory.available)
            self._sums.add("cpu_cores", self._process.cpu_percent() / 100.0)
            if load:
                self._sums.add("gpu_memory_bytes", load.used_bytes)
                self._sums.add("gpu_utilization", load.utilization)
                self._sums.add("gpu_temperature_c", load.temperature_c)
                self._sums.add("gpu_power_w", load.power_w)
                self._sums.add("process_vram_bytes", load.own_bytes)
        if load and load.own_bytes:
            self.peak_vram_bytes = max(self.peak_vram_bytes, load.own_bytes)

    def _load(self) -> Load | None:
        return None if self._card is None else loads()[self._card]


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
