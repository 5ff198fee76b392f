"""What a policy sees of a scenario: layout, observations and buildings of `year_cache`, and what else is seen beside them.

What else is seen are tables of a year, the same rows for both backends. A row depends on nothing after it: on plans alone, for
which models of the train split forecast.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables, Year
from envs.cache import cached_arrays, is_cached
from envs.district import COMMON, District
from envs.environments.year_cache import (
    STEPS_BETWEEN_REPORTS,
    any_district,
    layout_split,
    observation_layout,
    scaled_template,
    tables_file,
    year_reference,
    year_tables,
)
from envs.environments.year_forecasts import (
    FOLDS,
    forecasts_version,
    has_learned_model,
    has_learned_table,
    learned_model,
    site_forecast,
    year_series,
)
from envs.environments.year_rooms import room_models
from envs.forecasts import Kind, Method
from envs.objective.evaluate import EVALUATION_SEED
from envs.objective.reference import scale_of
from envs.objective.weights import Weights
from envs.observation import MARGIN, ObservationLayout
from envs.planning.mpc import ModelPredictiveControl, PlannedHours, Plant, horizon_steps, planned_hour
from envs.planning.mpc_site import MpcSite, Vehicles, planned_actions
from envs.scenarios.scenario import Scenario, Split
from envs.scenarios.schema_file import count_steps, read_schema
from envs.scenarios.schema_shape import FIRST
from envs.seen import Seen


def seen_layout(scenario: Scenario, seen: Seen, year: int | None = None, own_layout: bool = False) -> ObservationLayout:
    """Layout of what is seen; see `envs.environments.year_cache.observation_layout`."""
    plain = observation_layout(scenario, year, seen.day_peak, own_layout)
    if seen.is_plain:
        return plain
    split = layout_split(scenario, year, seen.day_peak, own_layout)
    bounds, actions = seen_bounds(scenario, split, seen), plan_of(scenario, scenario.years(split)[0])
    buildings = (len(bounds) - len(seen.common)) // len(seen.own(actions))
    return plain.seeing(seen.names(buildings, actions), bounds)


def seen_template(scenario: Scenario, year: int, seen: Seen, own_layout: bool = False) -> np.ndarray:
    """Observations of a year with what else is seen; see `envs.environments.year_cache.scaled_template`."""
    plain = scaled_template(scenario, year, seen.day_peak, own_layout)
    if seen.is_plain:
        return plain
    layout, values = seen_layout(scenario, seen, year, own_layout), seen_rows(scenario, year, seen)
    first = layout.names.index(seen.names(1)[0])
    columns = slice(first, first + values.shape[1])
    centre, inverse = (each[columns] for each in layout.linear)
    scaled = np.clip((values.astype(np.float64) - centre) * inverse, -1.0, 1.0).astype(np.float32)
    return np.concatenate([plain[:, :first], scaled, plain[:, first:]], axis=1)


def seen_buildings(scenario: Scenario, seen: Seen, split: Split = "train") -> District:
    """Buildings of a split, see `envs.environments.year_cache.any_district`."""
    plain = any_district(scenario, seen.day_peak, split)
    if seen.is_plain:
        return plain
    year = scenario.years(split)[0]
    observations = (*plain.buildings.observations, *owners(scenario, year, seen))
    return District(seen_layout(scenario, seen, year, own_layout=True), replace(plain.buildings, observations=observations))


def models_to_train(scenario: Scenario) -> list[tuple[Kind, int, int | None]]:
    """Learned models that the cache lacks: what `learned_model` needs of each."""
    kinds = year_series(scenario, scenario.years("train")[0]).kinds
    wanted = [(kind, horizon_steps(scenario), fold) for kind in kinds for fold in (None, *range(FOLDS))]
    return [model for model in wanted if not has_learned_model(scenario, *model)]


def forecasts_to_make(scenario: Scenario, years: Iterable[int]) -> list[tuple[int, Kind]]:
    """Years and kinds of series of which the cache lacks learned forecasts. Their models have to be there."""
    steps, kinds = horizon_steps(scenario), year_series(scenario, scenario.years("train")[0]).kinds
    learned = [kind for kind in kinds if learned_model(scenario, kind, steps)]
    return [(year, kind) for year in years for kind in learned if not has_learned_table(scenario, year, kind, steps)]


@lru_cache(maxsize=8)
def seen_rows(scenario: Scenario, year: int, seen: Seen) -> np.ndarray:
    """Values of a year as `Seen.names`, shape (rows, observations), float32; the last row, which decides nothing, repeats."""
    values = shadow(scenario, year, seen).in_order().astype(np.float32)
    return np.concatenate([values, values[-1:]])


def seen_table(scenario: Scenario, split: Split, seen: Seen) -> np.ndarray:
    """What a policy sees further in each row that the schema runs, shape (rows, observations), float32.

    Where splits are stated, NaN in rows of others and in those that only are history: each split is planned by itself.
    """
    if not scenario.segments:
        return seen_rows(scenario, scenario.years("test")[0], seen)
    assert scenario.schema is not None
    by_year = {year: seen_rows(scenario, year, seen) for year in scenario.years(split)}
    width = next(iter(by_year.values())).shape[1]
    table = np.full((count_steps(scenario.schema) + 1, width), np.nan, dtype=np.float32)
    for year, rows in by_year.items():
        segment = scenario.segments[year]
        table[segment.first : segment.end] = rows[segment.history :]
    return table


def first_row(scenario: Scenario) -> int:
    """Row of the scenario's series that the first row of its table belongs to."""
    return int(read_schema(scenario.schema or scenario.schema_path(scenario.years("test")[0]))[FIRST])


def owners(scenario: Scenario, year: int, seen: Seen) -> tuple[int, ...]:
    """Building of each, see `envs.district.Buildings.observations`."""
    buildings = len(year_series(scenario, year).values["load"])
    names = seen.own(plan_of(scenario, year))
    return (*(n for n in range(buildings) for _ in names), *(COMMON for _ in seen.common))


@lru_cache(maxsize=8)
def plan_of(scenario: Scenario, year: int) -> tuple[str, ...]:
    """Actions of a year's plan, see `envs.planning.mpc_site.planned_actions`."""
    return planned_actions(Tables.load(tables_file(scenario, year), template=False))


def seen_bounds(scenario: Scenario, split: Split, seen: Seen) -> np.ndarray:
    """Widened bounds in a split's own rows of its first year, or of all its segments; shape (observations, 2)."""
    years = scenario.years(split)[: None if scenario.segments else 1]
    values = np.concatenate(
        [seen_rows(scenario, window.year, seen)[window.rows] for window in scenario.windows(split) if window.year in years]
    )
    low, high = values.min(axis=0).astype(np.float64), values.max(axis=0).astype(np.float64)
    margin = MARGIN * (high - low)
    return np.stack([low - margin, high + margin], axis=1)


VERSION = 5  # part of the cache's key: raise it when a change of the code changes plans


def shadow(scenario: Scenario, year: int, seen: Seen, on_progress: Callable[[float], None] | None = None) -> PlannedHours:
    """Plans of a year, made once and cached. Rows of the train split are forecast by models that did not train on them."""
    method = seen.plan
    assert method != "none"
    plans = partial(run_shadow, scenario, year, method, seen.weights, on_progress)
    return PlannedHours(**cached_arrays(_shadow_key(scenario, year, seen), lambda: plans()._asdict()))


def has_shadow(scenario: Scenario, year: int, seen: Seen) -> bool:
    """Whether the cache has the plans of a year."""
    return is_cached(_shadow_key(scenario, year, seen))


def _shadow_key(scenario: Scenario, year: int, seen: Seen) -> str:
    version = f"v{VERSION}-{forecasts_version(scenario, year)}"
    return f"{scenario.key}/plan-{seen.plan}{seen.weights.key}-{horizon_steps(scenario)}-{year}-{version}.npz"


def planned_site(scenario: Scenario, year: int, weights: Weights) -> MpcSite:
    """A site year as the plans that policies see know it: with the means of the train split, which are all that it may know."""
    scale = scale_of([(year_reference(scenario, window.year), window) for window in scenario.windows("train")])
    reference = year_reference(scenario, year).scaled_by(scale)
    return MpcSite.of(year_tables(scenario, year), reference, weights, room_models(scenario))


def run_shadow(
    scenario: Scenario,
    year: int,
    method: Method,
    weights: Weights,
    on_progress: Callable[[float], None] | None = None,
    hours: int | None = None,
) -> PlannedHours:
    """Run model predictive control through the first hours of a year, all by default, and keep its plans; see `shadow`."""
    tables, reference = year_tables(scenario, year), year_reference(scenario, year)
    site = planned_site(scenario, year, weights)
    ahead = horizon_steps(scenario)
    plant = Plant(site, Vehicles(tables, reference), site_forecast(scenario, year, method, ahead, crossed=True), ahead)
    actions, planned = planned_actions(tables), list[PlannedHours]()
    steps = hours or reference.run.net_kwh.shape[1]
    simulator = BatchSimulator({year: Year(tables, reference=reference)}, 1, weights=weights)
    controller = ModelPredictiveControl(
        simulator, {year: plant}, on_plan=lambda state, plan: planned.append(planned_hour(site, actions, state, plan))
    )
    simulator.begin(0, year, 0, steps, EVALUATION_SEED)
    for step in range(steps):
        simulator.step(controller(simulator.observation))
        if on_progress and step % STEPS_BETWEEN_REPORTS == 0:
            on_progress(step / steps)
    return PlannedHours(*(np.stack(hours_of).astype(np.float32) for hours_of in zip(*planned, strict=True)))
