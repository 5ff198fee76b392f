"""Batches of transitions: drawn from the replay buffer, scaled, and moved to the learner's device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from tuning.algorithms.precision import to_device
from tuning.algorithms.sac.replay_buffer import SAMPLE_BYTES, ReplayBuffer, Transitions


@dataclass(frozen=True)
class Replay:
    """What gradient steps learn from."""

    buffer: ReplayBuffer  # of transitions as the environment gave them
    mean: np.ndarray | None  # subtracted from observations, shape (features,), float32; None where they are not normalised
    scale: np.ndarray | None  # factor of observations after that, likewise
    clip: float  # largest magnitude of a (normalised) feature; infinite for no limit
    reward_scale: float


@dataclass
class Batch:
    """Transitions as the learner sees them, as tensors on its device; see `Transitions`."""

    observations: torch.Tensor
    actions: torch.Tensor
    rewards: torch.Tensor
    next_observations: torch.Tensor
    discounts: torch.Tensor

    def part(self, rows: slice) -> Batch:
        """A run of transitions, without a copy."""
        return Batch(
            self.observations[rows],
            self.actions[rows],
            self.rewards[rows],
            self.next_observations[rows],
            self.discounts[rows],
        )


def draw_batches(replay: Replay, count: int, size: int, device: torch.device, pinned: bool) -> Iterator[Batch]:
    """Draw batches, several at once."""
    buffer = replay.buffer
    bytes_each = 8 * size * buffer.observations.shape[1]
    at_once = max(1, SAMPLE_BYTES // bytes_each)
    for first in range(0, count, at_once):
        number = min(at_once, count - first)
        sample = buffer.sample(number * size)
        batch = _on_device(sample, replay, device, pinned)
        for i in range(number):
            yield batch.part(slice(i * size, (i + 1) * size))


def _on_device(sample: Transitions, replay: Replay, device: torch.device, pinned: bool) -> Batch:
    """Move a sample to the device, and scale it by the statistics as they are now."""
    rewards = sample.rewards * np.float32(replay.reward_scale)
    arrays = (sample.observations, sample.actions, rewards, sample.next_observations, sample.discounts)
    moved = [to_device(array, device, pinned) for array in arrays]
    for observations in (moved[0], moved[3]):
        if replay.mean is not None and replay.scale is not None:
            observations -= torch.from_numpy(replay.mean).to(device)
            observations *= torch.from_numpy(replay.scale).to(device)
        if math.isfinite(replay.clip):
            observations.clamp_(-replay.clip, replay.clip)
    return Batch(*moved)
