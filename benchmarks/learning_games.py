"""What is learned in Gymnasium's environments, beside Stable-Baselines3 with the same settings and steps, over several seeds.

Run: `uv run --group benchmarks python benchmarks/learning_games.py [--seeds N] [--games NAME ...]`. Ours has the environment as
`--env` gives it. Each run is trained in a process of its own and then judged by the mode of its policy over 20 episodes. The
interval is that of the difference of means: 95 %, bootstrapped. LunarLander needs `gymnasium[box2d]`, HalfCheetah and Hopper
`gymnasium[mujoco]`; where one is missing, that game is left out, and a line says so.
"""

import logging
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
# Else Ray would copy the project for its workers.
os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"

import gymnasium as gym
import numpy as np
import tyro

from envs.gym.episodes import VALIDATION, Episodes
from envs.gym.source import Source
from envs.gym.spaces import made
from envs.gym.task import EnvTask

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
_A2C = {
    "n_steps": 128, "learning_rate": 7e-4, "gae_lambda": 1.0, "ent_coef": 0.0, "vf_coef": 0.5, "max_grad_norm": 0.5,
    "normalize_advantage": False,
}  # fmt: skip
_SAC = {"buffer_size": 50_000, "batch_size": 256, "tau": 0.005, "train_freq": 1, "gradient_steps": 1}
TASKS = (
    Task(
        "ppo", "CartPole-v1", 50_000, 8,
        {**_PPO, "n_steps": 1024, "batch_size": 64, "learning_rate": 3e-4, "gamma": 0.99},
    ),
    Task("a2c", "CartPole-v1", 100_000, 8, {**_A2C, "gamma": 0.99}),
    Task(
        "ppo", "Pendulum-v1", 100_000, 4,
        {**_PPO, "n_steps": 4096, "batch_size": 64, "learning_rate": 1e-3, "gamma": 0.9},
    ),
    Task("sac", "Pendulum-v1", 5_000, 1, {**_SAC, "learning_rate": 1e-3, "learning_starts": 100, "gamma": 0.99}),
    Task("ppo", "Acrobot-v1", 100_000, 8, {**_PPO, "n_steps": 2048, "batch_size": 64, "learning_rate": 3e-4, "gamma": 0.99}),
    Task(
        "sac", "MountainCarContinuous-v0", 10_000, 1, {**_SAC, "learning_rate": 3e-4, "learning_starts": 1000, "gamma": 0.999}
    ),
    *(
        Task(
            "ppo", game, 200_000, 8,
            {**_PPO, "n_steps": 4096, "batch_size": 64, "n_epochs": 4, "learning_rate": 3e-4, "gamma": 0.999,
             "gae_lambda": 0.98, "ent_coef": 0.01},
        )
        for game in ("LunarLander-v3", "LunarLanderContinuous-v3")
    ),
    *(
        Task("ppo", game, 200_000, 4, {**_PPO, "n_steps": 2048, "batch_size": 64, "learning_rate": 3e-4, "gamma": 0.99})
        for game in ("Hopper-v5", "HalfCheetah-v5", "MountainCarContinuous-v0")
    ),
    *(
        Task("a2c", game, 200_000, 8, {**_A2C, "gamma": gamma})
        for game, gamma in (
            ("Acrobot-v1", 0.99),
            ("Pendulum-v1", 0.9),
            ("MountainCarContinuous-v0", 0.999),
            ("LunarLander-v3", 0.99),
            ("LunarLanderContinuous-v3", 0.99),
            ("Hopper-v5", 0.99),
            ("HalfCheetah-v5", 0.99),
        )
    ),
    *(
        Task("sac", game, 15_000, 1, {**_SAC, "learning_rate": 3e-4, "learning_starts": 1000, "gamma": 0.99})
        for game in ("LunarLanderContinuous-v3", "Hopper-v5", "HalfCheetah-v5")
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """What to run."""

    seeds: int = 5
    """Runs of each side, with seeds 0, 1, ..."""
    workers: int = 2
    """Runs at the same time, on one core each."""
    games: tuple[str, ...] = ()
    """Which games; by default all."""
    algos: tuple[str, ...] = ("ppo", "a2c", "sac")
    """Which algorithms."""


def judge(game: str, act: Callable[[np.ndarray], np.ndarray], learned: bool) -> float:
    """Mean return of a policy over the same episodes; `learned` where it sees and acts as `--env` has it."""
    source = Source(game)
    episodes = Episodes(partial(made, source) if learned else source.make, range(VALIDATION, VALIDATION + EPISODES))
    rows = episodes.rows(act)
    episodes.close()
    return float(np.mean([row["score"] for row in rows]))


def ours(task: Task, seed: int) -> float:
    """Train one of ours, from the preset of Stable-Baselines3's defaults."""
    import ray

    from tuning.algorithms.registry import algorithm
    from tuning.algorithms.trainer import Setup

    logging.getLogger("ray").setLevel(logging.ERROR)
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100 * 2**20, log_to_driver=False)
    given = algorithm(task.algo).preset("stable-baselines3", task.settings)
    setup = Setup(given, EnvTask(Source(task.game)).training_env, task.copies, task.steps, seed, gpu=False)
    trainer = algorithm(task.algo).build(setup)
    steps = 0
    while steps < task.steps:
        steps = trainer.update().steps
    found = judge(task.game, trainer.policy(), learned=True)
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
    return judge(task.game, lambda observations: model.predict(observations, deterministic=True)[0], learned=False)


def can_run(game: str) -> bool:
    """Whether an environment is installed; a line where it is not."""
    try:
        gym.make(game).close()
    except gym.error.DependencyNotInstalled as error:
        print(f"{game} is left out: {error}")
        return False
    return True


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
    tasks = [
        task
        for task in TASKS
        if task.algo in options.algos and (not options.games or task.game in options.games) and can_run(task.game)
    ]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.workers, mp_context=spawn, max_tasks_per_child=1) as pool:
        runs = {
            (task.algo, task.game, side): [pool.submit(run, side, task, seed) for seed in range(options.seeds)]
            for task in tasks
            for side in ("ours", "theirs")
        }
        for task in tasks:
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
