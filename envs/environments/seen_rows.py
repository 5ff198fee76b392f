"""What policies see beside CityLearn's observations, as tables of a year: the same rows for both backends.

A row depends on nothing after it: on plans alone, for which models of the train split forecast.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from envs.district import COMMON
from envs.environments.shadow import shadow
from envs.environments.year_forecasts import year_series
from envs.forecasts.series import DEMANDS
from envs.observation import MARGIN
from envs.scenarios.scenario import Scenario, Split
from envs.seen import Seen


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
