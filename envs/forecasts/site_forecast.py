"""Forecasts of all series of a site year, by one method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from common.units import DAY
from envs.forecasts.daily import WEEK_DAYS, DailyForecast, ExactForecast
from envs.forecasts.series import Kind, SiteSeries, next_rows

Method = Literal["yesterday", "seven-days", "learned", "exact"]
METHODS: tuple[Method, ...] = ("yesterday", "seven-days", "learned", "exact")


class SeriesForecast(Protocol):
    """A forecast of one series."""

    def ahead(self, row: int, hours: int) -> np.ndarray:
        """The present hour as it is observed, and forecasts of those that follow; shape (buildings, hours)."""


@dataclass(frozen=True)
class TrainStatistics:
    """What the hours of the train split say of a site, for all methods."""

    # Mean of each hour of the day, of each kind of series, shape (buildings, 24). It stands in for days before the year's
    # first.
    profile: Mapping[Kind, np.ndarray]
    # Part of the charging of each hour of the day that goes to vehicles which arrived less than some hours before, shape
    # (buildings, 24, hours).
    arriving: np.ndarray
    error: float  # mean error of the means of seven days, over the mean value, of load and PV together


class SiteForecast:
    """Forecasts of a site year; `foresees` whether the future is known, and has an `error` of 0 then."""

    def __init__(
        self,
        series: SiteSeries,
        method: Method,
        statistics: TrainStatistics,
        learned: Mapping[Kind, SeriesForecast] | None = None,
    ) -> None:
        self.foresees = method == "exact"
        self.error = 0.0 if self.foresees else statistics.error
        self._series, self._statistics = series, statistics
        self._forecasts: dict[Kind, SeriesForecast] = {}
        for kind in series.kinds:
            values = series.values[kind]
            if self.foresees:
                self._forecasts[kind] = ExactForecast(values)
            else:
                days = 1 if method == "yesterday" else WEEK_DAYS
                self._forecasts[kind] = DailyForecast(values, series.hour, statistics.profile[kind], days)
        self._forecasts.update(learned or {})

    def ahead(self, kind: Kind, row: int, hours: int) -> np.ndarray:
        """The present hour of a series and forecasts of those that follow; see `SeriesForecast.ahead`."""
        return self._forecasts[kind].ahead(row, hours)

    def arriving(self, row: int, hours: int) -> np.ndarray:
        """What vehicles take that are not there yet, charging at full power on arrival; shape (buildings, hours)."""
        hour = (self._series.hour[row] + np.arange(hours)) % DAY
        return self.ahead("charging", row, hours) * self._statistics.arriving[:, hour, np.arange(hours)]

    def calendar_rows(self, row: int, hours: int) -> np.ndarray:
        """Rows with the calendar and the tariff of the next hours, as these are known; shape (hours,)."""
        return next_rows(row, hours, self._series.rows)
