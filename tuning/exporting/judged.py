"""The row of a judgement that belongs to a trial's policy."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from common.errors import UsageError
from common.paths import user_path
from results.judgement import JUDGEMENT_VERSION, metrics_of, table_of
from results.table_files import size_fault
from search_spaces import Assignment
from tuning.experiment.folder import Experiment, check_format, open_experiment
from tuning.experiment.settings import Settings
from tuning.judging.contenders import Contender
from tuning.judging.folder import JudgementPaths, read_judgement
from tuning.trial.records import TrialRecords


def own_judgement(experiment: Experiment) -> tuple[pd.DataFrame | None, str]:
    """Table of the judgement that contains an experiment, and its contender's name there; none where it was not judged."""
    folder = experiment.paths.folder
    paths = JudgementPaths(folder.parent.parent)
    if folder.parent != paths.runs or not paths.table.is_file():
        return None, ""
    table = _table(paths)
    names = [contender.name for contender in read_judgement(paths)[1] if paths.run(contender) == folder]
    judged = [name for name in names if name in set(table["contender"])]
    return (table, judged[0]) if judged else (None, "")


def given_judgement(experiment: Experiment, number: int, folder: Path) -> tuple[pd.DataFrame, str]:
    """Table of a judgement, and the name of the contender that is the trial.

    Contenders are matched by what was trained, not by name: a trial with the default assignment is judged as the default.

    Raises:
        UsageError: if the folder holds no judgement or a damaged one, or none in which the trial took part.
    """
    paths = JudgementPaths(user_path(folder).resolve())
    for path in (paths.table, paths.settings):
        if not path.is_file():
            raise UsageError(f"--judgement {folder}: there is no {path.name} in it")
    table, (judged_settings, contenders), settings = _table(paths), read_judgement(paths), experiment.settings
    hyperparameters = TrialRecords(experiment).assignment(number)
    matching = [
        contender.name
        for contender in contenders
        if contender.name in set(table["contender"]) and _trains(contender, paths, hyperparameters, settings)
    ]
    if not matching or judged_settings.scenario != settings.task.site.key:
        raise UsageError(
            f"--judgement {folder}: no contender in it has scenario, reward, algorithm, steps and hyperparameters of trial "
            f"{number} of {settings.name}"
        )
    # Two experiments may have contributed the same assignment.
    own = f"{settings.name} {number}"
    return table, own if own in matching else matching[0]


def _trains(contender: Contender, paths: JudgementPaths, hyperparameters: Assignment, settings: Settings) -> bool:
    """Whether a contender is trained as an assignment is by its experiment's settings."""
    if contender.hyperparameters != hyperparameters:
        return False
    own = open_experiment(paths.run(contender)).settings
    return all(getattr(own, name) == getattr(settings, name) for name in ("algo", "steps", "reward", "weights", "teacher"))


def _table(paths: JudgementPaths) -> pd.DataFrame:
    """The table of a judgement.

    Raises:
        UsageError: if its file is damaged.
        OtherFormatError: if another version of this package wrote it.
    """
    try:
        if fault := size_fault(paths.table):
            raise ValueError(fault)
        content = pq.read_table(paths.table, partitioning=None, page_checksum_verification=True)
        version = int((content.schema.metadata or {}).get(b"schema_version", b"0"))
        check_format(paths.table, {"format": version}, JUDGEMENT_VERSION)
        table = table_of(content)
        _check_columns(table)
        return table
    except (pa.ArrowException, OSError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise UsageError(
            f"{paths.table} is damaged ({why}): the judge writes it anew with --name {paths.folder.name}"
        ) from error


def _check_columns(table: pd.DataFrame) -> None:
    """Check that a judgement's table has the columns that the model card shows.

    Raises:
        ValueError: at the first that is missing, or holds something else.
    """
    numbers = [f"{name}{end}" for name in dict.fromkeys(["score", *metrics_of(table)]) for end in ("", "_low", "_high")]
    for name in ("contender", "algorithm", "runs", "comparable", *numbers):
        if name not in table:
            raise ValueError(f"it lacks the column {name}")
        if name in ("contender", "algorithm") and not all(isinstance(value, str) for value in table[name]):
            raise ValueError(f"column {name} is not a text in each row")
        if name in ("runs", *numbers) and not pd.api.types.is_numeric_dtype(table[name]):
            raise ValueError(f"column {name} holds {table[name].dtype}, not numbers")
    if table["comparable"].dtype != bool:
        raise ValueError("column comparable is not true or false in each row")
