"""A CSV or Parquet file whose values are corrected one by one; all others stay as they are written. What was found in it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from envs.scenarios.csv_file import PARQUET

_SHOWN = 3  # lines and files that a message names


@dataclass(frozen=True)
class Found:
    """Something that differs from what CityLearn 3 takes."""

    file: str  # name of the file
    place: str  # column, place in the schema, or `rows`
    lines: tuple[int, ...]  # as an editor counts them; empty where it is about all
    what: str  # is wrong
    done: str  # or, if not `decided`, which option decides it
    decided: bool = True


def told(findings: Iterable[Found]) -> list[str]:
    """A line for each kind of thing that was found, with the lines of all files that have it."""
    kinds: dict[str, dict[tuple[int, ...], list[str]]] = {}
    for one in findings:
        kinds.setdefault(f"{one.place}: {one.what}; {one.done}", {}).setdefault(one.lines, []).append(one.file)
    return [
        f"{kind} ({'; '.join(_lines(lines) + _names(list(dict.fromkeys(files))) for lines, files in where.items())})"
        for kind, where in kinds.items()
    ]


def _names(files: list[str]) -> str:
    if len(files) > _SHOWN + 1:
        return f"{', '.join(files[:_SHOWN])} and {len(files) - _SHOWN} others"
    return ", ".join(files)


def _lines(lines: tuple[int, ...]) -> str:
    first = ", ".join(map(str, lines[:_SHOWN]))
    if len(lines) > _SHOWN:
        return f"{len(lines):,} lines, {first}, ..., of "
    return f"line{'s' * (len(lines) > 1)} {first} of " if lines else ""


class Cells:
    """Values of a file as they are written."""

    def __init__(self, file: Path, rows: int) -> None:
        """`rows` that count, as `envs.scenarios.csv_file.read_table` has them."""
        self.file, self.changed = file, False
        self._is_parquet = file.suffix.lower() in PARQUET
        if self._is_parquet:
            self.frame = pd.read_parquet(file)
        else:
            self.frame = pd.read_csv(file, dtype=str, keep_default_na=False, skip_blank_lines=False, encoding="utf-8-sig")
        self.frame = self.frame.iloc[:rows].copy()

    def text(self, column: str) -> np.ndarray:
        """Texts of a column, empty where there is nothing, shape (rows,)."""
        values = self.frame[column]
        return values.astype(object).where(values.notna(), "").astype(str).str.strip().to_numpy(dtype=object)

    def numbers(self, column: str) -> np.ndarray:
        """Numbers of a column, NaN where there is none, shape (rows,)."""
        return pd.to_numeric(self.frame[column], errors="coerce").to_numpy(np.float64, copy=True)

    def put(self, column: str, rows: np.ndarray, values: Iterable[Any]) -> None:
        """Write values into rows of a column, given as a mask of shape (rows,)."""
        if not rows.any():
            return
        self.changed = True
        series = self.frame[column].astype(object)
        series[rows] = list(values) if self._is_parquet else [_written(value) for value in values]
        self.frame[column] = pd.to_numeric(series) if self._is_parquet else series

    def rename(self, names: Mapping[str, str]) -> None:
        """Give columns other names."""
        self.changed = True
        self.frame = self.frame.rename(columns=names)

    def cut(self, rows: int) -> None:
        """Leave out what comes after so many rows."""
        self.changed |= rows < len(self.frame)
        self.frame = self.frame.iloc[:rows]

    def write(self, path: Path) -> None:
        """Write the file, in the format in which it was read."""
        if self._is_parquet:
            self.frame.to_parquet(path, index=False)
        else:
            self.frame.to_csv(path, index=False, lineterminator="\n")


def _written(value: float) -> str:
    """A number as a file has it: whole ones without a point, others without what rounding added."""
    return str(int(value)) if float(value).is_integer() else repr(round(float(value), 12))
