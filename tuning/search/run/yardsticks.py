"""What the policies of a search are compared with at its end: the same hours under rules, forecasts and perfect foresight.

Of the winner the hardest week is written hour by hour, beside what model predictive control and perfect foresight do in it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np
import pyarrow.parquet as pq
from rich.console import Console

from common.errors import InconsistentError, UserError
from common.texts import option_words, python_command
from envs.environments import fit
from envs.environments.year_cache import year_reference
from envs.gym.task import simple_rows
from envs.objective.columns import evaluation_columns
from envs.objective.hours import hardest_week, hours_of
from envs.scenarios.scenario import Window
from envs.scenarios.splits import Splits
from envs.task import SiteTask
from envs.yardsticks.bound import Objective, TooLongError, served_net_kwh
from envs.yardsticks.mpc_runs import mpc_episode
from envs.yardsticks.rows import Row, baseline_rows, bound_rows, mpc_rows
from results import load
from results.places import ROLLOUTS, WEEK_OF_BEST
from results.rollout import table
from results.table_files import judged_path, write_file, write_parquet
from tuning.cli.console import busy, say
from tuning.experiment.folder import Experiment
from tuning.experiment.reading import searched_here
from tuning.experiment.settings import Settings
from tuning.runtime.jobs import Job, run_jobs
from tuning.trial.policy import trained

SPLIT: Final = "validation"
PART = 8  # windows of model predictive control that a process runs one after another
MOST_SECONDS = 60.0  # that they may take; `python -m tuning.headroom` waits for all
_BOUNDS: dict[str, Objective] = {"co2_kg": "co2", "bill": "cost"}  # of objectives beside the score


def write_yardsticks(experiment: Experiment, written: Callable[[Path], None], console: Console) -> None:
    """Write them into the results, once: where they can be computed at the batch backend's speed, within a minute or two."""
    settings, folder = experiment.settings, experiment.paths.folder
    if settings.env:
        _write_simple(experiment, written, console)
        return
    controllers, bounds = (judged_path(folder, name, "batch") for name in ("baselines", "bounds"))
    if controllers.exists():
        return
    task = settings.site_task.judged
    if settings.reward != "improvement" or task.stepped_by != "batch":
        why = task.why_not_batch() or "the reward is the schema's own, by which the uncontrolled site does not score 0"
        say(console, f"not compared with rules, the bound and model predictive control: {why}")
        return
    bounded = tuple(_BOUNDS[objective.name] for objective in settings.aim.objectives if objective.name in _BOUNDS)
    try:
        with busy(console, "comparing with rules, the bound and model predictive control on the same hours") as tell:
            rows, limits, left_out = _compared(task, ("score", *bounded), tell)
    except (UserError, InconsistentError) as error:
        say(console, f"nothing to compare with: {error}")
        return
    if (why := fit.why_no_bound(task.site)) and fit.why_no_mpc(task.site):
        say(console, f"compared with rules alone, as there is no bound and no model predictive control: {why}")
    if left_out:
        # Headroom takes one objective, and shows CO2 and the bill in any case.
        aim = ("weights", "require") if settings.aim.second else ("weights", "objective", "require")
        plain, words = Settings(), list[str]()
        for name in (*aim, "trust_scenario", *(entry.name for entry in fields(Splits))):
            if (value := getattr(settings, name)) != getattr(plain, name):
                words += option_words(name, value)
        command = python_command("tuning.headroom", "--scenario", settings.scenario, *words)
        say(console, f"left out, as it takes over a minute: {' and '.join(left_out)}; {command} computes all")
    for path, content in ((bounds, limits), (controllers, rows)):
        if content:
            # As in all rows of the experiment: on another machine its site may lie elsewhere.
            content = [row | {"scenario": experiment.scenario} for row in content]
            write_file(path, content, measures=evaluation_columns(task.site.currency))
            written(path)


def _compared(
    task: SiteTask, objectives: Sequence[Objective], tell: Callable[[str], None]
) -> tuple[list[Row], list[Row], list[str]]:
    """Rows of controllers and of bounds, all made in parallel, and what is left out as it takes too long."""
    begun, windows, left_out = time.monotonic(), task.validation_windows, list[str]()
    jobs = [Job(partial(baseline_rows, task, SPLIT, windows), here=True)]
    if has_bound := not fit.why_no_bound(task.site):
        jobs.append(Job(partial(_bound_rows, task, windows, objectives), here=True))
    others = len(jobs)
    if has_mpc := not fit.why_no_mpc(task.site):
        parts = (windows[first : first + PART] for first in range(0, len(windows), PART))
        jobs += [Job(partial(mpc_rows, task, SPLIT, part, "learned"), True, here=True) for part in parts]

    def goes_on(done: Sequence[float]) -> bool:
        of_mpc = fmean(done[others:] or [1.0])
        tell(f"{of_mpc:.0%} of model predictive control")
        # What is half done by then ends soon, and would be thrown away.
        return time.monotonic() - begun < MOST_SECONDS or of_mpc >= 0.5 or done[0] < 1.0

    job_rows = run_jobs(jobs, goes_on)
    rows, limits = job_rows[0], job_rows[1] if has_bound else []
    if limits is None:
        left_out.append("the bound")
    if None in job_rows[others:]:
        left_out.append("model predictive control")
    elif has_mpc:
        rows += mpc_rows(task, SPLIT, windows, "learned")  # all windows as one, from the cache
    return rows, limits or [], left_out


def _bound_rows(task: SiteTask, windows: Sequence[Window], objectives: Sequence[Objective]) -> list[Row] | None:
    try:
        return bound_rows(task, SPLIT, windows, objectives, MOST_SECONDS)
    except TooLongError:
        return None


def _write_simple(experiment: Experiment, written: Callable[[Path], None], console: Console) -> None:
    path, task = judged_path(experiment.paths.folder, "baselines", "gymnasium"), experiment.settings.env_task
    if path.exists():
        return
    try:
        with busy(console, "comparing with what learned nothing"):
            # In another process, as trials are: this one runs no code of the environment.
            (rows,) = run_jobs([Job(partial(simple_rows, task, SPLIT))])
    except (UserError, InconsistentError) as error:
        say(console, f"nothing to compare with: {error}")
        return
    same = {"scenario": experiment.scenario, "split": SPLIT, "backend": task.stepped_by}
    write_file(path, [same | row for row in rows], measures=task.columns)
    written(path)


def beside(task: SiteTask, week: Window) -> dict[str, np.ndarray]:
    """Columns of `results.rollout` from other controllers, as far as the site has them, each of shape (hours,)."""
    columns = {}
    if not fit.why_no_mpc(task.site):
        columns["mpc_net_kwh"] = hours_of(mpc_episode(task, week, "learned"))["net_kwh"]
    if not fit.why_no_bound(task.site):
        columns["bound_net_kwh"] = served_net_kwh(task, week, MOST_SECONDS)
    return columns


def write_week(experiment: Experiment, written: Callable[[Path], None], console: Console) -> None:
    """Write the hours of the winner's hardest week, unless they are there. It has a trial with a score."""
    settings, folder = experiment.settings, experiment.paths.folder
    if settings.env:
        return
    best, path = load(folder).best, folder / ROLLOUTS / WEEK_OF_BEST
    number, task = int(best["trial"]), settings.site_task
    steps = best["kept_steps" if settings.keep == "best" else "steps"]
    about = {"experiment": settings.name, "trial": str(number), "steps": f"{steps:.0f}", "scenario": task.site.title}
    if path.is_file() and pq.read_schema(path).metadata.items() >= {k.encode(): v.encode() for k, v in about.items()}.items():
        return
    week = hardest_week(task.validation_windows, lambda year: year_reference(task.site, year))
    try:
        with busy(console, f"running trial {number} through the hardest hours"):
            with trained(searched_here(experiment, number), number, split=SPLIT, keep=settings.keep) as winner:
                env = winner.on_site.evaluation_env((week,), winner.shares)
                (episode,) = env.episodes(winner.policy)
                env.close()
            hours = hours_of(episode)
            if settings.reward == "improvement" and task.judged.stepped_by == "batch":
                hours |= beside(task.judged, week)
    except (UserError, InconsistentError, TooLongError) as error:
        say(console, f"the hardest hours are not shown: {str(error) or 'its bound takes too long'}")
        return
    about |= {"year": str(week.year), "backend": settings.stepped_by, "currency": task.site.currency}
    write_parquet(path, table(hours, about))
    written(path)
