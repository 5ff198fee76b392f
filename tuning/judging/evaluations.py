"""Evaluations on the test split, in processes of their own: contenders' runs, baselines, bounds."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from common.measure import SCORE, Measure
from envs.environments.backend import Backend
from envs.gym.task import EnvTask, own_rows, simple_rows
from envs.objective.aim import SCORE_ALONE, Aim
from envs.objective.columns import CHANGED
from envs.objective.evaluate import ValidityError
from envs.objective.kpis import CITYLEARN
from envs.scenarios.scenario import Window
from envs.task import SiteTask, Task
from envs.yardsticks.rows import Row, baseline_rows, by_year, row_of
from results.table_files import ResultsError, read_file, write_file
from tuning.runtime import jobs as in_parallel

SPLIT: Final = "test"
SINGLE = float(np.finfo(np.float32).eps)
AGREEMENT = 1e-6  # relative difference of a KPI between backends; rewards with a power differ by two float32 ulps
# Temperatures of models differ in single hours by up to 0.001 C. The relative difference of what follows from these, and the
# absolute one: a constant, or that of one hour which is counted or not, as a part of a column and with a weight.
FELT_AGREEMENT = 1e-3
FELT: Mapping[str, tuple[float, str, float]] = {
    SCORE.name: (1e-5, "", 0.0), "term_comfort": (1e-5, "", 0.0), "unmet_degree_hours": (1e-3, "", 0.0),
    "discomfort": (0.0, "occupied_hours", 1.0), "outage_discomfort": (0.0, "outage_hours", 1.0),
    "citylearn_2023_score": (1e-5, "occupied_hours", 0.3),
}  # fmt: skip


@dataclass(frozen=True)
class Job:
    """One evaluation in a process of its own."""

    part: Path  # file for its rows, and for the rows of the same run's other years
    evaluate: Callable[[], list[Row]]  # a function of a module with its arguments, as another process runs it


def run_all(
    jobs: Sequence[Job], on_done: Callable[[list[Row]], None], on_wait: Callable[[int], None], measures: Mapping[str, Measure]
) -> None:
    """Run jobs in parallel on a started Ray; a file is written once all of its rows are complete, and `on_done` gets them.

    `on_wait` gets the number of jobs that are left, again and again. Rows have these measures.
    """
    left, rows = Counter(job.part for job in jobs), defaultdict[Path, list[Row]](list)

    def take(number: int, job_rows: list[Row]) -> None:
        part = jobs[number].part
        rows[part] += job_rows
        left[part] -= 1
        if not left[part]:
            write_file(part, sorted(rows[part], key=lambda row: int(row["year"])), measures=measures)
            on_done(rows[part])

    def goes_on(done: Sequence[float]) -> bool:
        on_wait(sum(part < 1.0 for part in done))
        return True

    in_parallel.run_jobs([in_parallel.Job(job.evaluate) for job in jobs], goes_on, take)


def years_of(task: Task) -> set[int]:
    """Years that are judged; of an environment the numbers of its episodes."""
    return {window.year for window in task.site.windows(SPLIT)} if isinstance(task, SiteTask) else set(range(task.episodes))


def run_jobs(
    task: Task, folder: Path, number: int, about: Row, backend: Backend | Literal["gymnasium"], part: Path
) -> list[Job]:
    """Evaluations of one run of a contender.

    It is one job, because restoring a policy takes longer than its years; CityLearn is slower and gets one job a year.
    """
    windows = task.site.windows(SPLIT) if isinstance(task, SiteTask) else ()
    groups = by_year(windows).values() if backend == "citylearn" else (windows,)
    return [Job(part, partial(_run_rows, task, folder, number, group, backend, about)) for group in groups]


def _run_rows(
    task: Task, folder: Path, number: int, windows: tuple[Window, ...], backend: Backend | Literal["gymnasium"], about: Row
) -> list[Row]:
    from tuning.experiment.folder import open_experiment
    from tuning.trial.policy import trained

    with trained(open_experiment(folder).trusting(task.trusted), number, split=SPLIT) as policy:
        if isinstance(task, EnvTask):
            rows = _of_episodes(task, task.rows(policy.policy, SPLIT))
        else:
            assert backend != "gymnasium"
            evaluations = policy.on_site.by(backend).rate(policy.policy, windows, policy.shares)
            rows = [row_of(evaluation, task, SPLIT, backend) for evaluation in evaluations]
    return [{**about, "steps": policy.steps, **row} for row in rows]


def _of_episodes(task: EnvTask, rows: Iterable[Row]) -> list[Row]:
    return [{"scenario": task.source.name, "split": SPLIT, "backend": task.stepped_by, **row} for row in rows]


def _simple_rows(task: EnvTask, policy: str) -> list[Row]:
    return _of_episodes(task, own_rows(task, SPLIT, policy) if policy else simple_rows(task, SPLIT))


def baseline_job(task: Task, part: Path, policy: str = "") -> Job:
    """Evaluations of all baselines on all years, or in all episodes, there with the user's `policy` too."""
    if isinstance(task, EnvTask):
        return Job(part, partial(_simple_rows, task, policy))
    return Job(part, partial(baseline_rows, task, SPLIT, task.site.windows(SPLIT)))


def yearly_jobs(rows: Callable[..., list[Row]], task: SiteTask, part: Path, *more: Any) -> list[Job]:
    """Evaluations by `mpc_rows` or `bound_rows` of `envs.yardsticks.rows`, a job a year; `more` are their further arguments."""
    return [Job(part, partial(rows, task, SPLIT, windows, *more)) for windows in by_year(task.site.windows(SPLIT)).values()]


def check_agreement(part: Path, other: Path) -> None:
    """Raise a ValidityError if two backends give different figures for a run, a ResultsError if these are of different ones."""
    rows = [sorted(read_file(path), key=lambda row: int(row["year"])) for path in (part, other)]
    if [row["year"] for row in rows[0]] != [row["year"] for row in rows[1]]:
        raise ResultsError(f"{part} and {other} are of different years or episodes: remove both, and judge again")
    for first, second in zip(*rows, strict=True):
        for name, value in first.items():
            if not isinstance(value, float):
                continue
            # The batch backend has no ratio where thermal storages act.
            if name in CITYLEARN and np.isnan(value) != np.isnan(second[name]):
                continue
            # A sum of differences of hourly flows in single precision: each is known to the last digit of a flow.
            least = SINGLE * (first["import_kwh"] + first["export_kwh"]) if name == CHANGED else AGREEMENT
            relative = AGREEMENT
            if (first.get("occupied_hours") or 0.0) > 0.0 and name in FELT:
                constant, hours, weight = FELT[name]
                relative, least = FELT_AGREEMENT, constant + (weight / max(first.get(hours) or 1.0, 1.0) if hours else 0.0)
            if not np.isclose(value, second[name], rtol=relative, atol=least, equal_nan=True):
                raise ValidityError(
                    f"{first['contender']}, year {first['year']}: {name} is {value!r} by {first['backend']} and "
                    f"{second[name]!r} by {second['backend']}; --backend {second['backend']} judges by that alone"
                )


def objective_of(rows: Sequence[Mapping[str, Any]], aim: Aim = SCORE_ALONE) -> float:
    """A run's score or objective over its years, turned so that more is better. Raises a ValidityError if it is no number."""
    value = aim.goal(aim.outcome(rows))
    if not np.isfinite(value):
        what = "a score" if aim.is_score else aim.objective.name
        raise ValidityError(f"{rows[0]['contender']}, run {rows[0]['trial']}: {what} of {value} is no number")
    return value
