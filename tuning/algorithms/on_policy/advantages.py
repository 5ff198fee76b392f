"""Generalised advantage estimation (Schulman et al. 2016), over chunks of episodes that lie one after another."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def advantages(
    rewards: np.ndarray,
    values: np.ndarray,
    last_values: np.ndarray,
    ends: np.ndarray,
    gamma: float,
    gae_lambda: float,
) -> np.ndarray:
    """Advantages of the actions: sum over t of (gamma lambda)^t delta_t, delta = r + gamma V' - V.

    Args:
        rewards: shape (T,).
        values: of the observations that were acted on, shape (T,).
        last_values: of the observation after each chunk, 0 where its episode was terminated, shape (C,).
        ends: index after each chunk's last transition, rising, the last one T; shape (C,).
        gamma: discount.
        gae_lambda: 0 trusts the values alone, 1 the rewards.

    Returns:
        Shape (T,), float64; plus `values` they are the targets of the value function.
    """
    found = np.empty(rewards.size)
    start = 0
    for chunk in range(ends.size):
        following, advantage = last_values[chunk], 0.0
        for t in range(ends[chunk] - 1, start - 1, -1):
            delta = rewards[t] + gamma * following - values[t]
            advantage = delta + gamma * gae_lambda * advantage
            found[t] = advantage
            following = values[t]
        start = ends[chunk]
    return found
