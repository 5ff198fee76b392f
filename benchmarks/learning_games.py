"""What is learned of CartPole and Pendulum, beside Stable-Baselines3 with the same settings and steps, over several seeds.

Run: `uv run --group benchmarks python benchmarks/learning_games.py [--seeds N]`. Each run is trained in a process of its
own and then judged by the mode of its policy over 20 episodes. The interval is that of the difference of means: 95 %,
bootstrapped.
"""

import logging
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
# Else Ray would copy the project for its workers.
os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"

import gymnasium as gym
import numpy as np
import tyro
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

EPISODES = 20


@dataclass(frozen=True)
class Task:
    """A game, an algorithm and its settings, which both sides get.

    Attributes:
        algo: ppo, a2c or sac.
        game: gymnasium's name.
        steps: budget, all copies together.
        copies: of the environment.
        settings: ours and Stable-Baselines3's; `n_steps` is of all copies together.
    """

    algo: str
    game: str
    steps: int
    copies: int
    settings: dict[str, Any]


_PPO = {
    "gae_lambda": 0.95, "clip_range": 0.2, "ent_coef": 0.0, "vf_coef": 0.5, "max_grad_norm": 0.5, "n_epochs": 10,
    "normalize_advantage": True,
}  # fmt: skip
TASKS = (
    Task(
        "ppo", "CartPole-v1", 50_000, 8,
        {**_PPO, "n_steps": 1024, "batch_size": 64, "learning_rate": 3e-4, "gamma": 0.99},
    ),
    Task(
        "a2c", "CartPole-v1", 100_000, 8,
        {"n_steps": 128, "learning_rate": 7e-4, "gamma": 0.99, "gae_lambda": 1.0, "ent_coef": 0.0, "vf_coef": 0.5,
         "max_grad_norm": 0.5, "normalize_advantage": False},
    ),
    Task(
        "ppo", "Pendulum-v1", 100_000, 4,
        {**_PPO, "n_steps": 4096, "batch_size": 64, "learning_rate": 1e-3, "gamma": 0.9},
    ),
    Task(
        "sac", "Pendulum-v1", 5_000, 1,
        {"learning_rate": 1e-3, "buffer_size": 50_000, "learning_starts": 100, "batch_size": 256, "tau": 0.005, "gamma": 0.99,
         "train_freq": 1, "gradient_steps": 1},
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """What to run."""

    seeds: int = 5
    """Runs of each side, with seeds 0, 1, ..."""
    workers: int = 2
    """Runs at the same time, on one core each."""


def vector_env(game: str, copies: int) -> VectorEnv[Any, Any, Any]:
    return SyncVectorEnv([lambda: gym.make(game)] * copies, autoreset_mode=AutoresetMode.NEXT_STEP)


def judge(game: str, act: Callable[[np.ndarray], np.ndarray]) -> float:
    """Mean return of a policy; each of the copies plays one episode."""
    env = vector_env(game, EPISODES)
    observations, _ = env.reset(seed=1000)
    returns, over = np.zeros(EPISODES), np.zeros(EPISODES, bool)
    while not over.all():
        observations, rewards, terminated, truncated, _ = env.step(act(observations))
        returns += np.where(over, 0.0, rewards)
        over |= terminated | truncated
    return float(returns.mean())


def ours(task: Task, seed: int) -> float:
    """Train one of ours, from the preset of Stable-Baselines3's defaults."""
    import ray

    from tuning.algorithms.registry import algorithm
    from tuning.algorithms.trainer import Setup

    logging.getLogger("ray").setLevel(logging.ERROR)
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100 * 2**20, log_to_driver=False)
    given = algorithm(task.algo).preset("stable-baselines3", task.settings)
    setup = Setup(given, lambda copies: vector_env(task.game, copies), task.copies, task.steps, seed, gpu=False)
    trainer = algorithm(task.algo).build(setup)
    steps = 0
    while steps < task.steps:
        steps = trainer.update().steps
    found = judge(task.game, trainer.policy())
    trainer.stop()
    ray.shutdown()
    return found


def theirs(task: Task, seed: int) -> float:
    """Train one of Stable-Baselines3's."""
    import stable_baselines3
    from stable_baselines3.common.env_util import make_vec_env

    settings = dict(task.settings)
    if "n_steps" in settings:
        settings["n_steps"] //= task.copies
    env = make_vec_env(task.game, n_envs=task.copies, seed=seed)
    model = getattr(stable_baselines3, task.algo.upper())("MlpPolicy", env, seed=seed, device="cpu", **settings)
    model.learn(task.steps)
    return judge(task.game, lambda observations: model.predict(observations, deterministic=True)[0])


def run(side: str, task: Task, seed: int) -> float:
    """One run, in a process of its own."""
    import torch

    torch.set_num_threads(1)
    return {"ours": ours, "theirs": theirs}[side](task, seed)


def interval(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """95 % bootstrap interval of the difference of the means of two samples."""
    random = np.random.default_rng(0)
    means = [random.choice(sample, (10_000, len(sample))).mean(axis=1) for sample in (one, other)]
    low, high = np.percentile(means[0] - means[1], [2.5, 97.5])
    return float(low), float(high)


def main() -> None:
    options = tyro.cli(Options)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.workers, mp_context=spawn, max_tasks_per_child=1) as pool:
        runs = {
            (task.algo, task.game, side): [pool.submit(run, side, task, seed) for seed in range(options.seeds)]
            for task in TASKS
            for side in ("ours", "theirs")
        }
        for task in TASKS:
            found = {
                side: np.array([each.result() for each in runs[task.algo, task.game, side]]) for side in ("ours", "theirs")
            }
            low, high = interval(found["ours"], found["theirs"])
            print(f"{task.algo} on {task.game}, {task.steps:,} steps, seeds 0-{options.seeds - 1}:")
            for side, returns in found.items():
                print(f"  {side:6} mean {returns.mean():8.1f}: {', '.join(f'{value:.1f}' for value in returns)}")
            print(f"  difference {found['ours'].mean() - found['theirs'].mean():+.1f}, 95 % interval {low:+.1f} to {high:+.1f}")


if __name__ == "__main__":
    main()
