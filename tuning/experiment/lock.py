"""Who may work on an experiment: one run at a time, one process on a trial, and nobody where it has moved to a storage."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import filelock

from common.errors import UsageError
from common.files import sync_folder
from common.json_values import described, read_json, write_json
from common.storage.location import Location
from results.live import Owner
from tuning.experiment.folder import ExperimentPaths

TRIAL_WAIT_SECONDS = 60.0  # that a process of a run that was killed may take to die


@contextmanager
def experiment_lock(paths: ExperimentPaths) -> Iterator[str | None]:
    """Hold an experiment. The system frees the lock of a process that dies, however it dies.

    Yields who held it before, if that run was killed: it left its name behind. Raises a UsageError if another run holds it.
    """
    lock = filelock.FileLock(paths.lock)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        owner = Owner.read(paths.folder)
        holder = owner.shown if owner else "another run"
        raise UsageError(f"{paths.folder} is in use by {holder}: wait for it to end, or stop it with Ctrl-C") from None
    except OSError as error:
        raise UsageError(f"cannot lock {paths.folder}: {paths.lock.name}: {error.strerror}; make it writable") from error
    try:
        before = Owner.read(paths.folder)
        owner = Owner(os.getpid(), socket.gethostname(), datetime.now(UTC).isoformat(timespec="seconds"))
        try:
            write_json(paths.owner, asdict(owner))
        except OSError as error:
            raise UsageError(f"cannot write {paths.owner}: {error.strerror}; make room for it") from error
        yield before.shown if before else None
        paths.owner.unlink(missing_ok=True)
    except BaseException:
        with suppress(OSError):
            paths.owner.unlink(missing_ok=True)
        raise
    finally:
        lock.release()


@contextmanager
def trial_lock(path: Path) -> Iterator[None]:
    """Hold a trial, so that a process that outlives its killed run does not write between the new one's files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(path, timeout=TRIAL_WAIT_SECONDS):
            yield
    except filelock.Timeout as error:
        raise TimeoutError(f"another process still trains this trial after {TRIAL_WAIT_SECONDS:.0f} s: end it first") from error


TOKEN = "moved.token"  # key of the object that says which move filled the place


@dataclass(frozen=True)
class Move:
    """Where an experiment goes."""

    uri: str  # its place in the storage
    token: str  # that its copy there holds too, so that another experiment is not taken for it
    is_over: bool = False  # if not, the command that moved it was killed at its last step, and it may be there

    @property
    def place(self) -> Location:
        """Its place as it was written, unchecked: another person's folder may name any."""
        return Location(self.uri)


def move_of(paths: ExperimentPaths) -> Move | None:
    """Where an experiment has gone, or may have gone; None if it stays in its folder."""
    if not paths.moved.exists():
        return None
    try:
        return described(Move, read_json(paths.moved), "its content")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{paths.moved} is damaged ({error}): restore it from a copy, or delete it if this experiment was not moved"
        ) from error


def note_move(paths: ExperimentPaths, move: Move) -> None:
    """Write where an experiment goes."""
    write_json(paths.moved, asdict(move))
    sync_folder(paths.folder)


def refuse_moved(paths: ExperimentPaths) -> None:
    """Raise a UsageError if an experiment has gone to a storage, or may have; or if the folder is a copy of what is there."""
    move = move_of(paths)
    if move is None:
        if (paths.folder / TOKEN).exists():
            raise UsageError(
                f"{paths.folder} is a copy of an experiment that has moved to a storage, as it holds {TOKEN}: continue it "
                f"there, with --resume and its URI"
            )
        return
    if move.is_over:
        raise UsageError(f"{paths.folder} has moved to {move.place}: continue it there, with --resume {move.place}")
    raise UsageError(
        f"{paths.folder} may have moved to {move.place}, as the command that moved it was killed: repeat it, with --resume "
        f"{paths.folder} --storage {move.place.parent}"
    )
