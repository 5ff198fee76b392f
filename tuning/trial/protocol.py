"""What the driver and the process of a trial send each other, through Ray Tune: one object there, one object back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from envs.objective.aim import Outcome
from search_spaces import Assignment
from tuning.memory.placement import Place
from tuning.storage.search_files import Home

_HANDOUT, _REPORT = "handout", "report"  # keys in what Tune passes on
Row = Mapping[str, Any]  # of a table in the results


@dataclass(frozen=True)
class Handout:
    """A trial as it is handed out to a process."""

    number: int  # of the trial
    hyperparameters: Assignment  # its assignment
    seed: int  # of its random numbers
    checkpoint: int  # steps of the newest checkpoint that the search knows of; 0 for none. What lies beyond it is made again
    place: Place  # where it runs, and what it may take there
    home: Home  # where its files are
    confirms: bool = False  # whether it trains an assignment again, so that it is no candidate for the best

    def config(self) -> dict[str, Any]:
        """Configuration of a trial for Tune. Loggers of users see the hyperparameters by their names."""
        return {"number": self.number, "hyperparameters": dict(self.hyperparameters), _HANDOUT: self}


def handout_in(config: Mapping[str, Any]) -> Handout:
    """The handout in a configuration for Tune."""
    return config[_HANDOUT]


class Ending(StrEnum):
    """Why the process of a trial ends before the end of its budget."""

    STOPPED = "stopped"  # the run ends, its node goes, or it has not its turn: it goes on later
    DISK_FULL = "disk full"
    STORAGE_LOST = "storage lost"
    OUT_OF_MEMORY = "oom"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Evaluated:
    """An evaluation."""

    number: int  # from 1
    steps: int  # of the trial, as it was made; a trial that goes on tells its last one again, with a newer checkpoint
    outcome: Outcome  # how it came out


@dataclass(frozen=True)
class Report:
    """What a trial tells at a point of its training."""

    steps: int = 0  # that it has taken
    # Whether it has just begun, from a checkpoint with these steps or from none. What was told beyond is gone.
    restored: bool = False
    saved: bool = False  # whether it has just written a checkpoint with these steps
    evaluated: Evaluated | None = None  # its last evaluation; None where it tells of none
    reports: Sequence[Row] = ()  # rows of the table `reports` since it told some
    evaluations: Sequence[Row] = ()  # rows of the table `evaluations`, likewise
    columns: Mapping[str, Any] = field(default_factory=dict)  # of its row in `trials`, as of now
    ending: Ending | None = None  # why its process ends; None where it goes on, or has come to the end of its budget
    message: str = ""  # a line for the user; of an ending by an error its traceback

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
    """A trial: its number for ever, and its assignment."""

    number: int  # from 0
    hyperparameters: Assignment  # the assignment
    # Number of an ended trial with the same assignment, so that there is nothing to run; None where it is new.
    same_as: int | None = None
    # Why it cannot fit into the machine's memory, so that there is nothing to run; None where it can.
    refused: str | None = None
    # Number of the trial with the same assignment that this one trains again; None in the search itself.
    confirms: int | None = None
    confirm_run: int | None = None  # number of its seed, which trials that are compared share
    # `default`, `best` for one that is compared with it, or `candidate` for one that chooses these.
    confirm_role: str | None = None
