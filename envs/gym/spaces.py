"""Observations and actions of an environment as the algorithms have them: one vector of numbers, and a vector or choices."""

from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.spaces.utils import flatdim, flatten
from gymnasium.wrappers import TransformAction, TransformObservation

from envs.gym.source import EnvError, Source

Actions = Literal["bounded numbers", "numbers without bounds", "choices"]


def learnable(env: gym.Env[Any, Any]) -> gym.Env[np.ndarray, Any]:
    """An environment with observations as one vector, float32, and actions that networks give.

    Actions of bounded boxes become vectors within [-1, 1], and are clipped to these. Choices count from 0.
    Raises an EnvError for spaces that no algorithm here learns.
    """
    seen, actions = env.observation_space, env.action_space
    _check(seen, "observations")
    # Choices become a one among zeros, parts of a dictionary stand in the order of their names.
    vector = spaces.Box(-np.inf, np.inf, (flatdim(seen),), np.float32)
    env = TransformObservation(env, lambda observation: np.asarray(flatten(seen, observation), np.float32), vector)
    if isinstance(actions, spaces.Box):
        return _vector_action(env, actions)
    if isinstance(actions, spaces.Discrete | spaces.MultiDiscrete):
        return _choice_from_zero(env, actions)
    raise EnvError(f"actions of {_shown(actions)} are not learned here: make them a Box, Discrete or MultiDiscrete")


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
        remedy = "compute features of them, or flatten those that are numbers (gymnasium.wrappers.FlattenObservation)"
        raise EnvError(f"{what} of {_shown(space)} are no vector of numbers: {remedy}")


def _shown(space: spaces.Space[Any]) -> str:
    return f"{type(space).__name__} {space.shape}" if space.shape is not None else type(space).__name__


def _vector_action(env: gym.Env[np.ndarray, Any], box: spaces.Box) -> gym.Env[np.ndarray, Any]:
    """A box of any shape as a vector, within [-1, 1] where it has bounds."""
    low, high = box.low.ravel().astype(np.float64), box.high.ravel().astype(np.float64)
    bounded = kind_of(box) == "bounded numbers"

    def native(action: np.ndarray) -> np.ndarray:
        if bounded:
            action = low + (np.clip(action, -1.0, 1.0).astype(np.float64) + 1.0) / 2.0 * (high - low)
        # Rounding must not lead out of the range.
        return np.clip(action, low, high).reshape(box.shape).astype(box.dtype)

    end = 1.0 if bounded else np.inf
    return TransformAction(env, native, spaces.Box(-end, end, low.shape, np.float32))


def _choice_from_zero(env: gym.Env[np.ndarray, Any], given: Any) -> gym.Env[np.ndarray, Any]:
    """Choices of a `Discrete` or `MultiDiscrete` as numbers from 0; several as a vector of them."""

    def native(action: Any) -> Any:
        chosen = np.asarray(action, np.int64).reshape(given.shape) + given.start
        return chosen if given.shape else int(chosen)

    several = isinstance(given, spaces.MultiDiscrete)
    return TransformAction(env, native, spaces.MultiDiscrete(given.nvec.ravel()) if several else spaces.Discrete(int(given.n)))


def made(source: Source) -> gym.Env[np.ndarray, Any]:
    """A `learnable` copy of an environment; an EnvError where there is none."""
    try:
        return learnable(source.make())
    except EnvError as error:
        if str(error).startswith("--env"):
            raise
        raise EnvError(f"--env {source.name}: {error}") from None
