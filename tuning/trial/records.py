"""The rows of the `trials` table as trials begin, go on and end."""

from __future__ import annotations

import json
import platform
import socket
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from results.schema import GIVEN, USED
from results.writer import read_part, write_part
from search_spaces import Assignment, Kind
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment
from tuning.search.study import Proposal
from tuning.trial.checkpoint import Checkpoints

PACKAGES = ("ray", "torch", "citylearn", "optuna", "gymnasium", "numpy", "building-tuner")
DIED = "its process died without a word; the system kills where memory runs out"
_TYPES = {Kind.INTEGER: int, Kind.NUMBER: float, Kind.TEXT: str, Kind.SIZES: str, Kind.FLAG: bool}


class TrialRecords:
    """Reads and writes trials' rows, one part file each. A trial's process and the driver never write one at once."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._hyperparameters = {p.name: _TYPES[p.kind] for p in algorithm(experiment.settings.algo).space.parameters}

    def begin(self, proposal: Proposal) -> None:
        """Write the row of a trial that is handed out; one that was interrupted keeps what it measured."""
        number = proposal.number
        if self._path(number).exists():
            self.update(number, state="running", budget_steps=self._experiment.settings.steps, finished=None, error=None)
        else:
            self._write({**self._new(proposal), "state": "running"})

    def refuse(self, proposal: Proposal, predicted: Mapping[str, int]) -> None:
        """Write the row of a trial that cannot fit and is not started.

        Args:
            proposal: with the reason.
            predicted: its columns of predicted memory.
        """
        ended = {"state": "oom", "finished": datetime.now(UTC), "error": proposal.refused}
        self._write({**self._new(proposal), **predicted, **ended})

    def repeat(self, proposal: Proposal) -> tuple[str, float | None]:
        """Write the row of a trial that has the outcome of another one.

        Returns:
            State and score.
        """
        assert proposal.same_as is not None
        state, score = (self._read(proposal.same_as)[name] for name in ("state", "score"))
        now = datetime.now(UTC)
        self._write({**self._new(proposal), "state": state, "score": score, "same_as": proposal.same_as, "finished": now})
        return state, score

    def _new(self, proposal: Proposal) -> dict[str, Any]:
        settings = self._experiment.settings
        return {
            "trial": proposal.number,
            "algorithm": settings.algo,
            "scenario": settings.scenario,
            "backend": settings.backend,
            "reward": settings.reward,
            "seed": trial_seed(settings.seed, proposal.number),
            "steps": 0,
            "budget_steps": settings.steps,
            "updates": 0,
            "crashes": 0,
            "out_of_memory": 0,
            "started": datetime.now(UTC),
            **{GIVEN + name: value for name, value in proposal.hyperparameters.items()},
            **machine(),
        }

    def state(self, number: int) -> str | None:
        """State in a trial's row; None where it has none yet."""
        return str(self._read(number)["state"]) if self._path(number).exists() else None

    def score(self, number: int) -> float | None:
        """Score in a trial's row."""
        score: float | None = self._read(number)["score"]
        return score

    def reason(self, number: int) -> str:
        """Last line of the error in a trial's row."""
        return (self._read(number)["error"] or "").strip().rpartition("\n")[2]

    def budget_steps(self, number: int) -> int:
        """Steps that were asked for when a trial was last handed out."""
        return int(self._read(number)["budget_steps"])

    def crash(self, number: int, error: str) -> None:
        """Count a crash of a trial, with its traceback."""
        self.update(number, crashes=(self._read(number)["crashes"] or 0) + 1, error=error)

    def crashes(self, number: int) -> tuple[int, str | None]:
        """How often a trial crashed, and the traceback if it did since it was last handed out."""
        row = self._read(number)
        return row["crashes"] or 0, row["error"]

    def run_out(self, number: int, error: str) -> None:
        """Count that a trial ran out of memory, with what it said."""
        self.update(number, out_of_memory=self.times_out_of_memory(number) + 1, error=error)

    def times_out_of_memory(self, number: int) -> int:
        """How often a trial ran out of memory."""
        return self._read(number)["out_of_memory"] or 0

    def marked_memory(self, number: int) -> int | None:
        """Memory of a trial's process that ended itself because of it, bytes; None where none did. Told once."""
        marker = self._experiment.paths.memory_marker(number)
        if not marker.exists():
            return None
        nbytes = int(marker.read_text(encoding="utf-8"))
        marker.unlink()
        return nbytes

    def assignment(self, number: int) -> Assignment:
        """Hyperparameters that the search assigned to a trial; default values of those that did not exist then."""
        row = self._read(number)
        parameters = algorithm(self._experiment.settings.algo).space.parameters
        return {parameter.name: row.get(GIVEN + parameter.name, parameter.default) for parameter in parameters}

    def measured(self, number: int) -> dict[str, Any]:
        """A trial's row."""
        return self._read(number)

    def checkpoint_steps(self, number: int) -> int:
        """Steps of a trial's newest checkpoint; 0 without one."""
        return Checkpoints(self._experiment.paths.checkpoints(number)).steps

    def update(self, number: int, **columns: Any) -> None:
        """Change columns of a trial's row."""
        self._write({**self._read(number), **columns})

    def used(self, number: int, values: Assignment, device: str, num_envs: int) -> None:
        """Store what was read back from the built trainer, where it runs and over how many copies of the site."""
        given = {USED + name: value for name, value in values.items()}
        # What this process does not know, such as the commit where there is no git or no time for it, stays as the driver said.
        here = {name: value for name, value in machine().items() if value}
        self.update(number, **given, device=device, num_envs=num_envs, **here)

    def end(self, number: int, state: str) -> tuple[str, float | None]:
        """Close a trial's row.

        Returns:
            The last line of its error, and its score.
        """
        row = self._read(number)
        # A process that the system killed had no time to say why.
        error: str = row["error"] or (DIED if state == "failed" else "")
        self._write({**row, "state": state, "finished": datetime.now(UTC), "error": error or None})
        return error.strip().rpartition("\n")[2], row["score"]

    def _path(self, number: int) -> Path:
        return self._experiment.paths.part("trials", number)

    def _read(self, number: int) -> dict[str, Any]:
        return read_part(self._path(number))[0]

    def _write(self, row: dict[str, Any]) -> None:
        write_part(self._path(row["trial"]), "trials", [row], self._hyperparameters)


def trial_seed(experiment_seed: int, number: int) -> int:
    """Seed of a trial, below 2^31."""
    return int(np.random.SeedSequence([experiment_seed, number, 0]).generate_state(1)[0] >> 1)


@cache
def machine() -> dict[str, str]:
    """Columns of `trials` that say where and with what code this process runs."""
    return {
        "host": socket.gethostname(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": json.dumps({name: _version(name) for name in PACKAGES}),
        "git_commit": _git_commit(),
    }


def _version(package: str) -> str | None:
    """Version of a package; None where it is not installed, as this one where its folder is run in place."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git_commit() -> str:
    """Commit of this package's working tree; empty where there is none or no git."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False, timeout=10
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
