"""Why a search ends before it has its trials."""

from __future__ import annotations

from pathlib import Path

from common.errors import UserError
from common.texts import python_command


class SearchStoppedError(UserError):
    """The search had to stop: the disk is full, Ray lost its nodes, or the first trials all failed alike.

    Attributes:
        reason: in words.
        folder: of the experiment, or the URI of its storage; it holds everything that is needed to continue.
        trust_scenario: whether this run trusted the scenario, which is not in the folder.
        address: of the cluster that this run joined, which is not in the folder either.
        callback: names of this run's callbacks, likewise.
        storage: URI beside a local folder, which is not taken from there.
    """

    def __init__(
        self,
        reason: str,
        folder: str | Path,
        trust_scenario: bool = False,
        address: str = "",
        callback: tuple[str, ...] = (),
        storage: str = "",
    ) -> None:
        trust = (", trust_scenario=True" if trust_scenario else "") + (f", address={address!r}" if address else "")
        trust += (f", callback={callback!r}" if callback else "") + (f", storage={storage!r}" if storage else "")
        command = continue_command(folder, trust_scenario, address, callback, storage)
        then = f"then continue with: {command}, or in Python: resume({str(folder)!r}{trust})"
        super().__init__(*reason.splitlines(), then)
        self.reason, self.folder, self.trust_scenario, self.address = reason, folder, trust_scenario, address
        self.callback, self.storage = callback, storage


class DamagedStudyError(UserError):
    """The memory of a search is not as it was written, or contradicts the results. Nothing has been changed.

    Attributes:
        path: of the file that is damaged.
        why: in words.
    """

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(
            f"{path} cannot be continued: {why}; restore it from a copy, or start a new experiment; the results can still be "
            "loaded, judged and exported"
        )


def continue_command(
    folder: str | Path, trust_scenario: bool = False, address: str = "", callback: tuple[str, ...] = (), storage: str = ""
) -> str:
    """The command that continues an experiment, with what is taken from no file: trust, cluster, callbacks, storage."""
    more = [*(["--trust-scenario"] if trust_scenario else []), *(["--address", address] if address else [])]
    more += ["--callback", *callback] if callback else []
    more += ["--storage", storage] if storage else []
    return python_command("tuning.run", "--resume", folder, *more)
