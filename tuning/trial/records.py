"""What the results say of trials: their rows in `trials`, `reports` and `evaluations`. The driver alone writes them."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from common.generators import Stream, stream_seed
from envs.objective.aim import Aim, Outcome
from results.schema import CANDIDATE, GIVEN
from results.table_files import ResultsError, add_rows, drop_rows_after, read_rows, rows_path, write_rows
from search_spaces import Assignment, Kind, SearchSpace, SpaceError
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.folder import Experiment
from tuning.memory.placement import ANYWHERE
from tuning.storage.search_files import Home
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.checkpoint_files import OF_AN_AIM
from tuning.trial.protocol import Handout, Proposal, Report, Row
from tuning.trial.provenance import provenance
from tuning.trial.report_copies import Copy, copies_of

OF_A_REPORT = ("evaluations", "reports")  # tables whose rows a trial tells
RATED = ("score", *OF_AN_AIM, "rating", "further_episodes")  # columns that say how its policy did, and in what
_TYPES = {Kind.INTEGER: int, Kind.NUMBER: float, Kind.TEXT: str, Kind.SIZES: str, Kind.FLAG: bool}


def rated_columns(aim: Aim, outcome: Outcome) -> dict[str, float | None]:
    """Columns that say how a policy did: all of them, as one before may have missed what this one meets."""
    columns: dict[str, float | None] = {"score": outcome.score, **{name: getattr(outcome, name) for name in OF_AN_AIM}}
    if (outcome.objective, outcome.shortfall) == (None, None):
        return {**columns, "rating": None}
    # Without a rating -inf, which is below all others: an empty one would stand for the score.
    rating = aim.rating(outcome)
    return {**columns, "rating": rating if math.isfinite(rating) else -math.inf}


class TrialRecords:
    """Writes what the results say of trials; see `results.table_files`. A write is whole or has not happened.

    `written` is told of each file after it was written.
    """

    def __init__(self, experiment: Experiment, written: Callable[[Path], None] = lambda path: None) -> None:
        self._experiment, self._folder, self._written = experiment, experiment.paths.folder, written
        self.aim = experiment.settings.aim
        self.space: SearchSpace = algorithm_of(experiment.settings).space
        self._hyperparameters = {parameter.name: _TYPES[parameter.kind] for parameter in self.space.parameters}
        self._copies: dict[int, list[Copy]] = {}

    def begin(self, proposal: Proposal, **columns: Any) -> None:
        """Write the row of a trial that is handed out; a trial that was interrupted keeps its measurements."""
        now = {"state": "running", "budget_steps": self._experiment.settings.steps, "finished": None, "error": None}
        row = self._row(proposal.number) or self._new(proposal)
        self._write({**row, **now, **columns})

    def begin_anew(self, proposal: Proposal) -> None:
        """Write the row of a trial that ended and is to begin anew; what was measured of it before is dropped."""
        self.drop_after(proposal.number, 0)
        self._write(self._new(proposal) | {"state": "running"})

    def hand_out(self, proposal: Proposal) -> Handout:
        """Begin a trial outside of a search: it goes on from its newest checkpoint, and is held to no limit."""
        self.begin(proposal)
        number = proposal.number
        return Handout(
            number,
            proposal.hyperparameters,
            self.seed(number),
            Checkpoints(self._experiment.paths.checkpoints(number)).steps,
            ANYWHERE,
            Home(str(self._experiment.paths.folder), ""),
            confirms=proposal.confirms is not None,
        )

    def take(self, number: int, report: Report) -> None:
        """Write what a trial told, into all tables."""
        self.add(number, report)
        self.told(number, report.columns)

    def add(self, number: int, report: Report) -> None:
        """Add the rows that a trial told. Those beyond the checkpoint from which it goes on are told again, and dropped."""
        if report.restored:
            self.drop_after(number, report.steps)
        copies = self._copied(number) if report.reports else []  # of those before
        for table, rows in zip(OF_A_REPORT, (report.evaluations, report.reports), strict=True):
            if rows:
                self._add(table, number, rows)
        for copy in copies:
            copy.add(report.reports)
            self._all_written(copy.paths)

    def drop_after(self, number: int, steps: int) -> None:
        """Drop the rows of a trial beyond some steps, before they are told again."""
        self.leave(number)  # a copy is made anew
        for table in OF_A_REPORT:
            # A copy of a teacher is evaluated at 0 steps, before training, and again where training begins anew.
            self._drop(table, number, steps or -1)
        row = self._row(number)
        if row and row.get("further_episodes") and row["kept_steps"] > steps:
            self.update(number, further_episodes=None)

    def leave(self, number: int) -> None:
        """Note that the process of a trial has ended: copies of its reports for other programs are closed."""
        for copy in self._copies.pop(number, []):
            copy.close()
            self._all_written(copy.paths)

    def _all_written(self, paths: Sequence[Path]) -> None:
        for path in paths:
            self._written(path)

    def _copied(self, number: int) -> list[Copy]:
        if number not in self._copies:
            settings, self._copies[number] = self._experiment.settings, []
            if settings.track:
                rows, given = self._read("reports", number), self.assignment(number)
                self._copies[number] = copies_of(settings, self._experiment.paths, self.row(number), given, rows)
        return self._copies[number]

    def refuse(self, proposal: Proposal, predicted: Mapping[str, object]) -> None:
        """Write the row of a trial that does not fit into memory and is not started, with columns of predicted memory."""
        ended = {"state": "oom", "finished": datetime.now(UTC), "error": proposal.refused}
        self._write({**self._new(proposal), **predicted, **ended})

    def repeat(self, proposal: Proposal) -> tuple[str, float | None]:
        """Write the row of a trial that has the assignment, and so the outcome, of an earlier one; its state and rating."""
        assert proposal.same_as is not None
        earlier = self.row(proposal.same_as)
        same = {name: earlier.get(name) for name in ("state", *RATED, "noticed")}
        now = datetime.now(UTC)
        self._write({**self._new(proposal), **same, "same_as": proposal.same_as, "finished": now})
        rating = earlier.get("rating")
        return str(earlier["state"]), earlier.get("score") if rating is None else rating

    def _new(self, proposal: Proposal) -> dict[str, Any]:
        settings = self._experiment.settings
        return {
            "trial": proposal.number,
            "algorithm": settings.algo,
            "scenario": self._experiment.scenario,
            "backend": settings.simulator,
            "reward": settings.rewarded_by,
            "seed": trial_seed(settings.seed, proposal.number, proposal.confirm_run, proposal.confirm_role),
            "confirms": proposal.confirms,
            "confirm_run": proposal.confirm_run,
            "confirm_role": proposal.confirm_role,
            "steps": 0,
            "budget_steps": settings.steps,
            "updates": 0,
            "crashes": 0,
            "out_of_memory": 0,
            "started": datetime.now(UTC),
            **{GIVEN + name: value for name, value in proposal.hyperparameters.items()},
            **provenance(),
        }

    def has(self, number: int) -> bool:
        """Whether a trial has a row."""
        return self._row(number) is not None

    def seed(self, number: int) -> int:
        """Seed of a trial."""
        return self.row(number)["seed"]

    def assignment(self, number: int) -> Assignment:
        """Hyperparameters that the search assigned to a trial.

        Raises a ResultsError if its row is damaged, or holds a value that no search assigns.
        """
        row = self.row(number)
        try:
            assignment = {parameter.name: row[GIVEN + parameter.name] for parameter in self.space.parameters}
            # A row of a stranger would decide how large a network is built.
            self.space.check(assignment)
        except KeyError as error:
            raise ResultsError(f"{self._path(number)} has no {error.args[0]}: restore it from a copy") from None
        except SpaceError as error:
            raise ResultsError(f"{self._path(number)}: {error}; restore it from a copy") from None
        return assignment

    def row(self, number: int) -> dict[str, Any]:
        """A trial's row. Raises a ResultsError if it is missing or damaged, or of another experiment."""
        row = self._row(number)
        if row is None:
            raise ResultsError(f"{self._path(number)} is missing: restore it from a copy")
        return row

    def update(self, number: int, **columns: Any) -> None:
        """Change columns of a trial's row."""
        if columns:
            self._write({**self.row(number), **columns})

    def told(self, number: int, columns: Mapping[str, Any]) -> None:
        """Change columns of a trial's row as it told; it knows nothing of further episodes, which rate the same policy."""
        before = self.row(number)
        is_same = before.get("further_episodes") is not None and columns.get("kept_steps") == before["kept_steps"]
        self.update(number, **{name: value for name, value in columns.items() if not (is_same and name in RATED)})

    def add_further(self, number: int, rows: Sequence[Row], further: int) -> None:
        """Add `further` episodes or weeks of the policy that a trial is rated by, and rate it by these and its evaluation."""
        before, steps = self._read("evaluations", number), self.row(number)["kept_steps"]
        whole = [row for row in (*before, *rows) if row["steps"] == steps]
        if rows:
            self._add("evaluations", number, rows)
        self.update(number, **rated_columns(self.aim, self.aim.outcome(whole)), further_episodes=further)

    def end(self, number: int, state: str, error: str = "") -> None:
        """Close a trial's row, with why it failed."""
        self.update(number, state=state, finished=datetime.now(UTC), error=error or None)

    def _path(self, number: int) -> Path:
        return self._experiment.paths.part("trials", number)

    def _row(self, number: int) -> dict[str, Any] | None:
        rows, settings = self._read("trials", number), self._experiment.settings
        if not rows:
            return None
        (row,) = rows
        expected: dict[str, Any] = {
            "algorithm": settings.algo, "backend": settings.simulator, "reward": settings.rewarded_by
        }  # fmt: skip
        expected["seed"] = trial_seed(settings.seed, number, row.get("confirm_run"), row.get("confirm_role"))
        for name, value in expected.items():
            if row.get(name, value) != value:
                raise ResultsError(
                    f"{self._path(number)} and {self._experiment.paths.settings} are of different experiments: {name} is "
                    f"{row[name]} in the first, {value} by the second; restore them from one copy"
                )
        return row

    def _read(self, table: str, number: int) -> list[dict[str, Any]]:
        """Rows of a trial; none where it has none. Raises a ResultsError if they are damaged."""
        return read_rows(self._folder, table, number)

    def _write(self, row: Row) -> None:
        self._written(write_rows(self._folder, "trials", row["trial"], [row], self._hyperparameters))

    def _add(self, table: str, number: int, rows: Sequence[Row]) -> None:
        measures = self._experiment.settings.task.columns if table == "evaluations" else None
        self._written(add_rows(self._folder, table, number, rows, measures))

    def _drop(self, table: str, number: int, steps: int) -> None:
        if drop_rows_after(self._folder, table, number, steps):
            self._written(rows_path(self._folder, table, number))


@cache
def trial_seed(experiment_seed: int, number: int, confirm_run: int | None = None, confirm_role: str | None = None) -> int:
    """Seed of a trial, below 2^31.

    Trials that confirm others have that of their `confirm_run`, which those that are compared share; candidates have others.
    """
    if confirm_run is not None:
        stream = Stream.CANDIDATE if confirm_role == CANDIDATE else Stream.CONFIRM
        return stream_seed(stream, experiment_seed, confirm_run) >> 1
    return int(np.random.SeedSequence([experiment_seed, number, 0]).generate_state(1)[0] >> 1)
