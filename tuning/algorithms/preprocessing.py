"""What is done to observations and rewards between the environment and the algorithm."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

EPSILON = 1e-8  # added to a variance: what never changes becomes 0, not NaN


@dataclass(frozen=True, eq=False)
class FrozenNormalizer:
    """Statistics at one moment, as a function from observations to normalised observations, which can be pickled."""

    mean: np.ndarray  # of each feature, shape `(features,)` or `()`, float32
    scale: np.ndarray  # one over the standard deviation of each feature, likewise
    clip: float  # largest magnitude of a normalised feature; infinite for no limit

    def __call__(self, observations: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """`(observations - mean) * scale`, clipped, shape `(..., features)`, float32; into `out`, or a new array."""
        if not self.mean.ndim:
            return np.clip(observations, -self.clip, self.clip, out=out, dtype=np.float32, casting="same_kind")
        # A fixed type, or an observation of float64 would not be rounded as in training.
        result = np.subtract(observations, self.mean, out=out, dtype=np.float32, casting="same_kind")
        result *= self.scale
        return np.clip(result, -self.clip, self.clip, out=result)


def unscaled(clip: float = math.inf) -> FrozenNormalizer:
    """Observations as they are, cut to a magnitude."""
    return FrozenNormalizer(np.zeros((), np.float32), np.ones((), np.float32), clip)


class RewardNormalizer:
    """Running standard deviation of the discounted return of each sub-environment (Engstrom et al. 2020, section 3).

    The mean is not subtracted: without it an agent would learn to end or to prolong episodes.
    """

    def __init__(self, num_envs: int, gamma: float) -> None:
        self._gamma = gamma
        self._returns = np.zeros(num_envs)
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    @property
    def std(self) -> float:
        """Standard deviation of the returns so far; 1 where all were alike."""
        # Nothing is added to it: rewards of any scale are to come out alike.
        return float(np.sqrt(self._squares / self._count)) or 1.0 if self._count else 1.0

    def update(self, rewards: np.ndarray, acted: np.ndarray, ended: np.ndarray) -> None:
        """Take in a time step; `acted` says which sub-environments made a transition, `ended` which end an episode with it."""
        self._returns[acted] = self._gamma * self._returns[acted] + rewards[acted]
        new = self._returns[acted]
        if new.size:
            total = self._count + new.size
            difference = new.mean() - self._mean
            self._squares += new.var() * new.size + difference**2 * (self._count * new.size / total)
            self._mean += difference * (new.size / total)
            self._count = total
        self._returns[ended] = 0.0

    def forget_unfinished(self) -> None:
        """Begin all returns at 0, as their episodes are begun anew."""
        self._returns[:] = 0.0

    def get_state(self) -> dict[str, Any]:
        """State for a checkpoint."""
        return {"count": self._count, "mean": self._mean, "squares": self._squares, "returns": self._returns.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of `get_state`. Raises `ValueError` if it is of another number of sub-environments."""
        if state["returns"].shape != self._returns.shape:
            raise ValueError(f"returns of {len(state['returns'])} sub-environments do not fit {len(self._returns)}")
        self._count, self._mean, self._squares = state["count"], state["mean"], state["squares"]
        self._returns = state["returns"].copy()


@njit(cache=True)
def take(observations: np.ndarray, count: int, mean: np.ndarray, squares: np.ndarray) -> None:
    """Take a batch into means and sums of squared distances of `count` observations before it; see `ObservationNormalizer`."""
    # Distances from a value close to the data keep the digits of a small variance around a large mean. The first batch knows
    # no mean yet.
    batch, features = observations.shape
    near = mean.copy() if count else observations[0].astype(np.float64)
    sums, squared = np.zeros(features), np.zeros(features)
    for i in range(batch):
        for j in range(features):
            distance = observations[i, j] - near[j]
            sums[j] += distance
            squared[j] += distance * distance
    total = count + batch
    for j in range(features):
        shift = sums[j] / batch
        difference = near[j] + shift - mean[j]
        squares[j] += max(squared[j] - batch * shift**2, 0.0) + difference**2 * (count * batch / total)
        mean[j] += difference * (batch / total)


class ObservationNormalizer:
    """Running mean and variance of each feature, however data were cut into batches (Chan, Golub and LeVeque 1979)."""

    def __init__(self, features: int, clip: float, keep: Sequence[int] = ()) -> None:
        self._clip, self._keep = clip, list(keep)
        self.count = 0  # observations seen
        self.mean = np.zeros(features)
        self._squares = np.zeros(features)  # sum of squared distances from the mean
        self.frozen = self._freeze()

    @property
    def variance(self) -> np.ndarray:
        """Population variance of each feature; 1 before the first observation."""
        return self._squares / self.count if self.count else np.ones_like(self.mean)

    def update(self, observations: np.ndarray) -> None:
        """Take a batch into the statistics. `observations` has shape `(batch, features)`, float32."""
        take(observations, self.count, self.mean, self._squares)
        self.count += len(observations)
        self.frozen = self._freeze()

    def get_state(self) -> dict[str, Any]:
        """State for a checkpoint."""
        return {"count": self.count, "mean": self.mean.copy(), "squares": self._squares.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of `get_state`. Raises `ValueError` if it is of another number of features."""
        if state["mean"].shape != self.mean.shape:
            raise ValueError(f"statistics of {len(state['mean'])} features do not fit observations of {len(self.mean)}")
        self.count = state["count"]
        self.mean, self._squares = state["mean"].copy(), state["squares"].copy()
        self.frozen = self._freeze()

    def _freeze(self) -> FrozenNormalizer:
        mean, scale = self.mean.astype(np.float32), (1.0 / np.sqrt(self.variance + EPSILON)).astype(np.float32)
        mean[self._keep], scale[self._keep] = 0.0, 1.0
        return FrozenNormalizer(mean, scale, self._clip)
