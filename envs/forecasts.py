"""Forecasts of a site's series: the days before, boosted trees, or the future itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol

import numpy as np
from numba import njit

from common.units import DAY, WEEK

Kind = Literal[
    "load", "pv", "carbon", "charging",
    "cooling_demand", "heating_demand", "dhw_demand", "cooling_efficiency", "heating_efficiency", "dhw_efficiency",
    "indoor", "people",
]  # fmt: skip
KINDS: tuple[Kind, ...] = ("load", "pv", "carbon", "charging")  # of all sites
# Of sites with tanks or thermal devices that act, by their use.
DEMANDS: Mapping[str, Kind] = {"cooling": "cooling_demand", "heating": "heating_demand", "dhw": "dhw_demand"}
EFFICIENCIES: Mapping[str, Kind] = {
    "cooling": "cooling_efficiency", "heating": "heating_efficiency", "dhw": "dhw_efficiency",
}  # fmt: skip


@dataclass(frozen=True)
class SiteSeries:
    """Series of a year that no action can change; without price and calendar, as a published tariff is known ahead."""

    hour: np.ndarray  # of the day, 0-23, shape (rows,)
    # Of each of its kinds, shape (buildings, rows). `load` is what buildings take without batteries and vehicles, `pv` the
    # generation, `charging` the vehicles' energy on the uncontrolled site [kWh], `carbon` the carbon intensity [kg/kWh]. Of
    # uses with a tank or a device that acts there are the demand of heat or cold [kWh], and the efficiency of the device that
    # serves it. Where devices act on rooms, `indoor` is their temperature without control [C], `people` 1 where somebody is.
    values: Mapping[Kind, np.ndarray]
    # What else is observed in each hour, such as weather and its forecasts, shape (rows, features), float32.
    observed: np.ndarray
    names: tuple[str, ...]  # of these features, shape (features,)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of its series: `KINDS`, and those of tanks and thermal devices that act."""
        return tuple(self.values)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.hour)


def same_hour_before(row: np.ndarray | int, ahead: np.ndarray) -> np.ndarray:
    """The latest known row with the hour of the day of a row that lies ahead; negative before the year's first."""
    return np.asarray(row + ahead - DAY * -(-ahead // DAY))


def next_rows(row: int, hours: int, rows: int) -> np.ndarray:
    """Rows of the next hours, the present one first, shape (hours,). Hours after a year's last are as a day before."""
    ahead = row + np.arange(hours)
    beyond = np.maximum(ahead - (rows - 1), 0)
    return np.asarray(ahead - DAY * -(-beyond // DAY))


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
    """Mean of each hour of the day, (buildings, 24), of hours and values of years; of all others for an hour without values."""
    hours, values = np.concatenate([hour for hour, _ in years]), np.concatenate([own for _, own in years], axis=1)
    profile = np.stack([values[:, hours == hour].mean(axis=1) if (hours == hour).any() else np.full(len(values), np.nan)
                        for hour in range(DAY)], axis=1)  # fmt: skip
    return np.where(np.isnan(profile), np.nanmean(profile, axis=1, keepdims=True), profile)


class DailyForecast:
    """An hour ahead is the mean of up to `days` at its hour of the day; before the first, of `profile` (buildings, 24)."""

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
        """The present hour and those that follow, shape (buildings, hours); see `envs.forecasts.DailyForecast.ahead`."""
        return np.asarray(self._values[:, np.maximum(next_rows(row, hours, self._values.shape[1]), 0)])


SAMPLES = 200_000  # that a model is trained on, drawn from all; more take longer and change little
_RECENT = 3  # hours of which the values are features themselves


@dataclass(frozen=True)
class LearnedModel:
    """A model of one kind of series."""

    forest: Forest
    scale: np.ndarray  # mean of each building's values, by which they are divided, shape (buildings,)


def train_model(years: Sequence[tuple[SiteSeries, np.ndarray]], kind: Kind, hours: int) -> LearnedModel | None:
    """Train a model on series of years and which of their rows train, shape (rows,); None where a series never changes.

    A sample is a building, a row and a number of hours ahead. Its target is what the series has there beyond its mean of the
    same hour of the days before; its features are of `Past`. Rows that do not train are unknown, as target and as past.
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
    """Forecasts of a year from 1 hour ahead on, never negative, shape (buildings, rows, hours - 1), float32."""
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
        """See `SeriesForecast`; a `ValueError` if the table does not look so far ahead."""
        if hours - 1 > self._table.shape[2]:
            raise ValueError(f"forecasts of {hours} hours are asked for, and the table has {self._table.shape[2] + 1}")
        return np.concatenate([self._values[:, [row]], self._table[:, row, : hours - 1]], axis=1)


TREES, LEAVES, RATE = 80, 15, 0.06
LEAST_SAMPLES = 200  # of a leaf: the samples of one day differ little, so small leaves would learn single days by heart


@dataclass(frozen=True)
class Forest:
    """Decision trees as plain arrays; the forecast is the sum of their values. A pickle could run code of the file."""

    first: np.ndarray  # index of each tree's root among all nodes, shape (trees,)
    feature: np.ndarray  # that a node looks at, -1 in a leaf, shape (nodes,)
    threshold: np.ndarray  # up to which it goes left
    missing_left: np.ndarray  # whether it goes left where the feature is not known
    left: np.ndarray  # nodes below
    right: np.ndarray
    value: np.ndarray
    base: np.ndarray  # to which the trees add

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Values of samples, shape (samples,), of features, shape (samples, features), NaN where one is not known."""
        return _predict(np.ascontiguousarray(features, dtype=np.float32), *self.arrays().values())

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, for a file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def no_forest() -> Forest:
    """A forest without trees: what it adds is zero."""
    none, numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
    return Forest(none, none, numbers, np.zeros(0, dtype=bool), none, none, numbers, np.zeros(1))


def train_forest(features: np.ndarray, target: np.ndarray) -> Forest:
    """Fit scikit-learn's histogram gradient boosting to the mean of a target, shape (samples,); see `Forest.predict`."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingRegressor(
        max_iter=TREES, max_leaf_nodes=LEAVES, learning_rate=RATE, min_samples_leaf=LEAST_SAMPLES, early_stopping=False,
        random_state=0,
    )  # fmt: skip
    # Threads that wait for one another on busy cores take a hundred times as long.
    with threadpool_limits(1):
        model.fit(features, target)
    return _as_arrays(model)


def _as_arrays(model: Any) -> Forest:
    nodes = [tree.nodes for (tree,) in model._predictors]
    sizes = [len(own) for own in nodes]
    first = np.cumsum([0, *sizes[:-1]])
    offset, all_nodes = np.repeat(first, sizes), np.concatenate(nodes)
    leaf = all_nodes["is_leaf"].astype(bool)
    return Forest(
        first=first.astype(np.int64),
        feature=np.where(leaf, -1, all_nodes["feature_idx"]).astype(np.int64),
        threshold=all_nodes["num_threshold"].astype(np.float64),
        missing_left=all_nodes["missing_go_to_left"].astype(bool),
        left=(all_nodes["left"] + offset).astype(np.int64),
        right=(all_nodes["right"] + offset).astype(np.int64),
        value=all_nodes["value"].astype(np.float64),
        base=np.asarray(model._baseline_prediction, dtype=np.float64).reshape(1),
    )


@njit(cache=True)
def _predict(
    features: np.ndarray, first: np.ndarray, feature: np.ndarray, threshold: np.ndarray, missing_left: np.ndarray,
    left: np.ndarray, right: np.ndarray, value: np.ndarray, base: np.ndarray,
) -> np.ndarray:  # fmt: skip
    found = np.full(features.shape[0], base[0])
    # Tree by tree, so that its nodes stay in the processor's cache.
    for root in first:
        for i in range(features.shape[0]):
            node = root
            while feature[node] >= 0:
                seen = features[i, feature[node]]
                goes_left = missing_left[node] if np.isnan(seen) else seen <= threshold[node]
                node = left[node] if goes_left else right[node]
            found[i] += value[node]
    return found


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

    def before(self, kind: Kind, row: int) -> np.ndarray:
        """A series in the hour before a row, which has one, shape (buildings,)."""
        return np.asarray(self._series.values[kind][:, row - 1])

    def arriving(self, row: int, hours: int) -> np.ndarray:
        """What vehicles take that are not there yet, charging at full power on arrival; shape (buildings, hours)."""
        hour = (self._series.hour[row] + np.arange(hours)) % DAY
        return self.ahead("charging", row, hours) * self._statistics.arriving[:, hour, np.arange(hours)]

    def calendar_rows(self, row: int, hours: int) -> np.ndarray:
        """Rows with the calendar and the tariff of the next hours, as these are known; shape (hours,)."""
        return next_rows(row, hours, self._series.rows)
