"""Times of a trial add up to the time that has passed, and peaks are never forgotten."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tuning.trial.checkpoint import TrialState
from tuning.trial.device import CPU
from tuning.trial.measurements import Measurements
from tuning.trial.monitor import Usage


class Clock:
    now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("tuning.trial.measurements", "tuning.runtime.stopwatch"):
        monkeypatch.setattr(f"{module}.time", clock)
    return clock


def test_time_is_split_without_a_remainder_and_each_second_counts_once(clock: Clock) -> None:
    measurements, state = Measurements(CPU, None, started=90.0), TrialState(seconds=5.0, learner_seconds=1.0)
    for watch, seconds in ((measurements.environment, 1.0), (measurements.learner, 2.0), (measurements.evaluation, 3.0)):
        with watch.running():
            clock.now += seconds
    columns = measurements.take(state)
    parts = ("environment_seconds", "learner_seconds", "evaluation_seconds", "rest_seconds")
    assert [columns[part] for part in parts] == [1.0, 2.0, 3.0, 10.0]
    # A continued trial adds to what it had.
    assert (state.seconds, state.learner_seconds, state.evaluation_seconds) == (21.0, 3.0, 3.0)
    clock.now += 4.0
    columns = measurements.take(state)
    assert [columns[part] for part in parts] == [0.0, 0.0, 0.0, 4.0]
    assert state.seconds == 25.0


def test_peaks_are_the_largest_that_anything_measured(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuning.trial.measurements.rss_bytes", lambda: 300)
    device: Any = SimpleNamespace(process_peak_bytes=lambda: 40, peak_bytes=lambda: 30, allocated_bytes=lambda: 20)
    seen: Any = SimpleNamespace(peak_rss_bytes=500, peak_vram_bytes=60, take=lambda: Usage(cpu_cores=0.5))
    measurements, state = Measurements(device, seen, clock.now), TrialState(peak_vram_bytes=35)
    columns = measurements.take(state)
    assert (columns["rss_bytes"], columns["vram_bytes"], columns["cpu_cores"]) == (300, 20, 0.5)
    assert (state.peak_rss_bytes, state.peak_vram_bytes, state.peak_process_vram_bytes) == (500, 35, 60)
    seen.peak_rss_bytes = 100
    measurements.take(state)
    assert state.peak_rss_bytes == 500


def test_without_a_monitor_its_columns_are_empty(clock: Clock) -> None:
    columns = Measurements(CPU, None, clock.now).take(TrialState())
    assert columns["vram_bytes"] == 0
    assert all(columns[name] is None for name in vars(Usage()))
