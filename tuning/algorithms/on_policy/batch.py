"""Transitions of a rollout, their advantages, and the minibatches that they are cut into."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numba import njit
from ray.rllib.core.columns import Columns

if TYPE_CHECKING:
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode


@dataclass
class Batch:
    """Transitions as tensors on the learner's device."""

    observations: torch.Tensor  # shape (T, features)
    actions: torch.Tensor  # shape (T, actions), or (T,) if they are discrete
    logp: torch.Tensor  # of the actions when they were drawn, shape (T,)
    inputs: torch.Tensor  # parameters of the distribution that they were drawn from, shape (T, parameters)
    values: torch.Tensor  # of the observations before the update, shape (T,)
    targets: torch.Tensor  # of the value function, shape (T,)
    advantages: torch.Tensor  # shape (T,)

    def __len__(self) -> int:
        return len(self.observations)

    def take(self, index: torch.Tensor) -> Batch:
        """The transitions of an index."""
        return Batch(**{name: tensor[index] for name, tensor in vars(self).items()})

    def part(self, rows: slice) -> Batch:
        """A run of transitions, without a copy."""
        return Batch(**{name: tensor[rows] for name, tensor in vars(self).items()})


def minibatches(count: int, size: int) -> Iterable[torch.Tensor]:
    """Indices of all transitions in random order, in pieces of nearly equal size: a small last one would be mostly noise."""
    return torch.randperm(count).tensor_split(max(1, round(count / size)))


def transitions(episode: SingleAgentEpisode) -> tuple[np.ndarray, ...]:
    """Observations that were acted on, actions, rewards, log-probabilities, distributions of a chunk without its lookback."""
    length = len(episode)
    held: list[Any] = [
        episode.observations.data[:-1],
        episode.actions.data,
        episode.rewards.data,
        episode.extra_model_outputs[Columns.ACTION_LOGP].data,
        episode.extra_model_outputs[Columns.ACTION_DIST_INPUTS].data,
    ]
    return tuple(np.asarray(array)[-length:] for array in held)


def explained_variance(batch: Batch) -> float:
    """Part of the targets' variance that the values before the update explain."""
    variance = batch.targets.var().item()
    return math.nan if variance == 0.0 else 1.0 - (batch.targets - batch.values).var().item() / variance


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
