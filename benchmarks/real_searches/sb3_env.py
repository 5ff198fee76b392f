"""Our batch environment as a `VecEnv` of Stable-Baselines3."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from benchmarks.real_searches.same_step import SameStepEnv


class BatchVecEnv(VecEnv):
    """All copies in one object, stepped at once.

    Episodes end by the length of their window alone. So each end is told as a truncation, with the last observation, and the
    library adds the value of what would have followed.

    Args:
        env: the copies.
    """

    def __init__(self, env: SameStepEnv) -> None:
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self._env, self._actions = env, np.zeros((env.num_envs, *env.single_action_space.shape), np.float32)

    def reset(self) -> np.ndarray:
        """Begin new episodes, with the seed of the last call of `seed`."""
        observations = self._env.set_seed(self._seeds[0])
        self._reset_seeds()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Take one hour."""
        observations, rewards, ended, last = self._env.advance(self._actions)
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        for b, observation in last.items():
            infos[b] = {"TimeLimit.truncated": True, "terminal_observation": observation}
        return observations, rewards.astype(np.float32), ended.copy(), infos

    def close(self) -> None:
        """Nothing is open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the one object, for each copy."""
        return [getattr(self._env, attr_name, None)] * len(self._which(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: copies are no objects of their own."""
        raise NotImplementedError

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Refused: copies are no objects of their own."""
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No copy is wrapped."""
        return [False] * len(self._which(indices))

    def _which(self, indices: Any) -> Sequence[int]:
        return list(self._get_indices(indices))
