"""At the end of a search whatever may be its best is rated by further episodes, or where CityLearn steps by further weeks.

The best of many evaluations owes part of its score, and that it was chosen, to luck in few of them.
"""

import math
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from common.errors import InconsistentError, UserError
from common.texts import counted
from envs.objective.aim import Aim, Row
from envs.objective.columns import evaluation_row
from results import Results, load
from results.live import PROGRESS_FILE, LiveSearch
from results.loader import ranked, ratings
from results.statistics import mean
from tuning.experiment.folder import Experiment, open_experiment
from tuning.experiment.reading import searched_here
from tuning.runtime.jobs import Job, run_jobs
from tuning.trial.policy import trained
from tuning.trial.records import TrialRecords

MOST_TRIALS = 8  # that are rated by further episodes
MOST_OF_A_SITE = 3  # by further weeks, which take CityLearn minutes


def look_again(experiment: Experiment, written: Callable[[Path], None], tell: Callable[[str], None]) -> None:
    """Rate trials by more than their evaluations, the best ones first, until no other one could be the best; Ray is there.

    One after the other, as each may show that the next one cannot be. No decision of a search depends on it.
    """
    settings, folder, records = experiment.settings, experiment.paths.folder, TrialRecords(experiment, written)
    tried, failed = set[int](), list[str]()
    if settings.env:
        most, further = MOST_TRIALS, settings.env_task.further.episodes
    else:
        most, further = MOST_OF_A_SITE, len(settings.site_task.further_windows)
    while len(tried) < most and (due := open_trials(results := load(folder), settings.aim, tried)):
        tried.add(number := due[0])
        rows = list[Row]()
        # A run that was killed may have left them.
        rated = results.rated_evaluations
        if rated.loc[rated["trial"] == number, "further"].isna().all():
            of_trial = searched_here(experiment, number).paths.folder
            try:
                (rows,) = run_jobs([Job(partial(further_rows, of_trial, number, settings.trust_scenario), here=True)])
            except (UserError, InconsistentError) as error:
                failed.append(f"trial {number}: {error}")
                continue
        records.add_further(number, rows, further)
    scored = load(folder).scored
    for number in scored.loc[scored["further_episodes"].isna(), "trial"].tolist():
        records.update(number, further_episodes=0)
    best = (results := load(folder)).best
    # Whoever watches it sees the same best.
    with suppress(OSError, ValueError):
        told = f"{settings.aim.told_rating(float(ratings(ranked(results.scored)).iloc[0]))} (trial {best['trial']})"
        replace(LiveSearch.read(folder), best=told).write(folder)
        written(folder / PROGRESS_FILE)
    if failed:
        others = f"; and {counted(len(failed) - 1, 'other')}" if failed[1:] else ""
        tell(f"not rated by {settings.further_words}: {failed[0]}{others}")


def open_trials(results: Results, aim: Aim, tried: Collection[int] = ()) -> list[int]:
    """Numbers of the trials that may be the best, by rating: their intervals reach above the best of those looked at again."""
    rated, scored = results.rated_evaluations, results.scored
    if not results.of_environment:
        # Without episodes there are no intervals. Those that an end of a run has passed over have a 0.
        return [n for n in ranked(scored[scored["further_episodes"].isna()])["trial"].tolist() if n not in tried]
    looked = scored["further_episodes"] > 0
    best = ratings(scored[looked]).max() if looked.any() else -math.inf
    numbers = [number for number in ranked(scored[~looked])["trial"].tolist() if number not in tried]
    return [number for number in numbers if _highest(rated[rated["trial"] == number].to_dict("records"), aim) > best]


def _highest(rows: list[Row], aim: Aim) -> float:
    """The rating that a policy may have, by the interval of its objective over episodes, see `results.statistics.mean`."""
    if len(rows) < 2:
        return -math.inf
    values = mean(np.array([row[aim.objective.name] for row in rows], dtype=float))
    return aim.rating(aim.outcome(rows)) + values.high - values.value


def further_rows(folder: Path, number: int, is_trusted: bool) -> list[Row]:
    """Rows of a trial's policy in further episodes, or in the other weeks of its site."""
    experiment = open_experiment(folder).trusting(is_trusted)
    settings = experiment.settings
    with trained(experiment, number, split="validation", keep=settings.keep) as policy:
        same = {
            "trial": number, "steps": policy.steps, "scenario": experiment.scenario, "split": "validation",
            "backend": settings.stepped_by, "further": True,
        }  # fmt: skip
        if settings.env:
            rows = settings.env_task.further.rows(policy.policy, "validation")
        else:
            site = policy.on_site
            rows = list(map(evaluation_row, site.rate(policy.policy, site.further_windows, policy.shares)))
        return [same | row for row in rows]
