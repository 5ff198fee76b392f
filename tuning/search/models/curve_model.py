"""A Gaussian process over hyperparameters and steps: what learning curves are expected to do, and how sure that is.

The model and its sources are on the page docs/search.md.

Assignments are its points: `encode` makes them rows of numbers between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.linalg import cho_factor, cho_solve, lapack, solve_triangular
from scipy.special import ndtr

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Hyperparameters of the kernel beside the length scales of the columns, all as natural logarithms: where they are expected,
# and the standard deviation around it. Ratings are scaled, see `Scale`.
_EXPECTED = {
    "point": (0.5, 1.0),  # variance that a point explains, alike at all steps
    "point curve": (0.2, 1.0),  # ... that changes along the steps
    "trial": (0.05, 1.0),  # variance of one trial beside its point: its seed, and what the columns do not show
    "trial curve": (0.1, 1.0),
    "common curve": (0.5, 1.0),  # what all trials have in common along the steps
    "noise": (0.003, 1.0),  # of one evaluation
    "length": (2.0, 0.5),  # of curves, in natural logarithms of steps
    "trial length": (2.0, 0.5),
}
_NAMES = tuple(_EXPECTED)
_COLUMN_LENGTH, _COLUMN_SPREAD = 0.5, 0.75  # times the root of the number of columns; standard deviation of its logarithm
_MEAN = 4.0  # prior variance of the level of all ratings
_BOUND = 4.0  # of each hyperparameter, standard deviations
_JITTER = 1e-8
FIT_ITERATIONS = 15
Point = Mapping[str, float | int | str]
_UNKNOWN = 0.5  # middle of a range
_SIDE = math.sqrt(0.5)  # two different choices are then 1 apart, as both ends of a range


@dataclass(frozen=True)
class Scale:
    """A monotone map from ratings to the numbers that the model sees, and back.

    The best rating is at 1, the median at 0. Between, and above, the map is linear, so gains of the best keep their ratios.
    Hopeless ratings would decide the scale of all others, so below -1 only their logarithm counts.
    """

    centre: float  # rating that becomes 0
    unit: float  # distance of the rating that becomes 1 from it

    @classmethod
    def of(cls, ratings: Array) -> Self:
        """The scale of these ratings, at least one."""
        worst, centre, best = (float(each) for each in np.quantile(ratings, (0.0, 0.5, 1.0)))
        return cls(centre, best - centre or best - worst or 1.0)

    def scaled(self, ratings: Array) -> Array:
        """Numbers for the model."""
        linear = (ratings - self.centre) / self.unit
        return np.where(linear >= -1.0, linear, -1.0 - np.log1p(np.maximum(-1.0 - linear, 0.0)))

    def ratings(self, scaled: Array) -> Array:
        """The ratings of such numbers."""
        linear = np.where(scaled >= -1.0, scaled, -1.0 - np.expm1(np.clip(-1.0 - scaled, 0.0, 50.0)))
        return self.centre + self.unit * linear


@dataclass(frozen=True)
class Evaluations:
    """Evaluations of trials, in arrays of one length."""

    trial: Integers  # row of each one's trial among the points
    log_steps: Array  # natural logarithms of the steps
    ratings: Array  # scaled ratings

    def __len__(self) -> int:
        return len(self.trial)


@dataclass(frozen=True)
class CurveModel:
    """A posterior over the curves of all points."""

    points: Array  # of shape (trials, columns), see `tuning.search.models.curve_model`
    data: Evaluations  # evaluations that it knows, at least one
    logs: Array  # natural logarithms of the hyperparameters: of the columns' lengths, then `_EXPECTED` in its order

    @classmethod
    def fitted(cls, points: Array, data: Evaluations, most: int, iterations: int = FIT_ITERATIONS) -> Self:
        """The model with the most probable hyperparameters.

        At most so many evaluations decide these; of more, evenly many of each trial are taken.
        """
        few = thinned(data, most)
        if len(few) < 2:
            return cls(points, data, _priors(points.shape[1])[0])
        # Points without evaluations do not matter here.
        rows, trial = np.unique(few.trial, return_inverse=True)
        return cls(points, data, _most_probable(_Arrays(points[rows], trial, few.log_steps, few.ratings), iterations))

    def with_points(self, points: Array) -> CurveModel:
        """The same with more points, which have no evaluations; nothing is solved again."""
        extended = CurveModel(np.vstack([self.points, points]), self.data, self.logs)
        extended.__dict__["_solved"] = self._solved
        return extended

    def predict_after(self, trial: int, log_steps: Array, ratings: Array, at: float) -> tuple[float, float]:
        """Mean and standard deviation of a trial's noiseless scaled rating, after more evaluations of this trial.

        It is the posterior with these evaluations beside those that the model has, without solving for all of them again.
        """
        logs = np.append(log_steps, at)
        rows = np.full(len(logs), trial, dtype=np.int64)
        mean, half = self._posterior(rows, logs)
        covariance = self._kernel.between(rows, logs, rows, logs) - half.T @ half
        new = covariance[:-1, :-1] + (self._kernel.noise + _JITTER) * np.eye(len(log_steps))
        gain = np.linalg.solve(new, covariance[:-1, -1])
        variance = covariance[-1, -1] - gain @ covariance[:-1, -1]
        return float(mean[-1] + gain @ (ratings - mean[:-1])), math.sqrt(max(float(variance), _JITTER))

    def predict(self, trial: Integers, log_steps: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of noiseless scaled ratings."""
        mean, half = self._posterior(trial, log_steps)
        variance = self._kernel.variance() - np.einsum("ij,ij->j", half, half)
        return mean, np.sqrt(np.maximum(variance, _JITTER))

    def _posterior(self, trial: Integers, log_steps: Array) -> tuple[Array, Array]:
        """Mean of scaled ratings, and the half of what the evaluations take of their covariance."""
        factor, weights = self._solved
        cross = self._kernel.between(self.data.trial, self.data.log_steps, trial, log_steps)
        return cross.T @ weights, solve_triangular(factor, cross, lower=True, check_finite=False)

    @property
    def noise(self) -> float:
        """Variance of one scaled evaluation beside the noiseless rating."""
        return self._kernel.noise

    def seeds_covariance(self, log_steps: Array) -> Array:
        """Covariance of what the seed of one training adds to its scaled ratings after some steps. Shape (steps, steps)."""
        return self._kernel.of_trial(np.abs(log_steps[:, None] - log_steps[None, :]))

    @cached_property
    def _kernel(self) -> _Kernel:
        return _Kernel(self.points, self.logs)

    @cached_property
    def _solved(self) -> tuple[Array, Array]:
        """Cholesky factor of the evaluations' covariance, and what it makes of their ratings."""
        covariance = self._kernel.between(self.data.trial, self.data.log_steps, self.data.trial, self.data.log_steps)
        covariance[np.diag_indices_from(covariance)] += self._kernel.noise + _JITTER
        factor, lower = cho_factor(covariance, lower=True, check_finite=False)
        return factor, cho_solve((factor, lower), self.data.ratings, check_finite=False)


def thinned(data: Evaluations, most: int) -> Evaluations:
    """At most about this many evaluations: of each trial its last ones, and others evenly over the logarithm of steps.

    Evaluations of a trial are in the order of their steps. At least one of each trial remains.
    """
    if len(data) <= most:
        return data
    trials = np.unique(data.trial)
    each = max(most // len(trials), 1)
    kept: list[int] = []
    for trial in trials:
        rows = np.flatnonzero(data.trial == trial)
        if len(rows) > each:
            logs = data.log_steps[rows]
            wanted = np.linspace(logs[-1], logs[0], each)
            nearest = np.abs(logs[None, :] - wanted[:, None]).argmin(axis=1)
            rows = rows[np.unique(nearest)]
        kept += rows.tolist()
    index = np.array(kept, dtype=np.int64)
    return Evaluations(data.trial[index], data.log_steps[index], data.ratings[index])


def _priors(columns: int) -> tuple[Array, Array]:
    lengths = np.full(columns, math.log(_COLUMN_LENGTH * math.sqrt(max(columns, 1))))
    values = np.array([math.log(value) for value, _ in _EXPECTED.values()])
    spreads = np.array([spread for _, spread in _EXPECTED.values()])
    return np.concatenate([lengths, values]), np.concatenate([np.full(columns, _COLUMN_SPREAD), spreads])


class _Arrays:
    """Arrays that decide hyperparameters; equal where all numbers are."""

    def __init__(self, points: Array, trial: Integers, log_steps: Array, ratings: Array) -> None:
        self.points, self.data = points, Evaluations(trial, log_steps, ratings)
        self._key = (points.shape, *(each.tobytes() for each in (points, trial, log_steps, ratings)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Arrays) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=8)  # a proposal and the decision about it need the same
def _most_probable(arrays: _Arrays, iterations: int) -> Array:
    from scipy.optimize import minimize  # a quarter of a second, which no command waits for before its first trial

    start, spread = _priors(arrays.points.shape[1])
    optimum = minimize(
        _Objective(arrays.points, arrays.data, start, spread),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(start - _BOUND * spread, start + _BOUND * spread, strict=True)),
        options={"maxiter": iterations, "maxfun": 2 * iterations},
    )
    return np.asarray(optimum.x)


class _Kernel:
    def __init__(self, points: Array, logs: Array) -> None:
        columns = points.shape[1]
        self.lengths = np.exp(logs[:columns])
        named = dict(zip(_NAMES, np.exp(logs[columns:]), strict=True))
        self.point, self.point_curve = named["point"], named["point curve"]
        self.trial, self.trial_curve = named["trial"], named["trial curve"]
        self.common, self.noise = named["common curve"], named["noise"]
        self.length, self.trial_length = named["length"], named["trial length"]
        scaled = points / self.lengths
        squares = np.einsum("ij,ij->i", scaled, scaled)
        self.squared = np.maximum(squares[:, None] + squares[None, :] - 2.0 * scaled @ scaled.T, 0.0)
        self.root = np.sqrt(5.0 * self.squared)
        self.decay = np.exp(-self.root)
        self.points = (1.0 + self.root + self.root**2 / 3.0) * self.decay  # Matérn 5/2

    def variance(self) -> float:
        """Of one noiseless rating, before any evaluation."""
        return self.point + self.point_curve + self.trial + self.trial_curve + self.common + _MEAN

    def between(self, first: Integers, first_logs: Array, second: Integers, second_logs: Array) -> Array:
        """Covariances of two lists of (point, steps)."""
        apart = np.abs(first_logs[:, None] - second_logs[None, :])
        curve = matern(apart / self.length)
        same = first[:, None] == second[None, :]
        covariances = self.points[np.ix_(first, second)] * (self.point + self.point_curve * curve)
        covariances += self.common * curve + _MEAN
        covariances += same * self.of_trial(apart)
        return covariances

    def of_trial(self, apart: Array) -> Array:
        """Covariances of what one trial has beside its point. `apart` are distances between logarithms of steps."""
        return self.trial + self.trial_curve * matern(apart / self.trial_length)


def matern(distance: Array) -> Array:
    """Matérn correlation of smoothness 3/2 at a distance in length scales."""
    root = math.sqrt(3.0) * distance
    return (1.0 + root) * np.exp(-root)


class _Objective:
    """Negative logarithm of the posterior of the hyperparameters, and its gradient (Rasmussen and Williams 2006, eq. 5.9)."""

    def __init__(self, points: Array, data: Evaluations, expected: Array, spread: Array) -> None:
        trial = data.trial
        self._points, self._trial, self._ratings = points, trial, data.ratings
        self._apart = np.abs(data.log_steps[:, None] - data.log_steps[None, :])
        self._same = (trial[:, None] == trial[None, :]).astype(np.float64)
        self._member = (trial[None, :] == np.arange(len(points))[:, None]).astype(np.float64)
        self._differences = (self._points[:, None, :] - self._points[None, :, :]) ** 2
        self._expected, self._spread = expected, spread

    def __call__(self, logs: Array) -> tuple[float, Array]:
        kernel = _Kernel(self._points, logs)
        curve, trial_curve = matern(self._apart / kernel.length), matern(self._apart / kernel.trial_length)
        points = kernel.points[np.ix_(self._trial, self._trial)]
        along = kernel.point + kernel.point_curve * curve
        covariance = points * along + kernel.common * curve + _MEAN
        covariance += self._same * (kernel.trial + kernel.trial_curve * trial_curve)
        size = len(covariance)
        covariance[np.diag_indices(size)] += kernel.noise + _JITTER
        factor, failed = lapack.dpotrf(covariance, lower=1, clean=1)
        away = (logs - self._expected) / self._spread
        if failed:
            return 1e10, np.zeros_like(logs)
        weights = cho_solve((factor, True), self._ratings, check_finite=False)
        value = 0.5 * self._ratings @ weights + np.log(np.diag(factor)).sum() + 0.5 * away @ away
        inverse, _ = lapack.dpotri(factor, lower=1)
        inverse += inverse.T - np.diag(np.diag(inverse))
        slope = 0.5 * (inverse - np.outer(weights, weights))  # of the value with the covariance

        at_points = self._member @ (slope * along) @ self._member.T
        rate = (5.0 / 3.0) * (1.0 + kernel.root) * kernel.decay * at_points
        lengths = np.tensordot(rate, self._differences, axes=2) / kernel.lengths**2
        of_points, of_same = slope * points, slope * self._same
        root, trial_root = math.sqrt(3.0) * self._apart / kernel.length, math.sqrt(3.0) * self._apart / kernel.trial_length
        stretched, trial_stretched = root**2 * np.exp(-root), trial_root**2 * np.exp(-trial_root)
        others = {
            "point": kernel.point * of_points.sum(),
            "point curve": kernel.point_curve * (of_points * curve).sum(),
            "trial": kernel.trial * of_same.sum(),
            "trial curve": kernel.trial_curve * (of_same * trial_curve).sum(),
            "common curve": kernel.common * (slope * curve).sum(),
            "noise": kernel.noise * np.trace(slope),
            "length": ((kernel.point_curve * of_points + kernel.common * slope) * stretched).sum(),
            "trial length": kernel.trial_curve * (of_same * trial_stretched).sum(),
        }
        gradient = np.concatenate([lengths, [others[name] for name in _NAMES]])
        return float(value), gradient + away / self._spread


def expected_improvement(mean: Array, deviation: Array, best: float) -> Array:
    """By how much values are expected to exceed the best, where only excess counts (Jones, Schonlau and Welch 1998).

    Of normal values with these means and standard deviations, which are above 0; at least 0, with the shape of the means.
    """
    ratio = (mean - best) / deviation
    density = np.exp(-0.5 * ratio**2) / np.sqrt(2.0 * np.pi)
    return np.maximum(deviation * (ratio * ndtr(ratio) + density), 0.0)


def encode(points: Sequence[Point], distributions: Mapping[str, BaseDistribution]) -> NDArray[np.float64]:
    """Points as rows of numbers.

    A range has one column from 0 (low) to 1 (high), on the log scale where it is drawn so. A choice has one column for each of
    its values. A hyperparameter that some points lack has one more column: 1 where it is there, 0 where it is not. Columns that
    are equal in all rows remain, so that a row means the same beside other points. Shape (points, columns).

    Args:
        points: inner values by inner name, as Optuna's `params`; values outside a range count as its nearest end.
        distributions: by inner name; other values of a point are ignored.
    """
    columns: list[list[float]] = []
    for name in sorted(distributions):
        distribution = distributions[name]
        if distribution.single():
            continue
        values = [point.get(name) for point in points]
        if isinstance(distribution, CategoricalDistribution):
            columns += [[_SIDE * (value == choice) for value in values] for choice in distribution.choices]
        else:
            columns.append([_share(distribution, value) for value in values])
        if any(value is None for value in values):
            columns.append([float(value is not None) for value in values])
    return np.array(columns, dtype=np.float64).T.reshape(len(points), len(columns))


def _share(distribution: BaseDistribution, value: float | int | str | None) -> float:
    if value is None or isinstance(value, str) or not isinstance(distribution, FloatDistribution | IntDistribution):
        return _UNKNOWN
    low, high, inner = float(distribution.low), float(distribution.high), float(value)
    inner = min(max(inner, low), high)
    if distribution.log:
        low, high, inner = math.log(low), math.log(high), math.log(inner)
    return (inner - low) / (high - low)
