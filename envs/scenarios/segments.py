"""Stated splits of a given scenario as segments: consecutive rows of its data with the buildings that are simulated there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from common.paths import shortened
from common.units import DAY, WEEK
from envs.errors import ScenarioError
from envs.scenarios.csv_file import PARQUET
from envs.scenarios.data_dates import Day, days_of, rows_between
from envs.scenarios.faults import shown
from envs.scenarios.references import DEVICES, is_on, root_of
from envs.scenarios.schema_shape import FIRST, LAST
from envs.scenarios.shapes import is_left_out
from envs.scenarios.splits import SPLITS, Split, Splits, numbers, option

# Rows before a segment of validation or test, which a controller in operation would remember. Training has none of them.
HISTORY = WEEK
LEAST: dict[Split, int] = {"train": WEEK, "validation": DAY, "test": DAY}  # rows of a segment
_EXAMPLE = "days, such as 7 or 0-239, or dates, such as 01-01..08-28"


@dataclass(frozen=True)
class Segment:
    """Consecutive rows that belong to one split.

    Attributes:
        split: that they belong to.
        first: row of the scenario's data, counted from the first that is run.
        rows: how many; there is one step less, as in CityLearn.
        history: rows before `first` that a policy may remember.
        buildings: that are simulated, in the schema's order.
    """

    split: Split
    first: int
    rows: int
    history: int
    buildings: tuple[str, ...]

    @property
    def end(self) -> int:
        """Row after the last."""
        return self.first + self.rows


def segments_of(path: Path, schema: Mapping[str, Any], splits: Splits) -> tuple[Segment, ...]:
    """Segments of all splits, those of training first, then of validation and test.

    Args:
        path: of the scenario's `schema.json`.
        schema: its content, which was checked.
        splits: as stated; there is something in it.

    Raises:
        ScenarioError: at the first range or building that is not there, overlaps with another, is too short or ambiguous. Also
            where a split is not stated, and for devices that see the whole data.
    """
    _check_complete(splits)
    _check_schema(path, schema)
    data = _Data(path, schema)
    found: list[Segment] = []
    for split in SPLITS:
        buildings = _buildings(path, schema, splits, split)
        own = sorted((_rows(data, split, text) for text in splits.ranges(split)), key=lambda rows: rows[0])
        found += [Segment(split, first, end - first, 0, buildings) for first, end in _joined(split, own)]
    _check_overlaps(found)
    for segment in found:
        if segment.rows < LEAST[segment.split]:
            raise ScenarioError(
                f"{option(segment.split)}: a range has {segment.rows} hours, and it needs at least {LEAST[segment.split]}; "
                "name more days"
            )
    return tuple(replace(segment, history=_history(segment, found)) for segment in found)


class _Data:
    """What ranges are resolved with: number of rows and dates of the data."""

    def __init__(self, path: Path, schema: Mapping[str, Any]) -> None:
        self._path, self._schema = path, schema
        self.rows = int(schema[LAST]) - int(schema[FIRST]) + 1

    @cached_property
    def days(self) -> list[Day] | str:
        """See `days_of`."""
        import pandas as pd

        building = next(own for own in self._schema["buildings"].values() if not is_left_out(own))
        file = root_of(self._path, self._schema) / building["energy_simulation"]
        reads = pd.read_parquet if file.suffix.lower() in PARQUET else pd.read_csv
        months = reads(file)["month"].to_numpy(dtype=np.int64)
        first = int(self._schema[FIRST])
        start = self._schema.get("start_date") if first == 0 else None
        return days_of(months[first : first + self.rows], start or None)


def _rows(data: _Data, split: Split, text: str) -> tuple[int, int]:
    """First row of a range, and the one after its last."""
    place = f"{option(split)} {shortened(text)}"
    if ".." in text:
        if isinstance(data.days, str):
            raise ScenarioError(f"{place}: the data have no dates, as {data.days}; state days by number, as 0-99")
        return rows_between(place, text, data.days)
    first, last = numbers(split, text, _EXAMPLE)
    days = -(-data.rows // DAY)
    if last >= days:
        raise ScenarioError(f"{place}: the data have days 0 to {days - 1}; name days within")
    return first * DAY, min((last + 1) * DAY, data.rows)


def _joined(split: Split, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of a split without those that begin where another ends."""
    found: list[tuple[int, int]] = []
    for first, end in ranges:
        if found and first < found[-1][1]:
            raise ScenarioError(f"{option(split)}: two of its ranges overlap in day {first // DAY}; name each day once")
        if found and first == found[-1][1]:
            found[-1] = found[-1][0], end
        else:
            found.append((first, end))
    return found


def _buildings(path: Path, schema: Mapping[str, Any], splits: Splits, split: Split) -> tuple[str, ...]:
    """Names of a split's buildings, in the schema's order."""
    included = [name for name, own in schema["buildings"].items() if not is_left_out(own)]
    names = splits.buildings(split)
    place = f"--{split if splits.own_buildings(split) else 'train'}-buildings"
    for index, name in enumerate(names):
        if name not in schema["buildings"]:
            raise ScenarioError(f"{place} {shown(name)}: {path} has the buildings {shortened(', '.join(included))}")
        if name not in included:
            raise ScenarioError(f"{place} {shown(name)}: it has include false in {path}; set it to true")
        if name in names[:index]:
            raise ScenarioError(f"{place} {shown(name)}: it stands there twice; name it once")
    return tuple(name for name in included if not names or name in names)


def _check_complete(splits: Splits) -> None:
    missing = [option(split) for split in SPLITS if not splits.ranges(split)]
    if missing:
        raise ScenarioError(
            f"splits of a schema.json are stated together or not at all: {' and '.join(missing)} "
            f"{'are' if len(missing) > 1 else 'is'} missing; add what is missing, such as {missing[0]} 0-99"
        )


def _check_schema(path: Path, schema: Mapping[str, Any]) -> None:
    """Refuse what CityLearn derives from other rows than those of a split, or counts from the first row of the data."""
    advice = "so splits cannot be stated"
    if is_on((schema.get("robustness") or {}).get("enabled")):
        raise ScenarioError(f"{path}: robustness is enabled, and its events count from the first row, {advice}; disable it")
    for name, building in schema["buildings"].items():
        if is_left_out(building):
            continue
        if building.get("deferrable_appliances"):
            raise ScenarioError(
                f"{path}: building {name} has deferrable_appliances, and their files count from the first row, {advice}; "
                "remove them or set include to false"
            )
        sized = [device for device in DEVICES if is_on((building.get(device) or {}).get("autosize"))]
        if sized:
            raise ScenarioError(
                f"{path}: CityLearn sizes the {sized[0]} of building {name} by the rows that it runs, {advice}; set "
                "autosize to false and give its size"
            )


def _check_overlaps(found: Sequence[Segment]) -> None:
    for index, one in enumerate(found):
        for other in found[:index]:
            shared = set(one.buildings) & set(other.buildings)
            first, end = max(one.first, other.first), min(one.end, other.end)
            if first < end and shared:
                where = f"day {first // DAY}" if end - first <= DAY else f"days {first // DAY} to {(end - 1) // DAY}"
                raise ScenarioError(
                    f"{option(other.split)} and {option(one.split)} share {where} of building {sorted(shared)[0]}; name other "
                    "days or other buildings for one of them"
                )


def _history(segment: Segment, found: Sequence[Segment]) -> int:
    """Rows before a segment that may be read: none for training; for validation none in which a test runs."""
    if segment.split == "train":
        return 0
    first = max(0, segment.first - HISTORY)
    if segment.split == "validation":
        first = max([first, *(own.end for own in found if own.split == "test" and own.first < segment.first)])
    return max(0, segment.first - first)
