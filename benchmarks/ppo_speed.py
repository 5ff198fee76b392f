"""PPO end to end: ours on the batch backend against Stable-Baselines3 on CityLearn, same settings, one process.

Run: `uv run --group benchmarks python benchmarks/ppo_speed.py [--sb3-steps N]`. Stable-Baselines3 does one update over
`--sb3-steps` transitions, by default 8,192, which takes minutes. Quote the ratios; machines differ and are noisy.
"""

import os
import statistics
import time
from dataclasses import dataclass
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import tyro

N_STEPS, BATCH_SIZE, COPIES = 8192, 512, 64
SCENARIO = "iquitos"


@dataclass(frozen=True)
class Options:
    """What to run."""

    sb3_steps: int = N_STEPS
    """Transitions that Stable-Baselines3 collects for its one update."""
    updates: int = 3
    """Updates of ours that are measured, after one that is not."""


def ours(n_epochs: int, updates: int) -> tuple[float, float]:
    """Median steps/s, and the median share of the wall time that sampling takes."""
    from envs.task import SiteTask
    from tuning.algorithms.registry import algorithm
    from tuning.algorithms.trainer import Setup
    from tuning.runtime.stopwatch import Stopwatch

    given = {parameter.name: parameter.default for parameter in algorithm("ppo").space.parameters}
    given |= {"n_steps": N_STEPS, "batch_size": BATCH_SIZE, "n_epochs": n_epochs, "hidden_sizes": "256,256"}
    # All 129 actions, as the other side learns them.
    given["learn_charging"] = True
    task = SiteTask(SCENARIO)
    setup = Setup(given, task.training_env, COPIES, 10**6, 0, False, task.layout().chargers)
    trainer: Any = algorithm("ppo").build(setup)
    ppo = trainer.algorithm
    sampling = Stopwatch()
    ppo.runner.collect = sampling.running()(ppo.runner.collect)
    rates, shares = [], []
    for update in range(updates + 1):
        start = time.perf_counter()
        ppo.train()
        seconds, inside = time.perf_counter() - start, sampling.take()
        if update:
            rates.append(N_STEPS / seconds)
            shares.append(inside / seconds)
    ppo.stop()
    return statistics.median(rates), statistics.median(shares)


def stable_baselines3(steps: int) -> tuple[float, float]:
    """Steps/s of Stable-Baselines3 on CityLearn, and of its learner alone."""
    import torch
    from stable_baselines3 import PPO

    from envs.environments.site_env import SiteEnv
    from envs.objective.evaluate import TRAINING_HOURS
    from envs.scenarios.scenario import scenario, training_starts
    from tuning.runtime.stopwatch import Stopwatch

    torch.set_num_threads(1)
    site = scenario(SCENARIO)
    env = SiteEnv(site, training_starts(site.windows("train"), TRAINING_HOURS))
    model = PPO(
        "MlpPolicy", env, n_steps=steps, batch_size=BATCH_SIZE, n_epochs=10, learning_rate=3e-4, ent_coef=0.0, seed=0,
        device="cpu", policy_kwargs={"net_arch": [256, 256]},
    )  # fmt: skip
    learning = Stopwatch()
    model.train = learning.running()(model.train)
    start = time.perf_counter()
    model.learn(steps)
    return steps / (time.perf_counter() - start), steps / learning.take()


def main() -> None:
    options = tyro.cli(Options)
    import torch

    torch.set_num_threads(1)
    found = {epochs: ours(epochs, options.updates) for epochs in (10, 1)}
    theirs, their_learner = stable_baselines3(options.sb3_steps)
    print(f"Stable-Baselines3 on CityLearn: {theirs:.1f} steps/s; its learner alone {their_learner:.0f} steps/s")
    for epochs, (rate, share) in found.items():
        print(f"ours, n_epochs {epochs}: {rate:,.0f} steps/s, {rate / theirs:.0f} times; sampling {share:.1%} of the wall time")


if __name__ == "__main__":
    main()
