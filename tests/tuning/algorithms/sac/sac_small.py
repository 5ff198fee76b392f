"""A small SAC on the task of `match`."""

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tests.tuning.algorithms.match import MatchVectorEnv
from tests.tuning.algorithms.match import built as of_the_task

built = partial(of_the_task, "sac")


class SeenVectorEnv(MatchVectorEnv):
    """The task with actions of another range, and with a record of what went in and out."""

    def __init__(self, num_envs: int) -> None:
        super().__init__(num_envs)
        self.single_action_space = gym.spaces.Box(np.float32([-3.0]), np.float32([1.0]))
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, num_envs)
        self.record: list[tuple[np.ndarray, ...]] = []

    def step(self, actions: Any) -> Any:
        before = self.seen.copy()
        observations, rewards, terminated, truncated, infos = super().step(actions)
        self.record.append((before, np.array(actions), rewards, truncated, observations))
        return observations, rewards, terminated, truncated, infos
