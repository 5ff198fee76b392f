"""Copies of a trial's reports for other programs, beside the Parquet tables: CSV, TensorBoard, MLflow, Weights & Biases."""

import csv
import importlib
import io
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from common.errors import UsageError
from common.files import write_whole
from common.texts import note, python_command
from envs.objective.evaluate import TRAINING_HOURS
from tuning.experiment.folder import ExperimentPaths
from tuning.experiment.settings import Settings

# Tag: column of `reports`. What is empty in a report is not told.
TAGS = {
    "score": "score", "train/reward_avg": "episode_return", "train/actor_loss": "policy_loss",
    "train/critic_loss": "value_loss", "train/entropy": "entropy", "train/lr": "learning_rate",
    "speed/steps_per_second": "steps_per_second",
}  # fmt: skip
TRIAL = "trial"  # tag of a run of MLflow
# Column of the CSV file: column of `reports`.
CSV_COLUMNS = {
    "episode": "", "step": "steps", "reward_avg": "episode_return", "actor_loss": "policy_loss", "critic_loss": "value_loss",
    "entropy": "entropy", "lr": "learning_rate",
}  # fmt: skip
HELD_FILES_REFUSE = os.name == "nt"  # to be written, where another program has them open

Row = Mapping[str, Any]  # of the table `reports`


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
                write_whole(self.paths[0], text)
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
        """Write the events."""
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


class Mlflow:
    """A run of MLflow, where MLFLOW_TRACKING_URI says, by default in a file of the folder in which the search was started."""

    def __init__(self, experiment: str, trial: str, hyperparameters: Mapping[str, Any]) -> None:
        from mlflow.tracking import MlflowClient

        self._client = MlflowClient()
        existing = self._client.get_experiment_by_name(experiment)
        place = existing.experiment_id if existing else self._client.create_experiment(experiment)
        runs = self._client.search_runs([place], f"tags.{TRIAL} = '{trial}'", max_results=1)
        run = runs[0] if runs else self._client.create_run(place, tags={TRIAL: trial}, run_name=f"trial {trial}")
        self._run = run.info.run_id
        if runs:
            self._client.update_run(self._run, "RUNNING")
        else:
            for name, value in hyperparameters.items():
                self._client.log_param(self._run, name, value)
        # Steps of the newest report that it has.
        logged = (self._client.get_metric_history(self._run, tag) for tag in TAGS)
        self.last = max((metric.step for history in logged for metric in history), default=-1)

    def log(self, row: Row, values: Mapping[str, float]) -> None:
        """Log a report."""
        from mlflow.entities import Metric

        time = int(1000 * row["time"].timestamp())
        self._client.log_batch(self._run, metrics=[Metric(tag, value, time, row["steps"]) for tag, value in values.items()])

    def end(self) -> None:
        """End the run."""
        self._client.set_terminated(self._run)


class WeightsAndBiases:
    """A run of Weights & Biases, as its environment variables say: WANDB_MODE=offline keeps it on this machine."""

    def __init__(self, experiment: str, trial: str, hyperparameters: Mapping[str, Any]) -> None:
        import wandb

        self._run = wandb.init(
            project=experiment, id=f"{experiment}-{trial}", name=f"trial {trial}", resume="allow",
            reinit="create_new", config=dict(hyperparameters), settings=wandb.Settings(silent=True, console="off"),
        )  # fmt: skip
        self.last = self._run.step - 1

    def log(self, row: Row, values: Mapping[str, float]) -> None:
        """Log a report."""
        self._run.log(dict(values), step=row["steps"])

    def end(self) -> None:
        """End the run."""
        self._run.finish()


SERVICES: Final[Mapping[str, tuple[type[Mlflow | WeightsAndBiases], str, str]]] = {
    # What makes a run, and module and class of the errors of a service that is not reached.
    "mlflow": (Mlflow, "mlflow.exceptions", "MlflowException"),
    "wandb": (WeightsAndBiases, "wandb.errors", "Error"),
}


def check_trackers(names: Sequence[str]) -> None:
    """Raise a UsageError for a service whose library is not installed."""
    for name in names:
        if name in SERVICES:
            try:
                importlib.import_module(name)
            except ImportError as error:
                again = python_command("tuning.run", "...", "--track", name)
                under_uv = f", or uv run --with {name}{again.removeprefix('uv run')}" if again.startswith("uv run") else ""
                raise UsageError(f"--track {name}: it is not installed ({error}); pip install {name}{under_uv}") from None


class Tracked:
    """Reports of a trial in a service. A service that fails costs the search a line, and nothing else.

    `trial` says when it was begun too: a later experiment may have the same name. What the service has is not sent again.
    """

    paths: Sequence[Path] = ()

    def __init__(self, name: str, experiment: str, trial: str, hyperparameters: Mapping[str, Any], rows: Sequence[Row]) -> None:
        make, module, error = SERVICES[name]
        self._name, self._failure = name, getattr(importlib.import_module(module), error)
        self._run: Mlflow | WeightsAndBiases | None = None
        with self._telling_failures():
            self._run = make(experiment, trial, hyperparameters)
        self.add(rows)

    def add(self, rows: Sequence[Row]) -> None:
        """Send reports."""
        for row in rows:
            values = {tag: float(row[column]) for tag, column in TAGS.items() if row.get(column) is not None}
            if self._run is not None and row["steps"] > self._run.last and values:
                with self._telling_failures():
                    self._run.log(row, values)

    def close(self) -> None:
        """End the run."""
        if self._run is not None:
            with self._telling_failures():
                self._run.end()

    @contextmanager
    def _telling_failures(self) -> Iterator[None]:
        try:
            yield
        except self._failure as why:
            self._run, reason = None, str(why).strip().partition("\n")[0]
            note(f"--track {self._name}: {reason}; what this trial reports is in the results alone")


Copy = CsvCopy | TensorBoardCopy | Tracked


def copies_of(
    settings: Settings, paths: ExperimentPaths, trial: Row, hyperparameters: Mapping[str, Any], rows: Sequence[Row]
) -> list[Copy]:
    """Make the copies that an experiment wants of a trial's reports so far, its rows; `trial` is its row of `trials`.

    They are made anew when a trial begins or goes on. So each has each report once, whatever a kill left, and all of them where
    it is wanted only later.
    """
    copies, number = list[Copy](), trial["trial"]
    if "csv" in settings.track:
        copies.append(CsvCopy(paths.csv(number), rows))
    if "tensorboard" in settings.track:
        copies.append(TensorBoardCopy(paths.tensorboard(number), rows))
    services = (name for name in settings.track if name in SERVICES)
    begun = f"{number}-{trial['started']:%Y%m%d-%H%M%S}"
    return [*copies, *(Tracked(name, settings.name, begun, hyperparameters, rows) for name in services)]


def _csv_row(row: Row) -> list[Any]:
    values = [row.get(column) for column in CSV_COLUMNS.values()]
    values[0] = row["steps"] // TRAINING_HOURS
    return ["" if value is None else value for value in values]


def _lines(rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
