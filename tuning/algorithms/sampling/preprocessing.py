"""What is done to observations and rewards between the environment and the algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

EPSILON = 1e-8  # added to the variance of returns


@dataclass(frozen=True)
class Preprocessing:
    """How observations and rewards are scaled.

    Attributes:
        normalize_observations: whether observations are normalised by their running mean and variance.
        clip_obs: largest magnitude of a (normalised) feature; None for no limit.
        normalize_rewards: whether rewards are divided by the running standard deviation of the discounted return.
        reward_scale: factor of the rewards, after that.
        gamma: discount of that return.
        keep: indices of features that are not normalised: those of chargers, which have a common scale already. By their own
            means and deviations, two chargers' equal states of charge would be different numbers.
    """

    normalize_observations: bool = False
    clip_obs: float | None = None
    normalize_rewards: bool = False
    reward_scale: float = 1.0
    gamma: float = 0.99
    keep: tuple[int, ...] = ()


class PreprocessingConfig:
    """Mixin of an `AlgorithmConfig` that says how its env runners preprocess. RLlib knows no such settings."""

    preprocessing: Preprocessing = Preprocessing()


@dataclass(frozen=True)
class Clip:
    """Cuts features to a magnitude, or leaves them as they are.

    Attributes:
        limit: largest magnitude; None for no limit.
    """

    limit: float | None

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Clipped observations, of the same shape."""
        return observations if self.limit is None else np.clip(observations, -self.limit, self.limit)


class RewardNormalizer:
    """Running standard deviation of the discounted return of each sub-environment (Engstrom et al. 2020, section 3).

    The mean is not subtracted: without it an agent would learn to end or to prolong episodes.
    """

    def __init__(self, num_envs: int, gamma: float) -> None:
        """Start without data: a standard deviation of 1.

        Args:
            num_envs: sub-environments.
            gamma: discount.
        """
        self._gamma = gamma
        self._returns = np.zeros(num_envs)
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    @property
    def std(self) -> float:
        """Standard deviation of the returns so far."""
        return float(np.sqrt(self._squares / self._count + EPSILON)) if self._count else 1.0

    def update(self, rewards: np.ndarray, acted: np.ndarray, ended: np.ndarray) -> None:
        """Take in a time step.

        Args:
            rewards: shape (sub-environments,).
            acted: which of them made a transition, shape (sub-environments,).
            ended: which of them end an episode with it, shape (sub-environments,).
        """
        self._returns[acted] = self._gamma * self._returns[acted] + rewards[acted]
        new = self._returns[acted]
        if new.size:
            total = self._count + new.size
            difference = new.mean() - self._mean
            self._squares += new.var() * new.size + difference**2 * (self._count * new.size / total)
            self._mean += difference * (new.size / total)
            self._count = total
        self._returns[ended] = 0.0

    def get_state(self) -> dict[str, Any]:
        """State for a checkpoint."""
        return {"count": self._count, "mean": self._mean, "squares": self._squares, "returns": self._returns.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of `get_state`.

        Raises:
            ValueError: if the state is of another number of sub-environments.
        """
        if state["returns"].shape != self._returns.shape:
            raise ValueError(f"returns of {len(state['returns'])} sub-environments do not fit {len(self._returns)}")
        self._count, self._mean, self._squares = state["count"], state["mean"], state["squares"]
        self._returns = state["returns"].copy()
