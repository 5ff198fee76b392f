"""What a policy sees of a scenario: layout, observations and buildings of `year_cache`, and what else is seen beside them.

What else is seen are tables of a year, the same rows for both backends. A row depends on nothing after it: on plans alone, for
which models of the train split forecast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from envs.district import COMMON, District
from envs.environments.shadow import has_shadow, shadow
from envs.environments.year_cache import any_district, district, layout_split, observation_layout, scaled_template
from envs.environments.year_forecasts import (
    FOLDS,
    has_learned_model,
    has_learned_table,
    learned_model,
    learned_table,
    year_series,
)
from envs.forecasts.series import DEMANDS, Kind
from envs.observation import MARGIN, ObservationLayout
from envs.planning.mpc import HORIZON
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
    bounds, tanks = seen_bounds(scenario, split, seen), tanks_of(scenario, scenario.years(split)[0])
    buildings = (len(bounds) - len(seen.common)) // len(seen.own(tanks))
    return plain.seeing(seen.names(buildings, tanks), bounds)


def seen_template(scenario: Scenario, year: int, seen: Seen, own_layout: bool = False) -> np.ndarray:
    """Observations of a year with what else is seen; see `envs.environments.year_cache.scaled_template`."""
    plain = scaled_template(scenario, year, seen.day_peak, own_layout)
    if seen.is_plain:
        return plain
    layout, values = seen_layout(scenario, seen, year, own_layout), seen_rows(scenario, year, seen)
    first = layout.names.index(seen.names(1)[0])
    own = slice(first, first + values.shape[1])
    centre, inverse = (each[own] for each in layout.linear)
    scaled = np.clip((values.astype(np.float64) - centre) * inverse, -1.0, 1.0).astype(np.float32)
    return np.concatenate([plain[:, :first], scaled, plain[:, first:]], axis=1)


def seen_district(scenario: Scenario, seen: Seen) -> District | None:
    """Buildings of a scenario, see `envs.environments.year_cache.district`."""
    plain = district(scenario, seen.day_peak)
    return plain if plain is None or seen.is_plain else seen_buildings(scenario, seen)


def seen_buildings(scenario: Scenario, seen: Seen, split: Split = "train") -> District:
    """Buildings of a split, see `envs.environments.year_cache.any_district`."""
    plain = any_district(scenario, seen.day_peak, split)
    if seen.is_plain:
        return plain
    year = scenario.years(split)[0]
    of = (*plain.buildings.observations, *owners(scenario, year, seen))
    return District(seen_layout(scenario, seen, year, own_layout=True), replace(plain.buildings, observations=of))


def models_to_train(scenario: Scenario) -> list[tuple[Kind, int, int | None]]:
    """Learned models that the cache lacks: what `learned_model` needs of each."""
    kinds = year_series(scenario, scenario.years("train")[0]).kinds
    wanted = [(kind, HORIZON, fold) for kind in kinds for fold in (None, *range(FOLDS))]
    return [model for model in wanted if not has_learned_model(scenario, *model)]


def forecasts_to_make(scenario: Scenario, years: Iterable[int]) -> list[tuple[int, Kind]]:
    """Years and kinds of series of which the cache lacks learned forecasts. Their models have to be there."""
    kinds = [kind for kind in year_series(scenario, scenario.years("train")[0]).kinds if learned_model(scenario, kind, HORIZON)]
    return [(year, kind) for year in years for kind in kinds if not has_learned_table(scenario, year, kind, HORIZON)]


def make_forecasts(scenario: Scenario, year: int, kind: Kind) -> None:
    """Make what `forecasts_to_make` names."""
    learned_table(scenario, year, kind, HORIZON, crossed=True)


def prepare_seen(scenario: Scenario, year: int, part: Seen, on_progress: Callable[[float], None] | None = None) -> None:
    """Make one of `Seen.parts` for a year, where the cache lacks it; tells the part that is done, 0 to 1."""
    assert part.plan != "none"
    shadow(scenario, year, part.plan, part.weights, on_progress)


def is_seen_prepared(scenario: Scenario, year: int, part: Seen) -> bool:
    """Whether `prepare_seen` has nothing to do that takes long."""
    assert part.plan != "none"
    return has_shadow(scenario, year, part.plan, part.weights)


@lru_cache(maxsize=8)
def seen_rows(scenario: Scenario, year: int, seen: Seen) -> np.ndarray:
    """Values of a year in the order of `Seen.names`, shape (rows, observations), float32; plans are made once and cached.

    After the year's last step nothing is decided, so its row repeats the one before.
    """
    series = year_series(scenario, year)
    own: list[np.ndarray] = []  # each of shape (buildings, rows, kinds)
    common: list[np.ndarray] = []  # each of shape (rows, kinds)
    if seen.plan != "none":
        plans = shadow(scenario, year, seen.plan, seen.weights)
        own += [plans.battery_kwh.T[..., np.newaxis], plans.soc.transpose(1, 0, 2)]
        for use in range(plans.tank_use.shape[-1]):
            own.append(np.stack([plans.tank_use[..., use].T, plans.tank_soc[..., use].T], axis=-1))
        common.append(plans.net_kwh[:, np.newaxis])
    columns = [*(part for n in range(len(series.values["load"])) for part in (each[n] for each in own)), *common]
    values = np.concatenate([np.zeros((series.rows, 0)), *columns], axis=1).astype(np.float32)
    return np.concatenate([values, values[-1:]])


def seen_table(scenario: Scenario, split: Split, seen: Seen) -> np.ndarray:
    """What a policy sees further in each row that the scenario's schema runs.

    Where splits are stated, it has the rows of one of them, as each is simulated, forecast and planned by itself. A row that
    only is history of the split does not belong to it.

    Returns:
        Shape (rows, observations), float32; NaN in rows of other splits.
    """
    if not scenario.segments:
        return seen_rows(scenario, scenario.years("test")[0], seen)
    assert scenario.schema is not None
    own = {year: seen_rows(scenario, year, seen) for year in scenario.years(split)}
    width = next(iter(own.values())).shape[1]
    table = np.full((count_steps(scenario.schema) + 1, width), np.nan, dtype=np.float32)
    for year, rows in own.items():
        segment = scenario.segments[year]
        table[segment.first : segment.end] = rows[segment.history :]
    return table


def first_row(scenario: Scenario) -> int:
    """Row of the scenario's series that the first row of its table belongs to."""
    return int(read_schema(scenario.schema or scenario.schema_path(scenario.years("test")[0]))[FIRST])


def owners(scenario: Scenario, year: int, seen: Seen) -> tuple[int, ...]:
    """Building of each, see `envs.district.Buildings.observations`."""
    buildings = len(year_series(scenario, year).values["load"])
    own = seen.own(tanks_of(scenario, year))
    return (*(n for n in range(buildings) for _ in own), *(COMMON for _ in seen.common))


def tanks_of(scenario: Scenario, year: int) -> tuple[str, ...]:
    """Uses of which some building of a year has a tank that acts, see `envs.planning.mpc_tanks.uses_of`."""
    kinds = year_series(scenario, year).kinds
    return tuple(use for use, kind in DEMANDS.items() if kind in kinds)


def seen_bounds(scenario: Scenario, split: Split, seen: Seen) -> np.ndarray:
    """Least and greatest values in a split's own rows, widened as those of other observations; shape (observations, 2).

    They come from its first year, or from all its segments where splits are stated.
    """
    years = scenario.years(split)[: None if scenario.segments else 1]
    own = np.concatenate(
        [
            seen_rows(scenario, window.year, seen)[window.start : window.start + window.hours]
            for window in scenario.windows(split)
            if window.year in years
        ]
    )
    low, high = own.min(axis=0).astype(np.float64), own.max(axis=0).astype(np.float64)
    margin = MARGIN * (high - low)
    return np.stack([low - margin, high + margin], axis=1)
