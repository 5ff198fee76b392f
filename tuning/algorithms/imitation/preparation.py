"""What all algorithms do with a demonstration before they learn from it: statistics, and returns as the learner sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tuning.algorithms.imitation.demonstration import Demonstration
from tuning.algorithms.sampling.preprocessing import RewardNormalizer

if TYPE_CHECKING:
    from tuning.algorithms.sampling.env_runner import BatchEnvRunner


def take_into_statistics(runner: BatchEnvRunner, parts: list[Demonstration]) -> None:
    """Take a demonstration into a runner's statistics of observations and returns, where it has them."""
    if runner.normalizer is not None:
        for part in parts:
            runner.normalizer.update(part.observations[:-1][part.taken])
    own = runner.reward_normalizer
    if own is None:
        return
    known = own.get_state()
    for part in parts:
        taken = part.taken
        normalizer = RewardNormalizer(taken.shape[1], runner.preprocessing.gamma)
        normalizer.set_state({**known, "returns": np.zeros(taken.shape[1])})
        for hour, acted in enumerate(taken):
            normalizer.update(part.rewards[hour], acted, ~acted)
        known = normalizer.get_state()
    own.set_state({**known, "returns": np.zeros(runner.num_envs)})


def reward_factor(runner: BatchEnvRunner) -> float:
    """Factor of the rewards as the learner gets them now."""
    deviation = 1.0 if runner.reward_normalizer is None else runner.reward_normalizer.std
    return runner.preprocessing.reward_scale / deviation
