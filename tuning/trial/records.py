"""Rows of the `trials` table, from the beginning of a trial to its end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from common.streams import Stream, stream_seed
from envs.objective.aim import Outcome
from results.schema import CANDIDATE, GIVEN, USED
from results.table_files import ResultsError, read_file, write_rows
from search_spaces import Assignment, Kind, SearchSpace, SpaceError
from search_spaces.earlier import in_todays_names
from search_spaces.removed import REMOVED, without_removed
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.folder import Experiment
from tuning.experiment.settings import MOST_DIGITS
from tuning.trial.checkpoint import Checkpoints, KeptCheckpoints
from tuning.trial.checkpoint_files import OF_AN_AIM
from tuning.trial.proposal import Proposal
from tuning.trial.provenance import provenance

FROZEN = "frozen"  # state of a trial that may go on
DIED = "its process died without an error; the system kills processes when memory runs out"
_TYPES = {Kind.INTEGER: int, Kind.NUMBER: float, Kind.TEXT: str, Kind.SIZES: str, Kind.FLAG: bool}


class TrialRecords:
    """Reads and writes rows of trials, one file each. A trial's process and the driver never write at the same time."""

    def __init__(
        self,
        experiment: Experiment,
        written: Callable[[Path], None] | None = None,
        checkpoints: Callable[[int], KeptCheckpoints] | None = None,
    ) -> None:
        """Put it together; nothing is read.

        Args:
            experiment: of the trials.
            written: told of each row after it was written, and of a marker after it was removed.
            checkpoints: those of a trial by its number; by default those in the experiment's folder.
        """
        self._experiment = experiment
        self._written = written or (lambda path: None)
        self._checkpoints = checkpoints or (lambda number: Checkpoints(experiment.paths.checkpoints(number)))
        self.aim = experiment.settings.aim
        self.space: SearchSpace = algorithm_of(experiment.settings).space
        self._hyperparameters = {p.name: _TYPES[p.kind] for p in self.space.parameters}

    def begin(self, proposal: Proposal) -> None:
        """Write the row of a trial that is handed out; a trial that was interrupted keeps its measurements."""
        number = proposal.number
        if self._path(number).exists():
            self.update(number, state="running", budget_steps=self._experiment.settings.steps, finished=None, error=None)
        else:
            self._write({**self._new(proposal), "state": "running"})

    def refuse(self, proposal: Proposal, predicted: Mapping[str, int]) -> None:
        """Write the row of a trial that does not fit into memory and is not started.

        Args:
            proposal: with the reason.
            predicted: columns of predicted memory.
        """
        ended = {"state": "oom", "finished": datetime.now(UTC), "error": proposal.refused}
        self._write({**self._new(proposal), **predicted, **ended})

    def repeat(self, proposal: Proposal) -> tuple[str, float | None]:
        """Write the row of a trial that has the assignment, and so the outcome, of an earlier one.

        Returns:
            State and rating.
        """
        assert proposal.same_as is not None
        of = self._read(proposal.same_as)
        same = {name: of.get(name) for name in ("state", "score", *OF_AN_AIM, "rating", "noticed")}
        now = datetime.now(UTC)
        self._write({**self._new(proposal), **same, "same_as": proposal.same_as, "finished": now})
        return str(of["state"]), _rating(of)

    def _new(self, proposal: Proposal) -> dict[str, Any]:
        settings = self._experiment.settings
        return {
            "trial": proposal.number,
            "algorithm": settings.algo,
            "scenario": self._experiment.scenario,
            "backend": settings.backend,
            "reward": settings.reward,
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

    def state(self, number: int) -> str | None:
        """State in a trial's row; None if it has no row yet."""
        return str(self._read(number)["state"]) if self._path(number).exists() else None

    def outcome(self, number: int) -> Outcome | None:
        """How the last evaluation in a trial's row came out; None without one."""
        return outcome_in(self._read(number))

    def seed(self, number: int) -> int:
        """Seed of a trial."""
        row = self._read(number)
        seed: int | None = row.get("seed")
        return trial_seed(self._experiment.settings.seed, number) if seed is None else seed

    def reason(self, number: int) -> str:
        """Last line of the error in a trial's row."""
        return (self._read(number)["error"] or "").strip().rpartition("\n")[2]

    def budget_steps(self, number: int) -> int:
        """Budget of steps when a trial was last handed out."""
        row = self._read(number)
        if row.get("budget_steps") is None:
            raise ResultsError(f"{self._path(number)} has no budget_steps: restore it from a copy")
        return int(row["budget_steps"])

    def count_crash(self, number: int, error: str) -> None:
        """Count a crash of a trial, with its traceback."""
        self.update(number, crashes=(self._read(number)["crashes"] or 0) + 1, error=error)

    def crashes(self, number: int) -> tuple[int, str | None]:
        """How often a trial crashed, and the traceback if it crashed since it was last handed out."""
        row = self._read(number)
        return row["crashes"] or 0, row["error"]

    def count_out_of_memory(self, number: int, error: str) -> None:
        """Count that a trial ran out of memory, with the error."""
        self.update(number, out_of_memory=self.times_out_of_memory(number) + 1, error=error)

    def times_out_of_memory(self, number: int) -> int:
        """How often a trial ran out of memory."""
        return self._read(number)["out_of_memory"] or 0

    def take_memory_marker(self, number: int) -> int | None:
        """Read and remove the marker of a process that ended itself because of its memory; see `tuning.trial.monitor`.

        Returns:
            Memory of the process, bytes; None without a marker, or with one that is damaged.
        """
        marker = self._experiment.paths.memory_marker(number)
        if not marker.exists():
            return None
        text = marker.read_bytes()[: MOST_DIGITS + 1]
        marker.unlink()
        self._written(marker)
        if not text.isdigit() or len(text) > MOST_DIGITS:
            print(f"note: {marker} holds no number of bytes; it is removed", file=sys.stderr)
            return None
        return int(text)

    def assignment(self, number: int) -> Assignment:
        """Hyperparameters that the search assigned to a trial; those that an older version did not have get their default.

        Raises:
            ResultsError: if its row is damaged, holds a value that no search assigns, or a hyperparameter that is gone and did
                something.
        """
        row = self._read(number)
        try:
            without_removed({name: row[GIVEN + name] for name in REMOVED if GIVEN + name in row})
        except SpaceError as error:
            raise ResultsError(f"{self._path(number)}: {error}") from None
        assignment = _given(row, self.space)
        try:
            # A row of a stranger would decide how large a network is built.
            self.space.check(assignment)
        except SpaceError as error:
            raise ResultsError(f"{self._path(number)}: {error}; restore it from a copy") from None
        return assignment

    def measured(self, number: int) -> dict[str, Any]:
        """A trial's row."""
        return self._read(number)

    def checkpoint_steps(self, number: int) -> int:
        """Steps of a trial's newest checkpoint; 0 without one."""
        return self._checkpoints(number).steps

    def update(self, number: int, **columns: Any) -> None:
        """Change columns of a trial's row."""
        self._write({**self._read(number), **columns})

    def write_used(self, number: int, values: Assignment, device: str, num_envs: int) -> None:
        """Write the values that the built trainer uses, its device and its number of copies of the site."""
        given = {USED + name: value for name, value in values.items()}
        # A value that this process lacks, such as the commit without git, stays as the driver wrote it.
        here = {name: value for name, value in provenance().items() if value}
        self.update(number, **given, device=device, num_envs=num_envs, **here)

    def end(self, number: int, state: str) -> tuple[str, float | None]:
        """Close a trial's row.

        Returns:
            The last line of its error, and its rating.
        """
        row = self._read(number)
        # A process that the system killed has written no error.
        error: str = row["error"] or (DIED if state == "failed" else "")
        self._write({**row, "state": state, "finished": datetime.now(UTC), "error": error or None})
        return error.strip().rpartition("\n")[2], _rating(row)

    def _path(self, number: int) -> Path:
        return self._experiment.paths.part("trials", number)

    def _read(self, number: int) -> dict[str, Any]:
        path, settings = self._path(number), self._experiment.settings
        (row,) = read_file(path)
        own: dict[str, Any] = {"algorithm": settings.algo, "backend": settings.backend, "reward": settings.reward}
        own["seed"] = trial_seed(settings.seed, number, row.get("confirm_run"), row.get("confirm_role"))
        for name, value in own.items():
            if row.get(name, value) != value:
                raise ResultsError(
                    f"{path} and {self._experiment.paths.settings} are of different experiments: {name} is {row[name]} in the "
                    f"first, {value} by the second; restore them from one copy"
                )
        # Whole, so that a row that is written again has no empty columns.
        return {**row, **{GIVEN + name: value for name, value in _given(row, self.space).items()}}

    def _write(self, row: dict[str, Any]) -> None:
        gone = {prefix + name for name in REMOVED for prefix in (GIVEN, USED)}
        kept = {name: value for name, value in row.items() if name not in gone}
        self._written(write_rows(self._experiment.paths.folder, "trials", row["trial"], [kept], self._hyperparameters))


def outcome_in(row: Mapping[str, Any]) -> Outcome | None:
    """How the last evaluation in a row came out; None without one."""
    return None if row["score"] is None else Outcome(row["score"], *(row.get(name) for name in OF_AN_AIM))


def _rating(row: Mapping[str, Any]) -> float | None:
    """What a trial is ranked by; an older version wrote the score alone."""
    rating: float | None = row.get("rating")
    return row["score"] if rating is None else rating


def _given(row: Mapping[str, Any], space: SearchSpace) -> Assignment:
    """Hyperparameters in a row, by today's names; what is newer than the row has its default."""
    given = {own.name: row[GIVEN + own.name] for own in space.parameters if GIVEN + own.name in row}
    return space.whole(in_todays_names(given))


def trial_seed(experiment_seed: int, number: int, confirm_run: int | None = None, confirm_role: str | None = None) -> int:
    """Seed of a trial, below 2^31.

    Args:
        experiment_seed: of its experiment.
        number: of the trial.
        confirm_run: number of the seed of a trial that confirms another one; trials that are compared share it.
        confirm_role: of such a trial; candidates have other seeds than those that are compared in the end.
    """
    if confirm_run is not None:
        of = Stream.CANDIDATE if confirm_role == CANDIDATE else Stream.CONFIRM
        return stream_seed(of, experiment_seed, confirm_run) >> 1
    return int(np.random.SeedSequence([experiment_seed, number, 0]).generate_state(1)[0] >> 1)
