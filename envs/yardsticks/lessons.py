"""Lessons of model predictive control: what it would do in hours of the train split, for policies that begin as its copy.

Each week of the train split is run twice from a random charge of the batteries: once its own actions are carried out, once they
are disturbed. So there are labels for states that only a copy that errs comes into. The label is always what it would do there.

Lessons hold no observation: a policy that learns from them carries out the same actions in the same windows, and sees its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from common.units import DAY, WEEK
from envs.batch_backend.tables import Tables
from envs.cache import cached_array, cached_arrays, is_cached
from envs.environments.vector_env import Start, open_years
from envs.environments.year_cache import tables_file, year_reference, year_tables
from envs.environments.year_forecasts import cached_model, forecasts_version, series_of, train_rows, train_statistics
from envs.forecasts import (
    KINDS,
    Kind,
    Method,
    SiteForecast,
    SiteSeries,
    forecast_table,
    mean_profile,
    steps_of_day,
)
from envs.objective.evaluate import EVALUATION_SEED
from envs.objective.reference import Reference, scale_of
from envs.objective.series import Sessions
from envs.objective.weights import DEFAULT, Weights
from envs.planning.mpc import ModelPredictiveControl, Plant, horizon_steps, hours_told
from envs.planning.mpc_site import MpcSite, Vehicles
from envs.scenarios.scenario import Scenario, Window, evenly, weeks_of
from envs.task import SiteTask
from envs.yardsticks.mpc_runs import mpc_plant

VERSION = 4  # part of the cache's key: raise it when a change of the code changes lessons

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


def lessons(task: SiteTask) -> Lessons:
    """All lessons of a task; parts that the cache lacks are made."""
    parts = [lesson_part(task, part) for part in range(parts_of(task.site))]
    most = max(part.labels.shape[1] for part in parts)
    executed, labels = (
        np.concatenate([_longer(getattr(part, name), most) for part in parts]) for name in ("executed", "labels")
    )
    return Lessons(tuple(start for part in parts for start in part.starts), executed, labels)


def prepare_teacher(scenario: Scenario) -> None:
    """Make the forecasts of the teacher that the cache lacks, before several processes need them."""
    for year in {window.year for window in lesson_windows(scenario)}:
        train_plant(scenario, year)


def parts_of(scenario: Scenario) -> int:
    """Number of parts that a scenario's lessons are made in."""
    return -(-len(lesson_windows(scenario)) // WEEKS_OF_PART)


def lesson_windows(scenario: Scenario) -> tuple[Window, ...]:
    """Weeks of the train split, and what remains of its windows after whole weeks; evenly taken where there are many."""
    return evenly(weeks_of(scenario.windows("train")), max(1, MOST_HOURS // WEEK))


def lesson_part(task: SiteTask, part: int, on_progress: Callable[[float], None] | None = None) -> Lessons:
    """A part of a task's lessons, made once and cached; tells the part that is done, 0 to 1."""
    windows = lesson_windows(task.site)[part * WEEKS_OF_PART : (part + 1) * WEEKS_OF_PART]
    starts = [Start(window, charge) for window in windows for charge in _charges(window)]

    def taught() -> dict[str, np.ndarray]:
        lessons = teach(task, starts, on_progress)
        return {"executed": lessons.executed, "labels": lessons.labels}

    return Lessons(tuple(starts), **cached_arrays(_key(task, part), taught))


def has_part(task: SiteTask, part: int) -> bool:
    """Whether the cache has a part of a task's lessons."""
    return is_cached(_key(task, part))


def teach(
    task: SiteTask,
    starts: Sequence[Start],
    on_progress: Callable[[float], None] | None = None,
) -> Lessons:
    """Run the teacher from some starts in training windows, side by side; each second run is disturbed."""
    weights, windows = task.aim.weights, [start.window for start in starts]
    years = sorted({window.year for window in windows})
    simulator = open_years(task.site, years, len(starts), weights=weights)
    for b, (window, start) in enumerate(zip(windows, starts, strict=True)):
        simulator.begin(b, window.year, window.start, window.hours, EVALUATION_SEED, start.charge)
    # The site's import in the hour before a window may be of another split.
    simulator.state.copy["net"] = np.nan
    hours = np.array([window.hours for window in windows])
    plants = {year: train_plant(task.site, year, weights) for year in years}
    teacher = ModelPredictiveControl(simulator, plants, hours_told(on_progress, int(hours.sum())))
    shape = len(starts), int(hours.max()), simulator.actions
    labels, executed = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    noise = np.stack([_noise(b, start, shape[1:]) for b, start in enumerate(starts)])
    for hour in range(shape[1]):
        going = np.flatnonzero(hours > hour)
        labels[going, hour] = teacher(simulator.observation)[going]
        executed[going, hour] = np.clip(labels[going, hour] + noise[going, hour], -1.0, 1.0)
        simulator.step(executed[:, hour].astype(np.float64), going)
    return Lessons(tuple(starts), executed, labels)


def _charges(window: Window) -> tuple[float, float]:
    """Charges at the start of both runs of a window."""
    first, second = np.random.default_rng([window.year, window.start]).random(2)
    return float(first), float(second)


def _noise(number: int, start: Start, shape: tuple[int, ...]) -> np.ndarray:
    """Noise on the actions of a run: none in the first run of a window, else an autoregressive process of order one."""
    noise = np.zeros(shape)
    if number % 2:
        drawn = np.random.default_rng([start.window.year, start.window.start, 1]).standard_normal(shape)
        for hour in range(shape[0]):
            noise[hour] = KEPT * noise[hour - 1] + NOISE * np.sqrt(1.0 - KEPT**2) * drawn[hour] if hour else NOISE * drawn[0]
    return noise.astype(np.float32)


def _longer(actions: np.ndarray, hours: int) -> np.ndarray:
    return np.pad(actions, ((0, 0), (0, hours - actions.shape[1]), (0, 0)))


def _key(task: SiteTask, part: int) -> str:
    steps, version = horizon_steps(task.site), f"{forecasts_version(task.site)}-v{VERSION}"
    return f"{task.site.key}/lessons-{METHOD}{task.aim.weights.key}-{steps}-{part}-{version}.npz"


def train_reference(scenario: Scenario, year: int) -> Reference:
    """Uncontrolled run of a year of the train split, with the means of the train split in place of all other hours.

    Its scale is that of the training windows of the year. Where whole years or segments train, it is the year's own run.
    """
    reference = year_reference(scenario, year)
    steps = reference.run.net_kwh.shape[1]
    mask = train_rows(scenario, year, steps)
    if mask.all():
        return reference
    run, exogenous, sessions = reference.run, reference.exogenous, reference.sessions
    slot, day = steps_of_day(exogenous.hour, exogenous.steps_per_hour), DAY * exogenous.steps_per_hour

    def filled(values: np.ndarray) -> np.ndarray:
        rows = values.shape[-1]
        known = np.zeros(rows, dtype=bool)
        known[:steps] = mask
        profile = mean_profile([(slot[:rows][known], values[:, known])], day)
        return np.where(known, values, profile[:, slot[:rows]])

    # A vehicle is known from its arrival on; those that arrive in other hours are not.
    begun = mask[np.minimum(sessions.start, steps - 1)] & (sessions.start < steps)
    of_run = {name: filled(getattr(run, name)) for name in ("net_kwh", "battery_kwh", "charging_kwh")}
    of_site: dict[str, Any] = {name: filled(getattr(exogenous, name)) for name in ("load_kwh", "pv_kwh", "price", "carbon")}
    known = Reference(
        replace(run, **of_run, missing_kwh=run.missing_kwh[begun], owed_kwh=run.owed_kwh[begun]),
        replace(exogenous, **of_site),
        Sessions(**{field.name: getattr(sessions, field.name)[begun] for field in fields(Sessions)}),
        reference.tariff,
        reference.held_soc[np.repeat(begun, sessions.end - sessions.start + 1)],
    )
    if scenario.segments:
        return known.scaled_by(reference.scale)
    return known.scaled_by(scale_of([(known, window) for window in scenario.windows("train") if window.year == year]))


def train_series(scenario: Scenario, year: int) -> SiteSeries:
    """Series of `train_reference`, with weather and calendar filled likewise."""
    series = series_of(train_reference(scenario, year), Tables.load(tables_file(scenario, year)))
    mask, slot = train_rows(scenario, year, series.rows), series.slot
    if mask.all():
        return series
    # The series of tanks come from the tables of the year, the others from its reference.
    values = {
        kind: each if kind in KINDS else np.where(mask, each, mean_profile([(slot[mask], each[:, mask])], series.day)[:, slot])
        for kind, each in series.values.items()
    }
    profile = mean_profile([(slot[mask], series.observed[mask].T.astype(np.float64))], series.day)
    observed = np.where(mask[:, np.newaxis], series.observed, profile[:, slot].T.astype(np.float32))
    return replace(series, values=values, observed=observed)


def train_plant(scenario: Scenario, year: int, weights: Weights = DEFAULT) -> Plant:
    """A year of the train split as model predictive control may know it."""
    series, steps = train_series(scenario, year), horizon_steps(scenario)
    if train_rows(scenario, year, series.rows).all():
        return mpc_plant(scenario, year, METHOD, steps, weights)
    kinds = series.kinds if METHOD == "learned" else ()
    learned = {kind: _learned_table(scenario, year, series, kind, steps) for kind in kinds}
    reference, tables = train_reference(scenario, year), year_tables(scenario, year)
    return Plant(
        MpcSite.of(tables, reference, weights),
        Vehicles(tables, reference),
        SiteForecast(series, METHOD, train_statistics(scenario, steps), learned),
        steps,
    )


def _learned_table(scenario: Scenario, year: int, series: SiteSeries, kind: Kind, steps: int) -> np.ndarray | None:
    """Learned forecasts, by a model that has seen no hour outside of the train split either; made the first time and cached."""
    version = forecasts_version(scenario)

    def years() -> list[tuple[SiteSeries, np.ndarray]]:
        each = ((year, train_series(scenario, year)) for year in scenario.years("train"))
        return [(series, train_rows(scenario, year, series.rows)) for year, series in each]

    model = cached_model(f"{scenario.key}/teacher-{kind}-{steps}-{version}.npz", years, kind, steps)
    if model is None:
        return None
    key = f"{scenario.key}/teacher-{kind}-{steps}-{year}-{version}.npy"
    return cached_array(key, lambda: forecast_table(series, kind, model, steps), by_rows=True)
