"""Before the first trial: files of the years and uncontrolled runs that the cache lacks, made in parallel."""

from __future__ import annotations

from collections.abc import Sequence

import ray
from ray.util.queue import Empty, Queue
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from common.errors import UserError
from envs.environments.year_cache import is_prepared, prepare_year
from envs.objective.weights import Weights
from envs.scenarios.augmentation import NONE, Augmentation, synthetic_years
from envs.scenarios.scenario import Scenario, Split
from envs.scenarios.synthetic_numbers import is_synthetic, seed_and_index
from envs.yardsticks.lessons import has_part, lesson_part, lesson_windows, parts_of, prepare_teacher
from tuning.cli.console import say
from tuning.runtime.parent_watch import end_with_parent

SPLITS: tuple[Split, ...] = ("train", "validation")  # that a search sees

LEAST_NEWS = 0.02  # part of a task between two messages


def prepare(
    scenario: Scenario,
    console: Console,
    splits: Sequence[Split] = SPLITS,
    day_peak: bool = False,
    augmentation: Augmentation = NONE,
) -> None:
    """Prepare the years of some splits and the synthetic ones, one Ray task a year.

    Args:
        scenario: the scenario.
        console: shows progress.
        splits: by default those that a search sees.
        day_peak: see `envs.environments.year_cache.observation_layout`.
        augmentation: whose years train too.

    Raises:
        ScenarioError: if the scenario's data are not valid.
        CacheError: if the cache cannot be read or written.
    """
    of_splits = {year for split in splits for year in scenario.years(split)} | set(synthetic_years(scenario, augmentation))
    years = sorted(year for year in of_splits if not is_prepared(scenario, year, day_peak))
    if not years:
        return
    *others, last = map(shown_year, years)
    which = f"years {', '.join(others)} and {last}" if others else f"year {last}"
    say(console, f"{scenario.title}: preparing {which}, this once: series, tables, the uncontrolled site")
    queue = Queue(actor_options={"num_cpus": 0})
    _wait({_prepare_year.remote(scenario, year, queue, day_peak): year for year in years}, queue, console, "year")


def prepare_lessons(scenario: Scenario, console: Console, weights: Weights) -> None:
    """Make the lessons of model predictive control that the cache lacks, one Ray task a part.

    Args:
        scenario: that has a bound.
        console: shows progress.
        weights: of the reward's terms.
    """
    parts = [part for part in range(parts_of(scenario)) if not has_part(scenario, part, weights)]
    if not parts:
        return
    hours = sum(window.hours for window in lesson_windows(scenario))
    say(console, f"{scenario.title}: the teacher plans {hours:,} hours of the train split, this once")
    queue = Queue(actor_options={"num_cpus": 0})
    _wait({_prepare_teacher.remote(scenario): 0}, Queue(actor_options={"num_cpus": 0}), console, "forecasts")
    tasks = {_prepare_lessons.remote(scenario, part, queue, weights): part for part in parts}
    _wait(tasks, queue, console, "lessons")


def _wait(tasks: dict[ray.ObjectRef[None], int], queue: Queue, console: Console, what: str) -> None:
    """Wait for tasks, with a bar of each.

    Args:
        tasks: with the number of each.
        queue: on which they tell number and part that is done.
        console: shows the bars.
        what: word before the number; a synthetic year counts from 1.
    """
    with Progress(
        TextColumn(f"  {what} {{task.description}}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"), TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    ) as bars:  # fmt: skip
        bar = {number: bars.add_task(shown_year(number), total=1.0) for number in tasks.values()}
        while tasks:
            done, _ = ray.wait(list(tasks), timeout=0.5)
            for task in done:
                _raise_own_errors(task)
                bars.update(bar[tasks.pop(task)], completed=1.0)
            try:
                while True:
                    number, part = queue.get_nowait()
                    bars.update(bar[number], completed=part)
            except Empty:
                continue
    queue.shutdown()


def shown_year(year: int) -> str:
    """A year for people; synthetic ones count from 1."""
    return f"synthetic {seed_and_index(year)[1] + 1}" if is_synthetic(year) else str(year)


def _raise_own_errors(task: ray.ObjectRef[None]) -> None:
    """Get the result of a task; an error that the user can correct is raised without Ray's wrapping."""
    try:
        ray.get(task)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, UserError):
            raise error.cause from None
        raise


@ray.remote(num_cpus=1)
def _prepare_year(scenario: Scenario, year: int, queue: Queue, day_peak: bool) -> None:
    end_with_parent()
    prepare_year(scenario, year, lambda part: queue.put_nowait((year, part)), day_peak)


@ray.remote(num_cpus=1)
def _prepare_teacher(scenario: Scenario) -> None:
    end_with_parent()
    prepare_teacher(scenario)


@ray.remote(num_cpus=1)
def _prepare_lessons(scenario: Scenario, part: int, queue: Queue, weights: Weights) -> None:
    end_with_parent()
    told = 0.0

    def tell(done: float) -> None:
        nonlocal told
        # Each hour would be a message.
        if done - told > LEAST_NEWS:
            told = done
            queue.put_nowait((part, done))

    lesson_part(scenario, part, weights, on_progress=tell)
