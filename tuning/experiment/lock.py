"""One run at a time works on an experiment, and one process on a trial."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import filelock

from common.errors import UsageError
from common.files import write_whole
from common.json_values import checked, read_json
from tuning.experiment.folder import ExperimentPaths

TRIAL_WAIT_SECONDS = 60.0  # that a process of a run that was killed may take to die


@contextmanager
def experiment_lock(paths: ExperimentPaths) -> Iterator[str | None]:
    """Hold an experiment. The system frees the lock of a process that dies, however it dies.

    Yields:
        Who held it before, if that run was killed: it left its name behind.

    Raises:
        UsageError: if another run holds it, or its folder cannot be written to.
    """
    lock = filelock.FileLock(paths.lock)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        holder = _owner(paths.owner) or "another run"
        raise UsageError(f"{paths.folder} is in use by {holder}: wait for it to end, or stop it with Ctrl-C") from None
    except OSError as error:
        raise UsageError(f"cannot lock {paths.folder}: {paths.lock.name}: {error.strerror}; make it writable") from error
    try:
        before = _owner(paths.owner)
        owner = {"process": os.getpid(), "host": socket.gethostname(), "since": datetime.now(UTC).isoformat(timespec="seconds")}
        try:
            write_whole(paths.owner, lambda file: file.write(json.dumps(owner).encode()))
        except OSError as error:
            raise UsageError(f"cannot write {paths.owner}: {error.strerror}; make room for it") from error
        yield before
        paths.owner.unlink(missing_ok=True)
    except BaseException:
        with suppress(OSError):
            paths.owner.unlink(missing_ok=True)
        raise
    finally:
        lock.release()


@contextmanager
def trial_lock(path: Path) -> Iterator[None]:
    """Hold a trial, so that a process that outlives its killed run does not write between the new one's files.

    Raises:
        TimeoutError: if another process holds it and goes on doing so.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(path, timeout=TRIAL_WAIT_SECONDS):
            yield
    except filelock.Timeout as error:
        raise TimeoutError(f"another process still trains this trial after {TRIAL_WAIT_SECONDS:.0f} s: end it first") from error


def _owner(path: Path) -> str | None:
    """Who wrote an owner's file, in words; None without one that can be read."""
    try:
        owner = checked(read_json(path), dict[str, str | int], "its content")
        return f"process {owner['process']} on {owner['host']} since {owner['since']}"
    except (OSError, ValueError, KeyError):
        return None
