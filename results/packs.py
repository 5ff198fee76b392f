"""Packs: files that hold the reports or evaluations of many trials, so that many part files become few.

The rule by which each row is read once, whatever is being written or was killed:

1. A trial that a pack lists is read from the pack alone. Part files of that trial do not count.
2. Of two packs that list a trial, the one with the higher number counts.
3. A pack is written whole and renamed into place; only then files that it replaces are deleted.
4. A trial that goes on is first unpacked: its rows become a part file, and only then the pack is written without it.
5. Who packs or unpacks holds the lock of the packs. Within it, only trials that no process trains are packed.

So a kill at any point leaves files that do not count, and no row is lost or doubled. The next compaction deletes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import filelock

from results.parts import ResultsError, is_pack
from results.schema import FOLDER

LOCK = "packs.lock"
# Suffix of a file that is being packed; other files that are being written are removed where a search goes on.
BEING_WRITTEN = ".packing"


@dataclass(frozen=True)
class Listing:
    """Files of a table.

    Attributes:
        parts: part files, sorted.
        packs: packs, the newest first.
    """

    parts: list[Path]
    packs: list[Path]


def listed(folder: Path) -> Listing:
    """Files of a table; none where it has no folder yet.

    A folder that changes while it is listed may show neither a part that is deleted nor the pack that replaced it. So it is
    listed until no pack came or went.

    Raises:
        ResultsError: if the folder cannot be read, or is none.
    """
    before = _files(folder)
    while True:
        after = _files(folder)
        if _packs(before) == _packs(after):
            return Listing([path for path in before if not is_pack(path.stem)], _packs(after))
        before = after


def packs_of(folder: Path) -> list[Path]:
    """Packs of a table, the newest first, for one who holds the lock; its part files, which may be many, are passed over.

    Args:
        folder: of the table; it need not be there yet.

    Raises:
        ResultsError: if the folder cannot be read, or is none.
    """
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith("packed-")]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ResultsError(f"{folder}: {error.strerror}; restore this folder, or make it readable") from error
    return _packs([folder / name for name in names if name.endswith(".parquet")])


def _files(folder: Path) -> list[Path]:
    try:
        # By their names: to compare thousands of paths takes longer than to list them.
        return sorted((path for path in folder.iterdir() if path.suffix == ".parquet"), key=lambda path: path.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ResultsError(f"{folder}: {error.strerror}; restore this folder, or make it readable") from error


def _packs(files: list[Path]) -> list[Path]:
    return sorted((path for path in files if is_pack(path.stem)), key=number_of, reverse=True)


def number_of(pack: Path) -> int:
    """Number of a pack."""
    return int(pack.stem.rpartition("-")[2])


def is_trained(experiment: Path, trial: int) -> bool:
    """Whether a process trains a trial: it holds the lock of that trial."""
    path = experiment / "trials" / f"{trial:05d}.lock"
    if not path.exists():
        return False
    try:
        with filelock.FileLock(path, blocking=False):
            return False
    except (filelock.Timeout, OSError):
        return True


@contextmanager
def locked(experiment: Path) -> Iterator[None]:
    """Hold the lock of an experiment's packs; waits for it. The system frees the lock of a process that dies.

    Args:
        experiment: its folder.

    Raises:
        ResultsError: if the lock cannot be made, as in a folder that cannot be written.
    """
    path = experiment / FOLDER / LOCK
    lock = filelock.FileLock(path)
    try:
        lock.acquire()
    except OSError as error:
        raise ResultsError(f"cannot lock {path}: {error.strerror}; make its folder writable") from error
    try:
        yield
    finally:
        lock.release()
