"""Lessons of model predictive control: what it would do in hours of the train split, for policies that begin as its copy.

Each week of the train split is run twice from a random charge of the batteries: once its own actions are carried out, once they
are disturbed. So there are labels for states that only a copy that errs comes into. The label is always what it would do there.

Lessons hold no observation: a policy that learns from them carries out the same actions in the same windows, and sees its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from common.units import WEEK
from envs.cache import cached_file, is_cached
from envs.current_hour import PlannedHour, SiteState
from envs.environments.vector_env import Start, open_years
from envs.environments.year_forecasts import forecasts_version
from envs.forecasts.site_forecast import Method
from envs.objective.episodes import EVALUATION_SEED
from envs.planning.mpc import HORIZON, ModelPredictiveControl
from envs.scenarios.scenario import Scenario, Window
from envs.task import Task
from envs.yardsticks.train_hours import train_plant

VERSION = 2  # part of the cache's key: raise it when a change of the code changes lessons

# Measured on five homes: the copy of learned forecasts scores .218, of seven days .210, of the exact future .166: what
# the exact future would have it do follows from nothing that a policy sees.
METHOD: Method = "learned"
MOST_HOURS = 8760  # of the train split that are run; beyond that, weeks are taken evenly
WEEKS_OF_PART = 8  # of a part, which is made by itself
NOISE = 0.4  # deviation of what disturbs an action, of a range from -1 to 1
KEPT = 0.8  # of what disturbs it in the hour before: so charges wander away for hours


@dataclass(frozen=True)
class Lessons:
    """What a teacher did and would have done; L runs of up to H hours."""

    starts: tuple[Start, ...]
    executed: np.ndarray  # actions of the site that were carried out, within [-1, 1], shape (L, H, actions), float32
    labels: np.ndarray  # what the teacher would have done, likewise. Both are 0 after a run's last hour

    @property
    def hours(self) -> np.ndarray:
        """Hours of each run, shape (L,)."""
        return np.array([start.window.hours for start in self.starts])


def lessons(task: Task, method: Method = METHOD) -> Lessons:
    """All lessons of a task; parts that the cache lacks are made."""
    parts = [lesson_part(task, part, method) for part in range(parts_of(task.site))]
    most = max(part.labels.shape[1] for part in parts)
    executed, labels = (
        np.concatenate([_longer(getattr(part, name), most) for part in parts]) for name in ("executed", "labels")
    )
    return Lessons(tuple(start for part in parts for start in part.starts), executed, labels)


def prepare_teacher(scenario: Scenario, method: Method = METHOD) -> None:
    """Make the forecasts of the teacher that the cache lacks, before several processes need them."""
    for year in {window.year for window in lesson_windows(scenario)}:
        train_plant(scenario, year, method, HORIZON)


def parts_of(scenario: Scenario) -> int:
    """Number of parts that a scenario's lessons are made in."""
    return -(-len(lesson_windows(scenario)) // WEEKS_OF_PART)


def lesson_windows(scenario: Scenario) -> tuple[Window, ...]:
    """Weeks of the train split, and what remains of its windows after whole weeks; evenly taken where there are many."""
    weeks = [
        Window(whole.year, start, min(WEEK, whole.start + whole.hours - start))
        for whole in scenario.windows("train")
        for start in range(whole.start, whole.start + whole.hours, WEEK)
    ]
    count = min(len(weeks), max(1, MOST_HOURS // WEEK))
    return tuple(weeks[(2 * i + 1) * len(weeks) // (2 * count)] for i in range(count))


def lesson_part(task: Task, part: int, method: Method = METHOD, on_progress: Callable[[float], None] | None = None) -> Lessons:
    """A part of a task's lessons, made once and cached; tells the part that is done, 0 to 1."""
    windows = lesson_windows(task.site)[part * WEEKS_OF_PART : (part + 1) * WEEKS_OF_PART]
    starts = [Start(window, charge) for window in windows for charge in _charges(window)]

    def write(path: Path) -> None:
        taught = teach(task, starts, method, on_progress)
        with path.open("wb") as file:
            np.savez_compressed(file, executed=taught.executed, labels=taught.labels)

    with np.load(cached_file(_key(task, part, method), write)) as saved:
        return Lessons(tuple(starts), saved["executed"], saved["labels"])


def has_part(task: Task, part: int, method: Method = METHOD) -> bool:
    """Whether the cache has a part of a task's lessons."""
    return is_cached(_key(task, part, method))


def teach(
    task: Task,
    starts: Sequence[Start],
    method: Method = METHOD,
    on_progress: Callable[[float], None] | None = None,
    horizon: int = HORIZON,
) -> Lessons:
    """Run the teacher from some starts in training windows, side by side; each second run is disturbed."""
    weights, windows = task.aim.weights, [start.window for start in starts]
    years = sorted({window.year for window in windows})
    simulator = open_years(task.site, years, len(starts), weights=weights)
    for b, (window, start) in enumerate(zip(windows, starts, strict=True)):
        simulator.begin(b, window.year, window.start, window.hours, EVALUATION_SEED, start.charge)
    hours = np.array([window.hours for window in windows])
    total, done = int(hours.sum()), 0

    def hour_done() -> None:
        nonlocal done
        done += 1
        if on_progress:
            on_progress(done / total)

    plants = {year: train_plant(task.site, year, method, horizon, weights) for year in years}
    teacher = ModelPredictiveControl(_InTrainHours(simulator), plants, horizon, on_hour=hour_done)
    shape = len(starts), int(hours.max()), simulator.actions
    labels, executed = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    noise = np.stack([_noise(b, start, shape[1:]) for b, start in enumerate(starts)])
    for hour in range(shape[1]):
        going = np.flatnonzero(hours > hour)
        labels[going, hour] = teacher(simulator.observation)[going]
        executed[going, hour] = np.clip(labels[going, hour] + noise[going, hour], -1.0, 1.0)
        simulator.step(executed[:, hour].astype(np.float64), going)
    return Lessons(tuple(starts), executed, labels)


class _InTrainHours:
    """The present hour of a simulator, without the site's import in the hour before a window: it may be of another split."""

    def __init__(self, present: PlannedHour) -> None:
        self._present = present

    @property
    def action_range(self) -> tuple[np.ndarray, np.ndarray]:
        """See `Present`."""
        return self._present.action_range

    def site_state(self, copy: int) -> SiteState | None:
        """See `Present`."""
        state = self._present.site_state(copy)
        return replace(state, previous_net_kwh=None) if state and state.row == state.window.start else state


def _charges(window: Window) -> tuple[float, float]:
    """Charges at the start of both runs of a window."""
    first, second = np.random.default_rng([window.year, window.start]).random(2)
    return float(first), float(second)


def _noise(number: int, start: Start, shape: tuple[int, ...]) -> np.ndarray:
    """What disturbs a run: nothing for each first one of a window, else a process of order one in each action."""
    found = np.zeros(shape)
    if number % 2:
        drawn = np.random.default_rng([start.window.year, start.window.start, 1]).standard_normal(shape)
        for hour in range(shape[0]):
            found[hour] = KEPT * found[hour - 1] + NOISE * np.sqrt(1.0 - KEPT**2) * drawn[hour] if hour else NOISE * drawn[0]
    return found.astype(np.float32)


def _longer(actions: np.ndarray, hours: int) -> np.ndarray:
    return np.pad(actions, ((0, 0), (0, hours - actions.shape[1]), (0, 0)))


def _key(task: Task, part: int, method: Method) -> str:
    name = f"lessons-{method}{task.aim.weights.key}-{HORIZON}-{part}-{forecasts_version(task.site)}-v{VERSION}.npz"
    return f"{task.site.key}/{name}"
