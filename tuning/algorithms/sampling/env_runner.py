"""Collects on-policy training data from one vectorised environment, one step of all sub-environments at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical, TorchDiagGaussian
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.utils.metrics import ENV_STEP_TIMER, RLMODULE_INFERENCE_TIMER

from tuning.algorithms.sampling.episodes import Episodes, Rows
from tuning.algorithms.sampling.preprocessing import (
    Clip,
    ObservationNormalizer,
    Preprocessing,
    PreprocessingConfig,
    RewardNormalizer,
)
from tuning.runtime.stopwatch import Stopwatch

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode

NORMALIZER = "observation_normalizer"  # the statistics' names in a runner's state
REWARD_NORMALIZER = "reward_normalizer"
SAMPLING = "sampling"  # name of the environment's and the episodes' state in a runner's state

_LOGP_ROWS = 16  # time steps of which log-probabilities are computed at once


class BatchEnvRunner(SingleAgentEnvRunner):
    """Handles a time step as arrays over all sub-environments, with the batches of RLlib's `SingleAgentEnvRunner`.

    What it replaces of RLlib, which sends single observations and actions through its connectors:

    - `_sample`: one forward pass, one step of the environment and one write into arrays per time step; episodes are slices.
    - `make_env`: without the wrapper that makes a list of dicts of the infos; checks what this class relies on.
    - `get_metrics`: from sums, as chunks of episodes would keep alive the arrays that they are slices of. RLlib's
      `episode_len_mean` is also too large by one step for each fragment.
    - `get_state`, `set_state`: with statistics and, where the environment has a state, that and unfinished episodes.

    Not supported: infos, callbacks for single steps, other connectors, clipping of actions (the environment does that),
    recurrent modules, sampling by episodes, at random or without exploration, restarting a failed environment.

    The environment resets in the next step, in which it ignores the action; that is no transition. Spaces are boxes of one
    dimension; actions may be discrete. Episodes hold preprocessed observations and rewards, the metrics the environment's own
    rewards.
    """

    distributions: ClassVar[tuple[type, ...]] = (TorchDiagGaussian, TorchCategorical)  # that actions can be drawn from
    env: Any
    module: Any
    _last_rows: Rows
    _ended: np.ndarray

    def __init__(self, *, config: AlgorithmConfig, **kwargs: Any) -> None:
        """Raises `ValueError` if the configuration asks for something that is not supported."""
        self.preprocessing = config.preprocessing if isinstance(config, PreprocessingConfig) else Preprocessing()
        _check(config, self.preprocessing)
        self.stopwatch = Stopwatch()
        self.normalizer: ObservationNormalizer | None = None
        self.reward_normalizer: RewardNormalizer | None = None
        self._forward_stopwatch = Stopwatch()
        self._lookback: int = config.episode_lookback_horizon
        self._episodes = Episodes(self._lookback)
        super().__init__(config=config, **kwargs)
        if self.module.is_stateful():
            raise ValueError("a recurrent module needs its state from step to step, which is not kept")
        self._distribution: Any = self.module.get_exploration_action_dist_cls()
        if self._distribution not in self.distributions:
            known = " or ".join(distribution.__name__ for distribution in self.distributions)
            raise ValueError(f"actions have to be drawn from {known}, not from {self._distribution.__name__}")

    def make_env(self) -> None:
        """Make the vectorised environment. Raises `ValueError` if its reset or its spaces are others than they should be."""
        super().make_env()
        # Its infos are not used, and turning them into lists costs Python for each sub-environment.
        self.env = self.env.env
        mode = self.env.metadata.get("autoreset_mode")
        if mode != AutoresetMode.NEXT_STEP:
            raise ValueError(f"the environment's autoreset mode has to be {AutoresetMode.NEXT_STEP}, is {mode}")
        for name, others in (("single_observation_space", ()), ("single_action_space", (gym.spaces.Discrete,))):
            space = getattr(self.env, name)
            if not ((isinstance(space, gym.spaces.Box) and len(space.shape) == 1) or isinstance(space, others)):
                raise ValueError(f"{name} has to be a box of one dimension, is {space}")
        if self.preprocessing.normalize_observations and self.normalizer is None:
            clip = math.inf if self.preprocessing.clip_obs is None else self.preprocessing.clip_obs
            features = self.env.single_observation_space.shape[0]
            self.normalizer = ObservationNormalizer(features, clip=clip, keep=self.preprocessing.keep)
        if self.preprocessing.normalize_rewards and self.reward_normalizer is None:
            self.reward_normalizer = RewardNormalizer(self.env.num_envs, self.preprocessing.gamma)

    def watch(self, stopwatch: Stopwatch) -> None:
        """Add the seconds of stepping the environment to a stopwatch from now on."""
        self.stopwatch = stopwatch

    def _sample(
        self,
        *,
        num_timesteps: int | None = None,
        num_episodes: int | None = None,
        explore: bool,
        random_actions: bool = False,
        force_reset: bool = False,
    ) -> list[SingleAgentEpisode]:
        """Collect at least `num_timesteps` transitions, and less than one of each sub-environment more.

        Returns episodes that ended, in that order, then chunks of those that go on. Raises `ValueError` for anything else.
        """
        if num_timesteps is None or num_episodes is not None or random_actions or not explore:
            raise ValueError("only time steps (batch_mode='truncate_episodes') with exploration can be sampled")
        if force_reset or self._needs_initial_reset:
            self._reset()
        before = self.stopwatch.seconds, self._forward_stopwatch.seconds
        # Where an episode ended in the last step of the call before, the first row is a reset.
        starts = [self._lookback + int(ended) for ended in self._ended]
        # An episode of one step costs another step for its reset: at worst every other row holds transitions.
        rows = self._last_rows.extended(2 * -(-num_timesteps // self.num_envs) + 1)
        row, steps = self._lookback, 0
        self.module.eval()
        while steps < num_timesteps:
            steps += self._step(rows, row, steps)
            row += 1
        self._add_logp(rows, self._lookback, row)
        rows.weights_seq_no[self._lookback : row] = self._weights_seq_no
        episodes = list(self._episodes.cut(self.env, rows, starts, row))
        self._last_rows = rows.last(row, self._lookback)
        self._log(row - self._lookback, steps, sum(episode.is_done for episode in episodes), before)
        return episodes

    def _reset(self) -> None:
        """Reset all sub-environments and forget their episodes.

        Seeded only the first time, as in RLlib: with the same seed the same episodes would come again.
        """
        with self.stopwatch.running():
            observations, _ = self.env.reset(seed=self._seed if self._needs_initial_reset else None)
        self._needs_initial_reset = False
        inputs = self._distribution.required_input_dim(self.env.single_action_space)
        self._last_rows = Rows.empty(self._lookback + 1, self.env, inputs)
        self._observe(observations, self._last_rows, self._lookback)
        self._ended = np.zeros(self.num_envs, bool)
        self._episodes.begin(self.num_envs)

    def _step(self, rows: Rows, row: int, steps: int) -> int:
        """Act on the observations of a row, write the outcome into it, and the next observations into the next row."""
        actions = self._act(rows, row, steps)
        with self.stopwatch.running():
            observations, rows.rewards[row], terminated, truncated, _ = self.env.step(actions)
        self._observe(observations, rows, row + 1)
        acted = ~self._ended
        np.logical_and(terminated, acted, out=rows.terminated[row])
        np.logical_and(truncated, acted, out=rows.truncated[row])
        self._ended = rows.terminated[row] | rows.truncated[row]
        self._scale_rewards(rows, row, acted)
        return int(np.count_nonzero(acted))

    def _scale_rewards(self, rows: Rows, row: int, acted: np.ndarray) -> None:
        """Write the rewards of a row as the learner gets them, by the statistics of all up to it."""
        scale = self.preprocessing.reward_scale
        if self.reward_normalizer is not None:
            self.reward_normalizer.update(rows.rewards[row], acted, self._ended)
            scale /= self.reward_normalizer.std
        np.multiply(rows.rewards[row], scale, out=rows.scaled_rewards[row])

    def _act(self, rows: Rows, row: int, steps: int) -> np.ndarray:
        """Draw actions for a row and write them into it, as RLlib's connectors do on the CPU: a seed gives the same actions."""
        runners = self.config.num_env_runners or 1
        with torch.inference_mode():
            batch = {Columns.OBS: torch.from_numpy(rows.observations[row]).to(self._device)}
            with self._forward_stopwatch.running():
                # Without what `forward_exploration` does around it, which is to go through all layers twice to switch them
                # to evaluation and back. The steps are of all runners: a module's exploration may follow a schedule.
                outputs = self.module._forward_exploration(
                    batch, t=(self.num_env_steps_sampled_lifetime // runners + steps) * runners
                )
            inputs: Any = outputs[Columns.ACTION_DIST_INPUTS].cpu()
            actions: np.ndarray
            if self._distribution is TorchDiagGaussian:
                mean, log_std = inputs.chunk(2, dim=-1)
                # What TorchDiagGaussian comes to, in a third of the time at a few actions: `torch.normal` looks through the
                # deviations for negative ones first.
                actions = torch.randn(mean.shape).numpy()
                actions *= log_std.exp().numpy()
                actions += mean.numpy()
            else:
                actions = self._distribution.from_logits(inputs).sample().numpy()
        rows.action_dist_inputs[row] = inputs.numpy()
        rows.actions[row] = actions
        return actions

    def _add_logp(self, rows: Rows, start: int, stop: int) -> None:
        """Fill in log-probabilities, many rows at a time; all would need several times the actions' memory."""
        with torch.inference_mode():
            for first in range(start, stop, _LOGP_ROWS):
                block = slice(first, min(first + _LOGP_ROWS, stop))
                inputs, actions = torch.from_numpy(rows.action_dist_inputs[block]), torch.from_numpy(rows.actions[block])
                logp: Any = self._distribution.from_logits(inputs).logp(actions)
                rows.action_logp[block] = logp.numpy()

    def _observe(self, observations: np.ndarray, rows: Rows, row: int) -> None:
        """Write observations into a row, preprocessed; where they are normalised, after they went into the statistics.

        So each is normalised once, by the statistics of everything up to it. The policy, the learner and the bootstrap at a
        fragment's end see the same numbers. The very first step has statistics too, those of the reset.
        """
        if self.normalizer is not None:
            self.normalizer.update(observations)
            self.normalizer.normalize(observations, out=rows.observations[row])
        elif self.preprocessing.clip_obs is not None:
            np.clip(observations, -self.preprocessing.clip_obs, self.preprocessing.clip_obs, out=rows.observations[row])
        else:
            rows.observations[row] = observations
        rows.times[row] = time.perf_counter()

    def _log(self, steps: int, transitions: int, ended: int, before: tuple[float, float]) -> None:
        """Log what RLlib's runner logs, and its times as means of one call, as each takes microseconds to be logged."""
        self._log_env_steps(metric=self._metrics_num_try_env_step, num_steps=steps)
        self._log_env_steps(metric=self._metrics_num_env_steps_sampled, num_steps=transitions)
        self._increase_sampled_metrics(transitions, ended)
        after = self.stopwatch.seconds, self._forward_stopwatch.seconds
        for name, start, end in zip((ENV_STEP_TIMER, RLMODULE_INFERENCE_TIMER), before, after, strict=True):
            self.metrics.log_value(name, (end - start) / max(steps, 1), reduce="ema")

    def get_metrics(self) -> Any:
        """Metrics since the last call, with those of the episodes that ended; see `SingleAgentEnvRunner`."""
        for episode in self._episodes.take_ended():
            self._log_episode_metrics(episode.steps, episode.reward, episode.seconds)
        return self.metrics.reduce()

    def preprocess(self) -> Callable[[np.ndarray], np.ndarray]:
        """What is done to observations now, as a function that can be pickled and that no further data change."""
        if self.normalizer is not None:
            return self.normalizer.frozen()
        return Clip(self.preprocessing.clip_obs)

    def get_state(
        self,
        components: str | Collection[str] | None = None,
        *,
        not_components: str | Collection[str] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """See `SingleAgentEnvRunner`; with the statistics of observations and returns, where these are normalised."""
        state: dict[str, Any] = super().get_state(components, not_components=not_components, **kwargs)
        if self.normalizer is not None and self._check_component(NORMALIZER, components, not_components):
            state[NORMALIZER] = self.normalizer.get_state()
        if self.reward_normalizer is not None and self._check_component(REWARD_NORMALIZER, components, not_components):
            state[REWARD_NORMALIZER] = self.reward_normalizer.get_state()
        if self._check_component(SAMPLING, components, not_components) and self.is_resumable and not self._needs_initial_reset:
            state[SAMPLING] = {"environment": self.env.get_state(), **self._get_sampling()}
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """See `SingleAgentEnvRunner`; with the statistics, where the state holds them."""
        super().set_state(state)
        if self.normalizer is not None and NORMALIZER in state:
            self.normalizer.set_state(state[NORMALIZER])
        if self.reward_normalizer is not None and REWARD_NORMALIZER in state:
            self.reward_normalizer.set_state(state[REWARD_NORMALIZER])
        if SAMPLING in state:
            self.env.set_state(state[SAMPLING]["environment"])
            self._set_sampling(state[SAMPLING])
            self._needs_initial_reset = False

    @property
    def is_resumable(self) -> bool:
        """Whether the environment's state can be saved."""
        return hasattr(self.env.unwrapped, "get_state")

    def _get_sampling(self) -> dict[str, Any]:
        """What lies between two calls of `sample` beside the environment."""
        arrays = {name: array.copy() for name, array in self._last_rows.arrays()}
        return {"rows": arrays, "ended": self._ended.copy(), "ongoing": self._episodes.get_state()}

    def _set_sampling(self, state: dict[str, Any]) -> None:
        """Go on from what `_get_sampling` gave."""
        self._last_rows = Rows(**{name: array.copy() for name, array in state["rows"].items()})
        # Clocks of two processes have nothing in common: a chunk's time counts from now.
        self._last_rows.times[:] = time.perf_counter()
        self._ended = state["ended"].copy()
        self._episodes.set_state(state["ongoing"])


def _check(config: AlgorithmConfig, preprocessing: Preprocessing) -> None:
    """Refuse settings that would otherwise be ignored. Raises `ValueError`, with the setting and what to do."""
    settings: Any = config
    normalizes = preprocessing.normalize_observations or preprocessing.normalize_rewards
    refused = {
        "batch_mode has to be 'truncate_episodes'": settings.batch_mode != "truncate_episodes",
        "normalize_actions and clip_actions have to be False: the environment does that": (
            settings.normalize_actions or settings.clip_actions
        ),
        "there are no connectors between environment and module": (
            settings._env_to_module_connector or settings._module_to_env_connector
        ),
        "restart_failed_sub_environments has to be False": settings.restart_failed_sub_environments,
        "only one runner can normalise, with num_env_runners=0: statistics of several are not merged": (
            normalizes and (settings.num_env_runners or settings.in_evaluation)
        ),
    }
    for reason, applies in refused.items():
        if applies:
            raise ValueError(reason)
