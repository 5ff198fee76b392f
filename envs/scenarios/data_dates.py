"""Which rows of a scenario's data belong to which date, from the months of its series."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from common.units import DAY
from envs.errors import ScenarioError

FORM = "MM-DD..MM-DD or YYYY-MM-DD..YYYY-MM-DD"
_DATES = re.compile(r"(?:(\d{4})-)?(\d\d)-(\d\d)\.\.(?:(\d{4})-)?(\d\d)-(\d\d)", re.ASCII)
_LEAP, _COMMON = 2024, 2023  # years that stand for those of which the data do not tell the number


@dataclass(frozen=True)
class Day:
    """A date in the data.

    Attributes:
        year: None where the data do not tell it.
        month, day: of the date.
        first, end: its first row, and the one after its last.
    """

    year: int | None
    month: int
    day: int
    first: int
    end: int


def rows_between(place: str, text: str, days: list[Day]) -> tuple[int, int]:
    """First row of a range of dates, and the one after its last.

    Args:
        place: option and text, for messages.
        text: of the range.
        days: of the data, see `days_of`.

    Raises:
        ScenarioError: if it is no range of dates, or the data have one of them not at all or more than once.
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
            f"{place}: the schema has no start_date, so the data have no years; write months and days, as 01-31"
        )
    found = [own for own in days if (own.month, own.day) == (month, day) and year in (None, own.year)]
    if not found:
        own = [f"{end.month:02d}-{end.day:02d}" for end in (days[0], days[-1])]
        raise ScenarioError(f"{place}: the data have no {name}; they begin on {own[0]} and end on {own[1]}")
    if len(found) > 1:
        raise ScenarioError(
            f"{place}: the data have {name} {len(found)} times, from rows {found[0].first} and {found[1].first} on; state days "
            "by number, as 0-99"
        )
    return found[0]


def days_of(month: np.ndarray, start_date: str | None) -> list[Day] | str:
    """Dates of the data, in their order, or one line that says why there are none.

    A month begins where the month in the series changes, so a first day may have few rows. Its length has to be that of the
    calendar.

    Args:
        month: of each row, shape (rows,).
        start_date: of the schema, in ISO form; None where it has none.
    """
    borders = [0, *(np.flatnonzero(np.diff(month)) + 1).tolist(), len(month)]
    if len(borders) == 2:
        return "their months do not change, so no date can be told"
    days: list[Day] = []
    years = _years(month, borders, start_date)
    if isinstance(years, str):
        return years
    for index, (begin, end) in enumerate(pairwise(borders)):
        number, hours = int(month[begin]), end - begin
        if begin and number != int(month[begin - 1]) % 12 + 1:
            return f"month {number} follows month {int(month[begin - 1])} at row {begin}"
        length = _length(years[index], number, hours)
        is_first, is_last = begin == 0, end == len(month)
        if not (is_first or is_last) and hours != length * DAY:
            return f"month {number} has {hours} rows from row {begin} on, and the calendar has {length * DAY} hours"
        if hours > length * DAY:
            return f"month {number} has {hours} rows from row {begin} on, and the calendar has {length * DAY} hours"
        # The first month is counted from its end.
        offset = length * DAY - hours if is_first else 0
        for day in range(offset // DAY, -(-(offset + hours) // DAY)):
            first = max(begin, begin + day * DAY - offset)
            days.append(Day(years[index], number, day + 1, first, min(end, begin + (day + 1) * DAY - offset)))
    return days


def _length(year: int | None, month: int, hours: int) -> int:
    """Days of a month; without a year, a February has 29 only where it has rows for them."""
    if year is None:
        year = _LEAP if hours > 28 * DAY else _COMMON
    return calendar.monthrange(year, month)[1]


def _years(month: np.ndarray, borders: list[int], start_date: str | None) -> list[int | None] | str:
    """Year of each run of months, or one line that says why `start_date` does not fit."""
    if start_date is None:
        return [None] * (len(borders) - 1)
    start = dt.date.fromisoformat(start_date)
    # The first change of the month decides, as the first row may be the last hour of the day before.
    second = int(month[borders[1]])
    year = start.year + (second == 1 and start.month == 12)
    hours = (dt.date(year, second, 1) - start).days * DAY
    if abs(hours - borders[1]) > DAY:
        return f"start_date is {start_date}, and by the months of the series row {borders[1]} begins month {second}"
    years: list[int | None] = []
    for index, begin in enumerate(borders[:-1]):
        if index == 0:
            years.append(year - (second == 1))
        else:
            year += bool(index > 1 and int(month[begin]) == 1)
            years.append(year)
    return years
