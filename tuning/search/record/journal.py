"""The journal file that holds the Optuna study of an experiment."""

import json
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

from common.errors import UserError

# What Optuna raises where the lines of a journal make no study, or one that cannot be continued.
UNREADABLE = (ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError, RecursionError)


class Journal(JournalFileBackend):
    """Optuna's journal file, which counts what this process writes."""

    def __init__(self, path: Path) -> None:
        # The lock by exclusive creation needs no symbolic links, which Windows grants to few users.
        super().__init__(str(path), lock_obj=JournalFileOpenLock(str(path)))
        self.written = 0

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append entries, and flush them to the disk."""
        super().append_logs(logs)
        self.written += len(logs)


class JournaledStorage(JournalStorage):
    """Optuna's storage in a journal that counts what is written."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        super().__init__(journal)

    @property
    def written(self) -> int:
        """A number that grows with each entry of this process. As long as it stays, so does all that the storage gives."""
        return self._journal.written


def open_mended_journal(path: Path) -> JournaledStorage:
    """Open a journal; first remove stale locks and an incomplete last line, which a kill during a write leaves.

    An entry appended to an incomplete line would be lost too. There need not be one yet. This process holds the lock of the
    experiment. Raises a DamagedStudyError if it cannot be read; nothing is changed then.
    """
    _check(path)
    for stale in path.parent.glob(f"{path.name}.lock*"):
        stale.unlink()
    if path.is_file():
        with path.open("rb+") as file:
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)
    try:
        return JournaledStorage(Journal(path))
    except (*UNREADABLE, optuna.exceptions.OptunaError) as error:
        raise DamagedStudyError(path, f"{type(error).__name__} where it is read") from error


def has_entries(path: Path) -> bool:
    """Whether a journal has a whole line."""
    return path.is_file() and b"\n" in path.read_bytes()


def _check(path: Path) -> None:
    """Check that each whole line of a journal is an entry. Raises a DamagedStudyError at the first fault."""
    if not path.exists():
        return
    if not path.is_file():
        raise DamagedStudyError(path, "it is no file")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedStudyError(path, error.strerror or str(error)) from error
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict) or type(entry.get("op_code")) is not int:
            raise DamagedStudyError(path, f"line {number} is no entry")


class DamagedStudyError(UserError):
    """The memory of a search is not as it was written, or contradicts the results. Nothing has been changed."""

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(
            f"{path} cannot be continued: {why}; restore it from a copy, or start a new experiment; the results can still be "
            "loaded, judged and exported"
        )
