"""Whether a site that is given as an environment, by `--env`, is learned as it is as a site, over several seeds.

Run: `uv run python benchmarks/site_as_environment.py SCHEMA.json [--seeds N] [--steps N]`. Both sides have PPO's default of a
site, as many copies, and the same evaluation of the trained policy on the validation split. The site has no chargers, whose
networks an environment knows nothing of. The interval is that of the difference of means: 95 %, bootstrapped.
"""

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

os.environ["OMP_NUM_THREADS"] = "1"
# Else Ray would copy the project for its workers.
os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"

import gymnasium as gym
import numpy as np
import tyro
from learning_games import interval

from common.measure import SCORE
from envs.environments.vector_env import SiteVectorEnv
from envs.gym.source import Source, config_of
from envs.gym.task import EnvTask
from envs.objective.evaluate import TRAINING_HOURS
from envs.scenarios.scenario import scenario, training_starts
from envs.task import SiteTask

COPIES = 8


class Site(gym.Env[np.ndarray, np.ndarray]):
    """One copy of a site over two-week windows of its training split, as anybody may write an environment."""

    def __init__(self, schema: str) -> None:
        site = scenario(schema)
        self._one = SiteVectorEnv(site, training_starts(site.windows("train"), TRAINING_HOURS), 1)
        self.observation_space, self.action_space = self._one.single_observation_space, self._one.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a window that is drawn."""
        super().reset(seed=seed)
        observations, _ = self._one.reset(seed=seed)
        return observations[0].copy(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take an hour."""
        observations, rewards, terminated, truncated, _ = self._one.step(action[None])
        return observations[0].copy(), float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {}


@dataclass(frozen=True)
class Options:
    """What to run."""

    schema: Annotated[Path, tyro.conf.Positional]
    """Schema of a site without chargers."""
    seeds: int = 4
    """Runs of each side, with seeds 0, 1, ..."""
    steps: int = 60_000
    """Environment steps of a run."""


def main() -> None:
    import ray

    from tuning.algorithms.registry import algorithm
    from tuning.algorithms.trainer import Setup

    options = tyro.cli(Options)
    logging.getLogger("ray").setLevel(logging.ERROR)
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100 * 2**20, log_to_driver=False)
    schema = str(options.schema.resolve())
    site = SiteTask(schema)
    environment = EnvTask(Source(f"{Path(__file__).resolve()}:Site", config_of({"schema": schema})), trusted=True)
    spec = algorithm("ppo")
    given = spec.preset("default", {}, {"steps": float(options.steps)})
    found: dict[str, list[float]] = {"site": [], "environment": []}
    for seed in range(options.seeds):
        for name, task in (("site", site), ("environment", environment)):
            trainer = spec.build(Setup(given, task.training_env, COPIES, options.steps, seed, gpu=False))
            steps = 0
            while steps < options.steps:
                steps = trainer.update().steps
            evaluator = site.evaluator()
            found[name].append(SCORE.value(evaluator.rows(trainer.policy())))
            evaluator.close()
            trainer.stop()
            print(f"seed {seed}, as {name}: {found[name][-1]:+.4f}", flush=True)
    low, high = interval(*(np.array(scores) for scores in found.values()))
    difference = np.mean(found["site"]) - np.mean(found["environment"])
    print(f"as site {np.mean(found['site']):+.4f}, as environment {np.mean(found['environment']):+.4f}; difference ", end="")
    print(f"{difference:+.4f}, 95 % interval {low:+.4f} to {high:+.4f}")


if __name__ == "__main__":
    main()
