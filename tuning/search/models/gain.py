"""Expected gains of Gaussian predictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]


def expected_improvement(mean: Array, deviation: Array, best: float) -> Array:
    """By how much values are expected to exceed the best, where only excess counts (Jones, Schonlau and Welch 1998).

    Args:
        mean: of each value.
        deviation: standard deviation of each, above 0.
        best: to be exceeded.

    Returns:
        At least 0, with the shape of the means.
    """
    ratio = (mean - best) / deviation
    density = np.exp(-0.5 * ratio**2) / np.sqrt(2.0 * np.pi)
    return np.maximum(deviation * (ratio * ndtr(ratio) + density), 0.0)
