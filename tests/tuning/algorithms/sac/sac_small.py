"""A small SAC on the task of `match`."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from gymnasium.vector import VectorEnv

from search_spaces.sac import SAC
from tests.tuning.algorithms.match import MatchVectorEnv, groups
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
