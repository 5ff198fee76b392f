"""A trial's reports in formats of other programs, beside the Parquet tables: CSV, and events of TensorBoard."""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.files import write_whole
from envs.objective.evaluate import TRAINING_HOURS
from tuning.experiment.folder import ExperimentPaths
from tuning.experiment.settings import Settings

# Column of the CSV file: column of `reports`.
CSV_COLUMNS = {
    "episode": "", "step": "steps", "reward_avg": "episode_return", "actor_loss": "policy_loss", "critic_loss": "value_loss",
    "entropy": "entropy", "lr": "learning_rate",
}  # fmt: skip
# Tag of TensorBoard: column of `reports`. What is empty in a report has no event.
TAGS = {
    "score": "score", "train/reward_avg": "episode_return", "train/actor_loss": "policy_loss",
    "train/critic_loss": "value_loss", "train/entropy": "entropy", "train/lr": "learning_rate",
    "speed/steps_per_second": "steps_per_second",
}  # fmt: skip

Row = Mapping[str, Any]  # of the table `reports`
HELD_FILES_REFUSE = os.name == "nt"  # to be written, where another program has them open


class CsvCopy:
    """Reports as CSV, one line each; see `CSV_COLUMNS`.

    On Windows a program that has the file open, such as a spreadsheet, keeps it from being written. Reports wait then for the
    next one, or for the trial's next beginning.
    """

    def __init__(self, path: Path, rows: Sequence[Row]) -> None:
        """Write the file.

        Args:
            path: of the file; one that is there is replaced.
            rows: so far.
        """
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


class TensorBoardCopy:
    """Reports as events of TensorBoard; see `TAGS`."""

    def __init__(self, folder: Path, rows: Sequence[Row]) -> None:
        """Write the events.

        Args:
            folder: of the trial's events; one that is there is replaced.
            rows: so far.
        """
        from tensorboardX import SummaryWriter

        shutil.rmtree(folder, ignore_errors=True)
        # A TensorBoard that is open drops the events that it has read from step 0 on.
        self._writer, self._folder = SummaryWriter(str(folder), purge_step=0), folder
        self.add(rows)

    def add(self, rows: Sequence[Row]) -> None:
        """Append reports."""
        for row in rows:
            for tag, column in TAGS.items():
                if (value := row.get(column)) is not None:
                    self._writer.add_scalar(tag, value, row["steps"], walltime=row["time"].timestamp())
        self._writer.flush()

    @property
    def paths(self) -> list[Path]:
        """Its files of events."""
        return sorted(path for path in self._folder.rglob("*") if path.is_file())

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


def copies_of(settings: Settings, paths: ExperimentPaths, number: int, rows: Sequence[Row]) -> list[CsvCopy | TensorBoardCopy]:
    """Make the copies that an experiment wants of a trial's reports so far, its rows.

    They are made anew when a trial begins or goes on. So each has each report once, whatever a kill left, and all of them where
    it is wanted only later.
    """
    copies: list[CsvCopy | TensorBoardCopy] = []
    if settings.progress_csv:
        copies.append(CsvCopy(paths.progress_csv(number), rows))
    if settings.tensorboard:
        copies.append(TensorBoardCopy(paths.tensorboard(number), rows))
    return copies


def _csv_row(row: Row) -> list[Any]:
    """A line of the CSV file. Empty where nothing was measured."""
    values = [row.get(column) for column in CSV_COLUMNS.values()]
    values[0] = row["steps"] // TRAINING_HOURS
    return ["" if value is None else value for value in values]


def _lines(rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
