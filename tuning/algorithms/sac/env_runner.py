"""Collects transitions from one vectorised environment straight into a replay buffer."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
import torch
from ray.rllib.core.distribution.torch.torch_distribution import TorchSquashedGaussian

from tuning.algorithms.sac.replay_buffer import NO_TRANSITION, TERMINATED, TRUNCATED, ReplayBuffer
from tuning.algorithms.sampling.env_runner import BatchEnvRunner

if TYPE_CHECKING:
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode

    from tuning.algorithms.sac.config import SACSettings
    from tuning.algorithms.sac.module import SACModule


@dataclass(frozen=True, eq=False)
class ActionRange:
    """Between actions within [-1, 1], which the policy gives and the buffer holds, and the environment's."""

    low: np.ndarray  # least value of each action, shape (actions,), float32
    high: np.ndarray

    @classmethod
    def of(cls, space: Any) -> ActionRange:
        """Range of an action space. Raises `ValueError` if it is no box of one dimension with finite bounds."""
        if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1 or not space.is_bounded():
            raise ValueError(
                f"SAC squashes actions into a box of one dimension with finite bounds; the action space is {space}"
            )
        return cls(space.low.astype(np.float32), space.high.astype(np.float32))

    def to_environment(self, actions: np.ndarray) -> np.ndarray:
        """Actions of the environment for actions within [-1, 1], shape (copies, actions)."""
        # Rounding must not lead out of the range.
        stretched = self.low + (actions + 1.0) * (0.5 * (self.high - self.low))
        return np.clip(stretched, self.low, self.high)

    def from_environment(self, actions: np.ndarray) -> np.ndarray:
        """Actions within [-1, 1] for actions of the environment, shape (..., actions); 0 where these have no range."""
        span = self.high - self.low
        found = (actions - self.low) * (2.0 / np.where(span > 0.0, span, 1.0)) - 1.0
        return np.where(span > 0.0, np.clip(found, -1.0, 1.0), 0.0).astype(np.float32)


GENERATOR = "generator"  # name of the random numbers' state in a runner's state


class ReplayEnvRunner(BatchEnvRunner):
    """Writes what it collects into a replay buffer, a row for each step of the vectorised environment.

    What it replaces of RLlib beside what `BatchEnvRunner` does:

    - Episodes: `sample` returns none. `collect` takes steps without the metrics that `sample` logs, which would take longer.
    - Weights: `module` is the learner's own from `share` on. RLlib would copy them through NumPy after each update.
    - Random numbers: a generator of its own, whose state is in the checkpoint.
    """

    distributions: ClassVar[tuple[type, ...]] = (TorchSquashedGaussian,)
    config: SACSettings
    module: SACModule
    buffer: ReplayBuffer
    actions: ActionRange  # range of the environment's actions

    def make_env(self) -> None:
        """Make the environment and its buffer. Raises `ValueError` if the environment or its spaces cannot be used."""
        super().make_env()
        config = self.config
        self.actions = ActionRange.of(self.env.single_action_space)
        self.buffer = ReplayBuffer(
            config.buffer_size,
            self.env.num_envs,
            self.env.single_observation_space.shape[0],
            len(self.actions.low),
            config.gamma,
            config.n_step,
            config.seed,
        )
        self._generator = torch.Generator()
        if config.seed is not None:
            # Not the learner's numbers once more.
            self._generator.manual_seed(config.seed + 1)
        self._since_log = {"steps": 0, "transitions": 0, "ended": 0}
        self._over: list[tuple[int, float, float]] = []  # length, return and seconds of episodes since the last metrics

    def share(self, module: SACModule, device: torch.device) -> None:
        """Act by a module, as it is at each step."""
        self.module = module
        self._device = device

    def collect(self, transitions: int, random_actions: bool = False) -> int:
        """Take steps until there are so many transitions more, and less than one of each sub-environment above that."""
        if not self._since_log["steps"]:
            self._times = self.stopwatch.seconds, self._forward_stopwatch.seconds
        if self._needs_initial_reset:
            self._reset()
        collected = 0
        while collected < transitions:
            collected += self._collect_step(random_actions)
        return collected

    def log(self) -> None:
        """Log what was collected since the last call."""
        since, self._since_log = self._since_log, dict.fromkeys(self._since_log, 0)
        self._log(since["steps"], since["transitions"], since["ended"], self._times)

    def get_metrics(self) -> Any:
        """Metrics since the last call, with those of the episodes that ended; see `SingleAgentEnvRunner`."""
        for length, total, seconds in self._over:
            self._log_episode_metrics(length, total, seconds)
        self._over.clear()
        return self.metrics.reduce()

    def _sample(
        self,
        *,
        num_timesteps: int | None = None,
        num_episodes: int | None = None,
        explore: bool,
        random_actions: bool = False,
        force_reset: bool = False,
    ) -> list[SingleAgentEpisode]:
        """Collect into the buffer; see `collect`. Raises `ValueError` if asked for episodes or no exploration."""
        if num_timesteps is None or num_episodes is not None or not explore:
            raise ValueError("only time steps (batch_mode='truncate_episodes') with exploration can be sampled")
        if force_reset:
            self._reset()
        self.collect(num_timesteps, random_actions)
        self.log()
        return []

    def _reset(self) -> None:
        """Reset all sub-environments; their unfinished episodes count as truncated. Seeded only the first time."""
        with self.stopwatch.running():
            observations, _ = self.env.reset(seed=self._seed if self._needs_initial_reset else None)
        self._needs_initial_reset = False
        everyone = np.ones(self.num_envs, bool)
        if self.reward_normalizer is not None:
            # Statistics of an earlier run may hold its unfinished returns.
            self.reward_normalizer.update(np.zeros(self.num_envs), ~everyone, everyone)
        if self.normalizer is not None:
            self.normalizer.update(observations)
        self.buffer.begin(observations)
        self._ended = ~everyone
        self._lengths, self._returns = np.zeros(self.num_envs, int), np.zeros(self.num_envs)
        self._began = np.full(self.num_envs, time.perf_counter())

    def _collect_step(self, random_actions: bool) -> int:
        """Take a step of all sub-environments."""
        actions = self._random_actions() if random_actions else self._policy_actions()
        with self.stopwatch.running():
            observations, rewards, terminated, truncated, _ = self.env.step(self.actions.to_environment(actions))
        acted = ~self._ended
        kinds = np.where(terminated, TERMINATED, np.where(truncated, TRUNCATED, 0)).astype(np.uint8)
        kinds[self._ended] = NO_TRANSITION
        self.buffer.add(actions, rewards, kinds, observations)
        ended = acted & (terminated | truncated)
        if self.normalizer is not None:
            self.normalizer.update(observations)
        if self.reward_normalizer is not None:
            self.reward_normalizer.update(rewards, acted, ended)
        self._account(rewards, acted, ended)
        self._ended = ended
        return int(np.count_nonzero(acted))

    def _random_actions(self) -> np.ndarray:
        drawn: np.ndarray = torch.rand((self.num_envs, len(self.actions.low)), generator=self._generator).numpy()
        return 2.0 * drawn - 1.0

    def _policy_actions(self) -> np.ndarray:
        # On the CPU, whatever the device: a seed gives the same numbers.
        noise = torch.randn((self.num_envs, len(self.actions.low)), generator=self._generator)
        with torch.inference_mode(), self._forward_stopwatch.running():
            observations = torch.from_numpy(self.preprocess()(self.buffer.observations)).to(self._device)
            actions: np.ndarray = self.module.act(observations, noise.to(self._device)).cpu().numpy()
        return actions

    def _account(self, rewards: np.ndarray, acted: np.ndarray, ended: np.ndarray) -> None:
        """Keep count of steps and returns."""
        # Episodes begin with the observation after the last one's end.
        self._began[~acted] = time.perf_counter()
        self._lengths += acted
        self._returns += np.where(acted, rewards, 0.0)
        for index in np.flatnonzero(ended).tolist():
            length, total = int(self._lengths[index]), float(self._returns[index])
            self._over.append((length, total, time.perf_counter() - float(self._began[index])))
        self._lengths[ended], self._returns[ended] = 0, 0.0
        since = self._since_log
        since["steps"] += 1
        since["transitions"] += int(np.count_nonzero(acted))
        since["ended"] += int(np.count_nonzero(ended))

    def get_checkpointable_components(self) -> list[tuple[str, Any]]:
        """See `SingleAgentEnvRunner`; without the module, which is the learner's."""
        return [pair for pair in super().get_checkpointable_components() if pair[1] is not self.module]

    def get_state(
        self,
        components: str | Collection[str] | None = None,
        *,
        not_components: str | Collection[str] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """See `BatchEnvRunner`; with the state of the random numbers, without the module."""
        state = super().get_state(components, not_components=not_components, **kwargs)
        state.pop("rl_module", None)
        if self._check_component(GENERATOR, components, not_components):
            state[GENERATOR] = self._generator.get_state().numpy()
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """See `BatchEnvRunner`."""
        if GENERATOR in state:
            self._generator.set_state(torch.from_numpy(state[GENERATOR].copy()))
            # Unless the state says where sampling is.
            self._needs_initial_reset = True
        super().set_state({name: value for name, value in state.items() if name != "rl_module"})

    def _get_sampling(self) -> dict[str, Any]:
        """See `BatchEnvRunner`; the observations that no action has followed yet are the buffer's."""
        return {"ended": self._ended.copy(), "lengths": self._lengths.copy(), "returns": self._returns.copy()}

    def _set_sampling(self, state: dict[str, Any]) -> None:
        """See `BatchEnvRunner`."""
        self._ended, self._lengths, self._returns = (state[name].copy() for name in ("ended", "lengths", "returns"))
        self._began = np.full(self.num_envs, time.perf_counter())
