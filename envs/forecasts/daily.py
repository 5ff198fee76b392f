"""Forecasts that need no training: the days before, or the future itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from common.units import DAY
from envs.forecasts.series import next_rows, same_hour_before

WEEK_DAYS = 7


def mean_of_days(values: np.ndarray, days: int) -> np.ndarray:
    """Mean of each hour and the same hour of up to `days - 1` days before it, shape (..., rows); NaN where none is known."""
    known = np.isfinite(values)
    total, count = np.zeros(values.shape), np.zeros(values.shape)
    for day in range(days):
        back = day * DAY
        later = max(values.shape[-1] - back, 0)  # rows that have this day before them; none in a range that is shorter
        total[..., back:] += np.where(known, values, 0.0)[..., :later]
        count[..., back:] += known[..., :later]
    return np.divide(total, count, out=np.full(values.shape, np.nan), where=count > 0.0)


def mean_profile(years: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Mean of each hour of the day, shape (buildings, 24), from hours and values (buildings, rows) of years.

    An hour without values has the mean of the others.
    """
    hours, values = np.concatenate([hour for hour, _ in years]), np.concatenate([own for _, own in years], axis=1)
    profile = np.stack([values[:, hours == hour].mean(axis=1) if (hours == hour).any() else np.full(len(values), np.nan)
                        for hour in range(DAY)], axis=1)  # fmt: skip
    return np.where(np.isnan(profile), np.nanmean(profile, axis=1, keepdims=True), profile)


class DailyForecast:
    """Each hour ahead is as the latest known hours with the same hour of the day: their mean over `days`, 1 for yesterday.

    `profile`, shape (buildings, 24), stands in for days before the year's first.
    """

    def __init__(self, values: np.ndarray, hour: np.ndarray, profile: np.ndarray, days: int) -> None:
        self._values, self._hour, self._profile = values, hour, profile
        self._past = mean_of_days(values, days)

    def ahead(self, row: int, hours: int) -> np.ndarray:
        """See `SeriesForecast`."""
        ahead = np.arange(hours)
        source = same_hour_before(row, ahead)
        found = self._past[:, np.maximum(source, 0)]
        found = np.where(source >= 0, found, self._profile[:, (self._hour[row] + ahead) % DAY])
        found[:, 0] = self._values[:, row]
        return found


class ExactForecast:
    """Knows the year's values, shape (buildings, rows); hours after its last are as a day before."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def ahead(self, row: int, hours: int) -> np.ndarray:
        """The present hour and those that follow, shape (buildings, hours); see `envs.forecasts.daily.DailyForecast.ahead`."""
        return np.asarray(self._values[:, np.maximum(next_rows(row, hours, self._values.shape[1]), 0)])
