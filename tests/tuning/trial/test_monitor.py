"""A process stays within its memory, and the load of its machine is measured."""

import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from tests.tuning.clock import Clock
from tuning.memory.gpus import Load
from tuning.trial.checkpoint import TrialState
from tuning.trial.device import CPU
from tuning.trial.monitor import ENDED_STATUS, Measurements, MemoryLimitError, Monitor

MIB = 2**20


class Process:
    """Substitute for a process with a given memory."""

    def __init__(self) -> None:
        self.rss, self.ended = 100 * MIB, list[int]()

    def memory_info(self) -> Any:
        return SimpleNamespace(rss=self.rss)

    def cpu_percent(self) -> float:
        return 50.0


def monitor(process: Process, marker: Path, limit: int = 200 * MIB, **given: Any) -> Monitor:
    found = Monitor(limit, marker, end=process.ended.append, seconds=0.005, **given)
    found._process = process  # type: ignore[assignment]
    return found


def wait_for(condition: Any) -> None:
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.005)
    pytest.fail("it did not come")


@pytest.mark.parametrize(("limit", "rss"), [(200 * MIB, 199 * MIB), (0, 2**50)], ids=["within", "without"])
def test_within_its_limit_or_without_one_a_process_goes_on(tmp_path: Path, limit: int, rss: int) -> None:
    process = Process()
    with monitor(process, tmp_path / "marker", limit) as watching:
        process.rss = rss
        time.sleep(0.05)
        watching.check()
    assert watching.peak_rss_bytes == rss
    assert not process.ended
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("is_short", [False, True])
def test_above_its_limit_a_trial_stops_at_its_next_check_where_the_machine_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_short: bool
) -> None:
    process = Process()
    monkeypatch.setattr("tuning.trial.monitor.LITTLE_LEFT", float(is_short))
    with monitor(process, tmp_path / "marker") as watching:
        process.rss = 201 * MIB
        # Between two updates it may have been and gone.
        wait_for(lambda: watching.peak_rss_bytes == 201 * MIB)
        process.rss = 100 * MIB
        with pytest.raises(MemoryLimitError, match=r"201\.0 MiB, above the 200\.0 MiB") if is_short else nullcontext():
            watching.check()
    assert not process.ended


def test_far_above_its_limit_it_ends_at_once_and_leaves_its_memory_in_a_file(tmp_path: Path) -> None:
    process, marker = Process(), tmp_path / "marker"
    with monitor(process, marker):
        process.rss = 301 * MIB
        wait_for(lambda: process.ended)
    assert process.ended[0] == ENDED_STATUS
    assert marker.read_text(encoding="utf-8") == str(301 * MIB)


def test_without_free_memory_a_process_above_its_grant_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process()
    monkeypatch.setattr("tuning.trial.monitor.LEAST_LEFT", 1.0)
    with monitor(process, tmp_path / "marker"):
        time.sleep(0.05)
        assert not process.ended
        process.rss = 201 * MIB
        wait_for(lambda: process.ended)


def test_means_since_the_last_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [Load(1000, 0.2, 50.0, None, 300), Load(3000, 0.6, 70.0, None, 500)]
    monkeypatch.setattr("tuning.trial.monitor.loads", lambda: (seen[min(len(taken), 1)],))
    taken: list[dict[str, float]] = []
    watching = monitor(Process(), tmp_path / "marker", card=0)
    watching._look()
    taken.append(watching.take())
    watching._look()
    taken.append(watching.take())
    assert [usage["gpu_memory_bytes"] for usage in taken] == [1000.0, 3000.0]
    assert [usage["gpu_utilization"] for usage in taken] == [0.2, 0.6]
    assert "gpu_power_w" not in taken[0]
    assert watching.peak_vram_bytes == 500
    assert "machine_memory_bytes" in taken[0]
    assert watching.take() == {}


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
    monkeypatch.setattr(psutil.Process, "memory_info", lambda self: SimpleNamespace(rss=300))
    device: Any = SimpleNamespace(memory=lambda: (20, 30, 40))
    seen: Any = SimpleNamespace(peak_rss_bytes=500, peak_vram_bytes=60, take=lambda: {"cpu_cores": 0.5})
    measurements, state = Measurements(device, seen, clock.now), TrialState(peak_vram_bytes=35)
    columns = measurements.take(state)
    assert (columns["rss_bytes"], columns["vram_bytes"], columns["cpu_cores"]) == (300, 20, 0.5)
    assert (state.peak_rss_bytes, state.peak_vram_bytes, state.peak_process_vram_bytes) == (500, 35, 60)
    seen.peak_rss_bytes = 100
    measurements.take(state)
    assert state.peak_rss_bytes == 500
