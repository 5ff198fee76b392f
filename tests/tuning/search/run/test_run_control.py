"""A run that is told to stop tells its trials, and says why."""

import math
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.tuning.search.fakes import Control
from tuning.experiment.folder import ExperimentPaths
from tuning.search.run.run_control import Retention, RunControl
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.checkpoint_files import TrialState


@pytest.fixture
def listener() -> Control:
    return Control()


def keeping(paths: ExperimentPaths, kept: float, scores: dict[int, float | None], **given: Any) -> Retention:
    return Retention(lambda number: Checkpoints(paths.checkpoints(number)), kept, scores, **given)


def control(folder: Path, listener: Control, sound: bool = False) -> RunControl:
    paths = ExperimentPaths(folder)
    run = RunControl(paths, keeping(paths, 0, {}), listener, sound)
    run.start()
    return run


def goes_on(folder: Path, run: RunControl) -> bool:
    return ExperimentPaths(folder).running(run.run).exists()


def test_to_construct_one_writes_and_removes_nothing(tmp_path: Path, listener: Control) -> None:
    running = control(tmp_path, listener)
    other = RunControl(ExperimentPaths(tmp_path), keeping(ExperimentPaths(tmp_path), 0, {}), listener, sound=False)
    assert goes_on(tmp_path, running)
    assert not goes_on(tmp_path, other)
    other.start()
    assert not goes_on(tmp_path, running)
    assert goes_on(tmp_path, other)


def test_trials_see_that_a_run_goes_on_until_it_stops(tmp_path: Path, listener: Control) -> None:
    run = control(tmp_path, listener)
    assert goes_on(tmp_path, run)
    run.stop("enough")
    run.stop("more than enough")
    assert not goes_on(tmp_path, run)
    assert run.is_stopping
    assert run.reason == "enough"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_stops_the_run_and_the_second_stops_at_once(
    tmp_path: Path, listener: Control, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuning.runtime.processes.TOGETHER_SECONDS", 0.0)
    run, before = control(tmp_path, listener), signal.getsignal(number)
    with run.signals():
        signal.raise_signal(number)
        assert run.is_stopping
        assert run.reason is None
        assert not goes_on(tmp_path, run)
        assert "a second Ctrl-C stops at once" in listener.lines[0]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) == before


def traceback_of(place: str, kind: str, text: str) -> str:
    return f'Traceback (most recent call last):\n  File "{place}", line 3, in f\n    f()\n{kind}: {text}\n'


def fail(run: RunControl, *errors: str | None) -> bool:
    for error in errors:
        run.on_failed(error)
    return run.is_stopping


A, B = traceback_of("a.py", "KeyError", "x"), traceback_of("b.py", "KeyError", "x")


def test_failures_that_differ_stop_nothing(tmp_path: Path, listener: Control) -> None:
    assert not fail(control(tmp_path, listener), A, A, B, A, A, A)
    assert not fail(control(tmp_path, listener), A, A, traceback_of("a.py", "ValueError", "x"))
    # Losing a process is no fault of the code.
    assert not fail(control(tmp_path, listener), None, None, None, None)


@pytest.mark.parametrize("state", ["complete", "pruned", "oom", "frozen"])
def test_failures_after_a_trial_that_ended_well_stop_nothing(tmp_path: Path, listener: Control, state: str) -> None:
    assert not fail(control(tmp_path, listener, sound=True), A, A, A)
    run = control(tmp_path, listener)
    assert not fail(run, A, A)
    run.on_frozen(2) if state == "frozen" else run.on_ended(2, state, 0.1)
    assert not fail(run, A, A)


def test_a_search_that_finishes_can_still_be_interrupted_and_told_of_a_full_disk(tmp_path: Path, listener: Control) -> None:
    run = control(tmp_path, listener)
    with run.signals():
        run.finish()
        assert run.is_finishing
        assert not goes_on(tmp_path, run)
        signal.raise_signal(signal.SIGINT)  # checkpoints are being written
        run.stop("the disk is full")
    assert (run.is_finishing, run.reason) == (False, "the disk is full")


def test_a_job_that_is_stopped_gets_several_signals_that_are_one(tmp_path: Path, listener: Control) -> None:
    run = control(tmp_path, listener)
    with run.signals():
        for _ in range(3):
            signal.raise_signal(signal.SIGTERM)
        assert run.is_stopping
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_trial_is_told_to_leave_its_node_and_may_run_again(tmp_path: Path, listener: Control) -> None:
    run, paths = control(tmp_path, listener), ExperimentPaths(tmp_path)
    run.leave(3)
    assert paths.leaving(run.run, 3).exists()
    assert not paths.leaving(run.run, 4).exists()
    assert goes_on(tmp_path, run)
    run.has_left(3)
    assert not paths.leaving(run.run, 3).exists()
    run.leave(4)
    run.close()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_told_its_trials_does_not_hold_for_the_next(tmp_path: Path, listener: Control) -> None:
    control(tmp_path, listener).leave(3)
    now = control(tmp_path, listener)
    assert [path.name for path in tmp_path.iterdir()] == [f"running-{now.run}"]


def with_checkpoints(folder: Path, count: int) -> ExperimentPaths:
    paths = ExperimentPaths(folder)
    for number in range(count):
        (paths.checkpoints(number) / "000000000100").mkdir(parents=True)
        (paths.checkpoints(number) / "replay").mkdir()
    return paths


def left(paths: ExperimentPaths, count: int) -> list[int]:
    return [number for number in range(count) if paths.checkpoints(number).exists()]


def test_the_best_keep_theirs_in_any_order_of_their_ends(tmp_path: Path) -> None:
    paths = with_checkpoints(tmp_path, 6)
    retention = keeping(paths, 2, {0: 0.5})
    for number, score, kept in ((1, 0.3, [0, 1]), (2, 0.4, [0, 2]), (3, None, [0, 2]), (4, 0.4, [0, 2])):
        retention.on_ended(number, score)
        # Trial 5 is still running.
        assert left(paths, 6) == [*kept, *range(number + 1, 5), 5]
    assert left(paths, 6) == [0, 2, 5]


@pytest.mark.parametrize(("kept", "expected"), [(0, []), (1, [1]), (math.inf, [0, 1])])
def test_to_construct_it_removes_nothing_and_to_enforce_it_does(tmp_path: Path, kept: float, expected: list[int]) -> None:
    paths = with_checkpoints(tmp_path, 4)
    retention = keeping(paths, kept, {0: 0.1, 1: 0.2, 2: math.nan, 3: None})
    assert left(paths, 4) == [0, 1, 2, 3]
    retention.enforce()
    assert left(paths, 4) == expected


def test_a_trial_that_ends_again_has_its_new_score(tmp_path: Path) -> None:
    paths = with_checkpoints(tmp_path, 2)
    retention = keeping(paths, 1, {})
    retention.on_ended(0, 0.5)
    retention.on_ended(0, 0.1)
    retention.on_ended(1, 0.2)
    assert left(paths, 2) == [1]


def test_a_frozen_trial_keeps_its_newest_checkpoint_alone(tmp_path: Path, listener: Control) -> None:
    paths = ExperimentPaths(tmp_path)
    trainer = SimpleNamespace(replay=None, get_state=lambda: {"weights": np.zeros(3)})
    for number in range(3):
        for steps in (100, 200):
            Checkpoints(paths.checkpoints(number)).save(trainer, TrialState(steps=steps))  # type: ignore[arg-type]
    # Trial 1 is frozen now, trial 2 was when a run was killed, and trial 0 runs.
    retention = keeping(paths, 0, {})
    RunControl(paths, retention, listener, sound=False).on_frozen(1)
    assert listener.told == [("on_frozen", 1)]
    assert [len(list(paths.checkpoints(number).iterdir())) for number in range(3)] == [2, 1, 2]
    retention.on_ended(3, None)
    assert [len(list(paths.checkpoints(number).iterdir())) for number in range(3)] == [2, 1, 2]
    retention.enforce([2])
    assert [len(list(paths.checkpoints(number).iterdir())) for number in range(3)] == [2, 1, 1]
    assert Checkpoints(paths.checkpoints(2)).steps == 200


def test_what_is_on_a_front_keeps_its_checkpoints_as_long_as_it_is_there(tmp_path: Path) -> None:
    paths, front = with_checkpoints(tmp_path, 3), [0]
    retention = keeping(paths, 1, {}, spared=lambda: front)
    for number, score in enumerate((0.1, 0.3, 0.2)):
        retention.on_ended(number, score)
    assert left(paths, 3) == [0, 1]
    front.remove(0)
    retention.enforce()
    assert left(paths, 3) == [1]
