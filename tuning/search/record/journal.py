"""The journal file that holds the Optuna study of an experiment, and its seal.

The seal says how long the journal is and has a checksum of it. It is written after each append. So a journal that was
deleted, cut, changed or taken from elsewhere is noticed: what it lacks, no search can guess.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

from common.files import write_whole
from common.json_values import described, read_json
from tuning.search.record.errors import DamagedStudyError

# What Optuna raises where the lines of a journal make no study, or one that cannot be continued.
UNREADABLE = (ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError, RecursionError)


@dataclass(frozen=True)
class Seal:
    """How a journal was after it was last written.

    Attributes:
        nbytes: its length.
        sha256: of its content.
    """

    nbytes: int
    sha256: str


class _SealedJournal(JournalFileBackend):
    """Optuna's journal file, which seals itself after each append."""

    def __init__(self, path: Path) -> None:
        # The lock by exclusive creation needs no symbolic links, which Windows grants to few users.
        super().__init__(str(path), lock_obj=JournalFileOpenLock(str(path)))
        self._path, self._digest, self._length = path, hashlib.sha256(), 0

    @property
    def written(self) -> int:
        """Length of the file after the last entry of this process; 0 before."""
        return self._length

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append entries, and seal the file."""
        super().append_logs(logs)
        with self._path.open("rb") as file:
            file.seek(self._length)
            added = file.read()
        self._digest.update(added)
        self._length += len(added)
        seal = Seal(self._length, self._digest.hexdigest())
        write_whole(seal_path(self._path), lambda file: file.write(json.dumps(asdict(seal)).encode()))


class SealedStorage(JournalStorage):
    """Optuna's storage in a journal that seals itself.

    Args:
        journal: the file.
    """

    def __init__(self, journal: _SealedJournal) -> None:
        self._journal = journal
        super().__init__(journal)

    @property
    def written(self) -> int:
        """A number that grows with each entry of this process. As long as it stays, so does all that the storage gives."""
        return self._journal.written


def open_mended_journal(path: Path) -> SealedStorage:
    """Open a journal; first remove stale locks and an incomplete last line, which a kill during a write leaves.

    An entry appended to an incomplete line would be lost too.

    Args:
        path: of the journal; it need not be there yet. This process holds the lock of the experiment.

    Raises:
        DamagedStudyError: if it is not as it was written; nothing is changed then.
    """
    _check(path)
    for stale in path.parent.glob(f"{path.name}.lock*"):
        stale.unlink()
    if path.is_file():
        with path.open("rb+") as file:
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)
    try:
        return SealedStorage(_SealedJournal(path))
    except (*UNREADABLE, optuna.exceptions.OptunaError) as error:
        raise DamagedStudyError(path, f"{type(error).__name__} where it is read") from error


def has_entries(path: Path) -> bool:
    """Whether a journal that is no folder has a whole line."""
    return not path.is_file() or b"\n" in path.read_bytes()


def is_sealed(path: Path) -> bool:
    """Whether a journal was written before."""
    return seal_path(path).exists()


def _check(path: Path) -> None:
    """Check a journal against its seal, and that each whole line is an entry; one of an older version has no seal.

    Raises:
        DamagedStudyError: at the first fault.
    """
    seal = _seal(path)
    if path.exists() and not path.is_file():
        raise DamagedStudyError(path, "it is no file")
    content = b""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        if seal:
            raise DamagedStudyError(path, "it is missing") from None
    except OSError as error:
        raise DamagedStudyError(path, error.strerror or str(error)) from error
    if seal and len(content) < seal.nbytes:
        raise DamagedStudyError(path, f"it has {len(content):,} bytes, and had {seal.nbytes:,} when it was last written")
    if seal and hashlib.sha256(content[: seal.nbytes]).hexdigest() != seal.sha256:
        raise DamagedStudyError(path, "its content has changed since it was written")
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict) or type(entry.get("op_code")) is not int:
            raise DamagedStudyError(path, f"line {number} is no entry")


def _seal(path: Path) -> Seal | None:
    """The seal of a journal; None without one, as in an experiment of an older version.

    Raises:
        DamagedStudyError: if there is one that cannot be read.
    """
    own = seal_path(path)
    try:
        return described(Seal, read_json(own), "the seal")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise DamagedStudyError(own, str(error)) from error


def seal_path(path: Path) -> Path:
    """The seal of a journal."""
    return path.with_suffix(".seal")
