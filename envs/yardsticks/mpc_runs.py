"""Runs of model predictive control over windows of a scenario, each simulated once and cached."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import lru_cache
from typing import Any

from envs.cache import cached_arrays
from envs.environments.year_cache import run_alone, year_reference, year_tables
from envs.environments.year_forecasts import forecasts_version, site_forecast
from envs.environments.year_rooms import room_models
from envs.forecasts import Method
from envs.objective.evaluate import Episode, Evaluation, evaluated
from envs.objective.series import Run
from envs.objective.weights import DEFAULT, Weights
from envs.planning.mpc import ModelPredictiveControl, OnPlan, Plant, horizon_steps, hours_told
from envs.planning.mpc_site import MpcSite, Vehicles
from envs.scenarios.scenario import Scenario, Window
from envs.task import SiteTask

VERSION = 5  # part of the cache's key: raise it when a change of the code changes plans

# Names of the controllers in tables, by the method of their forecasts.
NAMES: Mapping[Method, str] = {
    "yesterday": "MPC: yesterday",
    "seven-days": "MPC: seven days",
    "learned": "MPC: learned forecast",
    "exact": "MPC: exact future",
}


def mpc(
    task: SiteTask,
    windows: Sequence[Window],
    method: Method,
    steps: int | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> list[Evaluation]:
    """Evaluations of model predictive control for `improvement`, one a year; each window is run once and cached."""
    hours = [window.hours for window in windows]
    # A window from the cache tells nothing, so each begins with the hours of all before it.
    told = (hours_told(on_progress, sum(hours), before) for before in itertools.accumulate(hours, initial=0))
    return evaluated(mpc_episode(task, window, method, steps, on_plan) for window, on_plan in zip(windows, told, strict=False))


def run_mpc(task: SiteTask, window: Window, method: Method, steps: int | None = None, on_plan: OnPlan | None = None) -> Episode:
    """Run model predictive control through a window, by what steps the task; see `mpc`."""
    env = task.evaluation_env([window])
    plants = {window.year: _last_plant(task.site, window.year, method, steps, task.aim.weights)}
    (episode,) = env.episodes(ModelPredictiveControl(env.present, plants, on_plan=on_plan))
    env.close()
    return episode


def mpc_plant(scenario: Scenario, year: int, method: Method, steps: int | None = None, weights: Weights = DEFAULT) -> Plant:
    """A year of a scenario, as model predictive control knows it; see `envs.environments.fit.why_no_mpc`."""
    tables, reference = year_tables(scenario, year), year_reference(scenario, year)
    site = MpcSite.of(tables, reference, weights, room_models(scenario))
    steps = steps or horizon_steps(scenario)
    return Plant(site, Vehicles(tables, reference), site_forecast(scenario, year, method, steps), steps)


# Windows of a year follow one another.
_last_plant, _last_reference = lru_cache(maxsize=1)(mpc_plant), lru_cache(maxsize=1)(year_reference)


def mpc_episode(
    task: SiteTask, window: Window, method: Method, steps: int | None = None, on_plan: OnPlan | None = None
) -> Episode:
    """A run of model predictive control through a window, simulated once and cached; see `mpc`."""
    site = task.site

    def planned() -> dict[str, Any]:
        episode = run_mpc(task.by("batch"), window, method, steps, on_plan)
        return {
            "reward": episode.reward, "names": list(episode.terms), "terms": list(episode.terms.values()),
            **asdict(episode.run),
        }  # fmt: skip

    version = f"v{VERSION}" if method == "exact" else f"v{VERSION}-{forecasts_version(site, window.year)}"
    part = f"{window.year}-{window.start}-{window.hours}"
    name = f"mpc-{method}{task.aim.weights.key}-{steps or horizon_steps(site)}-{part}-{version}.npz"
    saved = cached_arrays(f"{site.key}/{name}", planned)
    terms = dict(zip(saved["names"].tolist(), saved["terms"].tolist(), strict=True))
    run, reward = Run(**{field.name: saved[field.name] for field in fields(Run)}), float(saved["reward"])
    reference = _last_reference(site, window.year)
    return Episode(window, reference, reward, terms, run, run_alone(site, window, reference))
