"""What a trial's process tells Tune when something goes wrong, and what it leaves behind."""

from __future__ import annotations

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

import pandas as pd
import pytest
import torch

from common.storage.faults import StorageLostError
from results import load
from tests.tuning.trial.small_trials import EVALUATIONS, experiment, hyperparameters
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment
from tuning.storage.trial_files import FencedError
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.proposal import Proposal
from tuning.trial.protocol import (
    DISK_FULL,
    EVALUATION,
    EXPERIMENT,
    FALLBACK,
    HYPERPARAMETERS,
    MESSAGE,
    NUMBER,
    OUT_OF_MEMORY,
    OUTCOME,
    RAM_LIMIT,
    RUN,
    SCORE,
    STEPS,
    STOPPED,
    STORAGE_LOST,
    VRAM_LIMIT,
)
from tuning.trial.records import TrialRecords
from tuning.trial.trainable import run_trial

CPU_ALLOCATOR = RuntimeError("[enforce fail] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")
UNLIMITED = {VRAM_LIMIT: 0, RAM_LIMIT: 0, FALLBACK: 0}


@pytest.fixture(autouse=True)
def every_update_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a trial can be cut off after each."""
    monkeypatch.setattr("tuning.trial.training.REPORT_SECONDS", 0.0)


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What `run_trial` tells Tune, in this process."""
    said: list[dict[str, Any]] = []
    monkeypatch.setattr("ray.tune.report", said.append)
    # This process is the tests' own.
    monkeypatch.setattr("tuning.trial.trainable.end_with_parent", lambda: None)
    return said


def begun(of: Experiment) -> dict[str, Any]:
    """Configuration of a trial that is handed out by a run that goes on."""
    assignment = hyperparameters("a2c")
    TrialRecords(of).begin(Proposal(0, assignment))
    of.paths.running("this").touch()
    return {NUMBER: 0, HYPERPARAMETERS: assignment, EXPERIMENT: str(of.paths.folder), RUN: "this", **UNLIMITED}


def fail_once(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the second checkpoint of a trial fail."""
    save, calls = Checkpoints.save, []

    def failing(self: Checkpoints, *arguments: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise error
        save(self, *arguments)

    monkeypatch.setattr(Checkpoints, "save", failing)


@pytest.mark.usefixtures("small_ray")
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), DISK_FULL),
        (StorageLostError("the bucket does not answer"), STORAGE_LOST),
        (FencedError("another process has it"), STOPPED),
        (torch.OutOfMemoryError("CUDA out of memory"), OUT_OF_MEMORY),
        (OSError(errno.EACCES, "Permission denied"), None),
        (ValueError("a bug"), None),
    ],
)
def test_what_goes_wrong_is_told_and_the_next_start_goes_on(
    small_schema: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reported: list[dict[str, Any]],
    error: Exception,
    outcome: str | None,
) -> None:
    of = experiment(tmp_path / "one", small_schema, "a2c")
    config = begun(of)
    with monkeypatch.context() as patched:
        fail_once(patched, error)
        if outcome:
            run_trial(config)
            assert reported[-1][OUTCOME] == outcome
        else:
            with pytest.raises(type(error)):
                run_trial(config)
    row = load(of.paths.folder).trials.iloc[0]
    assert row["crashes"] == (0 if outcome else 1)
    assert pd.notna(row["error"]) == (outcome not in (DISK_FULL, STORAGE_LOST, STOPPED))
    first = Checkpoints(of.paths.checkpoints(0)).steps
    assert 320 <= first < 400
    reported.clear()
    begun(of)
    run_trial(config)
    assert reported[0] == {STEPS: first, EVALUATION: 1, SCORE: reported[0][SCORE]}
    assert reported[-1][EVALUATION] == EVALUATIONS
    reports = load(of.paths.folder).reports
    assert reports["update"].tolist() == list(range(1, len(reports) + 1))


@pytest.mark.parametrize(("number", "outcome"), [(errno.ENOSPC, DISK_FULL), (errno.EACCES, None)])
def test_a_disk_that_is_full_before_a_trial_begins_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reported: list[dict[str, Any]], number: int, outcome: str | None
) -> None:
    """What it goes on from is fetched first."""
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path / "cache"))

    @contextmanager
    def fetching(*given: Any) -> Iterator[None]:
        raise OSError(number, os.strerror(number))
        yield

    monkeypatch.setattr("tuning.trial.trainable.trial_files", fetching)
    config = {NUMBER: 0, RUN: "this", EXPERIMENT: "s3://bucket/one"}
    if outcome is None:
        with pytest.raises(PermissionError):
            run_trial(config)
        assert reported == []
    else:
        run_trial(config)
        assert reported == [{OUTCOME: outcome, MESSAGE: f"the disk of {tmp_path / 'cache'} is full: free some of it"}]


@pytest.mark.usefixtures("small_ray")
def test_a_trial_of_a_run_that_has_ended_does_not_begin(
    small_schema: Path, tmp_path: Path, reported: list[dict[str, Any]]
) -> None:
    of = experiment(tmp_path / "one", small_schema, "a2c")
    config = begun(of)
    of.paths.running("this").unlink()
    run_trial(config)
    assert reported == [{OUTCOME: STOPPED}]
    assert not of.paths.checkpoints(0).exists()


@pytest.mark.usefixtures("small_ray")
@pytest.mark.parametrize(
    ("error", "update"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), 0),
        (torch.OutOfMemoryError("CUDA out of memory"), 1),
        pytest.param(torch.OutOfMemoryError("CUDA out of memory"), 1000, marks=pytest.mark.slow),
        (MemoryError("no room"), 1),
        (CPU_ALLOCATOR, 2),
    ],
)
def test_running_out_of_memory_anywhere_is_told_and_leaves_nothing_behind(
    small_schema: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reported: list[dict[str, Any]],
    update: int,
    error: Exception,
) -> None:
    """While it is built (0), or in an update."""
    of = experiment(tmp_path / "one", small_schema, "a2c", steps=20_000)
    config = begun(of)
    config[HYPERPARAMETERS] |= {"n_steps": 16}
    trainers: list[Any] = []

    def failing(setup: Any) -> Any:
        trained: Any = algorithm("a2c").build(setup)
        trainers.append(weakref.ref(trained))
        if update == 0:
            raise error
        train, done = trained.algorithm.train, itertools.count(1)

        def failing_train() -> Any:
            if next(done) == update:
                raise error
            return train()

        monkeypatch.setattr(trained.algorithm, "train", failing_train)
        return trained

    with monkeypatch.context() as patched:
        patched.setattr("tuning.trial.training.algorithm", lambda name: replace(algorithm(name), build=failing))
        run_trial(config)
    assert reported[-1] == {OUTCOME: OUT_OF_MEMORY}
    monkeypatch.undo()
    error.__traceback__ = None  # this test holds on to the error, and by it to all frames
    gc.collect()
    assert trainers[0]() is None
    row = load(of.paths.folder).trials.iloc[0]
    assert row["out_of_memory"] == 1
    assert row["crashes"] == 0
    assert str(error) in row["error"]
    assert len(load(of.paths.folder).reports) == max(0, update - 1)
