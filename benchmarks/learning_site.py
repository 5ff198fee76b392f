"""What each algorithm learns of a site, over several seeds, on years that it never saw.

Run: `uv run python benchmarks/learning_site.py [--algos ppo a2c] [--steps.ppo N]`. Each run trains an algorithm's default
preset in a process of its own. Then the mode of its policy runs through all validation and test years. It is compared with the
uncontrolled site and the solar-priority rule. Intervals of means are 95 %, bootstrapped over the seeds.

`--variants gamma=0.95 plan=learned` also runs each seed with these changes, by turns, and tells the paired differences.
"""

import logging
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
# Else Ray would copy the project for its workers.
os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"

import numpy as np
import tyro

from envs.objective.evaluate import Policy
from envs.objective.weights import DEFAULT
from envs.seen import Seen

COLUMNS = ("score", "co2", "bill", "served")
SPLITS = ("validation", "test")
COPIES = 64


@dataclass(frozen=True)
class Options:
    """What to run."""

    algos: tuple[str, ...] = ("ppo", "a2c", "sac")
    """Algorithms."""
    scenario: str = "iquitos"
    """Scenario."""
    steps: dict[str, int] = field(default_factory=lambda: {"ppo": 500_000, "a2c": 500_000, "sac": 300_000})
    """Budget of each algorithm."""
    seeds: int = 5
    """Runs of each, with seeds 0, 1, ..."""
    workers: int = 2
    """Runs at the same time, on one core each."""
    preset: str = "default"
    """Named assignment of hyperparameters."""
    change: dict[str, str] = field(default_factory=dict)
    """Hyperparameters that differ from the preset."""
    variants: tuple[str, ...] = ()
    """Further changes, each "name=value" or several with commas between, that are compared with the runs without."""
    elsewhere: str = ""
    """Scenario on which the policies are judged; with shared_policy=true, it may be another than they are trained on."""


def judge(scenario: str, policy: Policy | None, seen: Seen) -> dict[str, list[float]]:
    """`COLUMNS` of a policy on all weeks of each split; None for the solar-priority rule."""
    from envs.objective.evaluate import evaluate, score
    from envs.task import SiteTask
    from envs.yardsticks.baselines import solar_priority

    task, found = SiteTask(scenario, seen=seen), {}
    for split in SPLITS:
        env: Any = task.evaluation_env(task.site.windows(split))
        evaluations = evaluate(env, policy or solar_priority(env.present))
        now, before = (
            {name: sum(kpis[name] for kpis in years) for name in ("co2_kg", "bill", "ev_required_kwh", "ev_missing_kwh")}
            for years in ([each.kpis for each in evaluations], [each.uncontrolled for each in evaluations])
        )
        # Some vehicles leave too early for any charger: what the uncontrolled site serves is all there is.
        served, can_be = (own["ev_required_kwh"] - own["ev_missing_kwh"] for own in (now, before))
        changes = [now[name] / before[name] - 1.0 for name in ("co2_kg", "bill")]
        found[split] = [score(evaluations), *changes, served / can_be if can_be else 1.0]
    return found


def run(algo: str, options: Options, seed: int) -> tuple[dict[str, list[float]], float]:
    """One run, in a process of its own; with the seconds that training took."""
    import ray
    import torch

    from envs.task import SiteTask
    from tuning.algorithms.registry import algorithm
    from tuning.algorithms.trainer import Setup

    torch.set_num_threads(1)
    logging.getLogger("ray").setLevel(logging.ERROR)
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100 * 2**20, log_to_driver=False)
    spec = algorithm(algo)
    given = spec.preset(options.preset, spec.space.parse(options.change))
    seen = Seen.of(DEFAULT, given)
    task = SiteTask(options.scenario, seen=seen)
    setup = Setup(
        given,
        task.training_env,
        COPIES,
        options.steps[algo],
        seed,
        False,
        task.layout().chargers,
        district=task.district(),
        planned=None if seen.plan == "none" else task.buildings(),
    )
    start, steps = time.perf_counter(), 0
    trainer = spec.build(setup)
    while steps < options.steps[algo]:
        steps = trainer.update().steps
    seconds = time.perf_counter() - start
    there = options.elsewhere
    policy = trainer.acting_on(task.elsewhere(there).buildings()).policy if there else trainer.policy()
    found = judge(there or options.scenario, policy, seen)
    trainer.stop()
    ray.shutdown()
    return found, seconds


def described(values: np.ndarray) -> str:
    """Mean and 95 % bootstrap interval."""
    means = np.random.default_rng(0).choice(values, (10_000, len(values))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{values.mean():+.4f} ({low:+.4f} to {high:+.4f})"


def main() -> None:
    options = tyro.cli(Options)
    for split, values in judge(options.elsewhere or options.scenario, None, Seen()).items():
        print(f"solar-priority rule, {split}: " + ", ".join(f"{n} {v:+.4f}" for n, v in zip(COLUMNS, values, strict=True)))
    spawn = multiprocessing.get_context("spawn")
    changes = ("", *options.variants)
    arms = [replace(options, change={**options.change, **_changes(each)}) for each in changes]
    with ProcessPoolExecutor(options.workers, mp_context=spawn, max_tasks_per_child=1) as pool:
        runs = {
            algo: [[pool.submit(run, algo, arm, seed) for arm in arms] for seed in range(options.seeds)]
            for algo in options.algos
        }
        for algo, futures in runs.items():
            results = []
            for seed, of_seed in enumerate(futures):
                results.append([future.result() for future in of_seed])
                for change, (found, seconds) in zip(changes, results[-1], strict=True):
                    scores = ", ".join(f"{split} {found[split][0]:+.4f}" for split in SPLITS)
                    print(f"{algo} {change} seed {seed}: {scores}, {seconds:.0f} s", flush=True)
            _report(algo, options, changes, results)


def _changes(variant: str) -> dict[str, str]:
    """Hyperparameters of a variant."""
    return {name: value for name, _, value in (each.partition("=") for each in variant.split(",")) if name}


def _report(
    algo: str, options: Options, changes: tuple[str, ...], results: list[list[tuple[dict[str, list[float]], float]]]
) -> None:
    """Print means, and for variants the differences from the runs of the same seed without them."""
    for at, change in enumerate(changes):
        seconds = np.mean([row[at][1] for row in results])
        print(f"{algo} {change}, {options.steps[algo]:,} steps in {seconds:.0f} s on average, seeds 0-{options.seeds - 1}:")
        for split in SPLITS:
            table = np.array([row[at][0][split] for row in results])
            print(f"  {split}: " + ", ".join(f"{n} {described(v)}" for n, v in zip(COLUMNS, table.T, strict=True)))
            if change:
                more = table - np.array([row[0][0][split] for row in results])
                print(
                    "    more than without: " + ", ".join(f"{n} {described(v)}" for n, v in zip(COLUMNS, more.T, strict=True))
                )


if __name__ == "__main__":
    main()
