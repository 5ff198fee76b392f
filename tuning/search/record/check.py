"""Whether the study and the results of an experiment are whole and of one search. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import optuna
from optuna.trial import FrozenTrial

from results.schema import GIVEN
from results.table_files import read_file, table_folder
from search_spaces import SearchSpace, SpaceError
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.folder import Experiment
from tuning.search.record.errors import DamagedStudyError
from tuning.search.record.journal import UNREADABLE
from tuning.search.record.study import read_trials
from tuning.search.record.trials import GAINS, HYPERPARAMETERS, SAME_AS, Standing

if TYPE_CHECKING:
    import pandas as pd


def check_study(experiment: Experiment) -> None:
    """Check that an existing experiment can be continued, before anything is started or written.

    Raises:
        DamagedStudyError: if its study is damaged, or not of this experiment or of these results.
        ResultsError: if the row of a trial is damaged.
    """
    from results import load

    trials, path = read_trials(experiment), experiment.paths.study
    check_trials(trials, algorithm_of(experiment.settings).space, experiment.settings.aim.second is not None, path)
    rows = load(experiment.paths.folder).trials
    for file in table_folder(experiment.paths.folder, "trials").glob("*.parquet"):
        if file.stem.isdecimal() and int(file.stem) not in set(rows["trial"]):
            read_file(file)  # it is damaged, and this says how
    check_rows(trials, rows, path)


def check_trials(trials: Sequence[FrozenTrial], space: SearchSpace, two_aims: bool, path: Path) -> None:
    """Check that each trial is as a search needs it to draw and to decide.

    Raises:
        DamagedStudyError: at the first that is not.
    """
    copy = optuna.create_study(direction="maximize")
    for trial in trials:
        try:
            copy.add_trial(_not_copied(trial))
        except UNREADABLE as error:
            raise DamagedStudyError(path, f"trial {trial.number} in it cannot be: {' '.join(str(error).split())}") from error
        if fault := _fault(trial, space, two_aims):
            raise DamagedStudyError(path, f"trial {trial.number} in it {fault}")


def _fault(trial: FrozenTrial, space: SearchSpace, two_aims: bool) -> str:
    """What is wrong with a trial, in words; empty for nothing."""
    if not isinstance(assignment := trial.user_attrs.get(HYPERPARAMETERS), dict):
        return "has no hyperparameters"
    if lacking := [own.name for own in space.parameters if own.search and own.name not in assignment]:
        return f"has no {lacking[0]}"
    try:
        space.check(assignment)  # a trainer is built from them
        Standing.of(trial)
    except SpaceError as error:
        return f"has {error}"
    except TypeError as error:
        return f"does not say how far it is: {error}"
    same = trial.user_attrs.get(SAME_AS, 0)
    if type(same) is not int or not 0 <= same <= trial.number:
        return f"repeats trial {same!r}, which is none before it"
    if any(type(rating) not in (int, float) for rating in trial.intermediate_values.values()):
        return "has a score that is no number"
    return "lacks the gains of an evaluation" if two_aims and not _has_gains(trial) else ""


def _not_copied(trial: FrozenTrial) -> FrozenTrial:
    """The same trial for a study in memory, which would copy all that is in it; it changes the number alone."""
    shallow = FrozenTrial.__new__(FrozenTrial)
    shallow.__dict__.update(trial.__dict__)
    shallow.__dict__["__deepcopy__"] = lambda memo: shallow
    return shallow


def _has_gains(trial: FrozenTrial) -> bool:
    """Whether each evaluation has the gains of both objectives."""
    known = trial.user_attrs.get(GAINS, {})
    if not isinstance(known, dict):
        return False
    pairs = [known.get(str(steps)) for steps in trial.intermediate_values]
    return all(isinstance(pair, list) and len(pair) == 2 and all(type(gain) is float for gain in pair) for pair in pairs)


def check_rows(trials: Sequence[FrozenTrial], rows: pd.DataFrame, path: Path) -> None:
    """Check that rows are of the trials that the study has.

    Raises:
        DamagedStudyError: if one has another assignment.
    """
    given = [name for name in rows if str(name).startswith(GIVEN)]
    for row in rows[["trial", *given]].to_dict("records"):
        _check_row(trials[row["trial"]], row, path)


def _check_row(trial: FrozenTrial, row: Mapping[Any, Any], path: Path) -> None:
    for name, value in trial.user_attrs[HYPERPARAMETERS].items():
        told = row.get(GIVEN + name, value)
        is_empty = told is None or told != told  # as NaN
        if told != value and not (is_empty and value is None):
            raise DamagedStudyError(path, f"trial {trial.number} has {name}={value} in it, and {told} in the results")
