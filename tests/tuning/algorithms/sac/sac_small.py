"""A small SAC on the task of `match`."""

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tests.tuning.algorithms.match import MatchVectorEnv
from tests.tuning.algorithms.match import built as of_the_task
from tuning.algorithms.sac.learner import Batch
from tuning.algorithms.sac.trainer import SACTrainer

built = partial(of_the_task, "sac")


def learn(trainer: SACTrainer, gradient_steps: int = 2, steps: int = 100) -> None:
    """Gradient steps on what the buffer holds, as after a number of environment steps; two at a time."""
    for _ in range(gradient_steps // 2):
        trainer.learner.learn(trainer.runner, steps)


def watched(trainer: SACTrainer, name: str) -> list[dict[str, Any]]:
    """What an optimizer finds at each of its steps from now on."""
    optimizer, seen = trainer.learner.optimizers[name], []
    step = optimizer.step

    def watch(*args: Any, **kwargs: Any) -> Any:
        group = optimizer.param_groups[0]
        seen.append({"lr": group["lr"], "gradient": group["params"][0].grad.clone()})
        return step(*args, **kwargs)

    optimizer.step = watch  # type: ignore[method-assign]
    return seen


def batches(trainer: SACTrainer) -> list[Batch]:
    """Batches that gradient steps learn from, from now on."""
    learner, seen = trainer.learner, []
    step = learner._gradient_step

    def watch(batch: Batch, *args: Any) -> Any:
        seen.append(batch)
        return step(batch, *args)

    learner._gradient_step = watch  # type: ignore[method-assign]
    return seen


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
