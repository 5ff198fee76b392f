"""What comes between the start of Ray and the first trial.

Files of the years and uncontrolled runs that the cache lacks are made in parallel, and a search that cannot work is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import ray
from ray.util.queue import Empty, Queue
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from common.errors import InconsistentError, UsageError, UserError
from envs.environments.seen_year import forecasts_to_make, has_shadow, models_to_train, shadow
from envs.environments.year_cache import is_prepared, prepare_year
from envs.environments.year_forecasts import learned_model, learned_table
from envs.forecasts import Kind
from envs.planning.mpc import HORIZON
from envs.scenarios.splits import Split
from envs.seen import Seen
from envs.task import Task
from envs.yardsticks.lessons import has_part, lesson_part, lesson_windows, parts_of, prepare_teacher
from tuning.cli.console import NEWS_SECONDS, say
from tuning.experiment.settings import Settings
from tuning.memory.machine import Look
from tuning.memory.placement import Placement
from tuning.memory.planner import Planner
from tuning.runtime.processes import end_with_parent
from tuning.runtime.ray_session import check_nodes
from tuning.search.proposals.plan import Plan, limits

SPLITS: tuple[Split, ...] = ("train", "validation")  # that a search sees

LEAST_NEWS = 0.02  # part of a task between two messages
SHOWN = 3  # jobs in a line, where there is no terminal


def prepare(
    task: Task,
    console: Console,
    splits: Sequence[Split] = SPLITS,
    seens: Sequence[Seen] = (Seen(),),
) -> None:
    """Prepare the years of some splits, one Ray task a year.

    Then what policies see beside their observations, likewise.

    Raises:
        ScenarioError: if the scenario's data are not valid.
        CacheError: if the cache cannot be read or written.
    """
    scenario = task.site
    of_splits = {year for split in splits for year in scenario.years(split)}
    day_peak = seens[0].day_peak
    years = sorted(year for year in of_splits if not is_prepared(scenario, year, day_peak))
    if years:
        *others, last = map(str, years)
        which = f"years {', '.join(others)} and {last}" if others else f"year {last}"
        say(console, f"{scenario.title}: preparing {which}, this once: series, tables, the uncontrolled site")
        _run([Job(f"year {year}", partial(prepare_year, scenario, year, day_peak=day_peak), True) for year in years], console)
    parts = list(dict.fromkeys(part for seen in seens for part in seen.parts))
    lacking = [(year, part) for year in sorted(of_splits) for part in parts if not has_shadow(scenario, year, part)]
    if lacking:
        say(console, f"{scenario.title}: preparing what policies see, this once: {', '.join(map(_words, parts))}")
        if any(part.learns for _, part in lacking):
            # The other splits are forecast by models of the train split.
            jobs = [
                Job(_model_title(kind, fold), partial(learned_model, scenario, kind, hours, fold))
                for kind, hours, fold in models_to_train(scenario)
            ]
            _run(jobs, console)
            # A year's plans are made hour after hour, by one core. Its forecasts are no part of that.
            years = list(dict.fromkeys(year for year, part in lacking if part.learns))
            jobs = [
                Job(f"year {year}, forecasts of {kind}", partial(learned_table, scenario, year, kind, HORIZON, crossed=True))
                for year, kind in forecasts_to_make(scenario, years)
            ]
            _run(jobs, console)
        jobs = [Job(f"year {year}, {_words(part)}", partial(shadow, scenario, year, part), True) for year, part in lacking]
        _run(jobs, console)


def _model_title(kind: Kind, fold: int | None) -> str:
    return f"learned {kind}" if fold is None else f"learned {kind}, fold {fold + 1}"


def prepare_lessons(task: Task, console: Console) -> None:
    """Make the lessons of model predictive control that the cache lacks, one Ray task a part."""
    site = task.site
    parts = [part for part in range(parts_of(site)) if not has_part(task, part)]
    if not parts:
        return
    hours = sum(window.hours for window in lesson_windows(site))
    say(console, f"{site.title}: the teacher plans {hours:,} hours of the train split, this once")
    _run([Job("forecasts", partial(prepare_teacher, site))], console)
    _run([Job(f"lessons {part}", partial(lesson_part, task, part), True) for part in parts], console)


def _words(part: Seen) -> str:
    """What a part of what is seen is, for people."""
    return f"plan with the forecasts {part.plan}"


@dataclass(frozen=True)
class Job:
    """Something that is prepared, in a process of its own."""

    title: str  # for people
    work: Callable[..., object]
    tells: bool = False  # whether it takes `on_progress`, which it tells how far it is, as a part


def _run(tasks: Sequence[Job], console: Console) -> None:
    """Run tasks in parallel, and show how far each is."""
    queue = Queue(actor_options={"num_cpus": 0})
    running = {_prepare.remote(task, queue): task.title for task in tasks}
    begun = told = time.monotonic()
    with Progress(
        TextColumn("  {task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"), TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    ) as bars:  # fmt: skip
        bar = {task.title: bars.add_task(task.title, total=1.0) for task in tasks}
        while running:
            done, _ = ray.wait(list(running), timeout=0.5)
            for one in done:
                result_of(one)
                bars.update(bar[running.pop(one)], completed=1.0)
            for title, part in _news(queue):
                bars.update(bar[title], completed=part)
            if not console.is_terminal and time.monotonic() - told >= NEWS_SECONDS:
                told = time.monotonic()
                far = [f"{task.description} {task.percentage:.0f} %" for task in bars.tasks if not task.finished]
                more = f" and {len(far) - SHOWN} more" if len(far) > SHOWN else ""
                say(console, f"{told - begun:.0f} s: {', '.join(far[:SHOWN])}{more}")
    queue.shutdown()


def _news(queue: Queue) -> Iterator[tuple[str, float]]:
    """How far tasks are. A queue that was lost with its node tells nothing more, and the tasks go on, or are done again.

    Raises a NodeLostError if Ray has no node left.
    """
    try:
        while True:
            yield queue.get_nowait()
    except Empty:
        return
    except ray.exceptions.RayActorError:
        check_nodes()


def _tell(queue: Queue, title: str, part: float) -> None:
    """Tell how far a task is; see `_news`."""
    with suppress(ray.exceptions.RayActorError):
        queue.put_nowait((title, part))


def result_of(task: Any) -> Any:
    """Result of a task; errors of ours are raised without Ray's wrapping."""
    try:
        return ray.get(task)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, UserError | InconsistentError):
            raise error.cause from None
        raise


@ray.remote(num_cpus=1)
def _prepare(job: Job, queue: Queue) -> None:
    end_with_parent()
    told = 0.0

    def tell(done: float) -> None:
        nonlocal told
        # Each hour would be a message.
        if done - told > LEAST_NEWS:
            told = done
            _tell(queue, job.title, done)

    job.work(**({"on_progress": tell} if job.tells else {}))


def plan_resources(settings: Settings, console: Console, look: Look) -> Planner:
    """Predictions and limits of memory for trials on the running Ray; prints a line if they learn without a card."""
    from tuning.memory.machine import machine
    from tuning.memory.planner import Calibration
    from tuning.memory.prediction import sizes_of

    kinds, line = machine(settings.gpu_memory, look, tell=partial(say, console), device=settings.device)
    if line:
        say(console, line)
    sizes = sizes_of(settings.task)
    return Planner.of(settings, sizes, kinds, Calibration())


def refuse_nothing_to_learn(plan: Plan, planner: Planner) -> None:
    """Refuse a search in which trials might have no action to learn.

    Raises a UsageError if all actions of the site are chargers' and the plan does not fix `learn_charging` to true.
    """
    if "learn_charging" not in plan.space:
        return  # all actions are learned
    sizes, learned = planner.sizes, plan.space["learn_charging"]
    is_open = learned.search is not None and "learn_charging" not in plan.fixed
    if sizes.chargers == sizes.actions and (is_open or not plan.fixed.get("learn_charging", learned.default)):
        raise UsageError("all actions of this site are chargers', so policies have to learn these: --set learn_charging=true")


def refuse_what_cannot_fit(plan: Plan, planner: Planner) -> None:
    """Refuse a search if the trials that the user named do not fit into the machine's memory.

    Raises a UsageError for a start assignment that does not fit; without any, for the default with the fixed values.
    """
    placement = Placement(planner)
    assignments = plan.starts or (plan.space.complete(plan.fixed, limits(planner.settings.steps)),)
    for assignment in assignments:
        excess, why = placement.excess(assignment)
        if excess > 0:
            raise UsageError(f"a trial with these settings {why}")
