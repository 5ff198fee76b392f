"""Which row of a judgement a trial's policy has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from envs.scenario import scenario
from search_spaces import Assignment
from tuning.errors import UsageError
from tuning.experiment import Experiment, open_experiment
from tuning.judging.contenders import Contender
from tuning.judging.folder import JudgementPaths
from tuning.records import TrialRecords
from tuning.settings import Settings


def own_judgement(experiment: Experiment) -> tuple[pd.DataFrame | None, str]:
    """Table of the judgement that an experiment is part of, and its contender's name there; none where it was not judged."""
    folder = experiment.paths.folder
    paths = JudgementPaths(folder.parent.parent)
    if folder.parent != paths.runs or not paths.table.is_file():
        return None, ""
    table = pd.read_parquet(paths.table)
    names = [contender.name for contender in _contenders(_question(paths)) if paths.run(contender) == folder]
    judged = [name for name in names if name in set(table["contender"])]
    return (table, judged[0]) if judged else (None, "")


def given_judgement(experiment: Experiment, number: int, folder: Path) -> tuple[pd.DataFrame, str]:
    """Table of a judgement, and the name there of the contender that a trial is.

    By what was trained, not by name: a trial with the default assignment is judged as the default.

    Args:
        experiment: that the trial belongs to.
        number: of the trial.
        folder: of the judgement.

    Raises:
        UsageError: if the folder holds no judgement, or none in which the trial took part.
    """
    paths = JudgementPaths(folder.expanduser().resolve())
    for path in (paths.table, paths.question):
        if not path.is_file():
            raise UsageError(f"--judgement {folder}: there is no {path.name} in it")
    table, content, settings = pd.read_parquet(paths.table), _question(paths), experiment.settings
    hyperparameters = TrialRecords(experiment).assignment(number)
    found = [
        contender.name
        for contender in _contenders(content)
        if contender.name in set(table["contender"]) and _trains(contender, paths, hyperparameters, settings)
    ]
    if not found or content["question"]["scenario"] != scenario(settings.scenario).key:
        raise UsageError(
            f"--judgement {folder}: none that it judged has scenario, reward, algorithm, steps and hyperparameters of trial "
            f"{number} of {settings.name}"
        )
    # Two experiments may have found the same assignment.
    own = f"{settings.name} {number}"
    return table, own if own in found else found[0]


def _trains(contender: Contender, paths: JudgementPaths, hyperparameters: Assignment, settings: Settings) -> bool:
    """Whether a contender is what an assignment and its experiment's settings train."""
    if contender.hyperparameters != hyperparameters:
        return False
    own = open_experiment(paths.run(contender)).settings
    return all(getattr(own, name) == getattr(settings, name) for name in ("algo", "steps", "reward"))


def _question(paths: JudgementPaths) -> dict[str, Any]:
    """What a judgement judges, as `tuning.judging.folder` writes it.

    Raises:
        UsageError: if the file is damaged.
    """
    try:
        content: dict[str, Any] = json.loads(paths.question.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise UsageError(f"{paths.question} is damaged ({error}): restore it from a copy") from error
    return content


def _contenders(content: dict[str, Any]) -> list[Contender]:
    return [Contender(**entry) for entry in content["contenders"]]
