"""Old checkpoints as data: `python -m tuning.upgrade experiments/NAME`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tuning.cli.command import command


@dataclass(frozen=True)
class UpgradeSettings:
    """Turn the checkpoints of an experiment of version 0.1 into data, so that it can be continued, rolled out and exported.

    These checkpoints hold pickled objects, and such files can run code when they are opened. This command opens them, and
    accepts arrays and plain values alone: it calls no other name that a file holds. Each checkpoint is replaced in its place.
    Its numbers stay as they are. No other command opens such files.
    """

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of experiments or of judgements."""


def main(arguments: list[str] | None = None) -> int:
    """Convert, and print a line for each checkpoint.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0; 2 for a folder that is refused; 130 after Ctrl-C.
    """
    return command(UpgradeSettings, arguments, "python -m tuning.upgrade", _upgrade)


def _upgrade(settings: UpgradeSettings) -> int:
    from tuning.trial.old_checkpoint import upgrade_checkpoints

    upgrade_checkpoints(settings.folders, print)
    return 0


if __name__ == "__main__":
    sys.exit(main())
