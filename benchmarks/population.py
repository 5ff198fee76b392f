"""Population-based training over exact checkpoints, beside freeze-thaw searches with as many environment steps.

Run: `uv run python benchmarks/population.py --scenario path/to/schema.json --members 4 10 --seeds 3`.

A population begins with the starts of a search and random draws (Jaderberg et al. 2017). All members learn to the next rung.
Then each of the worst quarter takes the checkpoint and the hyperparameters of one of the best quarter, and moves these.
What shapes the network or the copies of the site stays, as checkpoints fit no other. A search has as many whole trainings.

Both are rated by the best evaluation that any of their policies had, on the validation split; differences are paired by seed.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"

import numpy as np
import tyro

from results import load
from results.statistics import paired_mean
from search_spaces import Assignment, SearchSpace
from tuning.search.proposals.prior import around

# What a member may change after it took the checkpoint of another.
MOVABLE = (
    "learning_rate", "batch_size", "n_epochs", "gamma", "gae_lambda", "clip_range", "ent_coef", "vf_coef", "max_grad_norm",
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """What to compare."""

    scenario: str = "iquitos-38"
    """Site."""
    members: tuple[int, ...] = (4, 10)
    """Sizes of populations, and whole trainings that a search may use."""
    steps: int = 200_000
    """Steps of a member, and the most of a trial."""
    rungs: int = 10
    """Evaluations of a member; after each but the last, the worst take over from the best."""
    seeds: int = 3
    """Runs of each, with seeds 0, 1, ..."""
    workers: int = 2
    """Runs at the same time, on one core each."""
    set: tuple[str, ...] = ()
    """Hyperparameters that are fixed, as `--set` of a search has them."""
    work: Path = Path("population")
    """Folder of the experiments; those that have ended are not run again."""


def successors(ratings: Mapping[int, float], random: np.random.Generator) -> dict[int, int]:
    """Who takes over from whom: each of the worst quarter from one of the best quarter.

    Args:
        ratings: of the last evaluation, by member; higher is better.
        random: source of chance.
    """
    order = sorted(ratings, key=lambda member: (-ratings[member], member))
    quarter = max(1, len(order) // 4)
    return {loser: order[int(random.integers(quarter))] for loser in order[-quarter:]} if len(order) > 1 else {}


def moved(
    own: Assignment, space: SearchSpace, fixed: Assignment, limits: Mapping[str, float], random: np.random.Generator
) -> Assignment:
    """An assignment near another one; only `MOVABLE` hyperparameters differ.

    Args:
        own: full assignment.
        space: that holds it.
        fixed: what is not searched.
        limits: see `SearchSpace.check`.
        random: source of chance.
    """
    kept = {name: value for name, value in own.items() if name not in MOVABLE or name in fixed}
    free = space.distributions(kept, limits)
    return space.assignment(around(space.point(own, free), free, random), kept, limits)


def population(options: Options, members: int, seed: int) -> float:
    """Train a population one member after the other; returns the best rating of all evaluations."""
    import ray
    import torch

    from common.generators import Stream, stream
    from tuning.cli.console import terminal
    from tuning.experiment.folder import create
    from tuning.experiment.settings import Settings
    from tuning.search.proposals.drawing import Drawing
    from tuning.search.proposals.plan import limits, plan, seen_by
    from tuning.search.record.trials import Key
    from tuning.search.run.preparation import prepare
    from tuning.trial.protocol import Proposal
    from tuning.trial.records import TrialRecords
    from tuning.trial.training import Training

    torch.set_num_threads(1)
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100 * 2**20, log_to_driver=False, configure_logging=False)
    name = f"population-{members}-{seed}"
    shutil.rmtree(options.work / name, ignore_errors=True)
    settings = Settings(
        scenario=options.scenario, steps=options.steps, evaluations=options.rungs, sampler="random", scheduler="none",
        trials=members, seed=seed, dir=str(options.work), name=name, set=(options.set,) if options.set else (),
    )  # fmt: skip
    settings = replace(settings, backend=settings.task.stepped_by)
    planned = plan(settings, None, settings.task)
    prepare(settings.task, terminal(), seens=seen_by(planned, settings.aim.weights))
    within = limits(options.steps)
    drawing = Drawing(settings, planned.space, planned.fixed, within, planned.starts)
    experiment = create(settings)
    records, running = TrialRecords(experiment), experiment.paths.running("population")
    running.touch()
    known, own = [], {}
    for member in range(members):
        known.append(drawing.draw(known, name))
        own[member] = known[-1].user_attrs[Key.HYPERPARAMETERS]
    random = np.random.default_rng(stream(Stream.PRIOR, seed, 0))
    best = -np.inf
    for rung in range(1, options.rungs + 1):
        ratings: dict[int, float] = {}
        for member in range(members):
            handout = records.hand_out(Proposal(member, own[member]))
            with Training(experiment, handout, running.exists) as trial:
                for report in trial.updates():
                    records.take(member, report)
                    if report.evaluated and report.evaluated.number >= rung:
                        ratings[member] = report.evaluated.outcome.score
                        break
        best = max(best, *ratings.values())
        for loser, winner in successors(ratings, random).items() if rung < options.rungs else ():
            shutil.rmtree(experiment.paths.checkpoints(loser))
            shutil.copytree(experiment.paths.checkpoints(winner), experiment.paths.checkpoints(loser))
            own[loser] = moved(own[winner], planned.space, planned.fixed, within, random)
    ray.shutdown()
    (options.work / name / "best.txt").write_text(repr(float(best)), encoding="utf-8")
    return float(best)


def search(options: Options, members: int, seed: int) -> float:
    """Run a freeze-thaw search with as many steps; returns the best rating of all evaluations."""
    folder = options.work / f"freeze-thaw-{members}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    given = {
        "scenario": options.scenario, "steps": options.steps, "evaluations": options.rungs, "budget": members * options.steps,
        "confirm": 0, "concurrency": 1, "seed": seed, "dir": options.work, "name": folder.name,
    }  # fmt: skip
    command = [
        sys.executable,
        "-m",
        "tuning.run",
        *(text for name, value in given.items() for text in (f"--{name}", str(value))),
    ]
    subprocess.run([*command, *(["--set", *options.set] if options.set else [])], check=True, stdout=subprocess.DEVNULL)
    best = float(load(folder).reports["score"].max())
    (folder / "best.txt").write_text(repr(best), encoding="utf-8")
    return best


ARMS = {"population": population, "freeze-thaw": search}


def run(options: Options, arm: str, members: int, seed: int) -> float:
    """The best rating of one run, which is read where it has ended before."""
    ended = options.work / f"{arm}-{members}-{seed}" / "best.txt"
    return float(ended.read_text(encoding="utf-8")) if ended.exists() else ARMS[arm](options, members, seed)


def main() -> None:
    options = tyro.cli(Options)
    options.work.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        runs = {
            members: {arm: [pool.submit(run, options, arm, members, seed) for seed in range(options.seeds)] for arm in ARMS}
            for members in options.members
        }
        for members, arms in runs.items():
            found = {arm: np.array([future.result() for future in futures]) for arm, futures in arms.items()}
            for arm, bests in found.items():
                print(f"{members} trainings, {arm}: " + ", ".join(f"{best:+.4f}" for best in bests), flush=True)
            print(f"  population less freeze-thaw: {paired_mean(found['population'], found['freeze-thaw'])}", flush=True)


if __name__ == "__main__":
    main()
