"""Recombines the days of a train split into another year of the same site.

A day of the new year gets the weather, PV, prices and carbon intensity of one donor day together, and the load of each building
from a donor day of its own. Donors are days of the train split, of the same kind and season. Runs of donors follow one another
as days do. Buildings with the same devices exchange their loads. Loads and PV are scaled and jittered. The calendar stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from common.units import DAY

if TYPE_CHECKING:
    import pandas as pd

SEASON = 21  # days that a donor may be away, in any year
YEAR_DAYS = 365
FOLLOWS = 0.75  # probability that the day after a donor is the next one, where it may be
CALENDAR = ("month", "hour", "minutes", "seconds", "day_type", "daylight_savings_status")
LOAD, PV = "non_shiftable_load", "solar_generation"
OF_PEOPLE = (LOAD, "dhw_demand", "occupant_count")  # columns that come with the load's donor
PRICE = "electricity_pricing"
# Deviations of the logarithms of factors: of a building over the year, of its day, of its hour.
LOAD_SIGMA, PV_SIGMA = (0.2, 0.1, 0.05), (0.1, 0.1, 0.05)
_FORECAST = re.compile(r"(.+)_predicted_\d+")
_FURTHEST = 48  # hours that a forecast in a row may look ahead


@dataclass(frozen=True)
class Calendar:
    """Days of a scenario's data, counted from its first row, and which of them may be donors.

    Attributes:
        kind: of each day: working day, Saturday, Sunday or holiday, with the hour of its first row, as summer time moves the
            hours of the rows; shape (days,).
        donors: days of which all rows belong to the train split, shape (donors,).
        trains: whether a row belongs to the train split, shape (rows,).
    """

    kind: np.ndarray
    donors: np.ndarray
    trains: np.ndarray

    @classmethod
    def of(cls, day_type: np.ndarray, hour: np.ndarray, trains: np.ndarray) -> Calendar:
        """Calendar of data.

        Args:
            day_type: as CityLearn numbers it: 1 to 7 from Monday, 8 for a holiday; shape (rows,).
            hour: of each row, likewise.
            trains: see above.
        """
        first = np.arange(0, len(day_type), DAY)
        middle = np.minimum(first + DAY // 2, len(day_type) - 1)
        kind = np.maximum(day_type[middle].astype(np.int64) - 5, 0) * 2 * DAY + hour[first].astype(np.int64)
        whole = trains[: len(trains) // DAY * DAY].reshape(-1, DAY).all(axis=1)
        return cls(kind, np.flatnonzero(whole), trains)

    def away(self, day: int) -> np.ndarray:
        """Days between a day and each donor, in whichever years they are; shape (donors,)."""
        apart = np.abs(self.donors - day) % YEAR_DAYS
        return np.minimum(apart, YEAR_DAYS - apart)

    def candidates(self, day: int) -> np.ndarray:
        """Donors of a day: those of its kind and season, else of its season, else the nearest."""
        away, same = self.away(day), self.kind[self.donors] == self.kind[day]
        near = away <= SEASON
        for chosen in (near & same, near):
            if chosen.any():
                return self.donors[chosen]
        return self.donors[away == away.min()]


def draw_donors(calendar: Calendar, days: Sequence[int], generator: np.random.Generator) -> np.ndarray:
    """A donor for each of consecutive days, shape (days,)."""
    found: list[int] = []
    for day in days:
        candidates = calendar.candidates(day)
        if found and generator.random() < FOLLOWS and found[-1] + 1 in candidates:
            found.append(found[-1] + 1)
        else:
            found.append(int(generator.choice(candidates)))
    return np.array(found)


def factors(generator: np.random.Generator, rows: int, sigma: tuple[float, float, float]) -> np.ndarray:
    """Log-normal factors with mean 1: one for all rows, one for each day and one for each hour; shape (rows,)."""

    def drawn(count: int, deviation: float) -> np.ndarray:
        return np.exp(generator.normal(-(deviation**2) / 2.0, deviation, count))

    year, day, hour = sigma
    return np.asarray(drawn(1, year) * np.repeat(drawn(-(-rows // DAY), day), DAY)[:rows] * drawn(rows, hour))


def season_peak(values: np.ndarray, calendar: Calendar, days: Sequence[int]) -> np.ndarray:
    """Greatest value of donors in the season of each day, hour by hour; shape (days x 24,)."""
    by_day = values[: len(values) // DAY * DAY].reshape(-1, DAY)
    peaks = []
    for day in days:
        away = calendar.away(day)
        peaks.append(by_day[calendar.donors[away <= max(SEASON, away.min())]].max(axis=0))
    return np.concatenate(peaks)


class Recombination:
    """One synthetic year.

    Args:
        calendar: of the scenario's data.
        first: row of the data with which the year begins; a multiple of 24.
        rows: of the year.
        entropy: all draws follow from these numbers.
    """

    def __init__(self, calendar: Calendar, first: int, rows: int, entropy: Sequence[int]) -> None:
        self._calendar, self._entropy = calendar, tuple(entropy)
        self.rows = np.arange(first, first + rows)
        self._days = range(first // DAY, (first + rows - 1) // DAY + 1)
        self.weather_rows = self._donor_rows(self._generator(0))

    def weather(self, table: pd.DataFrame, calendar: pd.DataFrame) -> pd.DataFrame:
        """Rows of weather, prices or carbon intensity for the new year.

        Prices that follow the calendar stay with it. Forecasts in the rows belong to the new hours that they tell of, and miss
        them by as much as those of the donor missed its own.

        Args:
            table: of the scenario's data.
            calendar: columns `month`, `day_type` and `hour` of the data.
        """
        made = table.iloc[self.weather_rows].reset_index(drop=True)
        if PRICE in table:
            made[PRICE] = self._prices(table[PRICE].to_numpy(dtype=np.float64), calendar)
        for name in table.columns:
            match = _FORECAST.fullmatch(name)
            if match and match[1] in table:
                made[name] = self._forecast(table[name].to_numpy(dtype=np.float64), table[match[1]].to_numpy(dtype=np.float64),
                                            made[match[1]].to_numpy(dtype=np.float64))  # fmt: skip
        return made

    def building(self, tables: Sequence[pd.DataFrame], own: int, lender: int) -> pd.DataFrame:
        """Rows of a building for the new year.

        Args:
            tables: of all buildings' data.
            own: index of the building.
            lender: index of the one that lends its load, which may be the same. The mean stays that of the building itself.
        """
        table, generator = tables[own], self._generator(1, own)
        load_rows = self._donor_rows(generator)
        made = table.iloc[self.weather_rows].reset_index(drop=True)
        for name in table.columns:
            if name in CALENDAR:
                made[name] = table[name].to_numpy()[self.rows]
            elif name in OF_PEOPLE:
                made[name] = table[name].to_numpy()[load_rows]
        if LOAD in table:
            loads, lent = (tables[i][LOAD].to_numpy(dtype=np.float64) for i in (own, lender))
            # Only donors tell of means and limits.
            usual = loads[self._donors]
            other = lent[self._donors].mean()
            values = lent[load_rows] * (usual.mean() / other) if lender != own and other > 0.0 else loads[load_rows]
            jittered = values * factors(generator, len(values), LOAD_SIGMA)
            made[LOAD] = np.clip(jittered, min(usual.min(), 0.0), usual.max())
        if PV in table:
            sun = table[PV].to_numpy(dtype=np.float64)
            values = sun[self.weather_rows] * factors(generator, len(self.rows), PV_SIGMA)
            most = season_peak(sun, self._calendar, self._days)[: len(values)]
            made[PV] = np.minimum(values, np.maximum(most, 0.0))
        return made

    def lenders(self, groups: Sequence[object]) -> list[int]:
        """Building that lends each one its load: another one of its group, or itself.

        Args:
            groups: what the buildings have to have in common, one for each.
        """
        generator, found = self._generator(2), list(range(len(groups)))
        for group in dict.fromkeys(groups):
            members = [i for i, own in enumerate(groups) if own == group]
            for member, lender in zip(members, generator.permutation(members), strict=True):
                found[member] = int(lender)
        return found

    def _generator(self, *part: int) -> np.random.Generator:
        return np.random.default_rng([*self._entropy, *part])

    def _donor_rows(self, generator: np.random.Generator) -> np.ndarray:
        donors = draw_donors(self._calendar, self._days, generator)
        return np.asarray(np.repeat(donors, DAY)[: len(self.rows)] * DAY + self.rows % DAY)

    @property
    def _donors(self) -> np.ndarray:
        """Rows of all donors."""
        return np.asarray((self._calendar.donors[:, np.newaxis] * DAY + np.arange(DAY)).ravel())

    def _prices(self, prices: np.ndarray, calendar: pd.DataFrame) -> np.ndarray:
        """Prices of the new year: those of its own calendar where the train split has one price for each of its hours."""
        keys = list(zip(*(calendar[name].to_numpy().tolist() for name in ("month", "day_type", "hour")), strict=True))
        known: dict[tuple[float, ...], float] = {}
        made = prices[self.weather_rows]
        for row in np.flatnonzero(self._calendar.trains).tolist():
            if known.setdefault(keys[row], prices[row]) != prices[row]:
                return made
        return np.array([known.get(keys[row], price) for row, price in zip(self.rows.tolist(), made, strict=True)])

    def _forecast(self, forecast: np.ndarray, values: np.ndarray, made: np.ndarray) -> np.ndarray:
        """A forecast of the new year.

        Args:
            forecast: of the data, shape (rows of the data,).
            values: what it tells of, likewise.
            made: the same of the new year, shape (rows,).
        """
        trains = self._calendar.trains
        ahead, donors = _hours_ahead(forecast, values, trains), forecast[self.weather_rows]
        if ahead is None:
            return donors
        told = np.minimum(self.weather_rows + ahead, len(values) - 1)
        # What a donor's forecast tells of may lie in another split; then nothing is known of its error.
        missed = np.where(trains[told], donors - values[told], 0.0)
        follows = (made[ahead:] + missed[: len(made) - ahead]).clip(forecast[trains].min(), forecast[trains].max())
        # Nothing follows the last hours of the year.
        return np.concatenate([follows, donors[len(made) - ahead :]])


def _hours_ahead(forecast: np.ndarray, values: np.ndarray, trains: np.ndarray) -> int | None:
    """How many hours ahead a forecast looks: the number with the least mean error in the train split; None without numbers."""
    if not (np.isfinite(forecast[trains]).all() and np.isfinite(values[trains]).all()):
        return None
    errors = []
    for ahead in range(min(_FURTHEST, len(values) - 1) + 1):
        both = trains[: len(values) - ahead] & trains[ahead:]
        errors.append(np.abs(forecast[: len(values) - ahead][both] - values[ahead:][both]).mean() if both.any() else np.inf)
    return int(np.argmin(errors))
