"""What a search shows of itself while it runs: plain data, and the file that another process reads them from."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from common.json_values import checked, described, read_json

PROGRESS_FILE, OWNER_FILE = "progress.json", "owner.json"  # below an experiment's folder
FORMAT = 1  # version of `PROGRESS_FILE`
MOST_EVENTS = 50  # that the file keeps
MOST_POINTS = 120  # of the curve

Phase = Literal["running", "complete", "stopped"]


@dataclass(frozen=True)
class LiveTrial:
    """A trial that runs.

    Attributes:
        number: of it.
        state: starting, continuing (from a checkpoint) or training.
        steps: that it has taken.
        rating: of its last evaluation, as a person reads it; empty before the first.
    """

    number: int
    state: str
    steps: int
    rating: str = ""


@dataclass(frozen=True)
class LiveSearch:
    """A search at a moment.

    Attributes:
        experiment: its name.
        written: when, seconds since 1970.
        phase: running; complete, which is at its end; or stopped before it.
        reason: why it was stopped; empty for a signal.
        done: part of the budget, or of the trials, from 0 to 1.
        amounts: what was done, in short texts.
        trials: those that run, by number.
        most_steps: that a trial may take.
        rating: what trials are ranked by: score, or the name of the objective.
        best: the best so far, as a person reads it; empty without one.
        curve: best rating so far, each with the seconds after which it was reached; without those that miss a requirement.
        steps_per_second: of all trials; None before it is known.
        elapsed: seconds of this run.
        left: seconds that are expected; None before they are known.
        left_is_bound: whether they are at most as many.
        machine: load of the machine and its cards, in short texts.
        events: last lines.
        events_before: number of lines before these.
    """

    experiment: str
    written: float
    phase: Phase
    reason: str
    done: float
    amounts: tuple[str, ...]
    trials: tuple[LiveTrial, ...]
    most_steps: int
    rating: str
    best: str
    curve: tuple[tuple[float, ...], ...]
    steps_per_second: float | None
    elapsed: float
    left: float | None
    left_is_bound: bool
    machine: tuple[str, ...]
    events: tuple[str, ...] = ()
    events_before: int = 0

    def write(self, folder: Path) -> None:
        """Write the file of an experiment; a reader sees the old one or this one.

        It is not flushed to the disk: the next one follows in seconds, and nothing is computed from it.

        Args:
            folder: of the experiment.

        Raises:
            OSError: if it cannot be written.
        """
        new = folder / f"{PROGRESS_FILE}.new"
        new.write_text(json.dumps({"format": FORMAT, **asdict(self)}), encoding="utf-8")
        new.replace(folder / PROGRESS_FILE)

    @classmethod
    def read(cls, folder: Path) -> LiveSearch:
        """Read the file of an experiment.

        Args:
            folder: of the experiment.

        Raises:
            OSError: if it cannot be read.
            ValueError: if it is not what `write` writes.
        """
        values = checked(read_json(folder / PROGRESS_FILE), dict[str, Any], "its content")
        if (version := values.pop("format", None)) != FORMAT:
            raise ValueError(f"its format is {version}, and this version reads {FORMAT}")
        trials = checked(values.pop("trials", []), list[Any], "trials")
        known = [described(LiveTrial, trial, f"trials[{index}]") for index, trial in enumerate(trials)]
        search = described(cls, {**values, "trials": []}, "its content")
        if any(len(point) != 2 for point in search.curve):
            raise ValueError("curve has a point that is no pair")
        return cls(**{**vars(search), "trials": tuple(known)})


@dataclass(frozen=True)
class Owner:
    """The process of the run that works on an experiment.

    Attributes:
        process: its number.
        host: where.
        since: when it began, in ISO 8601.
    """

    process: int
    host: str
    since: str

    @property
    def shown(self) -> str:
        """In words."""
        return f"process {self.process} on {self.host} since {self.since}"

    @classmethod
    def read(cls, folder: Path) -> Owner | None:
        """The owner of an experiment; None without one, or with a file that is damaged.

        Args:
            folder: of the experiment.
        """
        try:
            owner = described(cls, read_json(folder / OWNER_FILE), "its content")
            # A time that this system cannot count is damage too.
            _ = datetime.fromisoformat(owner.since).timestamp()
        except (OSError, OverflowError, ValueError):
            return None
        return owner if owner.process > 0 else None
