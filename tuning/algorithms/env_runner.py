"""What the env runners of all algorithms share: one vectorised environment, of which all copies take a step at once."""

import math
import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.utils.metrics import EPISODE_RETURN_MEAN

from tuning.algorithms.preprocessing import FrozenNormalizer, ObservationNormalizer, RewardNormalizer, unscaled
from tuning.runtime.stopwatch import Stopwatch

NORMALIZERS = ("normalizer", "reward_normalizer")  # attributes of a runner, and names in its state
SAMPLING = "sampling"  # name of the environment's and the episodes' state in a runner's state
ANEW = "anew"  # likewise of the number with which episodes were begun anew


class ArrayEnvRunner(SingleAgentEnvRunner):
    """Handles a time step as arrays over all sub-environments, without RLlib's connectors, episodes and callbacks.

    The environment resets in the step after an end, which is no transition. Metrics are of the environment's own rewards.
    """

    env: Any
    module: Any
    config: Any
    _ended: np.ndarray  # sub-environments whose next step is a reset
    _returns: np.ndarray  # of the unfinished episodes

    def make_env(self) -> None:
        """See `SingleAgentEnvRunner`; without the wrapper that makes a list of dictionaries of the infos."""
        with warnings.catch_warnings():
            # RLlib registers an environment of the same name each time, of which Gymnasium warns.
            warnings.filterwarnings("ignore", message=".*Overriding environment rllib-")
            super().make_env()
        # Kept: as the wrapper is freed, it closes what it wraps.
        self._wrapper = self.env
        self.env = self._wrapper.env
        if (mode := self.env.metadata.get("autoreset_mode")) is not AutoresetMode.NEXT_STEP:
            raise ValueError(f"an environment that resets by {mode} loses the first transition of each episode here")
        self.h, keep = self.config.recipe.h, self.config.recipe.keep
        self.stopwatch = Stopwatch()
        self._anew = 0  # number with which episodes were begun anew; 0 where they were not
        self.normalizer: ObservationNormalizer | None = None
        self.reward_normalizer: RewardNormalizer | None = None
        clip = math.inf if self.h["clip_obs"] is None else self.h["clip_obs"]
        self._as_they_are = unscaled(clip)
        if self.h["normalize_observations"]:
            self.normalizer = ObservationNormalizer(self.env.single_observation_space.shape[0], clip, keep)
        if self.h["normalize_rewards"]:
            self.reward_normalizer = RewardNormalizer(self.env.num_envs, self.h["gamma"])
        self._transitions = 0  # since the last metrics
        self._over: list[float] = []  # returns of episodes that ended since

    def watch(self, stopwatch: Stopwatch) -> None:
        """Add the seconds of stepping the environment to a stopwatch from now on."""
        self.stopwatch = stopwatch

    def preprocess(self) -> FrozenNormalizer:
        """What is done to observations now."""
        return self._as_they_are if self.normalizer is None else self.normalizer.frozen

    @property
    def reward_factor(self) -> float:
        """What the environment's rewards are multiplied by on their way to the learner now."""
        deviation = 1.0 if self.reward_normalizer is None else self.reward_normalizer.std
        return self.h["reward_scale"] / deviation

    def begin(self, observations: np.ndarray) -> None:
        """Take the first observations."""
        raise NotImplementedError

    def begin_episodes(self, number: int) -> None:
        """Let the next step begin all episodes anew; see `Trainer`."""
        self._anew, self._needs_initial_reset = number, True

    def reset(self) -> None:
        """Begin episodes in all sub-environments, if that did not happen yet, or is to happen anew."""
        if self._needs_initial_reset:
            seed = self._seed
            if self._anew and seed is not None:
                seed = int(np.random.SeedSequence([seed, self._anew]).generate_state(1)[0])
            with self.stopwatch.running():
                observations, _ = self.env.reset(seed=seed)
            self._needs_initial_reset = False
            self._ended, self._returns = np.zeros(self.num_envs, bool), np.zeros(self.num_envs)
            if self.normalizer is not None:
                self.normalizer.update(observations)
            if self.reward_normalizer is not None:
                # Of episodes that ended without an end, or of an earlier run.
                self.reward_normalizer.forget_unfinished()
            self.begin(observations)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Take a step, into the statistics too: observations, rewards, and who acted, was terminated, was truncated."""
        with self.stopwatch.running():
            observations, rewards, terminated, truncated, _ = self.env.step(actions)
        acted = ~self._ended
        terminated, truncated = terminated & acted, truncated & acted
        self._ended = terminated | truncated
        if self.normalizer is not None:
            self.normalizer.update(observations)
        if self.reward_normalizer is not None:
            self.reward_normalizer.update(rewards, acted, self._ended)
        self._transitions += int(np.count_nonzero(acted))
        return observations, rewards, acted, terminated, truncated

    def end(self, index: int) -> None:
        """Note the return of an episode that ended."""
        self._over.append(float(self._returns[index]))
        self._returns[index] = 0.0

    def get_metrics(self) -> Any:
        """Transitions since the last call, and returns of the episodes that ended."""
        self._increase_sampled_metrics(self._transitions, len(self._over))
        for total in self._over:
            self.metrics.log_value(EPISODE_RETURN_MEAN, total, window=self.config.metrics_num_episodes_for_smoothing)
        self._transitions, self._over = 0, []
        return self.metrics.reduce()

    def get_state(self, components: str | Collection[str] | None = None, **given: Any) -> dict[str, Any]:
        """See `SingleAgentEnvRunner`; with the statistics, and the environment's state where it has begun."""
        state: dict[str, Any] = super().get_state(components, **given)
        state |= {name: normalizer.get_state() for name in NORMALIZERS if (normalizer := getattr(self, name)) is not None}
        state[ANEW] = self._anew
        if not self._needs_initial_reset:
            sampling = {"ended": self._ended.copy(), "returns": self._returns.copy(), **self.get_sampling()}
            state[SAMPLING] = {"environment": self.env.get_state(), **sampling}
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """See `SingleAgentEnvRunner`."""
        super().set_state(state)
        for name in NORMALIZERS:
            if name in state:
                getattr(self, name).set_state(state[name])
        self._anew = state.get(ANEW, self._anew)
        if SAMPLING in state:
            sampling = state[SAMPLING]
            self.env.set_state(sampling["environment"])
            self._ended, self._returns = sampling["ended"].copy(), sampling["returns"].copy()
            self.set_sampling(sampling)
            self._needs_initial_reset = False

    def get_sampling(self) -> dict[str, Any]:
        """What lies between two steps beside the environment and what all runners have."""
        return {}

    def set_sampling(self, state: dict[str, Any]) -> None:
        """Go on from what `get_sampling` gave."""
