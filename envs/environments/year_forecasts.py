"""Forecasts of a scenario year: its series, what the train split says of the site, and the learned models."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from common.units import DAY, WEEK
from envs.batch_backend.tables import Tables
from envs.cache import cached_array, cached_arrays, is_cached
from envs.environments.year_cache import tables_file, year_reference
from envs.forecasts import (
    DEMANDS,
    EFFICIENCIES,
    WEEK_DAYS,
    Forest,
    Kind,
    LearnedModel,
    Method,
    SiteForecast,
    SiteSeries,
    TrainStatistics,
    forecast_table,
    mean_of_days,
    mean_profile,
    no_forest,
    scale_of,
    steps_of_day,
    train_model,
)
from envs.objective.reference import Reference
from envs.objective.series import Run
from envs.planning.mpc_site import planned_actions
from envs.scenarios.scenario import Scenario
from envs.scenarios.schema_shape import USES
from envs.seen import TANK_ACTION

VERSION = 2  # part of the cache's keys: raise it when a change of the code changes learned forecasts

FOLDS = 4  # of the train split, for forecasts of its own rows
_NO_FOLD = -1

# Observations of a row that a learned forecast may use, by the beginnings of their names.
_WEATHER = ("outdoor_", "diffuse_", "direct_")
_CALENDAR = ("day_type", "month")


def site_forecast(scenario: Scenario, year: int, method: Method, steps: int, crossed: bool = False) -> SiteForecast:
    """Forecasts of a year for so many steps, the present one among them; `crossed` as of `learned_table`."""
    series = year_series(scenario, year)
    kinds = series.kinds if method == "learned" else ()
    learned = {kind: learned_table(scenario, year, kind, steps, crossed) for kind in kinds}
    return SiteForecast(series, method, year_statistics(scenario, year, steps), learned)


def learned_table(scenario: Scenario, year: int, kind: Kind, steps: int, crossed: bool = False) -> np.ndarray | None:
    """Learned forecasts of a year, see `envs.forecasts.forecast_table`; None where the series never changes.

    With `crossed`, rows of the train split are forecast by models that did not train on them. What a policy learns from has to
    be as good as what it will see later, and a model's forecasts of its own training rows are better.
    """
    trained = learned_model(scenario, kind, steps)
    if trained is None:
        return None
    model = trained if _has_train_buildings(scenario, year) else _of_other_buildings(trained, scenario, year, kind)

    crossed = crossed and year in scenario.years("train")
    folds = _folds(scenario, year) if crossed else np.full(year_series(scenario, year).rows, _NO_FOLD)

    def forecasts() -> np.ndarray:
        series = year_series(scenario, year)
        table = np.zeros((*series.values[kind].shape, steps - 1), dtype=np.float32)
        for fold in np.unique(folds).tolist():
            # Where a series never changes in the other folds, there is nothing to learn, and the means of days stand in.
            others = fold != _NO_FOLD and (learned_model(scenario, kind, steps, fold) or replace(model, forest=no_forest()))
            rows = np.flatnonzero(folds == fold)
            table[:, rows] = forecast_table(series, kind, others or model, steps, rows)
        return table

    return cached_array(_table_key(scenario, year, kind, steps, crossed), forecasts, by_rows=True)


def has_learned_table(scenario: Scenario, year: int, kind: Kind, steps: int) -> bool:
    """Whether the cache has what `learned_table` gives, crossed where rows of the year train."""
    return is_cached(_table_key(scenario, year, kind, steps, year in scenario.years("train")))


def _table_key(scenario: Scenario, year: int, kind: Kind, steps: int, crossed: bool) -> str:
    which = f"{kind}-crossed" if crossed else kind
    return f"{scenario.key}/forecast-{which}-{steps}-{year}-{forecasts_version(scenario, year)}.npy"


def has_learned_model(scenario: Scenario, kind: Kind, steps: int, without: int | None = None) -> bool:
    """Whether the cache has what `learned_model` gives."""
    return is_cached(_model_key(scenario, kind, steps, without))


def learned_model(scenario: Scenario, kind: Kind, steps: int, without: int | None = None) -> LearnedModel | None:
    """Model of a series, of the train split or all but one of its folds, cached; None where the series never changes."""

    def years() -> list[tuple[SiteSeries, np.ndarray]]:
        years = _train_years(scenario)
        if without is None:
            return [(series, mask) for _, series, mask in years]
        return [(series, mask & (_folds(scenario, year) != without)) for year, series, mask in years]

    return cached_model(_model_key(scenario, kind, steps, without), years, kind, steps)


def cached_model(
    key: str, years: Callable[[], list[tuple[SiteSeries, np.ndarray]]], kind: Kind, steps: int
) -> LearnedModel | None:
    """Model of series of years and which of their rows train, shape (rows,); None where the series never changes in these."""

    def trained() -> dict[str, Any]:
        model = train_model(years(), kind, steps)
        return {"scale": np.zeros(0)} if model is None else {"scale": model.scale, **model.forest.arrays()}

    arrays = cached_arrays(key, trained)
    scale = arrays.pop("scale")
    return LearnedModel(Forest(**arrays), scale) if len(scale) else None


def _model_key(scenario: Scenario, kind: Kind, steps: int, without: int | None) -> str:
    which = kind if without is None else f"{kind}-without-{without}"
    return f"{scenario.key}/forecaster-{which}-{steps}-{forecasts_version(scenario)}.npz"


def _folds(scenario: Scenario, year: int) -> np.ndarray:
    """Fold of each row, as weeks (or shorter pieces) of training take turns; `_NO_FOLD` elsewhere; shape (rows,)."""
    folds = np.full(year_series(scenario, year).rows, _NO_FOLD)
    windows, before = scenario.windows("train"), 0
    length = max(1, min(WEEK * windows[0].per_hour, sum(window.hours for window in windows) // FOLDS))
    for window in windows:
        if window.year == year:
            part = folds[window.rows]
            part[:] = (before + np.arange(len(part))) // length % FOLDS
        before += window.hours
    return folds


def _of_other_buildings(model: LearnedModel, scenario: Scenario, year: int, kind: Kind) -> LearnedModel:
    """A model for buildings that did not train, each with the scale of its own history, which ends before the split begins."""
    values = year_series(scenario, year).values[kind]
    history = scenario.segments[year].history
    if not history:
        return replace(model, scale=np.full(len(values), model.scale.mean()))
    return replace(model, scale=scale_of(values[:, :history]))


def _has_train_buildings(scenario: Scenario, year: int) -> bool:
    return scenario.same_buildings(scenario.split_of(year))


def forecasts_version(scenario: Scenario, year: int | None = None) -> str:
    """Part of the cache's keys of what depends on forecasts; with a year, whether its buildings train: others scale alone."""
    others = "" if year is None or _has_train_buildings(scenario, year) else "-others"
    return f"v{VERSION}-{zlib.crc32(repr(scenario.windows('train')).encode()):08x}{others}"


@lru_cache(maxsize=8)
def year_series(scenario: Scenario, year: int) -> SiteSeries:
    """Series of a year: those of its reference, and what its observations say of weather and calendar."""
    return series_of(year_reference(scenario, year), Tables.load(tables_file(scenario, year)))


def series_of(reference: Reference, tables: Tables) -> SiteSeries:
    """Series of an uncontrolled run, and what the observations of its year say of weather and calendar."""
    run, exogenous = reference.run, reference.exogenous
    steps = run.net_kwh.shape[1]
    pv = exogenous.pv_kwh[:, :steps]
    chosen, taken = [], set()
    for i, name in enumerate(tables.names):
        # All buildings of a site have one weather and one calendar.
        if name.startswith((*_WEATHER, *_CALENDAR)) and name not in taken:
            chosen.append(i)
            taken.add(name)
    return SiteSeries(
        slot=steps_of_day(exogenous.hour[:steps], exogenous.steps_per_hour),
        values={
            "load": run.net_kwh - run.charging_kwh - run.battery_kwh + pv,
            "pv": pv,
            "carbon": exogenous.carbon[:, :steps],
            "charging": run.charging_kwh,
            **_of_devices(tables, steps),
            **_of_rooms(tables, run, steps),
        },
        observed=np.ascontiguousarray(tables.rows["template"][:steps, chosen]),
        names=tuple(tables.names[i] for i in chosen),
        day=DAY * exogenous.steps_per_hour,
    )


def _of_devices(tables: Tables, steps: int) -> dict[Kind, np.ndarray]:
    """Series of the uses with a tank or a device that acts, of all buildings; see `SiteSeries.values`."""
    meter, series = tables.rows["meter"][:steps], dict[Kind, np.ndarray]()
    acts = tables.site["thermal"]["device_action"] >= 0
    for use in (use for i, use in enumerate(USES) if acts[:, i].any() or f"{use}{TANK_ACTION}" in planned_actions(tables)):
        demand, efficiency = (meter[name][:, :, USES.index(use)].T.astype(np.float64) for name in ("demand", "cop"))
        series[DEMANDS[use]] = demand
        # It is 1 where a building has no such device.
        series[EFFICIENCIES[use]] = np.where(np.isfinite(efficiency) & (efficiency > 0.0), efficiency, 1.0)
    return series


def _of_rooms(tables: Tables, run: Run, steps: int) -> dict[Kind, np.ndarray]:
    """Temperature and presence in all buildings, where devices act on some; those without a model count as at 0 degrees."""
    if not (tables.site["thermal"]["device_action"] >= 0).any():
        return {}
    return {"indoor": np.nan_to_num(run.indoor_c), "people": (tables.exogenous.occupants[:, :steps] > 0.0).astype(np.float64)}


def train_rows(scenario: Scenario, year: int, rows: int) -> np.ndarray:
    """Which rows of a year belong to the train split, shape (rows,)."""
    within = np.zeros(rows, dtype=bool)
    for window in scenario.windows("train"):
        if window.year == year:
            within[window.rows] = True
    return within


def _train_years(scenario: Scenario) -> list[tuple[int, SiteSeries, np.ndarray]]:
    each = [(year, year_series(scenario, year)) for year in scenario.years("train")]
    return [(year, series, train_rows(scenario, year, series.rows)) for year, series in each]


def year_statistics(scenario: Scenario, year: int, steps: int) -> TrainStatistics:
    """What the train split says of the buildings of a year: of others than those that train, what it says of their mean."""
    trained = train_statistics(scenario, steps)
    if _has_train_buildings(scenario, year):
        return trained
    buildings = len(year_series(scenario, year).values["load"])
    # A building that charges more counts for more, and one without chargers for nothing.
    weight = trained.profile["charging"][..., np.newaxis]
    total = weight.sum(axis=0)
    young = (weight * trained.arriving).sum(axis=0)
    share = np.divide(young, total, out=np.zeros_like(young), where=total > 0.0)
    return TrainStatistics(
        {kind: np.tile(profile.mean(axis=0), (buildings, 1)) for kind, profile in trained.profile.items()},
        np.tile(share, (buildings, 1, 1)),
        trained.error,
    )


@lru_cache(maxsize=8)
def train_statistics(scenario: Scenario, steps: int) -> TrainStatistics:
    """What the hours of the train split say of a site."""
    years = _train_years(scenario)
    day, kinds = years[0][1].day, years[0][1].kinds
    profile = {
        kind: mean_profile([(each.slot[mask], each.values[kind][:, mask]) for _, each, mask in years], day) for kind in kinds
    }
    by_year = [_charging_by_age(scenario, year, series, mask, steps) for year, series, mask in years]
    young, total = (np.sum(parts, axis=0) for parts in zip(*by_year, strict=True))
    share = np.divide(young, total[..., np.newaxis], out=np.zeros_like(young), where=total[..., np.newaxis] > 0.0)
    return TrainStatistics(profile, share, mean_error([(series, mask) for _, series, mask in years]))


def mean_error(years: Sequence[tuple[SiteSeries, np.ndarray]]) -> float:
    """Mean error of the means of seven days, over the mean value, of load and PV together, in the rows that train."""
    error, total = 0.0, 0.0
    for series, mask in years:
        for kind in ("load", "pv"):
            values = np.where(mask, series.values[kind], np.nan)
            before = mean_of_days(values, WEEK_DAYS, series.day)[:, : -series.day]
            differ = np.abs(before - values[:, series.day :])
            known = np.isfinite(differ)
            error += float(differ[known].sum())
            total += float(np.abs(values[:, series.day :][known]).sum())
    return error / total if total > 0.0 else 0.0


def _charging_by_age(
    scenario: Scenario, year: int, series: SiteSeries, mask: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Energy that vehicles take on the uncontrolled site, by step of the day and by the steps since their arrival.

    Of those that arrived less than 0, 1, ... steps before, shape (buildings, day, steps); of all, shape (buildings, day).
    """
    tables, reference = Tables.load(tables_file(scenario, year), template=False), year_reference(scenario, year)
    buildings, day = len(series.values["charging"]), series.day
    sessions, charger = reference.sessions, tables.site["charger"]
    counted = mask[np.minimum(sessions.start, len(mask) - 1)] & (sessions.start < len(mask))
    at = charger[sessions.charger]
    power = at["charge_max"] / tables.exogenous.steps_per_hour
    energy = sessions.required_kwh / np.maximum(at["efficiency"], 1e-9)
    by_age, total = np.zeros((buildings, day, steps)), np.zeros((buildings, day))
    stay = sessions.end - sessions.start + 1
    for age in range(int(stay.max(initial=0))):
        taken = np.where(counted & (age < stay), np.clip(energy - power * age, 0.0, power), 0.0)
        some = taken > 0.0
        if not some.any():
            break
        slot = (series.slot[np.minimum(sessions.start, series.rows - 1)] + age) % day
        np.add.at(total, (at["building"][some], slot[some]), taken[some])
        # Young enough for all horizons that are longer than this age.
        for ahead in range(age + 1, steps):
            np.add.at(by_age[:, :, ahead], (at["building"][some], slot[some]), taken[some])
    return by_age, total
