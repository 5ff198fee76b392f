"""Observations and actions of an environment as the algorithms have them: one vector of numbers, and a vector or choices."""

from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.spaces.utils import flatdim, flatten

from envs.gym.source import EnvError, Source

Actions = Literal["bounded numbers", "numbers without bounds", "choices"]


def learnable(env: gym.Env[Any, Any]) -> gym.Env[np.ndarray, Any]:
    """An environment with observations as one vector, float32, and actions that networks give.

    Actions of bounded boxes become vectors within [-1, 1], and are clipped to these. Choices count from 0.
    Raises an EnvError for spaces that no algorithm here learns.
    """
    _check(env.observation_space, "observations")
    env = _FlatObservation(env)
    if isinstance(env.action_space, spaces.Box):
        return _VectorAction(env)
    if isinstance(env.action_space, spaces.Discrete | spaces.MultiDiscrete):
        return _ChoiceFromZero(env)
    raise EnvError(f"actions of {_shown(env.action_space)} are not learned here: make them a Box, Discrete or MultiDiscrete")


def kind_of(space: spaces.Space[Any]) -> Actions:
    """What the actions of a `learnable` environment are."""
    if not isinstance(space, spaces.Box):
        return "choices"
    return "bounded numbers" if np.isfinite([space.low, space.high]).all() else "numbers without bounds"


def _check(space: spaces.Space[Any], what: str) -> None:
    """Raise an EnvError for an observation that is no vector of numbers, nor made of such."""
    if isinstance(space, spaces.Dict):
        for name, part in space.spaces.items():
            _check(part, f"{what} {name}")
    elif isinstance(space, spaces.Tuple):
        for part in space.spaces:
            _check(part, what)
    elif not isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary) and not (
        isinstance(space, spaces.Box) and len(space.shape) <= 1
    ):
        remedy = "flatten them (gymnasium.wrappers.FlattenObservation), or compute features of them"
        raise EnvError(f"{what} of {_shown(space)} are no vector of numbers, as images are none: {remedy}")


def _shown(space: spaces.Space[Any]) -> str:
    return f"{type(space).__name__} {space.shape}" if space.shape is not None else type(space).__name__


class _FlatObservation(gym.ObservationWrapper[np.ndarray, Any, Any]):
    """One vector: choices as a one among zeros, parts of a dictionary in the order of their names."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._space = env.observation_space
        self.observation_space = spaces.Box(-np.inf, np.inf, (flatdim(self._space),), np.float32)

    def observation(self, observation: Any) -> np.ndarray:
        return np.asarray(flatten(self._space, observation), np.float32)


class _VectorAction(gym.ActionWrapper[np.ndarray, np.ndarray, Any]):
    """A box of any shape as a vector, within [-1, 1] where it has bounds."""

    def __init__(self, env: gym.Env[np.ndarray, Any]) -> None:
        super().__init__(env)
        box = env.action_space
        assert isinstance(box, spaces.Box)
        self._shape, self._type = box.shape, box.dtype
        self._low, self._high = box.low.ravel().astype(np.float64), box.high.ravel().astype(np.float64)
        self._bounded = bool(np.isfinite([self._low, self._high]).all())
        end = 1.0 if self._bounded else np.inf
        self.action_space = spaces.Box(-end, end, self._low.shape, np.float32)

    def action(self, action: np.ndarray) -> np.ndarray:
        if self._bounded:
            part = (np.clip(action, -1.0, 1.0).astype(np.float64) + 1.0) / 2.0
            # Rounding must not lead out of the range.
            action = np.clip(self._low + part * (self._high - self._low), self._low, self._high)
        else:
            action = np.clip(action, self._low, self._high)
        return action.reshape(self._shape).astype(self._type)


class _ChoiceFromZero(gym.ActionWrapper[Any, Any, Any]):
    """Choices as numbers from 0; several as a vector of them."""

    def __init__(self, env: gym.Env[np.ndarray, Any]) -> None:
        super().__init__(env)
        given = env.action_space
        assert isinstance(given, spaces.Discrete | spaces.MultiDiscrete)
        self._start, self._shape = np.asarray(given.start), given.shape
        if isinstance(given, spaces.MultiDiscrete):
            self.action_space = spaces.MultiDiscrete(given.nvec.ravel())
        else:
            self.action_space = spaces.Discrete(int(given.n))

    def action(self, action: Any) -> Any:
        chosen = np.asarray(action, np.int64).reshape(self._shape) + self._start
        return chosen if self._shape else int(chosen)


def made(source: Source) -> gym.Env[np.ndarray, Any]:
    """A `learnable` copy of an environment; an EnvError where there is none."""
    try:
        return learnable(source.make())
    except EnvError as error:
        if str(error).startswith("--env"):
            raise
        raise EnvError(f"--env {source.name}: {error}") from None
