"""A site with chargers as one without: vehicles charge as on the uncontrolled site, the rest is learned."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from envs.observation import ChargerGroups
from tuning.algorithms.networks.layers import SiteInputs, UncontrolledCharging, other_actions


class ViewState:
    """Adds its state to an environment that keeps the site's observations between steps."""

    env: Any
    _observations: np.ndarray

    def get_state(self) -> dict[str, Any]:
        """State of the environment, with the observations that the next actions follow."""
        return {"env": self.env.get_state(), "observations": self._observations.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of `get_state`, instead of a `reset`."""
        self.env.set_state(state["env"])
        self._observations = state["observations"].copy()


def own_actions(env: Any, actions: np.ndarray) -> np.ndarray:
    """Actions of the site, shape (copies, actions), as an environment takes them in its present hour; NaN for no device."""
    find = getattr(env, "own_actions", None)
    return actions if find is None else find(actions)


class SiteView:
    """What a policy of the site's other actions sees, and the site's actions from its own.

    Attributes:
        inputs: from observations to what is seen, and to each charger's features.
        charging: from these to actions, 0 where they are no charger's.
    """

    def __init__(self, observations: int, actions: int, chargers: ChargerGroups, initial_charging: float) -> None:
        """Look at a site. Raises `ValueError` if all actions are chargers'."""
        self.initial_charging, self.learns_charging = initial_charging, False
        self.others = other_actions(actions, chargers)
        if not self.others:
            raise ValueError("every action is a charger's, so nothing is left to learn: set learn_charging=true")
        self.inputs = SiteInputs(observations, chargers)
        self.charging = UncontrolledCharging(actions, initial_charging, chargers)
        self.size = self.inputs.size

    def observe(self, observations: np.ndarray) -> np.ndarray:
        """What is seen of observations, shape (copies, features): shape (copies, size)."""
        with torch.inference_mode():
            seen: np.ndarray = self.inputs(torch.from_numpy(observations))[0].numpy()
        return seen

    def complete(self, actions: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """All actions of the site, shape (copies, actions), of the others, shape (copies, others)."""
        with torch.inference_mode():
            found: np.ndarray = self.charging(self.inputs(torch.from_numpy(observations))[1]).numpy()
        found[:, self.others] = actions
        return found


class SiteViewEnv(ViewState, VectorWrapper):
    """A vector environment of a site through a `SiteView`."""

    def __init__(self, env: VectorEnv[Any, Any, Any], chargers: ChargerGroups, initial_charging: float) -> None:
        super().__init__(env)
        inner: Any = env.single_action_space
        outer: Any = env.single_observation_space
        self.view = SiteView(outer.shape[0], inner.shape[0], chargers, initial_charging)
        low, high = (bound[self.view.others] for bound in (inner.low, inner.high))
        self.single_action_space = gym.spaces.Box(low, high, dtype=inner.dtype.type)
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (self.view.size,), np.float32)
        self.action_space = batch_space(self.single_action_space, env.num_envs)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """See `VectorEnv`."""
        self._observations, infos = self.env.reset(seed=seed, options=options)
        return self.view.observe(self._observations), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """See `VectorEnv`."""
        # The environment may write the next observations over these.
        complete = self.view.complete(np.asarray(actions), self._observations)
        self._observations, rewards, terminated, truncated, infos = self.env.step(complete)
        return self.view.observe(self._observations), rewards, terminated, truncated, infos

    def own_actions(self, actions: np.ndarray) -> np.ndarray:
        """The actions that `step` takes, of the site's, shape (copies, actions)."""
        return own_actions(self.env, actions)[:, self.view.others]
