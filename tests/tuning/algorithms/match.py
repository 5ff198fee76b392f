"""A task that takes seconds to learn: answer with what is observed."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from envs.district import District
from envs.observation import ChargerGroups
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Setup, Trainer

FEATURES = 3


class MatchVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """The reward is highest where the action is the first feature (or, discrete, its sign). Episodes end after ten steps.

    The third feature is large and never changes. Each charger adds a feature and an action, which should be equal too.
    """

    def __init__(self, num_envs: int, discrete: bool = False, chargers: int = 0) -> None:
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.num_envs, self.discrete, self.chargers = num_envs, discrete, chargers
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (FEATURES + chargers,), np.float32)
        box = gym.spaces.Box(-1.0, 1.0, (1 + chargers,), np.float32)
        self.single_action_space: Any = gym.spaces.Discrete(2) if discrete else box
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def _observe(self) -> np.ndarray:
        self.seen = self.np_random.uniform(-1.0, 1.0, (self.num_envs, FEATURES + self.chargers)).astype(np.float32)
        self.seen[:, FEATURES - 1] = 50.0
        return self.seen.copy()

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        # Staggered, so that in any step some end and some do not.
        self.steps = np.arange(self.num_envs) % 10
        return self._observe(), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        new = self.steps == 10
        wanted = self.seen[:, [0, *range(FEATURES, FEATURES + self.chargers)]]
        if self.discrete:
            rewards = np.where(np.asarray(actions) == (wanted[:, 0] > 0.0), 1.0, 0.0)
        else:
            rewards = 1.0 - ((np.clip(np.asarray(actions), -1.0, 1.0) - wanted).astype(float) ** 2).mean(axis=1)
        self.steps = np.where(new, 0, self.steps + 1)
        none = np.zeros(self.num_envs, bool)
        return self._observe(), np.where(new, 0.0, rewards), none, self.steps == 10, {}

    def get_state(self) -> dict[str, Any]:
        return {"random": self.np_random.bit_generator.state, "steps": self.steps.copy(), "seen": self.seen.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        self.np_random.bit_generator.state = state["random"]
        self.steps, self.seen = state["steps"].copy(), state["seen"].copy()


STEPS = {"ppo": 1024, "a2c": 1024, "sac": 800}
SMALL: dict[str, dict[str, Any]] = {
    "ppo": {"n_steps": 128, "batch_size": 32, "n_epochs": 2, "hidden_sizes": "16,16"},
    "a2c": {"n_steps": 128, "batch_size": 128, "hidden_sizes": "16,16"},
    # One `train()` is 40 steps.
    "sac": {
        "learning_rate": 3e-3, "buffer_size": 4000, "batch_size": 32, "learning_starts": 40, "train_freq": 8,
        "gradient_steps": 2, "hidden_sizes": "16,16", "gamma": 0.98, "ent_coef_initial": 1.0, "log_std_init": 0.0,
    },
}  # fmt: skip


def groups(chargers: int) -> ChargerGroups | None:
    """Where the chargers' features and actions are."""
    if not chargers:
        return None
    return ChargerGroups(tuple((FEATURES + i,) for i in range(chargers)), tuple(range(1, 1 + chargers)))


def setup(
    algo: str,
    steps: int = 0,
    seed: int = 3,
    make_envs: Any = MatchVectorEnv,
    chargers: int = 0,
    discrete: bool = False,
    taught: bool = False,
    served: District | None = None,
    gpu: bool = False,
    **given: Any,
) -> Setup:
    """Set-up of a small trainer on the task, with default hyperparameters but for these."""
    default = {parameter.name: parameter.default for parameter in algorithm(algo).space.parameters}
    h = {**default, **SMALL[algo], "learn_charging": chargers > 0, **given}
    if chargers or discrete:
        make_envs = partial(make_envs, chargers=chargers, discrete=discrete)
    return Setup(h, make_envs, 4, steps or STEPS[algo], seed, gpu, groups(chargers), taught=taught, served=served)


@contextmanager
def stopped_at_the_end(algo: str, setup: Setup) -> Iterator[Any]:
    """A trainer, stopped at the end."""
    found: Any = algorithm(algo).build(setup)
    try:
        yield found
    finally:
        found.stop()


def built(algo: str, **given: Any) -> AbstractContextManager[Any]:
    """A small trainer on the task, see `setup`."""
    return stopped_at_the_end(algo, setup(algo, **given))


def watched(optimizer: Any) -> list[dict[str, Any]]:
    """What an optimizer finds at each of its steps from now on."""
    seen, step = [], optimizer.step

    def watch(*args: Any, **kwargs: Any) -> Any:
        group = optimizer.param_groups[0]
        seen.append({"lr": float(group["lr"]), "gradient": group["params"][0].grad.clone()})
        return step(*args, **kwargs)

    optimizer.step = watch
    return seen


def train_to(trained: Any, steps: int) -> None:
    """Train to a number of transitions."""
    while trained.algorithm.train()["num_env_steps_sampled_lifetime"] < steps:
        pass


def mean_return(trained: Trainer, discrete: bool = False, chargers: int = 0) -> float:
    """Mean reward of the policy's mode; 1 is the best."""
    env, act = MatchVectorEnv(64, discrete, chargers), trained.policy()
    observations, _ = env.reset(seed=99)
    rewards = []
    for _ in range(5):
        observations, reward, *_ = env.step(act(observations))
        rewards.append(reward[env.steps != 0].mean())
    return float(np.mean(rewards))
