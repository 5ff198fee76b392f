"""Stated splits of a given scenario as segments: consecutive rows of its data with the buildings that are simulated there."""

import calendar
import datetime as dt
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import ScenarioError
from common.paths import shortened
from common.texts import option
from common.units import DAY, WEEK
from envs.cache import cached_folder
from envs.scenarios.csv_file import PARQUET
from envs.scenarios.schema_file import rooted
from envs.scenarios.schema_shape import FIRST, LAST, steps_per_hour
from envs.scenarios.shapes import included, shown
from envs.scenarios.splits import SPLITS, Split, Splits, numbers
from envs.scenarios.tariff import FILE_NAME
from envs.scenarios.trust import DEVICES, is_on, root_of

FORM = "MM-DD..MM-DD or YYYY-MM-DD..YYYY-MM-DD"
_DATES = re.compile(r"(?:(\d{4})-)?(\d\d)-(\d\d)\.\.(?:(\d{4})-)?(\d\d)-(\d\d)", re.ASCII)
_LEAP, _COMMON = 2024, 2023  # years that stand for those of which the data do not tell the number


@dataclass(frozen=True)
class Day:
    """A date in the data."""

    year: int | None  # None where the data do not tell it
    month: int  # of the date
    day: int
    first: int  # its first row, and the one after its last
    end: int


def rows_between(place: str, text: str, days: list[Day]) -> tuple[int, int]:
    """First row of a range of dates, and the one after its last; `place` is option and text, for messages.

    A `ScenarioError` if it is no range of dates, or the data have one of them not at all or more than once.
    """
    match = _DATES.fullmatch(text)
    if match is None:
        raise ScenarioError(f"{place}: it takes {FORM}")
    values = [None if part is None else int(part) for part in match.groups()]
    first, last = (_day(place, value[0], value[1], value[2], days) for value in (values[:3], values[3:]))
    if last.first < first.first:
        raise ScenarioError(f"{place}: in the data the second date comes before the first; write two ranges")
    return first.first, last.end


def _day(place: str, year: int | None, month: int | None, day: int | None, days: list[Day]) -> Day:
    name = f"{month:02d}-{day:02d}" if year is None else f"{year:04d}-{month:02d}-{day:02d}"
    if year is not None and days[0].year is None:
        raise ScenarioError(
            f"{place}: the data have no years, as these take a start_date and {FIRST} 0; write months and days, as 01-31"
        )
    matches = [known for known in days if (known.month, known.day) == (month, day) and year in (None, known.year)]
    if not matches:
        ends = ["-".join(f"{part:02d}" for part in (end.year, end.month, end.day) if part) for end in (days[0], days[-1])]
        raise ScenarioError(f"{place}: the data have no {name}; they begin on {ends[0]} and end on {ends[1]}")
    if len(matches) > 1:
        raise ScenarioError(
            f"{place}: the data have {name} {len(matches)} times, from rows {matches[0].first} and {matches[1].first} on; "
            "state days by number, as 0-99"
        )
    return matches[0]


def days_of(month: np.ndarray, start_date: str | None, long: int = DAY) -> list[Day] | str:
    """Dates of the data, in their order, or one line that says why there are none.

    A month begins where `month`, shape (rows,), changes, so a first day may have few rows. Its length has to be that of the
    calendar. `long` is the rows of a day.
    """
    borders = [0, *(np.flatnonzero(np.diff(month)) + 1).tolist(), len(month)]
    if len(borders) == 2:
        return "their months do not change, so no date can be told"
    year = None if start_date is None else _first_year(int(month[borders[1]]), borders[1], start_date, long)
    if isinstance(year, str):
        return year
    days: list[Day] = []
    for begin, end in pairwise(borders):
        number, rows = int(month[begin]), end - begin
        if begin and number != int(month[begin - 1]) % 12 + 1:
            return f"month {number} follows month {int(month[begin - 1])} at row {begin}"
        if year is not None and begin and number == 1:
            year += 1
        length = _length(year, number, rows, long)
        is_first, is_last = begin == 0, end == len(month)
        if rows > length * long or not (is_first or is_last or rows == length * long):
            return f"month {number} has {rows} rows from row {begin} on, and the calendar has {length * long} of them"
        # The first month is counted from its end.
        offset = length * long - rows if is_first else 0
        for day in range(offset // long, -(-(offset + rows) // long)):
            first = max(begin, begin + day * long - offset)
            days.append(Day(year, number, day + 1, first, min(end, begin + (day + 1) * long - offset)))
    return days


def _length(year: int | None, month: int, rows: int, long: int) -> int:
    """Days of a month; without a year, a February has 29 only where it has rows for them."""
    if year is None:
        year = _LEAP if rows > 28 * long else _COMMON
    return calendar.monthrange(year, month)[1]


def _first_year(second: int, begin: int, start_date: str, long: int) -> int | str:
    """Year of the first month, or one line that says why `start_date` does not fit; the `second` month begins at a row.

    The first change of the month decides, as the first row may be the last hour of the day before.
    """
    start = dt.date.fromisoformat(start_date)
    year = start.year + (second == 1 and start.month == 12)
    rows = (dt.date(year, second, 1) - start).days * long
    if abs(rows - begin) > long:
        return f"start_date is {start_date}, and by the months of the series row {begin} begins month {second}"
    return year - (second == 1)


# Hours before a segment of validation or test, which a controller in operation would remember. Training has none of them.
HISTORY = WEEK
LEAST: dict[Split, int] = {"train": WEEK, "validation": DAY, "test": DAY}  # hours of a segment
_EXAMPLE = "days, such as 7 or 0-239, or dates, such as 01-01..08-28"


@dataclass(frozen=True)
class Segment:
    """Consecutive rows that belong to one split."""

    split: Split  # that they belong to
    first: int  # row of the scenario's data, counted from the first that is run
    rows: int  # how many; there is one step less, as in CityLearn
    history: int  # rows before `first` that a policy may remember
    buildings: tuple[str, ...]  # that are simulated, in the schema's order

    @property
    def end(self) -> int:
        """Row after the last."""
        return self.first + self.rows

    @property
    def length(self) -> int:
        """Rows that are simulated."""
        return self.history + self.rows


def segments_of(path: Path, schema: Mapping[str, Any], splits: Splits) -> tuple[Segment, ...]:
    """Segments of all splits, those of training first, then of validation and test; something is stated in `splits`.

    A `ScenarioError` at the first range or building that is not there, overlaps, is too short or ambiguous; where a split is
    not stated; and for devices that see the whole data.
    """
    _check_complete(splits)
    check_statable(path, schema)
    data = _Data(path, schema)
    segments: list[Segment] = []
    for split in SPLITS:
        buildings = _buildings(path, schema, splits, split)
        ranges = sorted((_rows(data, split, text) for text in splits.ranges(split)), key=lambda rows: rows[0])
        segments += [Segment(split, first, end - first, 0, buildings) for first, end in _joined(split, ranges, data.day)]
    _check_overlaps(segments, data.day)
    for segment in segments:
        if segment.rows < LEAST[segment.split] * data.per_hour:
            raise ScenarioError(
                f"{option(segment.split)}: a range has {segment.rows / data.per_hour:g} hours, and it needs at least "
                f"{LEAST[segment.split]}; name more days"
            )
    return tuple(replace(segment, history=_history(segment, segments, HISTORY * data.per_hour)) for segment in segments)


class _Data:
    """What ranges are resolved with: number of rows and dates of the data."""

    def __init__(self, path: Path, schema: Mapping[str, Any]) -> None:
        self._path, self._schema = path, schema
        self.rows = int(schema[LAST]) - int(schema[FIRST]) + 1
        self.per_hour = steps_per_hour(schema)
        self.day = DAY * self.per_hour  # rows

    @cached_property
    def days(self) -> list[Day] | str:
        """See `days_of`."""
        import pandas as pd

        building = next(iter(included(self._schema).values()))
        file = root_of(self._path, self._schema) / building["energy_simulation"]
        reads = pd.read_parquet if file.suffix.lower() in PARQUET else pd.read_csv
        months = reads(file)["month"].to_numpy(dtype=np.int64)
        first = int(self._schema[FIRST])
        start = self._schema.get("start_date") if first == 0 else None
        return days_of(months[first : first + self.rows], start or None, self.day)


def _rows(data: _Data, split: Split, text: str) -> tuple[int, int]:
    """First row of a range, and the one after its last."""
    place = f"{option(split)} {shortened(text)}"
    if ".." in text:
        if isinstance(data.days, str):
            raise ScenarioError(f"{place}: the data have no dates, as {data.days}; state days by number, as 0-99")
        return rows_between(place, text, data.days)
    first, last = numbers(split, text, _EXAMPLE)
    days = -(-data.rows // data.day)
    if last >= days:
        raise ScenarioError(f"{place}: the data have days 0 to {days - 1}; name days within")
    return first * data.day, min((last + 1) * data.day, data.rows)


def _joined(split: Split, ranges: Sequence[tuple[int, int]], day: int) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, end in ranges:
        if joined and first < joined[-1][1]:
            raise ScenarioError(f"{option(split)}: two of its ranges overlap in day {first // day}; name each day once")
        if joined and first == joined[-1][1]:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((first, end))
    return joined


def _buildings(path: Path, schema: Mapping[str, Any], splits: Splits, split: Split) -> tuple[str, ...]:
    known, names = included(schema), splits.buildings(split)
    place = f"--{split if splits.own_buildings(split) else 'train'}-buildings"
    for index, name in enumerate(names):
        if name not in schema["buildings"]:
            raise ScenarioError(f"{place} {shown(name)}: {path} has the buildings {shortened(', '.join(known))}")
        if name not in known:
            raise ScenarioError(f"{place} {shown(name)}: it has include false in {path}; set it to true")
        if name in names[:index]:
            raise ScenarioError(f"{place} {shown(name)}: it stands there twice; name it once")
    return tuple(name for name in known if not names or name in names)


def _check_complete(splits: Splits) -> None:
    missing = [option(split) for split in SPLITS if not splits.ranges(split)]
    if missing:
        raise ScenarioError(
            f"splits of a schema.json are stated together or not at all: {' and '.join(missing)} "
            f"{'are' if len(missing) > 1 else 'is'} missing; add what is missing"
        )


def check_statable(path: Path, schema: Mapping[str, Any]) -> None:
    """Refuse what CityLearn derives from other rows than those of a split, or counts from the first row of the data."""
    advice = "so splits cannot be stated"
    if is_on((schema.get("robustness") or {}).get("enabled")):
        raise ScenarioError(f"{path}: robustness is enabled, and its events count from the first row, {advice}; disable it")
    for name, building in included(schema).items():
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


def _check_overlaps(segments: Sequence[Segment], day: int) -> None:
    for index, one in enumerate(segments):
        for other in segments[:index]:
            shared = set(one.buildings) & set(other.buildings)
            first, end = max(one.first, other.first), min(one.end, other.end)
            if first < end and shared:
                where = f"day {first // day}" if end - first <= day else f"days {first // day} to {(end - 1) // day}"
                raise ScenarioError(
                    f"{option(other.split)} and {option(one.split)} share {where} of building {sorted(shared)[0]}; name other "
                    "days or other buildings for one of them"
                )


def _history(segment: Segment, segments: Sequence[Segment], most: int) -> int:
    """Rows before a segment that may be read: none for training; for validation none in which a test runs."""
    if segment.split == "train":
        return 0
    first = max(0, segment.first - most)
    if segment.split == "validation":
        first = max([first, *(other.end for other in segments if other.split == "test" and other.first < segment.first)])
    return max(0, segment.first - first)


# By the schema of a segment that this process opened, the one that it was made from. It is in no file, because a folder from
# elsewhere would then name any other folder as its own.
_ORIGINS: dict[Path, Path] = {}


def segment_schema(path: Path, segment: Segment, key: str) -> Path:
    """A segment's schema in the cache, of its rows and buildings alone; the series stay where they are, unread beyond."""
    made = cached_folder(key, lambda folder: _write(path, segment, folder)) / "schema.json"
    _ORIGINS[made] = path
    return made


def origin(path: Path) -> Path:
    """The `schema.json` that decides which files a schema may name: that of the scenario for a segment's, else itself."""
    return _ORIGINS.get(path, path)


def _write(path: Path, segment: Segment, folder: Path) -> None:
    schema = rooted(path)
    first = int(schema[FIRST]) + segment.first
    buildings = {name: {**building, "include": name in segment.buildings} for name, building in schema["buildings"].items()}
    schema |= {FIRST: first - segment.history, LAST: first + segment.rows - 1, "buildings": buildings}
    # Both count from the first row of the data, which is another one here.
    schema |= {"start_date": None, "episode_time_steps": None}
    (folder / "schema.json").write_text(json.dumps(schema, indent=1), encoding="utf-8")
    if (path.parent / FILE_NAME).exists():
        shutil.copyfile(path.parent / FILE_NAME, folder / FILE_NAME)
