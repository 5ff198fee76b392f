"""What a trial's process tells Tune when something goes wrong, and what it leaves behind."""

import errno
import gc
import itertools
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from common.files import told_full
from common.storage.faults import StorageLostError
from tests.tuning.trial.small_trials import EVALUATIONS, experiment, hyperparameters
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment
from tuning.memory.placement import ANYWHERE
from tuning.storage.search_files import Home
from tuning.storage.trial_files import FencedError
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.protocol import Ending, Handout, Proposal, Report, report_in
from tuning.trial.records import TrialRecords
from tuning.trial.trainable import run_trial

pytestmark = pytest.mark.usefixtures("small_ray", "every_update_is_reported")

CPU_ALLOCATOR = RuntimeError("[enforce fail] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[Report]:
    """What `run_trial` tells Tune, in this process."""
    said: list[Report] = []
    monkeypatch.setattr("ray.tune.report", lambda result: said.append(report_in(result)))
    # This process is the tests' own.
    monkeypatch.setattr("tuning.trial.trainable.end_with_parent", lambda: None)
    return said


def begun(of: Experiment, **others: Any) -> dict[str, Any]:
    """Configuration of a trial that is handed out by a run that goes on."""
    handout = TrialRecords(of).hand_out(Proposal(0, hyperparameters("a2c", **others)))
    of.paths.running("this").touch()
    return replace(handout, home=Home(str(of.paths.folder), "this")).config()


def fail_once(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the second checkpoint of a trial fail."""
    save, calls = Checkpoints.save, []

    def failing(self: Checkpoints, *arguments: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise error
        save(self, *arguments)

    monkeypatch.setattr(Checkpoints, "save", failing)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (OSError(errno.EDQUOT, "Disk quota exceeded"), Ending.DISK_FULL),
        (StorageLostError("the bucket does not answer"), Ending.STORAGE_LOST),
        (FencedError("another process has it"), Ending.STOPPED),
        (torch.OutOfMemoryError("CUDA out of memory"), Ending.OUT_OF_MEMORY),
        (OSError(errno.EACCES, "Permission denied"), None),
    ],
)
def test_what_goes_wrong_is_told_and_the_next_start_goes_on(
    small_schema: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reported: list[Report],
    error: Exception,
    outcome: Ending | None,
) -> None:
    of = experiment(tmp_path / "one", small_schema, "a2c")
    config = begun(of)
    with monkeypatch.context() as patched:
        fail_once(patched, error)
        if outcome:
            run_trial(config)
            assert reported[-1].ending is outcome
        else:
            with pytest.raises(type(error)):
                run_trial(config)
            assert reported[-1].ending is Ending.CRASHED
            assert sum(report.ending is not None for report in reported) == 1
    is_lost = outcome in (Ending.DISK_FULL, Ending.STORAGE_LOST, Ending.STOPPED)
    # What a failure leaves untold is told with it.
    assert bool(reported[-1].reports) is not is_lost
    assert ("Traceback" in reported[-1].message) is not is_lost
    # The search knows the first checkpoint alone.
    (first,) = (report.steps for report in reported if report.saved)
    assert 320 <= first < 400
    assert Checkpoints(of.paths.checkpoints(0)).steps == first
    reported.clear()
    run_trial(begun(of))
    assert (reported[0].steps, reported[0].restored) == (first, True)
    assert reported[1].evaluated
    assert reported[-1].evaluated
    assert (reported[1].evaluated.number, reported[-1].evaluated.number) == (1, EVALUATIONS)


@pytest.mark.parametrize(("number", "outcome"), [(errno.ENOSPC, Ending.DISK_FULL), (errno.EACCES, None)])
def test_what_goes_wrong_before_a_trial_begins_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reported: list[Report], number: int, outcome: Ending | None
) -> None:
    """What it goes on from is fetched first."""
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path / "cache"))

    @contextmanager
    def fetching(*given: Any) -> Iterator[None]:
        raise OSError(number, os.strerror(number))
        yield

    monkeypatch.setattr("tuning.trial.trainable.trial_files", fetching)
    config = Handout(0, {}, 0, 0, ANYWHERE, Home("", "this", storage="s3://bucket/one")).config()
    if outcome is None:
        with pytest.raises(PermissionError):
            run_trial(config)
        (told,) = reported
        assert told.ending is Ending.CRASHED
        assert "Permission denied" in told.message
    else:
        run_trial(config)
        assert reported == [Report(ending=outcome, message=told_full(tmp_path / "cache", OSError(number, "")))]


def test_a_trial_of_a_run_that_has_ended_does_not_begin(small_schema: Path, tmp_path: Path, reported: list[Report]) -> None:
    of = experiment(tmp_path / "one", small_schema, "a2c")
    config = begun(of)
    of.paths.running("this").unlink()
    run_trial(config)
    assert reported == [Report(ending=Ending.STOPPED)]
    assert not of.paths.checkpoints(0).exists()


@pytest.mark.parametrize(
    ("error", "update"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), 0),
        pytest.param(torch.OutOfMemoryError("CUDA out of memory"), 1000, marks=pytest.mark.slow),
        (MemoryError("no room"), 1),
        (CPU_ALLOCATOR, 2),
    ],
)
def test_running_out_of_memory_anywhere_is_told_and_leaves_nothing_behind(
    small_schema: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reported: list[Report],
    update: int,
    error: Exception,
) -> None:
    """While it is built (0), or in an update."""
    of = experiment(tmp_path / "one", small_schema, "a2c", steps=20_000)
    config = begun(of, n_steps=16)
    trainers: list[Any] = []

    def failing(setup: Any) -> Any:
        trained: Any = algorithm("a2c").build(setup)
        trainers.append(weakref.ref(trained))
        if update == 0:
            raise error
        step, done = trained.algorithm.step, itertools.count(1)

        def failing_step() -> Any:
            if next(done) == update:
                raise error
            return step()

        monkeypatch.setattr(trained.algorithm, "step", failing_step)
        return trained

    with monkeypatch.context() as patched:
        patched.setattr("tuning.trial.training.algorithm", lambda name: replace(algorithm(name), build=failing))
        run_trial(config)
    last = reported[-1]
    assert last.ending is Ending.OUT_OF_MEMORY
    monkeypatch.undo()
    error.__traceback__ = None  # this test holds on to the error, and by it to all frames
    gc.collect()
    assert trainers[0]() is None
    assert str(error) in last.message
    assert last.columns.get("updates", 0) == max(0, update - 1)
