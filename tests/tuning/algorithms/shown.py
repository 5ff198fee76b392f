"""Demonstrations of the right answers in the task of `match`."""

import numpy as np

from tests.tuning.algorithms.match import FEATURES
from tuning.algorithms.imitation import Demonstration


def answers(steps: int = 60, runs: int = 20, seed: int = 0) -> Demonstration:
    """A teacher that answers with what it sees, while its actions are disturbed in each second run."""
    random = np.random.default_rng(seed)
    seen = random.uniform(-1.0, 1.0, (steps + 1, runs, FEATURES)).astype(np.float32)
    seen[..., FEATURES - 1] = 50.0
    labels = seen[:-1, :, :1].copy()
    executed = labels + np.where(np.arange(runs)[:, np.newaxis] % 2, random.normal(0.0, 0.5, labels.shape), 0.0)
    executed = np.clip(executed, -1.0, 1.0).astype(np.float32)
    rewards = 1.0 - np.square(executed - labels).mean(axis=2).astype(float)
    hours = np.full(runs, steps)
    hours[-1] = steps - 7
    ends = np.ones_like(labels)
    return Demonstration(seen, executed, labels, -ends, ends, rewards, hours, np.arange(runs))
