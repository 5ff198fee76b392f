"""Whether a trial may go on: as long as its run goes on, and its node stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Mark(Protocol):
    """Something that is there or not, such as the path of a file."""

    def exists(self) -> bool:
        """Whether it is."""


@dataclass(frozen=True)
class Permission:
    """Holds as long as a trial may go on. Without it, the trial writes a checkpoint and ends.

    Attributes:
        running: is there while the run goes on; see `ExperimentPaths.running`.
        leaving: is there when the trial is to leave its node; see `ExperimentPaths.leaving`.
    """

    running: Mark
    leaving: Mark

    def exists(self) -> bool:
        """Whether the trial may go on."""
        return self.running.exists() and not self.leaving.exists()
