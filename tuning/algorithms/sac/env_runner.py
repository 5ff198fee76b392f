"""Collects transitions straight into SAC's replay buffer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tuning.algorithms.env_runner import ArrayEnvRunner
from tuning.algorithms.sac.replay_buffer import GOING, NO_TRANSITION, TERMINATED, TRUNCATED, ReplayBuffer

if TYPE_CHECKING:
    from tuning.algorithms.sac.module import SACModule


@dataclass(frozen=True, eq=False)
class ActionRange:
    """Between actions within [-1, 1], which the policy gives and the buffer holds, and the environment's."""

    low: np.ndarray  # least value of each action, finite, shape (actions,), float32
    high: np.ndarray

    def to_environment(self, actions: np.ndarray) -> np.ndarray:
        """Actions of the environment for actions within [-1, 1], shape (copies, actions)."""
        # Rounding must not lead out of the range.
        stretched = self.low + (actions + 1.0) * (0.5 * (self.high - self.low))
        return np.clip(stretched, self.low, self.high)

    def from_environment(self, actions: np.ndarray) -> np.ndarray:
        """Actions within [-1, 1] for actions of the environment, shape (..., actions); 0 where these have no range."""
        span = self.high - self.low
        scaled = (actions - self.low) * (2.0 / np.where(span > 0.0, span, 1.0)) - 1.0
        return np.where(span > 0.0, np.clip(scaled, -1.0, 1.0), 0.0).astype(np.float32)


GENERATOR = "generator"  # name of the random numbers' state in a runner's state


class ReplayEnvRunner(ArrayEnvRunner):
    """Writes what it collects into a replay buffer, a row for each step of the vectorised environment.

    From `share` on it acts by the learner's own networks: RLlib would copy the weights after each update. It has a generator of
    random numbers of its own.
    """

    module: SACModule
    buffer: ReplayBuffer
    actions: ActionRange  # range of the environment's actions

    def make_env(self) -> None:
        """Make the environment and its buffer. Raises `ValueError` for a buffer that is too small, by name."""
        super().make_env()
        h, seed, space = self.config.recipe.h, self.config.seed, self.env.single_action_space
        self.actions = ActionRange(space.low.astype(np.float32), space.high.astype(np.float32))
        copies, size = self.env.num_envs, h["buffer_size"]
        if size < copies:
            raise ValueError(f"buffer_size={size}: {copies} copies need a place each")
        if h["n_step"] > size // copies:
            raise ValueError(f"n_step={h['n_step']}: a copy has {size // copies} transitions of buffer_size={size}")
        features = self.env.single_observation_space.shape[0]
        self.buffer = ReplayBuffer(size, copies, features, len(space.low), h["gamma"], h["n_step"], seed)
        # Other numbers than the learner's.
        self._generator = torch.Generator().manual_seed(seed + 1)

    def share(self, module: SACModule, device: torch.device) -> None:
        """Act by a module, as it is at each step."""
        self.module, self._device = module, device

    def begin(self, observations: np.ndarray) -> None:
        """See `ArrayEnvRunner`; unfinished episodes of the buffer count as truncated."""
        self.buffer.begin(observations)

    def collect(self, transitions: int, random_actions: bool = False) -> int:
        """Take steps until there are so many transitions more, and less than one of each sub-environment above that."""
        self.reset()
        before = self._transitions
        while self._transitions - before < transitions:
            self._collect_step(random_actions)
        return self._transitions - before

    def _collect_step(self, random_actions: bool) -> None:
        actions = self._random_actions() if random_actions else self._policy_actions()
        observations, rewards, acted, terminated, truncated = self.step(self.actions.to_environment(actions))
        kinds = np.where(terminated, TERMINATED, np.where(truncated, TRUNCATED, GOING)).astype(np.uint8)
        kinds[~acted] = NO_TRANSITION
        self.buffer.add(actions, rewards, kinds, observations)
        self._returns += np.where(acted, rewards, 0.0)
        for index in np.flatnonzero(self._ended).tolist():
            self.end(index)

    def _random_actions(self) -> np.ndarray:
        drawn: np.ndarray = torch.rand((self.num_envs, len(self.actions.low)), generator=self._generator).numpy()
        return 2.0 * drawn - 1.0

    def _policy_actions(self) -> np.ndarray:
        # On the CPU, whatever the device: a seed gives the same numbers.
        noise = torch.randn((self.num_envs, len(self.actions.low)), generator=self._generator)
        with torch.inference_mode():
            observations = torch.from_numpy(self.preprocess()(self.buffer.observations)).to(self._device)
            actions: np.ndarray = self.module.act(observations, noise.to(self._device)).cpu().numpy()
        return actions

    def get_checkpointable_components(self) -> list[tuple[str, Any]]:
        """See `SingleAgentEnvRunner`; without the module, which is the learner's."""
        return [pair for pair in super().get_checkpointable_components() if pair[1] is not self.module]

    def get_state(self, components: str | Collection[str] | None = None, **given: Any) -> dict[str, Any]:
        """See `ArrayEnvRunner`; with the state of the random numbers, without the module."""
        state = super().get_state(components, **given)
        state.pop("rl_module", None)
        return state if components else {**state, GENERATOR: self._generator.get_state().numpy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """See `ArrayEnvRunner`."""
        super().set_state(state)
        if GENERATOR in state:
            self._generator.set_state(torch.from_numpy(state[GENERATOR].copy()))
