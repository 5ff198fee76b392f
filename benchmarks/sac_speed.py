"""Gradient steps per second of SAC: ours against Stable-Baselines3 and SBX, same networks, batches and data, one process.

Run: `uv run --group benchmarks python benchmarks/sac_speed.py [--device cuda]`. They take turns, so that what else the machine
does hits all alike. Quote the ratios; machines differ and are noisy. Each side also draws its batches from a buffer that is as
full as the others', because that is part of a gradient step. SBX, which is Stable-Baselines3 on JAX, has the CPU alone here.
"""

import os
import statistics
import time
from dataclasses import dataclass
from functools import partial
from importlib import import_module

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import gymnasium as gym
import numpy as np
import tyro

from benchmarks.sampling_speed import FreeVectorEnv

FEATURES, ACTIONS, STORED = 50, 5, 10_000
ROUND = 10  # gradient steps that ours takes together


@dataclass(frozen=True)
class Options:
    """What to run."""

    batch_sizes: tuple[int, ...] = (256, 1024)
    """Transitions of a gradient step."""
    hidden_sizes: str = "256,256"
    """Units of the hidden layers."""
    steps: int = 50
    """Gradient steps of a round."""
    rounds: int = 7
    """Rounds that are measured, after one that is not; the median counts."""
    device: str = "cpu"
    """Where both learn: cpu or cuda."""
    torch_compile: bool = False
    """Ours through torch.compile."""
    bf16: bool = False
    """Ours in bfloat16."""


class NoiseEnv(gym.Env[np.ndarray, np.ndarray]):
    """Spaces of the same sizes, for Stable-Baselines3."""

    observation_space = gym.spaces.Box(-10.0, 10.0, (FEATURES,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (ACTIONS,), np.float32)


class Ours:
    """A learner and a full buffer."""

    def __init__(self, batch_size: int, options: Options) -> None:
        from search_spaces.sac import SAC
        from tuning.algorithms.sac.trainer import SACTrainer
        from tuning.algorithms.trainer import Setup

        given = {parameter.name: parameter.default for parameter in SAC.parameters}
        given |= {
            "batch_size": batch_size, "buffer_size": STORED, "learning_starts": STORED, "train_freq": STORED,
            "gradient_steps": ROUND, "hidden_sizes": options.hidden_sizes, "normalize_observations": False, "clip_obs": None,
            "torch_compile": options.torch_compile, "bf16": options.bf16,
        }  # fmt: skip
        env = partial(FreeVectorEnv, features=FEATURES, actions=ACTIONS)
        self.trainer = SACTrainer(Setup(given, env, 10, steps=10**6, seed=0, gpu=options.device == "cuda"))
        self.trainer.algorithm.runner.collect(STORED)

    def learn(self, steps: int) -> None:
        """Take gradient steps."""
        for _ in range(steps // ROUND):
            self.trainer.learner.learn(self.trainer.runner, STORED)


class Theirs:
    """A learner of `stable_baselines3` or `sbx` and a full buffer."""

    def __init__(self, library: str, batch_size: int, options: Options) -> None:
        from stable_baselines3.common.logger import configure

        sizes = [int(size) for size in options.hidden_sizes.split(",")]
        self.model = import_module(library).SAC(
            "MlpPolicy", NoiseEnv(), batch_size=batch_size, buffer_size=STORED, seed=0, device=options.device,
            policy_kwargs={"net_arch": sizes},
        )  # fmt: skip
        self.model.set_logger(configure(None, []))
        random = np.random.default_rng(0)
        for _ in range(STORED):
            observations = random.standard_normal((2, 1, FEATURES), dtype=np.float32)
            action = random.uniform(-1.0, 1.0, (1, ACTIONS)).astype(np.float32)
            self.model.replay_buffer.add(observations[0], observations[1], action, random.standard_normal(1), np.zeros(1), [{}])

    def learn(self, steps: int) -> None:
        """Take gradient steps."""
        self.model.train(gradient_steps=steps, batch_size=self.model.batch_size)


def rate(learner: Ours | Theirs, options: Options) -> float:
    """Gradient steps per second of one round; on the CPU, of this process's own time, so other processes do not count."""
    import torch

    clock = time.perf_counter if options.device == "cuda" else time.process_time
    start = clock()
    learner.learn(options.steps)
    if options.device == "cuda":
        torch.cuda.synchronize()
    return options.steps / (clock() - start)


def main() -> None:
    options = tyro.cli(Options)
    import ray
    import torch

    torch.set_num_threads(1)
    ray.init(
        num_cpus=1, num_gpus=int(options.device == "cuda"), include_dashboard=False, object_store_memory=150 * 2**20,
        log_to_driver=False,
    )  # fmt: skip
    print(
        f"{options.device}, networks {options.hidden_sizes}, {FEATURES} features, {ACTIONS} actions, rounds of {options.steps}"
    )
    rivals = {"Stable-Baselines3": "stable_baselines3", **({"SBX": "sbx"} if options.device == "cpu" else {})}
    for batch_size in options.batch_sizes:
        sides = [Ours(batch_size, options), *(Theirs(library, batch_size, options) for library in rivals.values())]
        ours, *theirs = zip(
            *[[rate(side, options) for side in sides] for _ in range(options.rounds + 1)][1:], strict=True
        )  # fmt: skip
        line = f"batch {batch_size}: ours {statistics.median(ours):.1f}/s"
        for name, rates in zip(rivals, theirs, strict=True):
            ratios = sorted(a / b for a, b in zip(ours, rates, strict=True))
            line += (
                f"; {name} {statistics.median(rates):.1f}/s, ratio {statistics.median(ratios):.2f} "
                f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
            )
        print(line, flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
