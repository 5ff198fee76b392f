"""A Gaussian process over hyperparameters, for what a few dozen noisy trials can tell (Rasmussen and Williams 2006).

Matern 5/2 kernel with a length scale for each dimension. Scale of the signal and mean have closed forms; length scales and
noise are those of the greatest posterior. Length scales have the prior of Hvarfner, Hellsten and Nardi (2024), which grows with
the number of dimensions, so few trials do not fit noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_SQRT5 = math.sqrt(5.0)
_LENGTH_SPREAD = math.sqrt(3.0)  # of the prior of a log length scale
_NOISE, _NOISE_SPREAD = math.log(0.1), 1.5  # prior of the log of the noise's variance over the signal's
_LENGTHS, _NOISES = (-3.0, 6.0), (-9.0, 3.0)  # bounds of the logs
_JITTER = 1e-8


@dataclass(frozen=True)
class Process:
    """A fitted process.

    Attributes:
        points: that it was fitted to, shape (points, dimensions).
        is_choice: dimensions of which only equality counts, shape (dimensions,).
        lengths: length scales, shape (dimensions,).
        mean: of the values.
        signal: variance of the function.
        inverse: of the values' covariance in units of `signal`, shape (points, points).
        weights: `inverse` times the values less their mean, shape (points,).
    """

    points: np.ndarray
    is_choice: np.ndarray
    lengths: np.ndarray
    mean: float
    signal: float
    inverse: np.ndarray
    weights: np.ndarray

    def predict(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the function without noise.

        Args:
            points: shape (others, dimensions).

        Returns:
            Shapes (others,) and (others, others).
        """
        import numpy as np

        across = _kernel(_squares(points, self.points, self.is_choice), self.lengths)[0]
        own = _kernel(_squares(points, points, self.is_choice), self.lengths)[0]
        covariance = self.signal * (own - across @ self.inverse @ across.T)
        return self.mean + across @ self.weights, np.asarray((covariance + covariance.T) / 2.0)


def fit(points: np.ndarray, values: np.ndarray, is_choice: np.ndarray) -> Process:
    """Fit a process.

    Args:
        points: dimensions from 0 to 1, shape (points, dimensions); at least two points.
        values: not all equal, shape (points,).
        is_choice: dimensions of which only equality counts, shape (dimensions,).
    """
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
    """Correlations, and what derivatives take: that by a log length scale is `slope` times the dimension's scaled square.

    Returns:
        Correlations and slope, shape (first, second), and scaled squares, shape (dimensions, first, second).
    """
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
