"""Command line of the export."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tuning.cli.command import command
from tuning.experiment.errors import UsageError


@dataclass(frozen=True)
class Question:
    """Write a trial's policy as files that control a CityLearn environment without Ray, torch or this package."""

    experiment: Annotated[Path, tyro.conf.Positional]
    """Folder of the experiment, or of a contender in a judgement (judgements/NAME/runs/CONTENDER)."""
    to: Path
    """Folder for the files; it must not be there."""
    trial: str = "best"
    """Number of the trial, or best."""
    judgement: Path = Path()
    """Folder of a judgement in which the trial took part, for the model card; by default the one that the experiment is in."""


def main(arguments: list[str] | None = None) -> int:
    """Export.

    Args:
        arguments: of the command line; those of this process by default.

    Returns:
        Exit status: 0, or 2 for a command that cannot be carried out.
    """
    return command(Question, arguments, "python -m tuning.export", _export)


def _export(question: Question) -> int:
    from results import load
    from tuning.experiment.folder import open_experiment
    from tuning.exporting.files import export
    from tuning.trial.policy import trial_number

    if question.to.exists():
        raise UsageError(f"--to {question.to}: it is there already, and nothing is written over it")
    experiment = open_experiment(question.experiment)
    number = trial_number(load(experiment.paths.folder), question.trial)
    judgement = question.judgement if question.judgement != Path() else None
    for path in export(experiment, number, question.to, judgement):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
