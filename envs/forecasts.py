"""Forecasts of a site's series: the days before, boosted trees, or the future itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
from numba import njit

from common.units import DAY

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

    slot: np.ndarray  # step of the day, from 0, shape (rows,); see `steps_of_day`
    # Of each of its kinds, shape (buildings, rows). `load` is what buildings take without batteries and vehicles, `pv` the
    # generation, `charging` the vehicles' energy on the uncontrolled site [kWh], `carbon` the carbon intensity [kg/kWh]. Of
    # uses with a tank or a device that acts there are the demand of heat or cold [kWh], and the efficiency of the device that
    # serves it. Where devices act on rooms, `indoor` is their temperature without control [C], `people` 1 where somebody is.
    values: Mapping[Kind, np.ndarray]
    # What else is observed in each hour, such as weather and its forecasts, shape (rows, features), float32.
    observed: np.ndarray
    names: tuple[str, ...]  # of these features, shape (features,)
    day: int = DAY  # steps of a day

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of its series: `KINDS`, and those of tanks and thermal devices that act."""
        return tuple(self.values)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.slot)


def steps_of_day(hour: np.ndarray, per_hour: int) -> np.ndarray:
    """Step of the day of each row, from 0, of the hours of the day, 0-23, shape (rows,). Rows are a step apart."""
    # The first hour may be there in part, so rows count from where one begins.
    begins = np.flatnonzero(np.diff(hour))[:1].sum() + 1
    return np.asarray(hour * per_hour + (np.arange(len(hour)) - begins) % per_hour)


def same_hour_before(row: np.ndarray | int, ahead: np.ndarray | int, day: int) -> np.ndarray:
    """The latest known row with the time of the day of a row that lies ahead; negative before the year's first."""
    return np.asarray(row + ahead - day * -(-ahead // day))


WEEK_DAYS = 7


def mean_of_days(values: np.ndarray, days: int, day: int) -> np.ndarray:
    """Mean of each step and the same of up to `days - 1` days before it, shape (..., rows); NaN where none is known."""
    known = np.isfinite(values)
    total, count = np.zeros(values.shape), np.zeros(values.shape)
    for number in range(days):
        back = number * day
        later = max(values.shape[-1] - back, 0)  # rows that have this day before them; none in a range that is shorter
        total[..., back:] += np.where(known, values, 0.0)[..., :later]
        count[..., back:] += known[..., :later]
    return _mean(total, count)


def _mean(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Means of so many values that add up to a total; NaN of none."""
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def mean_profile(years: Sequence[tuple[np.ndarray, np.ndarray]], day: int) -> np.ndarray:
    """Mean of each step of the day, (buildings, day), of steps and values of years; without values, of the others."""
    slots, values = np.concatenate([slot for slot, _ in years]), np.concatenate([value for _, value in years], axis=1)
    profile = np.stack([values[:, slots == slot].mean(axis=1) if (slots == slot).any() else np.full(len(values), np.nan)
                        for slot in range(day)], axis=1)  # fmt: skip
    return np.where(np.isnan(profile), np.nanmean(profile, axis=1, keepdims=True), profile)


SAMPLES = 200_000  # that a model is trained on, drawn from all; more take longer and change little
_RECENT = 3  # steps of which the values are features themselves


@dataclass(frozen=True)
class LearnedModel:
    """A model of one kind of series."""

    forest: Forest
    scale: np.ndarray  # mean of each building's values, by which they are divided, shape (buildings,)


def train_model(years: Sequence[tuple[SiteSeries, np.ndarray]], kind: Kind, steps: int) -> LearnedModel | None:
    """Train a model on series of years and which of their rows train, shape (rows,); None where a series never changes.

    A sample is a building, a row and a number of steps ahead. Its target is what the series has there beyond its mean of the
    same time of the days before; its features are of `Past`. Rows that do not train are unknown, as target and as past.
    """
    known = [np.where(mask, series.values[kind], np.nan) for series, mask in years]
    together = np.concatenate(known, axis=1)
    if not np.nanmax(np.nanmax(together, axis=1) - np.nanmin(together, axis=1)):
        return None
    scale = scale_of(together)
    rng = np.random.default_rng(0)
    total = sum(int(mask.sum()) for _, mask in years) * len(scale) * (steps - 1)
    part = min(1.0, SAMPLES / max(total, 1))
    features, targets = [], []
    for (series, mask), values in zip(years, known, strict=True):
        past = Past.of(series, values / scale[:, np.newaxis])
        for ahead in range(1, steps):
            target = np.full(values.shape, np.nan)
            target[:, :-ahead] = past.values[:, ahead:]
            building, row = np.nonzero(mask & np.isfinite(target) & (rng.random(values.shape) < part))
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

    series: SiteSeries
    values: np.ndarray  # over the scale of their building, NaN where they are not known, shape (buildings, rows)
    daily: np.ndarray  # mean of the same time of up to seven days, the present one among them, shape (buildings, rows)
    last_day: np.ndarray  # mean of the last 24 hours, shape (buildings, rows)
    district: np.ndarray  # mean over the buildings, shape (rows,)

    @classmethod
    def of(cls, series: SiteSeries, values: np.ndarray) -> Past:
        """Past of a series, as far as it is known."""
        known = np.isfinite(values)
        shown = np.where(known, values, 0.0)
        sums, counts = (np.cumsum(amounts, axis=1) for amounts in (shown, known.astype(np.float64)))
        for totals in (sums, counts):
            totals[:, series.day :] -= totals[:, : -series.day].copy()
        district = _mean(shown.sum(axis=0), known.sum(axis=0))
        return cls(series, values, mean_of_days(values, WEEK_DAYS, series.day), _mean(sums, counts), district)

    def usual(self, building: np.ndarray, row: np.ndarray, ahead: int) -> np.ndarray:
        """Mean of the last seven days at the time ahead, else of the last day, else of the train split; shape (samples,)."""
        before = same_hour_before(row, ahead, self.series.day)
        daily = np.where(before >= 0, self.daily[building, np.maximum(before, 0)], np.nan)
        mean = np.where(np.isnan(daily), self.last_day[building, row], daily)
        return np.where(np.isnan(mean), 1.0, mean)

    def features(self, building: np.ndarray, row: np.ndarray, ahead: int) -> np.ndarray:
        """Features, shape (samples, features), float32, of buildings and present rows, each of shape (samples,)."""

        def at(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return np.where(rows >= 0, values[building, np.maximum(rows, 0)], np.nan)

        lead, day = np.full(len(row), ahead), self.series.day
        before, week = (same_hour_before(row, lead, days * day) for days in (1, WEEK_DAYS))
        columns = [
            lead, (self.series.slot[row] + ahead) % day,
            *(at(self.values, row - back) for back in range(_RECENT)),
            at(self.values, before), at(self.daily, before), at(self.values, week), at(self.last_day, row),
            # How much this step differs from what was to be expected.
            at(self.values, row) - at(self.values, row - day), at(self.values, row) - at(self.daily, row),
            self.district[row],
        ]  # fmt: skip
        return np.concatenate([np.stack(columns, axis=1), self.series.observed[row]], axis=1).astype(np.float32)


def forecast_table(
    series: SiteSeries, kind: Kind, model: LearnedModel, steps: int, rows: np.ndarray | None = None
) -> np.ndarray:
    """Forecasts from 1 step ahead on in rows of a year, all by default; never negative.

    Shape (buildings, rows, steps - 1), float32.
    """
    values = series.values[kind]
    past = Past.of(series, values / model.scale[:, np.newaxis])
    row = np.arange(series.rows) if rows is None else rows
    table = np.zeros((len(values), len(row), steps - 1), dtype=np.float32)
    for ahead in range(1, steps):
        for n, scale in enumerate(model.scale):
            building = np.full(len(row), n)
            forecast = past.usual(building, row, ahead) + model.forest.predict(past.features(building, row, ahead))
            table[n, :, ahead - 1] = np.maximum(forecast, 0.0) * scale
    return table


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
    # It refuses a feature that no sample knows, as the value of a week before in a few days, and leaves a constant one out.
    features = np.where(np.isnan(features).all(axis=0), np.float32(0.0), features)
    # Threads that wait for one another on busy cores take a hundred times as long.
    with threadpool_limits(1):
        model.fit(features, target)
    return _as_arrays(model)


def _as_arrays(model: Any) -> Forest:
    nodes = [tree.nodes for (tree,) in model._predictors]
    sizes = [len(tree) for tree in nodes]
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
    predictions = np.full(features.shape[0], base[0])
    # Tree by tree, so that its nodes stay in the processor's cache.
    for root in first:
        for i in range(features.shape[0]):
            node = root
            while feature[node] >= 0:
                seen = features[i, feature[node]]
                goes_left = missing_left[node] if np.isnan(seen) else seen <= threshold[node]
                node = left[node] if goes_left else right[node]
            predictions[i] += value[node]
    return predictions


Method = Literal["yesterday", "seven-days", "learned", "exact"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True)
class TrainStatistics:
    """What the hours of the train split say of a site, for all methods."""

    # Mean of each step of the day, of each kind of series, shape (buildings, day). It stands in for days before the year's
    # first.
    profile: Mapping[Kind, np.ndarray]
    # Part of the charging of each step of the day that goes to vehicles which arrived less than some steps before, shape
    # (buildings, day, steps).
    arriving: np.ndarray
    error: float  # mean error of the means of seven days, over the mean value, of load and PV together


class SiteForecast:
    """Forecasts of a site year; `foresees` whether the future is known, and has an `error` of 0 then."""

    def __init__(
        self,
        series: SiteSeries,
        method: Method,
        statistics: TrainStatistics,
        learned: Mapping[Kind, np.ndarray | None] | None = None,
    ) -> None:
        """Take tables of `forecast_table`; a kind without one is forecast by the days before."""
        self.foresees = method == "exact"
        self.error = 0.0 if self.foresees else statistics.error
        self._series, self._statistics = series, statistics
        self._learned = {kind: table for kind, table in (learned or {}).items() if table is not None}
        days = 1 if method == "yesterday" else WEEK_DAYS
        self._past = {
            kind: mean_of_days(values, days, series.day)
            for kind, values in series.values.items()
            if not self.foresees and kind not in self._learned
        }

    def ahead(self, kind: Kind, row: int, steps: int) -> np.ndarray:
        """The present step of a series as it is observed, and forecasts of those that follow; shape (buildings, steps).

        A `ValueError` if a table does not look so far ahead.
        """
        series, values = self._series, self._series.values[kind]
        if self.foresees:
            return values[:, np.maximum(self.calendar_rows(row, steps), 0)]
        if kind in self._learned:
            table = self._learned[kind]
            if steps - 1 > table.shape[2]:
                raise ValueError(f"forecasts of {steps} steps are asked for, and the table has {table.shape[2] + 1}")
            following = table[:, row, : steps - 1]
        else:
            ahead = np.arange(1, steps)
            source = same_hour_before(row, ahead, series.day)
            usual = self._statistics.profile[kind][:, (series.slot[row] + ahead) % series.day]
            following = np.where(source >= 0, self._past[kind][:, np.maximum(source, 0)], usual)
        return np.concatenate([values[:, [row]], following], axis=1)

    def before(self, kind: Kind, row: int) -> np.ndarray:
        """A series in the step before a row, which has one, shape (buildings,)."""
        return np.asarray(self._series.values[kind][:, row - 1])

    def arriving(self, row: int, steps: int) -> np.ndarray:
        """What vehicles take that are not there yet, charging at full power on arrival; shape (buildings, steps)."""
        slot = (self._series.slot[row] + np.arange(steps)) % self._series.day
        return self.ahead("charging", row, steps) * self._statistics.arriving[:, slot, np.arange(steps)]

    def calendar_rows(self, row: int, steps: int) -> np.ndarray:
        """Rows with the calendar and the tariff of the next steps, the present one first, as these are known; shape (steps,).

        Steps after a year's last are as a day before.
        """
        ahead, day = row + np.arange(steps), self._series.day
        beyond = np.maximum(ahead - (self._series.rows - 1), 0)
        return np.asarray(ahead - day * -(-beyond // day))
