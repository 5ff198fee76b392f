"""A small SAC on the task of `match`."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

from search_spaces.sac import SAC
from tests.tuning.algorithms.match import MatchVectorEnv, groups
from tuning.algorithms.sac.batch import Batch
from tuning.algorithms.sac.trainer import SACTrainer
from tuning.algorithms.trainer import Setup

SMALL: dict[str, Any] = {
    "learning_rate": 3e-3, "buffer_size": 4000, "batch_size": 32, "learning_starts": 40, "train_freq": 8, "gradient_steps": 2,
    "hidden_sizes": "16,16", "gamma": 0.98, "ent_coef_initial": 1.0, "log_std_init": 0.0,
}  # fmt: skip


def setup(
    steps: int = 800, seed: int = 3, make_envs: Any = MatchVectorEnv, most_envs: int = 4, chargers: int = 0,
    **hyperparameters: Any,
) -> Setup:  # fmt: skip
    given = {
        **{parameter.name: parameter.default for parameter in SAC.parameters},
        **SMALL,
        "learn_charging": chargers > 0,
        **hyperparameters,
    }
    if chargers:
        make_envs = partial(MatchVectorEnv, chargers=chargers)
    return Setup(given, make_envs, most_envs, steps, seed, gpu=False, chargers=groups(chargers))


@contextmanager
def built(**arguments: Any) -> Iterator[SACTrainer]:
    """A trainer; one `train()` of it is 40 steps by default."""
    trainer = SACTrainer(setup(**arguments))
    try:
        yield trainer
    finally:
        trainer.stop()


def learn(trainer: SACTrainer, gradient_steps: int = 1, steps: int = 100) -> None:
    """Gradient steps on what the buffer holds, as after a number of environment steps."""
    algorithm: Any = trainer.algorithm
    timesteps = {"num_env_steps_sampled_lifetime": steps}
    algorithm.learner_group.update(batch=algorithm.replay(), timesteps=timesteps, gradient_steps=gradient_steps)


def vector_env(trainer: SACTrainer) -> VectorEnv[Any, Any, Any]:
    env: VectorEnv[Any, Any, Any] = trainer.algorithm.runner.env
    return env


def watched(trainer: SACTrainer, name: str) -> list[dict[str, Any]]:
    """What an optimizer finds at each of its steps from now on."""
    optimizer, seen = trainer.algorithm.learner.optimizer(name), []
    step = optimizer.step

    def watch(*args: Any, **kwargs: Any) -> Any:
        group = optimizer.param_groups[0]
        seen.append({"lr": group["lr"], "gradient": group["params"][0].grad.clone()})
        return step(*args, **kwargs)

    optimizer.step = watch  # type: ignore[method-assign]
    return seen


def batches(trainer: SACTrainer) -> list[Batch]:
    """Batches that gradient steps learn from, from now on."""
    learner, seen = trainer.algorithm.learner, []
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


def state(trainer: SACTrainer) -> dict[str, np.ndarray]:
    """Everything that the learner trains, by name."""
    learner = trainer.algorithm.learner
    found = {name: value.numpy().copy() for name, value in learner.network.state_dict().items()}
    for name, optimizer in learner._named_optimizers.items():
        for entry, value in optimizer.state_dict()["state"][0].items():
            found[f"{name}/{entry}"] = value.numpy().copy()
    return found


def assert_equal(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> None:
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)
