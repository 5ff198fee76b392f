"""How fast PPO and A2C learn: ours against Stable-Baselines3 and SBX, with the same settings, all on the batch backend.

Run: `uv run --group benchmarks python benchmarks/learner_speed.py`. The sides take turns. Each collects `n_steps` transitions
of `iquitos` from 64 copies and learns from them. Two rates are printed: of learning alone, and of both. Ours computes the
values of what was collected where it learns, theirs where it collects, so the second rate is the fair one. Ours is measured in
three ways: with the same perceptrons over all features, with a network that chargers share, with chargers that follow a rule.
The last is the default. Of two of them it is told how near the learner comes to a core's rate of matrix products. SBX is
Stable-Baselines3 on JAX and has no A2C. Time is this process's own, so others do not count. Quote the ratios.
"""

import os
import statistics
import time
from dataclasses import dataclass
from importlib import import_module
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import tyro

SCENARIO, COPIES = "iquitos", 64
SETTINGS: dict[str, dict[str, Any]] = {
    "ppo": {"n_steps": 4096, "batch_size": 512, "n_epochs": 5, "learning_rate": 3e-4},
    "a2c": {"n_steps": 1024, "learning_rate": 7e-4},
}


@dataclass(frozen=True)
class Options:
    """What to run."""

    updates: int = 7
    """Updates of each that are measured, after one that is not; the median counts."""
    hidden_sizes: str = "128,128"
    """Units of the hidden layers."""
    device: str = "cpu"
    """Where all learn: cpu or cuda."""


class Ours:
    """One of our trainers."""

    def __init__(self, algo: str, options: Options, chargers: bool, learn_charging: bool) -> None:
        from envs.task import SiteTask
        from tuning.algorithms.registry import algorithm
        from tuning.algorithms.trainer import Setup

        changes = {**SETTINGS[algo], "hidden_sizes": options.hidden_sizes, "learn_charging": learn_charging}
        given = algorithm(algo).preset("stable-baselines3", changes)
        task = SiteTask(SCENARIO)
        groups = task.layout().chargers if chargers else None
        setup = Setup(given, task.training_env, COPIES, 10**7, 0, options.device == "cuda", groups)
        trainer: Any = algorithm(algo).build(setup)
        self.algorithm, self.learner = trainer.algorithm, trainer.learner
        self.learning = 0.0
        learn = trainer.learner.learn

        def timed(*args: Any) -> None:
            start = time.process_time()
            learn(*args)
            self.learning += time.process_time() - start

        trainer.learner.learn = timed

    def operations(self, epochs: int) -> int:
        """Floating-point operations of the products for a transition: forward and backward passes, and the first value."""
        policy, value = ([layer.weight.numel() for layer in network._layers] for network in self.learner.network.written_out)
        # Of each weight a multiplication and an addition: forward, for its slope and, behind the first layer, for its input.
        step = sum(3 * sum(own) - own[0] for own in (policy, value))
        return 2 * (epochs * step + sum(value))

    def update(self) -> tuple[float, float]:
        """Collect, learn; seconds of the latter and of both."""
        self.learning, start = 0.0, time.process_time()
        self.algorithm.train()
        return self.learning, time.process_time() - start


def product_rate(rows: int, units: int) -> float:
    """Floating-point operations a second of a hidden layer's product, the best of 50 times 20."""
    import torch

    inputs, weights = torch.randn(rows, units), torch.randn(units, units)
    taken = list[float]()
    for _ in range(50):
        start = time.process_time()
        for _ in range(20):
            inputs @ weights
        taken.append(time.process_time() - start)
    return 20 * 2 * rows * units**2 / min(taken)


class Theirs:
    """One of `stable_baselines3` or `sbx`, on the same environment."""

    def __init__(self, library: str, algo: str, options: Options) -> None:
        from stable_baselines3.common.logger import configure

        from benchmarks.real_searches.same_step import same_step_env
        from benchmarks.real_searches.sb3_env import BatchVecEnv

        settings = dict(SETTINGS[algo])
        settings["n_steps"] //= COPIES
        sizes = [int(size) for size in options.hidden_sizes.split(",")]
        self.model = getattr(import_module(library), algo.upper())(
            "MlpPolicy",
            BatchVecEnv(same_step_env(SCENARIO, COPIES)),
            seed=0,
            device=options.device,
            policy_kwargs={"net_arch": sizes},
            **settings,
        )
        self.model.set_logger(configure(None, []))
        self.model._setup_learn(10**7)

    def update(self) -> tuple[float, float]:
        """Collect, learn; seconds of the latter and of both."""
        from stable_baselines3.common.callbacks import BaseCallback

        class Nothing(BaseCallback):
            def _on_step(self) -> bool:
                return True

        callback = Nothing()
        callback.init_callback(self.model)
        before = time.process_time()
        self.model.collect_rollouts(self.model.env, callback, self.model.rollout_buffer, self.model.n_steps)
        start = time.process_time()
        self.model.train()
        return time.process_time() - start, time.process_time() - before


def main() -> None:
    options = tyro.cli(Options)
    import torch

    torch.set_num_threads(1)
    for algo, settings in SETTINGS.items():
        sides = {
            "Stable-Baselines3": Theirs("stable_baselines3", algo, options),
            **({"SBX": Theirs("sbx", algo, options)} if algo == "ppo" and options.device == "cpu" else {}),
            "ours, perceptrons": Ours(algo, options, chargers=False, learn_charging=False),
            "ours, chargers share a network": Ours(algo, options, chargers=True, learn_charging=True),
            "ours, chargers follow a rule": Ours(algo, options, chargers=True, learn_charging=False),
        }
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
        for update in range(options.updates + 1):
            for name, side in sides.items():
                taken = side.update()
                if update:
                    seconds[name].append(taken)
        rates = {
            name: [settings["n_steps"] / statistics.median(v) for v in zip(*each, strict=True)]
            for name, each in seconds.items()
        }
        print(f"{algo}, {settings}, {options.hidden_sizes} on {options.device}:")
        for name, (learning, both) in rates.items():
            theirs = rates["Stable-Baselines3"]
            print(
                f"  {name}: learning {learning:,.0f} transitions/s, {learning / theirs[0]:.2f} times; "
                f"with collecting {both:,.0f}, {both / theirs[1]:.2f} times"
            )
        if algo == "ppo" and options.device == "cpu":
            rate = product_rate(settings["batch_size"], int(options.hidden_sizes.split(",")[0]))
            for name in ("ours, perceptrons", "ours, chargers follow a rule"):
                reached = sides[name].operations(settings["n_epochs"]) * rates[name][0]
                print(f"  {name}: {reached / 1e9:.0f} of {rate / 1e9:.0f} billion operations/s, {reached / rate:.0%}")


if __name__ == "__main__":
    main()
