"""What a search shows of itself while it runs: plain data, and the file that another process reads them from."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from common.files import NEW
from common.json_values import checked, described, read_json

PROGRESS_FILE, OWNER_FILE = "progress.json", "owner.json"  # below an experiment's folder
FORMAT = 1  # version of `PROGRESS_FILE`
MOST_EVENTS = 50  # that the file keeps
MOST_POINTS = 120  # of the curve

Phase = Literal["running", "complete", "stopped"]


@dataclass(frozen=True)
class LiveTrial:
    """A trial that runs."""

    number: int
    state: str  # starting, continuing (from a checkpoint) or training
    steps: int  # that it has taken
    rating: str = ""  # of the evaluation that it is rated by so far, as a person reads it; empty before the first


@dataclass(frozen=True)
class LiveSearch:
    """A search at a moment."""

    experiment: str
    written: float  # when, seconds since 1970
    phase: Phase  # running; complete, which is at its end; or stopped before it
    reason: str  # why it was stopped; empty for a signal
    done: float  # part of the budget, or of the trials, from 0 to 1
    amounts: tuple[str, ...]  # what was done, in short texts
    trials: tuple[LiveTrial, ...]  # those that run, by number
    most_steps: int
    rating: str  # what trials are ranked by: score, or the name of the objective
    best: str  # the best so far, as a person reads it; empty without one
    # Best rating so far, each with the seconds after which it was reached; without those that miss a requirement.
    curve: tuple[tuple[float, ...], ...]
    steps_per_second: float | None  # of all trials; None before it is known
    elapsed: float  # seconds of this run
    left: float | None  # seconds that are expected; None before they are known
    left_is_bound: bool  # whether they are at most as many
    machine: tuple[str, ...]  # load of the machine and its cards, in short texts
    events: tuple[str, ...] = ()
    events_before: int = 0  # number of lines before these
    again: tuple[str, ...] = ()  # options that a command which continues the search needs again, as words

    def write(self, folder: Path) -> None:
        """Write the file whole. It is not flushed to the disk: the next one follows in seconds."""
        new = folder / f"{PROGRESS_FILE}{NEW}"
        new.write_text(json.dumps({"format": FORMAT, **asdict(self)}), encoding="utf-8")
        new.replace(folder / PROGRESS_FILE)

    @classmethod
    def read(cls, folder: Path) -> LiveSearch:
        """Read the file; an OSError or a ValueError says why it cannot be."""
        values = checked(read_json(folder / PROGRESS_FILE), dict[str, Any], "its content")
        if (version := values.pop("format", None)) != FORMAT:
            raise ValueError(f"its format is {version}, and this version reads {FORMAT}")
        search = described(cls, values, "its content")
        if any(len(point) != 2 for point in search.curve):
            raise ValueError("curve has a point that is no pair")
        return search


@dataclass(frozen=True)
class Owner:
    """The process of the run that works on an experiment."""

    process: int
    host: str
    since: str  # when it began, in ISO 8601

    @property
    def shown(self) -> str:
        """In words."""
        return f"process {self.process} on {self.host} since {self.since}"

    @classmethod
    def read(cls, folder: Path) -> Owner | None:
        """The owner of an experiment; None without one, or with a file that is damaged."""
        try:
            return cls.of(read_json(folder / OWNER_FILE))
        except (OSError, ValueError):
            return None

    @classmethod
    def of(cls, values: object) -> Owner | None:
        """The owner that a file holds; None where that is damaged."""
        try:
            owner = described(cls, values, "its content")
            # A time that this system cannot count is damage too.
            _ = datetime.fromisoformat(owner.since).timestamp()
        except (OSError, OverflowError, ValueError):
            return None
        return owner if owner.process > 0 else None
