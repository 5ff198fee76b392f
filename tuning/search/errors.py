"""Why a search ends before it has its trials."""

from __future__ import annotations

from pathlib import Path

from common.commands import python_command
from common.errors import UserError


class SearchStoppedError(UserError):
    """The search had to stop: the disk is full, Ray lost its nodes, or the first trials all failed alike.

    Attributes:
        reason: in words.
        folder: of the experiment; it holds everything that is needed to continue.
    """

    def __init__(self, reason: str, folder: Path) -> None:
        super().__init__(f"{reason}\nthen continue with: {continue_command(folder)}, or in Python: resume({str(folder)!r})")
        self.reason, self.folder = reason, folder


class DamagedStudyError(UserError):
    """The memory of a search is not as it was written, or contradicts the results. Nothing has been changed."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} cannot be continued: {why}; restore it from a copy, or start a new experiment; the results can still be "
            "loaded, judged and exported"
        )


def continue_command(folder: Path) -> str:
    """The command that continues an experiment."""
    return python_command("tuning.run", "--resume", folder)
