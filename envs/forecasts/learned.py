"""Forecasts by boosted trees: one model for each kind of series, for all buildings together.

A sample is a building at an hour with a number of hours ahead. Its target is by how much the value then differs from the mean
of the last seven days at that hour, over the building's mean. Features are the values of the last hours and days, the calendar
of the hour ahead, and the weather with its forecasts where the site observes them. Hours outside of the train split are unknown
to models, as features too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from common.units import DAY, WEEK
from envs.forecasts.daily import WEEK_DAYS, mean_of_days
from envs.forecasts.forest import Forest, train_forest
from envs.forecasts.series import Kind, SiteSeries, same_hour_before

SAMPLES = 200_000  # that a model is trained on, drawn from all; more take longer and change little
_RECENT = 3  # hours of which the values are features themselves


@dataclass(frozen=True)
class LearnedModel:
    """A model of one kind of series."""

    forest: Forest
    scale: np.ndarray  # mean of each building's values, by which they are divided, shape (buildings,)


def train_model(years: Sequence[tuple[SiteSeries, np.ndarray]], kind: Kind, hours: int) -> LearnedModel | None:
    """Train a model on series of years and which of their rows train, shape (rows,); others are not read.

    Returns:
        None where the series never changes, as there is nothing to learn.
    """
    known = [np.where(own, series.values[kind], np.nan) for series, own in years]
    together = np.concatenate(known, axis=1)
    if not np.nanmax(np.nanmax(together, axis=1) - np.nanmin(together, axis=1)):
        return None
    scale = scale_of(together)
    rng = np.random.default_rng(0)
    total = sum(int(own.sum()) for _, own in years) * len(scale) * (hours - 1)
    part = min(1.0, SAMPLES / max(total, 1))
    features, targets = [], []
    for (series, own), values in zip(years, known, strict=True):
        past = Past.of(series, values / scale[:, np.newaxis])
        for ahead in range(1, hours):
            target = np.full(values.shape, np.nan)
            target[:, :-ahead] = past.values[:, ahead:]
            building, row = np.nonzero(own & np.isfinite(target) & (rng.random(values.shape) < part))
            features.append(past.features(building, row, ahead))
            targets.append(target[building, row] - past.usual(building, row, ahead))
    return LearnedModel(train_forest(np.concatenate(features), np.concatenate(targets)), scale)


def scale_of(values: np.ndarray) -> np.ndarray:
    """Mean of each building's values, shape (buildings, rows), NaN where not known; 1 where all are zero."""
    scale = np.nanmean(np.abs(values), axis=1)
    return np.where(scale > 0.0, scale, 1.0)


@dataclass(frozen=True)
class Past:
    """What features are made of. Nothing in a row depends on later rows."""

    values: np.ndarray  # over the scale of their building, NaN where they are not known, shape (buildings, rows)
    daily: np.ndarray  # mean of the same hour of up to seven days, the present one among them, shape (buildings, rows)
    last_day: np.ndarray  # mean of the last 24 hours, shape (buildings, rows)
    district: np.ndarray  # mean over the buildings, shape (rows,)
    hour: np.ndarray  # of `SiteSeries`
    observed: np.ndarray

    @classmethod
    def of(cls, series: SiteSeries, values: np.ndarray) -> Past:
        """Past of a series, as far as it is known."""
        known = np.isfinite(values)
        sums, counts = (np.cumsum(own, axis=1) for own in (np.where(known, values, 0.0), known.astype(np.float64)))
        for own in (sums, counts):
            own[:, DAY:] -= own[:, :-DAY].copy()
        last_day = np.divide(sums, counts, out=np.full(values.shape, np.nan), where=counts > 0.0)
        shown, number = np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)
        district = np.divide(shown, number, out=np.full(len(number), np.nan), where=number > 0)
        return cls(values, mean_of_days(values, WEEK_DAYS), last_day, district, series.hour, series.observed)

    def usual(self, building: np.ndarray, row: np.ndarray, ahead: int) -> np.ndarray:
        """Mean of the last seven days at the hour ahead, else of the last day, else of the train split; shape (samples,)."""
        before = same_hour_before(row, np.full(len(row), ahead))
        daily = np.where(before >= 0, self.daily[building, np.maximum(before, 0)], np.nan)
        found = np.where(np.isnan(daily), self.last_day[building, row], daily)
        return np.where(np.isnan(found), 1.0, found)

    def features(self, building: np.ndarray, row: np.ndarray, ahead: int) -> np.ndarray:
        """Features, shape (samples, features), float32, of buildings and present rows, each of shape (samples,)."""

        def at(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
            own = values[building, np.maximum(rows, 0)]
            return np.where(rows >= 0, own, np.nan)

        lead = np.full(len(row), ahead)
        before = same_hour_before(row, lead)
        week = row + ahead - WEEK * -(-ahead // WEEK)
        columns = [
            lead, (self.hour[row] + ahead) % DAY,
            *(at(self.values, row - back) for back in range(_RECENT)),
            at(self.values, before), at(self.daily, before), at(self.values, week), at(self.last_day, row),
            # How much this hour differs from what was to be expected.
            at(self.values, row) - at(self.values, row - DAY), at(self.values, row) - at(self.daily, row),
            self.district[row],
        ]  # fmt: skip
        return np.concatenate([np.stack(columns, axis=1), self.observed[row]], axis=1).astype(np.float32)


def forecast_table(series: SiteSeries, kind: Kind, model: LearnedModel, hours: int) -> np.ndarray:
    """Forecasts of a year, made at once, up to `hours` ahead, the present one among them.

    Returns:
        Of each row and number of hours ahead from 1 on, shape (buildings, rows, hours - 1), float32; never negative.
    """
    values = series.values[kind]
    past = Past.of(series, values / model.scale[:, np.newaxis])
    table = np.zeros((*values.shape, hours - 1), dtype=np.float32)
    row = np.arange(series.rows)
    for ahead in range(1, hours):
        for n, scale in enumerate(model.scale):
            building = np.full(series.rows, n)
            found = past.usual(building, row, ahead) + model.forest.predict(past.features(building, row, ahead))
            table[n, :, ahead - 1] = np.maximum(found, 0.0) * scale
    return table


class TableForecast:
    """Forecasts that were made for a whole year, see `forecast_table`; values of shape (buildings, rows)."""

    def __init__(self, values: np.ndarray, table: np.ndarray) -> None:
        self._values, self._table = values, table

    def ahead(self, row: int, hours: int) -> np.ndarray:
        """The present hour and forecasts of those that follow, shape (buildings, hours).

        Raises:
            ValueError: if the table does not look so far ahead.
        """
        if hours - 1 > self._table.shape[2]:
            raise ValueError(f"forecasts of {hours} hours are asked for, and the table has {self._table.shape[2] + 1}")
        return np.concatenate([self._values[:, [row]], self._table[:, row, : hours - 1]], axis=1)
