"""From the default to the best, one change at a time: which change paid?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.analysis.searched import acts, admissible, best_trial, default_trial, frame, ranges_of, searched
from results.experiment_file import Facts, Range, read_facts, text_of
from results.loader import Results
from results.schema import GIVEN
from results.statistics import NORMAL

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

LEAST_TRIALS = 6
MOST_TRIALS = 200  # that the regression is fitted to
_LOWEST = 3.0  # ratings count as at least this many times as far below the lower quartile as the best lies above it


def default_to_best(results: Results, start: int | None = None) -> pd.DataFrame:
    """What each change from the default, or from trial `start`, to the best brought, by a regression over all trials.

    A Gaussian process is fitted to the last ratings over the searched hyperparameters and the steps trained. The change that is
    expected to gain most is made first, then the next. Both ends are taken at the best's steps, so the gains add up to the
    predicted difference. The intervals are those of the function without noise at fixed length scales. They do not hold
    together for all rows, and do not count that the best was chosen for its rating.

    Returns:
        A row a change, in the order in which they are made: `step` (from 1), `hyperparameter`, `before` and `after` (texts),
        `gain`, `gain_low`, `gain_high` (rating; 95 % interval), `total`, `total_low`, `total_high` (of all changes so far) and
        `predicted` (rating after it). Empty without a winner, a start, a difference, and `LEAST_TRIALS` rated trials that meet
        the requirements.
    """
    import numpy as np

    facts = read_facts(results.single.folder)
    trials = admissible(searched(results))
    begin = default_trial(results, facts) if start is None else start
    best = best_trial(results)
    types = {"step": "int64", "hyperparameter": "object", "before": "object", "after": "object"}
    numbers = ("gain", "gain_low", "gain_high", "total", "total_low", "total_high", "predicted")
    types |= dict.fromkeys(numbers, "float64")
    known = set(trials["trial"])
    if len(trials) < LEAST_TRIALS or trials["rating"].nunique() < 2 or begin not in known or best not in known:
        return frame([], types)
    space = _Space.of(trials, facts)
    first, last = (trials.index[trials["trial"] == number][0] for number in (begin, best))
    points = space.points(trials)
    different = [place for place in range(len(space.ranges)) if not np.isclose(points[first, place], points[last, place])]
    if not different:
        return frame([], types)
    kept = _kept(trials, [int(first), int(last)])
    process = fit(points[kept], _bounded(trials["rating"].to_numpy(float), int(first))[kept], space.is_choice)
    now = points[first].copy()
    now[-1] = points[last, -1]
    path, order = [now], []
    while different:
        tried = np.repeat(path[-1][np.newaxis], len(different), axis=0)
        tried[np.arange(len(different)), different] = points[last, different]
        chosen = int(process.predict(tried)[0].argmax())
        path.append(tried[chosen])
        order.append(different.pop(chosen))
    predicted, covariance = process.predict(np.array(path))
    rows = []
    for step, place in enumerate(order, 1):
        name = space.ranges[place].name
        row: dict[str, object] = {"step": step, "hyperparameter": name, "predicted": predicted[step]}
        row |= {key: _text(trials.loc[index, GIVEN + name]) for key, index in (("before", first), ("after", last))}
        for prefix, since in (("gain", step - 1), ("total", 0)):
            value = predicted[step] - predicted[since]
            variance = covariance[step, step] + covariance[since, since] - 2.0 * covariance[step, since]
            half = NORMAL * float(np.sqrt(max(variance, 0.0)))
            row |= {prefix: value, f"{prefix}_low": value - half, f"{prefix}_high": value + half}
        rows.append(row)
    return frame(rows, types)


def _text(value: object) -> str:
    """A value as a text, and a number with a fraction with six significant digits."""
    text = text_of(value)
    return f"{value:.6g}" if isinstance(value, float) and "." in text else text


class _Space:
    """Dimensions of the regression: hyperparameters that differ between trials, and last how far these were trained."""

    def __init__(self, ranges: list[Range]) -> None:
        import numpy as np

        self.ranges = ranges
        self.is_choice = np.array([*(bool(own.choices) for own in ranges), False])

    @classmethod
    def of(cls, trials: pd.DataFrame, facts: Facts) -> _Space:
        ranges = ranges_of(trials, facts).values()
        return cls([own for own in ranges if trials[GIVEN + own.name].map(text_of).nunique() > 1])

    def points(self, trials: pd.DataFrame) -> np.ndarray:
        """Shape (trials, dimensions), from 0 to 1; what does not act, or is no choice that is drawn, lies below the others."""
        import numpy as np

        steps = np.log(np.maximum(trials["steps"].to_numpy(float), 1.0))
        widest = max(float(np.ptp(steps)), 1e-9)
        columns = []
        for own in self.ranges:
            places = np.clip(own.positions(trials[GIVEN + own.name]), 0.0, 1.0)
            columns.append(np.where(acts(trials, own) & ~np.isnan(places), places, -1.0))
        return np.column_stack([*columns, (steps - steps.min()) / widest])


def _kept(trials: pd.DataFrame, ends: list[int]) -> np.ndarray:
    """Trials that the regression is fitted to: both ends, the best third of the places, and others evenly by number."""
    import numpy as np

    if len(trials) <= MOST_TRIALS:
        return np.arange(len(trials))
    order = np.argsort(-trials["rating"].to_numpy(float), kind="stable")
    best = set(order[: MOST_TRIALS // 3].tolist()) | set(ends)
    rest = np.array([index for index in range(len(trials)) if index not in best])
    even = rest[np.linspace(0, len(rest) - 1, MOST_TRIALS - len(best)).round().astype(int)]
    return np.array(sorted(best | set(even.tolist())))


def _bounded(values: np.ndarray, start: int) -> np.ndarray:
    """Ratings without the depth of the worst, as a trial that diverged would decide the whole fit; that of `start` stays."""
    import numpy as np

    quarter, best = float(np.quantile(values, 0.25)), float(values.max())
    return np.maximum(values, min(quarter - _LOWEST * (best - quarter), values[start]))


_SQRT5 = math.sqrt(5.0)
_LENGTH_SPREAD = math.sqrt(3.0)  # of the prior of a log length scale
_NOISE, _NOISE_SPREAD = math.log(0.1), 1.5  # prior of the log of the noise's variance over the signal's
_LENGTHS, _NOISES = (-3.0, 6.0), (-9.0, 3.0)  # bounds of the logs
_JITTER = 1e-8


@dataclass(frozen=True)
class Process:
    """A fitted Gaussian process (Rasmussen and Williams 2006): Matern 5/2 with a length scale for each dimension.

    Scale of the signal and mean have closed forms; length scales and noise are those of the greatest posterior. Length scales
    have the prior of Hvarfner, Hellsten and Nardi (2024), which grows with the number of dimensions, so few trials do not fit
    noise.
    """

    points: np.ndarray  # shape (points, dimensions)
    is_choice: np.ndarray  # dimensions of which only equality counts, shape (dimensions,)
    lengths: np.ndarray  # length scales, shape (dimensions,)
    mean: float  # of the values
    signal: float  # variance of the function
    inverse: np.ndarray  # of the values' covariance in units of `signal`, shape (points, points)
    weights: np.ndarray  # `inverse` times the values less their mean, shape (points,)

    def predict(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the function without noise at points (others, dimensions)."""
        import numpy as np

        across = _kernel(_squares(points, self.points, self.is_choice), self.lengths)[0]
        own = _kernel(_squares(points, points, self.is_choice), self.lengths)[0]
        covariance = self.signal * (own - across @ self.inverse @ across.T)
        return self.mean + across @ self.weights, np.asarray((covariance + covariance.T) / 2.0)


def fit(points: np.ndarray, values: np.ndarray, is_choice: np.ndarray) -> Process:
    """Fit a process to at least two points from 0 to 1, shape (points, dimensions), with values that are not all equal."""
    import numpy as np
    from scipy.optimize import minimize

    count, dimensions = points.shape
    middle = float(values.mean())
    centred = values - middle
    squares = _squares(points, points, is_choice)
    prior = math.sqrt(2.0) + math.log(dimensions) / 2.0
    start = np.append(np.full(dimensions, min(max(prior - 1.0, _LENGTHS[0]), _LENGTHS[1])), _NOISE)

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        correlation, slope, scaled = _kernel(squares, np.exp(logs[:-1]))
        noise = math.exp(logs[-1]) + _JITTER
        inverse, log_determinant = _inverted(correlation + noise * np.eye(count))
        weights = inverse @ centred
        energy = float(centred @ weights)
        off = (logs - np.append(np.full(dimensions, prior), _NOISE)) / np.append(
            np.full(dimensions, _LENGTH_SPREAD), _NOISE_SPREAD
        )
        value = count / 2.0 * math.log(energy / count) + log_determinant / 2.0 + float(off @ off) / 2.0
        # Derivative by the covariance: of the energy, and of the determinant.
        outer = (inverse - np.outer(weights, weights) * (count / energy)) / 2.0
        gradient = np.append(np.einsum("dij,ij->d", scaled, slope * outer), math.exp(logs[-1]) * np.trace(outer))
        gradient += off / np.append(np.full(dimensions, _LENGTH_SPREAD), _NOISE_SPREAD)
        return value, gradient

    bounds = [_LENGTHS] * dimensions + [_NOISES]
    logs = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100}).x
    lengths = np.exp(logs[:-1])
    inverse, _ = _inverted(_kernel(squares, lengths)[0] + (math.exp(logs[-1]) + _JITTER) * np.eye(count))
    weights = inverse @ centred
    return Process(points, is_choice, lengths, middle, float(centred @ weights) / count, inverse, weights)


def _squares(first: np.ndarray, second: np.ndarray, is_choice: np.ndarray) -> np.ndarray:
    """Squared distances in each dimension, shape (dimensions, first, second); of choices 0 or 1."""
    import numpy as np

    distance = first.T[:, :, np.newaxis] - second.T[:, np.newaxis, :]
    return np.where(is_choice[:, np.newaxis, np.newaxis], (np.abs(distance) > 1e-9).astype(float), distance**2)


def _kernel(squares: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Correlations, slope and scaled squares; a derivative by a log length is slope times square."""
    import numpy as np

    scaled = squares / (lengths**2)[:, np.newaxis, np.newaxis]
    distance = _SQRT5 * np.sqrt(scaled.sum(axis=0))
    decay = np.exp(-distance)
    correlation = (1.0 + distance + distance**2 / 3.0) * decay
    return correlation, 5.0 / 3.0 * (1.0 + distance) * decay, scaled


def _inverted(matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """Inverse and log determinant of a matrix that is symmetric and positive."""
    import numpy as np
    from scipy.linalg import cho_factor, cho_solve

    factor = cho_factor(matrix, lower=True)
    return cho_solve(factor, np.eye(len(matrix))), 2.0 * float(np.log(np.diag(factor[0])).sum())
