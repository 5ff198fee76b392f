"""What the hours of one policy say: a rollout as tables, each against the uncontrolled site.

The uncontrolled site is known by its net import alone, so both count as sites with one meter: import is net import above 0.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.units import DAY
from results.report.words import Unit, percent, unit_for
from results.rollout import COLUMNS, ROLLOUT_VERSION
from results.table_files import ResultsError, size_fault

if TYPE_CHECKING:
    import pandas as pd
OWN, WITHOUT = "policy", "uncontrolled"
ONE_METER = "The site counts as one meter here: import is net import above 0."
LEAST = 1e-3  # part of what flows; less than this is rounding


@dataclass(frozen=True)
class Hours:
    """A rollout.

    Attributes:
        path: of its file.
        about: facts of the file: experiment, trial, steps, scenario, year, backend.
        table: a row an hour; see `results.rollout.COLUMNS`.
    """

    path: Path
    about: dict[str, str]
    table: pd.DataFrame


def read(path: Path) -> Hours:
    """Read a rollout.

    Raises:
        ResultsError: if it is damaged, none of ours, or of a newer version.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if fault := size_fault(path):
            raise ResultsError(f"{path}: {fault}: write it again with python -m tuning.rollout")
        content = pq.read_table(path, partitioning=None, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise ResultsError(f"{path}: {reason}: write it again with python -m tuning.rollout") from error
    about = {key.decode(): value.decode(errors="replace") for key, value in (content.schema.metadata or {}).items()}
    lacking = [name for name in COLUMNS if name not in content.column_names]
    if about.get("table") != "rollout" or lacking or not len(content):
        why = f"it lacks the column {lacking[0]}" if lacking else "it has no hours" if not len(content) else "it is no rollout"
        raise ResultsError(f"{path}: {why}: give a file that python -m tuning.rollout wrote")
    if about.get("schema_version") != str(ROLLOUT_VERSION):
        raise ResultsError(f"{path}: another version of this package wrote it: write it again with python -m tuning.rollout")
    return Hours(path, about, content.select(list(COLUMNS)).to_pandas())


def by_day(hours: pd.DataFrame) -> pd.DataFrame:
    """Import of each day.

    Returns:
        Columns day (from 1), policy, uncontrolled (kWh).
    """
    day = (hours["step"] // DAY + 1).rename("day")
    drawn = hours[["net_kwh", "uncontrolled_net_kwh"]].clip(lower=0.0)
    daily = drawn.groupby(day).sum().rename(columns={"net_kwh": "policy", "uncontrolled_net_kwh": "uncontrolled"})
    # A first or last day of some hours would look like a day of little import.
    return daily[(hours.groupby(day).size() == DAY) | (len(hours) < 2 * DAY)].reset_index()


def change_of(own: float, without: float) -> float:
    """Change as a part; NaN where there was nothing."""
    return float(own) / float(without) - 1.0 if without else float("nan")


def less(change: float) -> str:
    """A change in words."""
    if change != change:
        return "where there was none"
    if abs(change) < 0.0005:
        return "no different"
    return f"{percent(abs(change))} {'less' if change < 0 else 'more'}"


def flows(hours: pd.DataFrame, column: str) -> bool:
    """Whether a flow is more than rounding."""
    most = float(hours["load_kwh"].abs().max()) or 1.0
    return bool(hours[column].abs().max() > LEAST * most)


def unit_of(unit: str, frame: pd.DataFrame) -> Unit:
    """A unit that fits the largest value of a frame."""
    return unit_for(unit, float(frame.abs().max().max()))


def month_name(value: float, whole: bool = False) -> str:
    """A month in words; its number where it is none."""
    names = calendar.month_name if whole else calendar.month_abbr
    return str(names[int(value)]) if 1 <= value <= 12 else f"month {int(value)}"


def renamed(frame: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """The columns of a table, with the names that a person reads."""
    return frame[list(names)].rename(columns=names)
