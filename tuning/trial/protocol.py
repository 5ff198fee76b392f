"""What the driver and the process of a trial send each other, through Ray Tune: one object there, one object back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from envs.objective.aim import Outcome
from search_spaces import Assignment
from tuning.storage.search_files import Home

_HANDOUT, _REPORT = "handout", "report"  # keys in what Tune passes on
Row = Mapping[str, Any]  # of a table in the results


@dataclass(frozen=True)
class Limits:
    """What a trial may take of its machine.

    Attributes:
        vram_bytes: GPU memory.
        ram_bytes: host memory.
        fallback: how it saves memory: an index into the ladder of `tuning.memory.planner`.
        resources: that Ray reserves for it.
        labels: conditions on labels of its node; empty where every node will do.
        context_bytes: GPU memory that CUDA's context is expected to take of it.
    """

    vram_bytes: int
    ram_bytes: int
    fallback: int = 0
    resources: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    context_bytes: int = 0


@dataclass(frozen=True)
class Handout:
    """A trial as it is handed out to a process.

    Attributes:
        number: of the trial.
        hyperparameters: its assignment.
        seed: of its random numbers.
        checkpoint: steps of the newest checkpoint that the search knows of; 0 for none. What lies beyond it is made again.
        limits: what it may take.
        home: where its files are.
        confirms: whether it trains an assignment again, so that it is no candidate for the best.
    """

    number: int
    hyperparameters: Assignment
    seed: int
    checkpoint: int
    limits: Limits
    home: Home
    confirms: bool = False

    def config(self) -> dict[str, Any]:
        """Configuration of a trial for Tune. Loggers of users see the hyperparameters by their names."""
        return {"number": self.number, "hyperparameters": dict(self.hyperparameters), _HANDOUT: self}


def handout_in(config: Mapping[str, Any]) -> Handout:
    """The handout in a configuration for Tune."""
    handout: Handout = config[_HANDOUT]
    return handout


class Ending(StrEnum):
    """Why the process of a trial ends before the end of its budget."""

    STOPPED = "stopped"  # the run ends, its node goes, or it has not its turn: it goes on later
    DISK_FULL = "disk full"
    STORAGE_LOST = "storage lost"
    OUT_OF_MEMORY = "oom"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Evaluated:
    """An evaluation.

    Attributes:
        number: from 1.
        steps: of the trial, as it was made; a trial that goes on tells its last one again, with a newer checkpoint.
        outcome: how it came out.
    """

    number: int
    steps: int
    outcome: Outcome


@dataclass(frozen=True)
class Report:
    """What a trial tells at a point of its training.

    Attributes:
        steps: that it has taken.
        restored: whether it has just begun, from a checkpoint with these steps or from none. What was told beyond is gone.
        saved: whether it has just written a checkpoint with these steps.
        evaluated: its last evaluation; None where it tells of none.
        reports: rows of the table `reports` since it told some.
        evaluations: rows of the table `evaluations`, likewise.
        columns: of its row in `trials`, as of now.
        ending: why its process ends; None where it goes on, or has come to the end of its budget.
        message: a line for the user; of an ending by an error its traceback.
    """

    steps: int = 0
    restored: bool = False
    saved: bool = False
    evaluated: Evaluated | None = None
    reports: Sequence[Row] = ()
    evaluations: Sequence[Row] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)
    ending: Ending | None = None
    message: str = ""

    def for_tune(self) -> dict[str, Any]:
        """The report as Tune passes it on. Loggers of users see the steps and, after an evaluation, the score."""
        score = {"score": self.evaluated.outcome.score} if self.evaluated else {}
        return {"steps": self.steps, **score, _REPORT: self}


def report_in(result: Mapping[str, Any] | None) -> Report | None:
    """The report that Tune passed on; None where a trial ended before it told anything."""
    return (result or {}).get(_REPORT)


def drop_rows(result: dict[str, Any]) -> None:
    """Leave out the rows of a report that Tune passed on, once they are written."""
    if report := report_in(result):
        result[_REPORT] = replace(report, reports=(), evaluations=())


class DriverOnly:
    """Base of objects that exist in the driver alone; pickled, they are empty.

    Tune pickles searchers, schedulers and callbacks into snapshots. Nothing restores these: the study has everything. So
    journals and terminals, which cannot be pickled, are not needed in them.
    """

    def __getstate__(self) -> dict[str, object]:
        return {}


@dataclass(frozen=True)
class Proposal:
    """A trial: its number for ever, and its assignment.

    Attributes:
        number: from 0.
        hyperparameters: the assignment.
        same_as: number of an ended trial with the same assignment, so that there is nothing to run; None where it is new.
        refused: why it cannot fit into the machine's memory, so that there is nothing to run; None where it can.
        confirms: number of the trial with the same assignment that this one trains again; None in the search itself.
        confirm_run: number of its seed, which trials that are compared share.
        confirm_role: `default`, `best` for one that is compared with it, or `candidate` for one that chooses these.
    """

    number: int
    hyperparameters: Assignment
    same_as: int | None = None
    refused: str | None = None
    confirms: int | None = None
    confirm_run: int | None = None
    confirm_role: str | None = None
