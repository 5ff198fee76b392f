"""Cells, winners, and the Parquet files in which finished ones stand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import pyarrow as pa
import pyarrow.parquet as pq

from common.errors import UserError
from common.files import write_whole
from common.json_values import read_json

Library = Literal["ours", "stable-baselines3", "rl-zoo3"]

TEXT, WHOLE, NUMBER = pa.string(), pa.int64(), pa.float64()
_CELL = {"site": TEXT, "method": TEXT, "seed": WHOLE}
_PROCESS = {"seconds": NUMBER, "host": TEXT, "versions": TEXT, "git_commit": TEXT, "finished": TEXT}
TABLES: dict[str, dict[str, pa.DataType]] = {
    # One search: its winner, and what the search tried. `seconds` is of the whole process.
    "cells": _CELL
    | {
        "library": TEXT, "hyperparameters": TEXT, "steps": WHOLE, "most_steps": WHOLE, "score": NUMBER, "trials": WHOLE,
        "evaluations": WHOLE, "trained_steps": WHOLE, "prepared_seconds": NUMBER,
    }
    | _PROCESS,
    # One training of a winner with a fresh seed.
    "judged": _CELL | {"run": WHOLE, "hyperparameters": TEXT, "steps": WHOLE, "score": NUMBER} | _PROCESS,
    # The perfect-foresight bound of a site's test split; empty where it has none.
    "bounds": {"site": TEXT, "score": NUMBER, "why_none": TEXT} | _PROCESS,
}  # fmt: skip
KEYS = {"cells": ("site", "method", "seed"), "judged": ("site", "method", "seed", "run"), "bounds": ("site",)}
TERMS = "terms.json"


class RealSearchError(UserError):
    """A comparison that cannot be made as asked; names the option or file, and the remedy."""


@dataclass(frozen=True)
class Cell:
    """One search.

    Attributes:
        site: as on the command line.
        method: see `benchmarks.real_searches.methods`.
        seed: of the search.
    """

    site: str
    method: str
    seed: int


@dataclass(frozen=True)
class Terms:
    """What is the same for all cells in a folder.

    Attributes:
        seconds: wall time of a search; 0 where its budget is one of steps.
        steps: most environment steps of one trial.
        evaluations: evaluations of a whole trial on the validation split.
        validation_weeks: weeks that an evaluation runs through; 0 for all.
        cores: of a search, and trials at once.
        total_steps: environment steps of all trials of a search; 0 where its budget is one of time.
    """

    seconds: float
    steps: int
    evaluations: int
    validation_weeks: int
    cores: int
    total_steps: int = 0

    def budget(self, taken: float = 0.0) -> str:
        """The budget as our command takes it, less the seconds of a budget of time that are gone."""
        return f"{self.total_steps}" if self.total_steps else f"{self.seconds - taken:.3f}s"

    def is_over(self, seconds: float, steps: int) -> bool:
        """Whether a search that took so long, and so many steps, has spent its budget."""
        return steps >= self.total_steps if self.total_steps else seconds >= self.seconds


@dataclass(frozen=True)
class Task:
    """A search to run.

    Attributes:
        scenario: name of the site for the tuner.
        seed: of the search.
        terms: equal for all.
        folder: for files.
        fixed: hyperparameters that are not searched, as `KEY=VALUE`.
    """

    scenario: str
    seed: int
    terms: Terms
    folder: Path
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Winner:
    """What a search found.

    Attributes:
        library: that trained it.
        hyperparameters: as that library takes them; plain values of JSON.
        steps: environment steps that it had in the search.
        most_steps: at which its schedules end.
        score: on the validation split in the search; mean reward an hour.
        trials: that the search began.
        evaluations: of all trials.
        trained_steps: of all trials.
        prepared_seconds: of the search's time that went into what its policies see.
    """

    library: Library
    hyperparameters: dict[str, Any]
    steps: int
    most_steps: int
    score: float
    trials: int
    evaluations: int
    trained_steps: int
    prepared_seconds: float = 0.0

    def to_row(self) -> dict[str, Any]:
        """Columns of `cells`."""
        return {**asdict(self), "hyperparameters": json.dumps(self.hyperparameters)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """The winner in a row of `cells`. Numbers are the same bit by bit."""
        fields = {name: row[name] for name in cls.__dataclass_fields__}
        return cls(**(fields | {"hyperparameters": json.loads(row["hyperparameters"])}))


class Records:
    """The Parquet files of a folder. To add a row, its file is written anew and whole, so no kill leaves a part of one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def check_terms(self, terms: Terms) -> None:
        """Note the terms of a new folder, or check that they are those of an old one.

        Raises:
            RealSearchError: if rows of other terms are in the folder; they could not be compared.
        """
        path, now = self._folder / TERMS, asdict(terms)
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, lambda file: file.write(json.dumps(now, indent=1).encode()))
            return
        before = read_json(path)
        if not isinstance(before, dict):
            raise RealSearchError(f"{path}: it holds no terms; restore it, or choose another --rows or --work")
        differ = [f"{name} is {before.get(name)}, not {value}" for name, value in now.items() if before.get(name) != value]
        if differ:
            raise RealSearchError(
                f"{path}: {differ[0]}; searches are compared under equal terms, so choose another --rows or --work"
            )

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Rows of a table, in the order in which they were finished.

        Raises:
            RealSearchError: if its file is damaged.
        """
        path = self._path(table)
        if not path.exists():
            return []
        try:
            found: list[dict[str, Any]] = pq.read_table(path, schema=pa.schema(TABLES[table])).to_pylist()
        except (pa.ArrowInvalid, OSError) as error:
            raise RealSearchError(f"{path}: it cannot be read ({error}); restore it from a copy, or remove it") from error
        return found

    def add(self, table: str, row: Mapping[str, Any]) -> None:
        """Add a row; one with the same key is replaced."""
        key = KEYS[table]
        kept = [own for own in self.rows(table) if [own[name] for name in key] != [row[name] for name in key]]
        content = pa.Table.from_pylist([*kept, dict(row)], schema=pa.schema(TABLES[table]))
        write_whole(self._path(table), lambda file: pq.write_table(content, file))

    def _path(self, table: str) -> Path:
        return self._folder / f"{table}.parquet"


def missing(cells: Sequence[Cell], rows: Sequence[Mapping[str, Any]]) -> list[Cell]:
    """Cells that have no row yet, in their order."""
    done = {Cell(row["site"], row["method"], row["seed"]) for row in rows}
    return [cell for cell in cells if cell not in done]
