"""What is done at the end of a search in an environment: whatever might be its best is rated by further episodes.

The best of many evaluations owes part of its score to luck in its few episodes, and so does the choice of it. Further episodes
of those that their intervals do not tell apart tell which is the best, and what it scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import numpy as np
import ray
from rich.console import Console

from common.errors import UserError
from envs.objective.aim import Aim, Row
from results import Results, load
from results.loader import ranked, ratings
from results.statistics import mean
from tuning.cli.console import busy, say
from tuning.experiment.folder import Experiment, open_experiment
from tuning.experiment.reading import searched_here
from tuning.search.run.preparation import Job, run_jobs
from tuning.trial.policy import trained
from tuning.trial.records import TrialRecords

MOST_TRIALS = 8  # that are rated by further episodes


def look_again(experiment: Experiment, written: Callable[[Path], None], console: Console) -> None:
    """Rate trials by further episodes, the best ones first, until no other one could be the best. Ray is there.

    Those of the whole search are rated by as many episodes as before; its decisions do not depend on these.
    """
    settings, folder, records = experiment.settings, experiment.paths.folder, TrialRecords(experiment, written)
    if not settings.env:
        return
    tried, at_once = set[int](), max(1, int(ray.cluster_resources().get("CPU", 1)))
    with busy(console, "rating what may be the best by further episodes"):
        while due := open_trials(results := load(folder), settings.aim, tried)[: min(at_once, MOST_TRIALS - len(tried))]:
            tried.update(due)
            known = results.rated_evaluations["trial"].value_counts()
            # A run that was killed may have left them, and a trial that went on may have kept the policy that has them.
            lacking = [number for number in due if known[number] <= settings.episodes]
            folders = {number: searched_here(experiment, number).paths.folder for number in lacking}
            jobs = [Job(partial(_further_rows, folders[number], number, settings.trust_scenario)) for number in lacking]
            found = dict(zip(lacking, run_jobs(jobs), strict=True))
            for number in due:
                if isinstance(rows := found.get(number, []), str):
                    say(console, f"trial {number} is not rated by further episodes: {rows}")
                else:
                    records.add_further(number, rows)


def open_trials(results: Results, aim: Aim, tried: Collection[int] = ()) -> list[int]:
    """Numbers of the trials that may be the best, by rating: their intervals reach above the best of those looked at again."""
    rated, scored = results.rated_evaluations, ranked(results.scored)
    looked = scored["further_episodes"].notna()
    best = ratings(scored[looked]).max() if looked.any() else -math.inf
    numbers = [number for number in scored.loc[~looked, "trial"].tolist() if number not in tried]
    return [number for number in numbers if _highest(rated[rated["trial"] == number].to_dict("records"), aim) > best]


def _highest(rows: list[Row], aim: Aim) -> float:
    """The rating that a policy may have, by the interval of its objective over episodes, see `results.statistics.mean`."""
    if len(rows) < 2:
        return -math.inf
    values = mean(np.array([row[aim.objective.name] for row in rows], dtype=float))
    return aim.rating(aim.outcome(rows)) + values.high - values.value


def _further_rows(folder: Path, number: int, is_trusted: bool) -> list[Row] | str:
    """Rows of a trial's policy in further episodes, or why there are none."""
    experiment = open_experiment(folder).trusting(is_trusted)
    settings = experiment.settings
    try:
        with trained(experiment, number, split="validation", keep=settings.keep) as policy:
            same = {"trial": number, "steps": policy.steps, "scenario": experiment.scenario, "split": "validation"}
            rows = settings.env_task.further.rows(policy.policy, "validation")
            return [same | {"backend": settings.stepped_by} | row for row in rows]
    except UserError as error:
        return str(error)
