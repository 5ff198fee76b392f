"""The plan of model predictive control as a table: a run of it beside the policy, of which the policy sees the plans.

It begins with empty batteries in the first row of a year and never learns what the policy does. So plans are functions of year
and hour alone, and a policy that keeps its storages at the plan's states of charge does what model predictive control does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from envs.batch_backend.arrays import Year
from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import USES
from envs.cache import cached_file, is_cached
from envs.current_hour import SiteState
from envs.environments.year_cache import year_reference, year_tables
from envs.environments.year_forecasts import forecasts_version, site_forecast
from envs.forecasts.site_forecast import Method
from envs.objective.episodes import EVALUATION_SEED
from envs.objective.reference import scale_of
from envs.objective.weights import Weights
from envs.planning.mpc import HORIZON, ModelPredictiveControl, Plant
from envs.planning.mpc_programme import Plan
from envs.planning.mpc_site import MpcSite
from envs.planning.mpc_tanks import uses_of
from envs.planning.mpc_vehicles import Vehicles
from envs.scenarios.scenario import Scenario
from envs.scenarios.tariff import DemandCharge
from envs.seen import PLAN_HOURS

VERSION = 4  # part of the cache's key: raise it when a change of the code changes plans

_STEPS_BETWEEN_REPORTS = 50
LEAST_KEPT = 1e-6  # a tank that loses all in an hour shows nothing of what it held


@dataclass(frozen=True)
class Shadow:
    """Plans of a year, one an hour. N buildings; U uses of heat or cold with a tank that acts, see `mpc_tanks.uses_of`."""

    battery_kwh: np.ndarray  # what each battery takes in the hour, negative where it gives, shape (steps, N)
    # State of charge at the beginning of the hour, and as it is planned at the ends of `PLAN_HOURS` from the hour on, shape
    # (steps, N, 1 + len(PLAN_HOURS)).
    soc: np.ndarray
    net_kwh: np.ndarray  # planned net import of the site in the hour, shape (steps,)
    # What each tank takes in the hour, negative where it gives, as a part of its capacity; shape (steps, N, U).
    tank_use: np.ndarray
    tank_soc: np.ndarray  # state of charge at the beginning of the hour as it is observed, before standby; shape (steps, N, U)


def shadow(
    scenario: Scenario, year: int, method: Method, weights: Weights, on_progress: Callable[[float], None] | None = None
) -> Shadow:
    """Plans of a year, made once and cached. Rows of the train split are forecast by models that did not train on them.

    Raises:
        MpcError: if an hour's programme has no optimum.
    """

    def write(path: Path) -> None:
        arrays: dict[str, Any] = asdict(run_shadow(scenario, year, method, weights, on_progress))
        with path.open("wb") as file:
            np.savez_compressed(file, **arrays)

    with np.load(cached_file(shadow_key(scenario, year, method, weights), write)) as saved:
        return Shadow(**{name: saved[name] for name in saved.files})


def has_shadow(scenario: Scenario, year: int, method: Method, weights: Weights) -> bool:
    """Whether the cache has the plans of a year."""
    return is_cached(shadow_key(scenario, year, method, weights))


def shadow_key(scenario: Scenario, year: int, method: Method, weights: Weights) -> str:
    """Key of a year's plans in the cache."""
    version = f"v{VERSION}-{forecasts_version(scenario, year)}"
    return f"{scenario.key}/plan-{method}{weights.key}-{HORIZON}-{year}-{version}.npz"


def run_shadow(
    scenario: Scenario,
    year: int,
    method: Method,
    weights: Weights,
    on_progress: Callable[[float], None] | None = None,
    hours: int | None = None,
) -> Shadow:
    """Run model predictive control through the first hours of a year, all by default, and keep its plans; see `shadow`."""
    tables, reference = year_tables(scenario, year), year_reference(scenario, year)
    # What a policy sees may weigh the reward's terms by the means of the train split alone.
    scale = scale_of([(year_reference(scenario, own.year), own) for own in scenario.windows("train")])
    site = MpcSite.of(tables, reference.scaled_by(scale), weights)
    plant = Plant(site, Vehicles(tables, reference), site_forecast(scenario, year, method, HORIZON, crossed=True))
    # It needs no observations.
    blank = np.zeros((len(tables.exogenous.hour), len(tables.names)), dtype=np.float32)
    uses = uses_of(tables)
    tariff, steps = DemandCharge.of(scenario.schema_path(year)), hours or reference.run.net_kwh.shape[1]
    simulator = BatchSimulator({year: Year(tables, blank, tariff, reference)}, 1, weights=weights)
    found = Shadow(
        np.zeros((steps, site.buildings), np.float32),
        np.zeros((steps, site.buildings, 1 + len(PLAN_HOURS)), np.float32),
        np.zeros(steps, np.float32),
        np.zeros((steps, site.buildings, len(uses)), np.float32),
        np.zeros((steps, site.buildings, len(uses)), np.float32),
    )
    tanks, of_uses = site.tanks, [USES.index(use) for use in uses]
    has = site.power > 0.0

    def keep(state: SiteState, plan: Plan) -> None:
        found.battery_kwh[state.row] = np.where(has, plan.battery_kwh[:, 0], 0.0)
        planned = plan.stored_kwh[:, PLAN_HOURS] / np.where(has, site.capacity, 1.0)[:, np.newaxis]
        soc = np.column_stack([state.battery_soc, planned])
        found.soc[state.row] = np.where(has[:, np.newaxis], soc, 0.0)
        found.net_kwh[state.row] = plan.net_kwh[0]
        part = plan.tank_kwh[:, 0] / tanks.capacity
        found.tank_use[state.row] = tanks.scattered(part, site.buildings)[:, of_uses]
        # Between two hours a tank stands by, and what is observed of it is from before that.
        stood = tanks.kept if state.row else 1.0
        soc = state.tank_soc[tanks.building, tanks.use] / np.maximum(stood, LEAST_KEPT)
        soc = tanks.scattered(soc, site.buildings)
        found.tank_soc[state.row] = soc[:, of_uses]

    controller = ModelPredictiveControl(simulator, {year: plant}, HORIZON, on_plan=keep)
    simulator.begin(0, year, 0, steps, EVALUATION_SEED)
    for step in range(steps):
        simulator.step(controller(simulator.observation))
        if on_progress and step % _STEPS_BETWEEN_REPORTS == 0:
            on_progress(step / steps)
    return found
