"""Copies of a trial's reports for other programs, beside the Parquet tables."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.files import write_whole
from envs.objective.evaluate import TRAINING_HOURS
from tuning.experiment.folder import ExperimentPaths
from tuning.experiment.settings import Settings
from tuning.trial.trackers import SERVICES, TENSORBOARD, Row, TensorBoardCopy, Tracked

# Column of the CSV file: column of `reports`.
CSV_COLUMNS = {
    "episode": "", "step": "steps", "reward_avg": "episode_return", "actor_loss": "policy_loss", "critic_loss": "value_loss",
    "entropy": "entropy", "lr": "learning_rate",
}  # fmt: skip
HELD_FILES_REFUSE = os.name == "nt"  # to be written, where another program has them open


class CsvCopy:
    """Reports as CSV, one line each; see `CSV_COLUMNS`.

    On Windows a program that has the file open, such as a spreadsheet, keeps it from being written. Reports wait then for the
    next one, or for the trial's next beginning.
    """

    def __init__(self, path: Path, rows: Sequence[Row]) -> None:
        """Write the file."""
        self.paths, self._waiting, self._is_there = [path], _lines([list(CSV_COLUMNS)]), False
        path.parent.mkdir(parents=True, exist_ok=True)
        self.add(rows)

    def add(self, rows: Sequence[Row]) -> None:
        """Append reports."""
        self._waiting += _lines(map(_csv_row, rows))
        text = self._waiting.encode()
        try:
            if self._is_there:
                with self.paths[0].open("ab") as file:
                    file.write(text)
            else:
                write_whole(self.paths[0], lambda file: file.write(text))
        except PermissionError:
            if not HELD_FILES_REFUSE:
                raise
            return
        self._waiting, self._is_there = "", True

    def close(self) -> None:
        """Do nothing: each line is in the file."""


Copy = CsvCopy | TensorBoardCopy | Tracked


def wants_copies(settings: Settings) -> bool:
    """Whether an experiment wants any."""
    return bool(settings.progress_csv or settings.tensorboard or settings.track)


def copies_of(
    settings: Settings, paths: ExperimentPaths, trial: Row, hyperparameters: Mapping[str, Any], rows: Sequence[Row]
) -> list[Copy]:
    """Make the copies that an experiment wants of a trial's reports so far, its rows; `trial` is its row of `trials`.

    They are made anew when a trial begins or goes on. So each has each report once, whatever a kill left, and all of them where
    it is wanted only later.
    """
    copies, number = list[Copy](), trial["trial"]
    if settings.progress_csv:
        copies.append(CsvCopy(paths.progress_csv(number), rows))
    if settings.tensorboard or TENSORBOARD in settings.track:
        copies.append(TensorBoardCopy(paths.tensorboard(number), rows))
    services = (name for name in settings.track if name in SERVICES)
    begun = f"{number}-{trial['started']:%Y%m%d-%H%M%S}"
    return [*copies, *(Tracked(name, settings.name, begun, hyperparameters, rows) for name in services)]


def _csv_row(row: Row) -> list[Any]:
    """A line of the CSV file. Empty where nothing was measured."""
    values = [row.get(column) for column in CSV_COLUMNS.values()]
    values[0] = row["steps"] // TRAINING_HOURS
    return ["" if value is None else value for value in values]


def _lines(rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
