"""The journal file that holds the Optuna study of an experiment."""

from __future__ import annotations

from pathlib import Path

from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock


def open_mended_journal(path: Path) -> JournalStorage:
    """Open a journal; first remove stale locks and an incomplete last line, which a kill during a write leaves.

    An entry appended to an incomplete line would be lost too.

    Args:
        path: of the journal; it need not be there yet. This process holds the lock of the experiment.
    """
    for stale in path.parent.glob(f"{path.name}.lock*"):
        stale.unlink()
    if path.is_file():
        with path.open("rb+") as file:
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)
    # The lock by exclusive creation needs no symbolic links, which Windows grants to few users.
    return JournalStorage(JournalFileBackend(str(path), lock_obj=JournalFileOpenLock(str(path))))
