"""Environment steps a second of PPO in Gymnasium's environments, collecting and learning, beside Stable-Baselines3.

Run: `uv run --group benchmarks python benchmarks/environment_speed.py [--games NAME ...]`. Both have 8 copies, the same network
and minibatches, one core, and take an update by turns, so that a noisy machine disturbs both alike. Printed is the median of
the ratios of pairs, with its least and greatest.
"""

import logging
import os
import time
from dataclasses import dataclass

os.environ["OMP_NUM_THREADS"] = "1"
# Else Ray would copy the project for its workers.
os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"

import numpy as np
import ray
import torch
import tyro
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from envs.gym.source import Source
from envs.gym.task import EnvTask
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Setup

COPIES, N_STEPS, BATCH, EPOCHS = 8, 2048, 64, 10
STEPS = 10_000_000  # of schedules, beyond what is measured


@dataclass(frozen=True)
class Options:
    """What to measure."""

    games: tuple[str, ...] = ("CartPole-v1", "HalfCheetah-v5")
    """Gymnasium's ids; HalfCheetah needs gymnasium[mujoco]."""
    pairs: int = 10
    """Updates of each side, after two that warm up."""


def main() -> None:
    options = tyro.cli(Options)
    torch.set_num_threads(1)
    logging.getLogger("ray").setLevel(logging.ERROR)
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100 * 2**20, log_to_driver=False)
    same = {"n_steps": N_STEPS, "batch_size": BATCH, "n_epochs": EPOCHS, "learning_rate": 3e-4}
    for game in options.games:
        h = algorithm("ppo").preset("stable-baselines3", same)
        ours = algorithm("ppo").build(Setup(h, EnvTask(Source(game)).training_env, COPIES, STEPS, 0, gpu=False))
        given = {**same, "n_steps": N_STEPS // COPIES}
        theirs = PPO("MlpPolicy", make_vec_env(game, COPIES, seed=0), seed=0, device="cpu", **given)
        ratios, rates = [], []
        for pair in range(options.pairs + 2):
            begun = time.perf_counter()
            ours.update()
            between = time.perf_counter()
            theirs.learn(N_STEPS, reset_num_timesteps=False)
            ended = time.perf_counter()
            if pair >= 2:
                ratios.append((ended - between) / (between - begun))
                rates.append(N_STEPS / (between - begun))
        ours.stop()
        least, middle, most = np.percentile(ratios, (0, 50, 100))
        print(f"{game}: {middle:.2f} times Stable-Baselines3's steps a second ({least:.2f} to {most:.2f}); ", end="")
        print(f"ours {np.median(rates):,.0f} steps a second")


if __name__ == "__main__":
    main()
