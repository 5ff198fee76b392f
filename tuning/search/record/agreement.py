"""Whether the study of an experiment and the rows of its trials are of one search. Nothing is changed here."""

from __future__ import annotations

from pathlib import Path

import optuna
from optuna.trial import FrozenTrial, TrialState

from common.paths import shortened
from results.schema import GIVEN
from results.table_files import ResultsError
from search_spaces import SpaceError
from search_spaces.earlier import in_todays_names
from search_spaces.removed import without_removed
from tuning.experiment.folder import ExperimentPaths
from tuning.search.record.attributes import GAINS, HYPERPARAMETERS, REFUSED, SAME_AS
from tuning.search.record.errors import DamagedStudyError
from tuning.search.record.journal import UNREADABLE
from tuning.trial.records import TrialRecords, outcome_in

# What was checked in this process: a row's file with what the study has of its trial, and the state in the row. A search that
# goes on checks before it starts Ray, and again before it writes. To read ten thousand rows takes a minute.
_CHECKED: dict[Path, tuple[object, str]] = {}


def check_agreement(trials: list[FrozenTrial], records: TrialRecords, paths: ExperimentPaths) -> dict[int, str]:
    """Check that the study has the trials that have a row, with their assignments and scores, and that none lacks its row.

    The study is ahead of the rows: a trial is in it before it has a row. An ended trial has had a row before.

    Args:
        trials: of the study, by number.
        records: rows of the trials.
        paths: of the experiment.

    Returns:
        States in the rows by trial, without those that have none yet: to read a row again takes as long as to check it.

    Raises:
        DamagedStudyError: if the study lacks a trial, or has another one.
        ResultsError: if a row is missing, damaged or of another experiment.
    """
    states: dict[int, str] = {}
    if unknown := [number for number in begun(paths) if number >= len(trials)]:
        raise DamagedStudyError(paths.study, f"it lacks trial {shortened(', '.join(map(str, unknown)))} of the results")
    _check_whole(trials, paths.study)
    for trial in trials:
        if not isinstance(assignment := trial.user_attrs.get(HYPERPARAMETERS), dict):
            raise DamagedStudyError(paths.study, f"trial {trial.number} in it has no hyperparameters")
        # What is not searched may be newer than the study; then it has its default.
        if lacking := [own.name for own in records.space.parameters if own.search and own.name not in assignment]:
            raise DamagedStudyError(paths.study, f"trial {trial.number} in it has no {lacking[0]}")
        try:
            # A trainer is built from them.
            records.space.check(without_removed(assignment))
        except SpaceError as error:
            raise DamagedStudyError(paths.study, f"trial {trial.number} in it has {error}") from None
        same = trial.user_attrs.get(SAME_AS, 0)
        if type(same) is not int or not 0 <= same <= trial.number:
            raise DamagedStudyError(paths.study, f"trial {trial.number} in it repeats trial {same!r}, which is none before it")
        if any(type(score) not in (int, float) for score in trial.intermediate_values.values()):
            raise DamagedStudyError(paths.study, f"trial {trial.number} in it has a score that is no number")
        if records.aim.second and not _has_gains(trial):
            raise DamagedStudyError(paths.study, f"trial {trial.number} in it lacks the gains of an evaluation")
        part = paths.part("trials", trial.number)
        if part.exists():
            states[trial.number] = _check_row(trial, records, paths)
        elif trial.state.is_finished() and not {REFUSED, SAME_AS} & trial.user_attrs.keys():
            raise ResultsError(
                f"{part} is missing, though the search has trial {trial.number} as ended: restore it from a copy, or start a "
                "new experiment"
            )
    return states


def _check_whole(trials: list[FrozenTrial], path: Path) -> None:
    """Check that each trial is as Optuna needs it to draw the next one, such as an end with its value.

    Raises:
        DamagedStudyError: at the first that is not.
    """
    copy = optuna.create_study(direction="maximize")
    for trial in trials:
        try:
            copy.add_trial(_not_copied(trial))
        except UNREADABLE as error:
            raise DamagedStudyError(path, f"trial {trial.number} in it cannot be: {' '.join(str(error).split())}") from error


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


def _check_row(trial: FrozenTrial, records: TrialRecords, paths: ExperimentPaths) -> str:
    """Check that a row is of its trial; the state in it. A row that was checked, and is as it was, is not read again."""
    path = paths.part("trials", trial.number)
    found = path.stat()
    # A row that is written again is another file.
    stamp = (
        found.st_mtime_ns,
        found.st_ino,
        found.st_size,
        trial.state,
        trial.value,
        hash(repr(trial.user_attrs[HYPERPARAMETERS])),
    )
    if (known := _CHECKED.get(path)) and known[0] == stamp:
        return known[1]
    state = _state_checked(trial, records, paths)
    _CHECKED[path] = stamp, state
    return state


def _state_checked(trial: FrozenTrial, records: TrialRecords, paths: ExperimentPaths) -> str:
    row = records.measured(trial.number)
    for name, value in in_todays_names(trial.user_attrs[HYPERPARAMETERS]).items():
        if (own := row.get(GIVEN + name, value)) != value:
            raise DamagedStudyError(paths.study, f"trial {trial.number} has {name}={value} in it, and {own} in the results")
    # A trial that is being continued has its last score until it is evaluated again.
    if trial.state is TrialState.COMPLETE and (outcome := outcome_in(row)):
        goal = records.aim.goal(outcome)
        if goal != trial.value:
            raise DamagedStudyError(
                paths.study, f"trial {trial.number} has the score {trial.value} in it, and {goal} in the results"
            )
    return str(row["state"])


def begun(paths: ExperimentPaths) -> list[int]:
    """Numbers of the trials that have a row."""
    names = (path.stem for path in paths.part("trials", 0).parent.glob("*.parquet"))
    return sorted(int(name) for name in names if name.isascii() and name.isdecimal())
