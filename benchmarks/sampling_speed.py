"""Steps a second of RLlib's env runner and of `RolloutRunner`, in turns in one process, on an environment that costs nothing.

Run: `python benchmarks/sampling_speed.py`. Quote the ratio; machines differ and are noisy. A step is one of one
sub-environment. The overhead is what a step takes outside the environment and the networks.
"""

import logging
import os
import statistics
import time
import warnings
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.tune import register_env

from tuning.algorithms.on_policy.env_runner import RolloutRunner
from tuning.algorithms.rllib_base import Recipe
from tuning.runtime.stopwatch import Stopwatch

TURNS = 7
ENVS = 64
FRAGMENT = 128
EPISODE = 8760  # steps: nearly all fragments are of episodes that go on
SIZES = [(1057, 129), (50, 5)]  # of observations and actions
LAYERS = [256, 256]
PLAIN = {"normalize_observations": False, "clip_obs": None, "normalize_rewards": False, "reward_scale": 1.0}
NORMALIZED = {**PLAIN, "normalize_observations": True, "clip_obs": 10.0}
RUNNERS = {
    "RLlib": (SingleAgentEnvRunner, PLAIN),
    "ours": (RolloutRunner, PLAIN),
    "ours, normalising": (RolloutRunner, NORMALIZED),
}


class FreeVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """The same observations and rewards at every step."""

    def __init__(self, num_envs: int, features: int, actions: int) -> None:
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.num_envs, self.time = num_envs, 0
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (features,), np.float32)
        self.single_action_space = gym.spaces.Box(-1.0, 1.0, (actions,), np.float32)
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, num_envs)
        self.observations = np.random.default_rng(0).standard_normal((num_envs, features), dtype=np.float32)
        self.rewards, self.never = np.zeros(num_envs), np.zeros(num_envs, bool)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """See `VectorEnv`."""
        return self.observations, {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """See `VectorEnv`."""
        self.time += 1
        truncated = np.ones(self.num_envs, bool) if self.time % EPISODE == 0 else self.never
        return self.observations, self.rewards, self.never, truncated, {}


def configuration(runner: type, features: int, actions: int, h: dict[str, Any]) -> Any:
    register_env("free", lambda context: FreeVectorEnv(context["num_envs"], features, actions))
    config: Any = PPOConfig()
    config.recipe = Recipe(h, 1)
    config.environment("free", disable_env_checking=True, normalize_actions=False, clip_actions=False)
    config.env_runners(
        env_runner_cls=runner,
        gym_env_vectorize_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT,
        num_env_runners=0,
        num_envs_per_env_runner=ENVS,
        rollout_fragment_length=FRAGMENT,
        batch_mode="truncate_episodes",
    )
    config.training(train_batch_size_per_learner=ENVS * FRAGMENT)
    config.rl_module(model_config=DefaultModelConfig(fcnet_hiddens=LAYERS, vf_share_layers=False))
    config.debugging(seed=0, log_level="ERROR")
    return config


def sampled(runner: Any) -> int:
    """Transitions of one rollout."""
    if isinstance(runner, RolloutRunner):
        return len(runner.collect(ENVS * FRAGMENT).rewards)
    return sum(len(episode) for episode in runner.sample())


def timed(runner: Any, stopwatch: Stopwatch) -> tuple[float, float]:
    """Microseconds a step of one rollout: all of it, and outside environment and forward pass."""
    stopwatch.take()
    start = time.perf_counter()
    count = sampled(runner)
    seconds = time.perf_counter() - start
    runner.get_metrics()
    return 1e6 * seconds / count, 1e6 * (seconds - stopwatch.take()) / count


def compare(features: int, actions: int) -> None:
    runners: dict[str, tuple[Any, Stopwatch]] = {}
    for name, (cls, h) in RUNNERS.items():
        runner, stopwatch = cls(config=configuration(cls, features, actions, h)), Stopwatch()
        runner.env.step = stopwatch.running()(runner.env.step)
        runner.module._forward = stopwatch.running()(runner.module._forward)
        runners[name] = runner, stopwatch
        sampled(runner)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runners}
    for _ in range(TURNS):
        for name, (runner, stopwatch) in runners.items():
            times[name].append(timed(runner, stopwatch))
    print(f"observation {features}, action {actions}, {ENVS} sub-environments, {FRAGMENT} steps a fragment:")
    for name, values in times.items():
        whole, overhead = (statistics.median(column) for column in zip(*values, strict=True))
        print(f"  {name}: median {1e6 / whole:.0f} steps/s, {whole:.2f} us a step, of that overhead {overhead:.2f} us")
    ratios = [old[0] / new[0] for old, new in zip(times["RLlib"], times["ours"], strict=True)]
    print(f"  ratio: median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def main() -> None:
    logging.disable(logging.WARNING)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for features, actions in SIZES:
        compare(features, actions)


if __name__ == "__main__":
    main()
