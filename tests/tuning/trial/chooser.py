"""Environments for tests of trials: several choices at once, chance beside the seed, memory, rewards of any scale."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.classic_control.pendulum import PendulumEnv


class Chooser(gym.Env[Any, np.ndarray]):
    """Two choices are to match what is shown; an episode is terminated by chance, and truncated after 20 steps."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Dict({"first": gym.spaces.Discrete(3), "second": gym.spaces.Box(-1.0, 1.0, (1,))})
        self.action_space = gym.spaces.MultiDiscrete([3, 2])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.taken = 0
        return self._shown(), {}

    def _shown(self) -> dict[str, Any]:
        self.first, self.second = int(self.np_random.integers(3)), float(self.np_random.uniform(-1.0, 1.0))
        return {"first": self.first, "second": np.array([self.second], np.float32)}

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.taken += 1
        reward = float(action[0] == self.first) + float(action[1] == (self.second > 0.0))
        return self._shown(), reward, bool(self.np_random.random() < 0.05), self.taken == 20, {}


class Fickle(Chooser):
    """Rewards by chance, which no seed decides."""

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        shown, reward, *rest = super().step(action)
        return (shown, reward + float(np.random.default_rng().random()), *rest)  # type: ignore[return-value]


class Scaled(PendulumEnv):
    """A pendulum for 50 steps, with rewards times a power of two."""

    def __init__(self, power: int) -> None:
        super().__init__()
        self.factor, self.taken = 2.0**power, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.taken = 0
        return super().reset(seed=seed, options=options)

    def step(self, u: np.ndarray) -> Any:
        shown, reward, *_ = super().step(u)
        self.taken += 1
        return shown, float(reward) * self.factor, False, self.taken == 50, {}


class Remembering(Chooser):
    """Rewards become greater with each episode of a copy."""

    episodes = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.episodes += 1
        return super().reset(seed=seed)

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        shown, reward, *rest = super().step(action)
        return (shown, reward + 0.01 * self.episodes, *rest)  # type: ignore[return-value]
