"""Record a landscape: learning curves of many assignments on a site, as a small Parquet in `benchmarks/landscapes/`.

Run: `uv run python benchmarks/record_landscape.py --site iquitos-38 --trials 100 --work recordings`. It trains, or resumes, two
experiments of random draws: over the whole space, and over a narrow one around the default. `--from FOLDER...` packs the
finished trials of experiments that are there, and trains nothing. A part of a landscape can be packed at any time.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import tyro

from benchmarks.replay.command import carry_out
from benchmarks.replay.landscape import Landscape, gathered, save
from common.errors import UserError
from results import load
from search_spaces import SearchSpace
from search_spaces.overrides import override
from search_spaces.parameter import Kind, Value
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, open_experiment
from tuning.search.models.curve_model import Point
from tuning.search.proposals.plan import Plan, plan

FOLDER = Path(__file__).parent / "landscapes"
NEAR = {  # a narrow space around PPO's default
    "learning_rate": (2e-4, 1.5e-3), "n_steps": (2048, 8192), "batch_size": (256, 1024), "n_epochs": (3, 8),
    "gamma": (0.97, 0.997), "gae_lambda": (0.9, 0.98), "clip_range": (0.15, 0.3), "ent_coef": (1e-7, 1e-3),
    "max_grad_norm": (0.3, 1.5), "log_std_init": (-2.2, -0.8),
}  # fmt: skip


class LandscapeError(UserError):
    """A landscape that cannot be recorded or packed; names the folder and what to do."""


@dataclass(frozen=True)
class Options:
    """What to record."""

    name: str = ""
    """Name of the landscape and its file; by default site and algorithm."""
    site: str = "iquitos-38"
    """Scenario."""
    algo: str = "ppo"
    """Algorithm; the narrow space is known for ppo alone, others draw over the whole space."""
    trials: int = 100
    """Assignments, half of them around the default."""
    steps: int = 500_000
    """Steps of each."""
    evaluations: int = 20
    """Evaluations of each."""
    work: Path = Path("experiments")
    """Folder of the experiments; those that are there are resumed."""
    packed: Annotated[tuple[Path, ...], tyro.conf.arg(name="from")] = ()
    """Experiments to pack instead, in the order of their trials."""
    seed: int = 0
    """Seed of the first experiment; the second has the next."""


def commands(options: Options, space_file: Path) -> list[tuple[Path, list[str]]]:
    """The experiments' folders, and the command that begins or resumes each.

    Args:
        options: what to record.
        space_file: the narrow space.
    """
    found = []
    halves = {"near": options.trials // 2, "whole": options.trials - options.trials // 2}
    if options.algo != "ppo":
        halves = {"whole": options.trials}
    for seed, (part, trials) in enumerate(halves.items(), options.seed):
        folder = options.work / f"{_name(options)}-{part}"
        run = [sys.executable, "-m", "tuning.run"]
        if folder.exists():
            found.append((folder, [*run, "--resume", str(folder), "--trials", str(trials)]))
            continue
        given = {
            "algo": options.algo, "scenario": options.site, "sampler": "random", "scheduler": "none", "steps": options.steps,
            "evaluations": options.evaluations, "trials": trials, "seed": seed, "dir": options.work, "name": folder.name,
            "keep-checkpoints": "best:1",
        }  # fmt: skip
        run += [text for name, value in given.items() for text in (f"--{name}", str(value))]
        found.append((folder, [*run, *(["--space", str(space_file)] if part == "near" else [])]))
    return found


def packed(name: str, folders: Sequence[Path]) -> Landscape:
    """The landscape of the finished trials of some experiments with equal steps and evaluations.

    Args:
        name: of the landscape.
        folders: of the experiments, of one algorithm.

    Raises:
        LandscapeError: if no trial has finished, or experiments differ in their evaluations.
    """
    points: list[dict[str, float | int | str]] = []
    curves: list[list[float]] = []
    costs: list[float] = []
    due, budget = 0, 0
    space = wide_space(folders)
    distributions = dict(sorted(space.distributions({}).items()))
    for folder in folders:
        results = load(folder)
        complete = results.trials[(results.trials["state"] == "complete") & results.trials["same_as"].isna()]
        for _, trial in complete.iterrows():
            reports = results.reports[(results.reports["trial"] == trial["trial"]) & results.reports["score"].notna()]
            ratings = reports.sort_values("steps")["score"].tolist()
            due = due or len(ratings)
            if len(ratings) != due:
                raise LandscapeError(
                    f"{folder}: trial {trial['trial']} has {len(ratings)} evaluations, others {due}; pack them apart"
                )
            assignment = {p.name: _plain(trial.get(f"hp_{p.name}", p.default), p.kind, p.default) for p in space.parameters}
            points.append(space.point(space.whole(assignment), distributions))
            curves.append(ratings)
            # Seconds of a core: on a busy machine the wall clock tells of other work.
            cores = results.reports.loc[results.reports["trial"] == trial["trial"], "cpu_cores"].mean()
            costs.append(cores * (trial["environment_seconds"] + trial["learner_seconds"]) / trial["steps"])
            budget = int(trial["budget_steps"])
    if not points:
        raise LandscapeError(f"{', '.join(map(str, folders))}: no trial has finished; let one end first")
    assignments, ratings, seconds = gathered(points, np.array(curves), np.array(costs))
    begun_with = [space.whole(start) for folder in folders for start in _planned(open_experiment(folder)).starts]
    starts = starts_among([space.point(start, distributions) for start in begun_with], assignments)
    return Landscape(
        name,
        assignments,
        distributions,
        np.arange(1, due + 1) * (budget // due),
        ratings,
        seconds / (seconds[starts[0]] if starts else float(np.median(seconds))),
        starts,
    )


def starts_among(starts: Sequence[Point], points: Sequence[Point]) -> tuple[int, ...]:
    """Where starts are among the points, each once; nowhere where the first one is not, which is the default."""
    if not starts or starts[0] not in points:
        return ()
    return tuple(dict.fromkeys(points.index(start) for start in starts if start in points))


def wide_space(folders: Sequence[Path]) -> SearchSpace:
    """The algorithm's space as it is fitted to the sites of some experiments, with what their own files search beside it.

    Bounds of one experiment do not cut the others. What all of them fix is not searched.

    Raises:
        LandscapeError: if the experiments are of several algorithms.
    """
    experiments = [open_experiment(folder) for folder in folders]
    names = {experiment.settings.algo for experiment in experiments}
    if len(names) != 1:
        raise LandscapeError(
            f"{', '.join(sorted(names)) or 'no experiment'}: a landscape is of one algorithm; name such folders"
        )
    searched: dict[str, Any] = {}
    for experiment in experiments:
        planned, file = _planned(experiment), experiment.paths.space
        own = override(planned.space, file) if file.exists() else planned.space
        for each in planned.space.parameters:
            if each.name not in planned.fixed:
                searched[each.name] = searched.get(each.name) or each.search or own[each.name].search
    space = algorithm(names.pop()).space
    return SearchSpace(tuple(replace(own, search=searched.get(own.name)) for own in space.parameters))


def _planned(experiment: Experiment) -> Plan:
    """What a search with its settings varies and begins with, without its own file."""
    settings = experiment.settings
    return plan(settings, None, settings.task)


def _name(options: Options) -> str:
    return options.name or f"{options.site}-{options.algo}"


def _plain(value: Any, kind: Kind, default: Value) -> Value:
    """A value of a table's cell as the space has it; empty cells are off, as the default is where it has no column."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if kind is Kind.FLAG:
        return bool(value)
    return int(value) if kind is Kind.INTEGER else float(value) if kind is Kind.NUMBER else str(value)


def narrow_space() -> str:
    """The narrow space as TOML, for `--space`."""
    return "".join(f"{name} = {{low = {low}, high = {high}}}\n" for name, (low, high) in NEAR.items())


def main(options: Options) -> Path:
    """Record or pack; returns the file."""
    folders, path = list(options.packed), FOLDER / f"{_name(options)}.parquet"
    if not folders:
        options.work.mkdir(parents=True, exist_ok=True)
        space_file = options.work / f"{_name(options)}-near.toml"
        space_file.write_text(narrow_space(), encoding="utf-8")
        for folder, command in commands(options, space_file):
            subprocess.run(command, check=True)
            folders.append(folder)
    landscape = packed(_name(options), folders)
    save(landscape, path)
    print(f"{path}: {landscape.describe()}, {path.stat().st_size:,} bytes")
    return path


if __name__ == "__main__":
    carry_out(main, Options, __doc__)
