"""A train year as model predictive control may know it: as if the year had no hours but those of the train split.

Where one year serves all splits, forecasts and horizons reach across the ends of its training windows. Here each hour outside
of the train split is as the mean of the train split's hours with the same hour of the day, so what is planned in the train
split says nothing of other hours.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from envs.batch_backend.tables import Tables
from envs.cache import cached_file
from envs.environments.year_cache import tables_file, year_reference, year_tables
from envs.environments.year_forecasts import cached_model, forecasts_version, series_of, train_rows, train_statistics
from envs.forecasts.daily import mean_profile
from envs.forecasts.learned import TableForecast, forecast_table
from envs.forecasts.series import KINDS, Kind, SiteSeries
from envs.forecasts.site_forecast import Method, SeriesForecast, SiteForecast
from envs.objective.reference import Reference, scale_of
from envs.objective.series import Sessions
from envs.objective.weights import DEFAULT, Weights
from envs.planning.mpc import Plant
from envs.planning.mpc_site import MpcSite
from envs.planning.mpc_vehicles import Vehicles
from envs.scenarios.scenario import Scenario
from envs.yardsticks.mpc_runs import mpc_plant


def train_reference(scenario: Scenario, year: int) -> Reference:
    """Uncontrolled run of a year of the train split, with the means of the train split in place of all other hours.

    Its scale is that of the training windows of the year. Where whole years or segments train, it is the year's own run.
    """
    reference = year_reference(scenario, year)
    steps = reference.run.net_kwh.shape[1]
    own = train_rows(scenario, year, steps)
    if own.all():
        return reference
    run, exogenous, sessions = reference.run, reference.exogenous, reference.sessions
    hour = exogenous.hour

    def filled(values: np.ndarray) -> np.ndarray:
        rows = values.shape[-1]
        known = np.zeros(rows, dtype=bool)
        known[:steps] = own
        profile = mean_profile([(hour[:rows][known], values[:, known])])
        return np.where(known, values, profile[:, hour[:rows]])

    # A vehicle is known from its arrival on; those that arrive in other hours are not.
    begun = own[np.minimum(sessions.start, steps - 1)] & (sessions.start < steps)
    known = Reference(
        replace(
            run,
            net_kwh=filled(run.net_kwh), battery_kwh=filled(run.battery_kwh), charging_kwh=filled(run.charging_kwh),
            missing_kwh=run.missing_kwh[begun],
        ),
        replace(
            exogenous,
            load_kwh=filled(exogenous.load_kwh), pv_kwh=filled(exogenous.pv_kwh), price=filled(exogenous.price),
            carbon=filled(exogenous.carbon),
        ),
        Sessions(**{field.name: getattr(sessions, field.name)[begun] for field in fields(Sessions)}),
        reference.tariff,
    )  # fmt: skip
    if scenario.segments:
        return known.scaled_by(reference.scale)
    return known.scaled_by(scale_of([(known, window) for window in scenario.windows("train") if window.year == year]))


def train_series(scenario: Scenario, year: int) -> SiteSeries:
    """Series of `train_reference`, with weather and calendar filled likewise."""
    series = series_of(train_reference(scenario, year), Tables.load(tables_file(scenario, year)))
    own = train_rows(scenario, year, series.rows)
    if own.all():
        return series
    # The series of tanks come from the tables of the year, the others from its reference.
    values = {
        kind: each if kind in KINDS else np.where(own, each, mean_profile([(series.hour[own], each[:, own])])[:, series.hour])
        for kind, each in series.values.items()
    }
    series = replace(series, values=values)
    if not series.observed.size:
        return series
    profile = mean_profile([(series.hour[own], series.observed[own].T.astype(np.float64))])
    return replace(series, observed=np.where(own[:, np.newaxis], series.observed, profile[:, series.hour].T.astype(np.float32)))


def train_plant(scenario: Scenario, year: int, method: Method, hours: int, weights: Weights = DEFAULT) -> Plant:
    """A year of the train split as model predictive control may know it."""
    series = train_series(scenario, year)
    if train_rows(scenario, year, series.rows).all():
        return mpc_plant(scenario, year, method, hours, weights)
    learned: dict[Kind, SeriesForecast] = {}
    for kind in series.kinds if method == "learned" else ():
        table = _learned_table(scenario, year, series, kind, hours)
        if table is not None:
            learned[kind] = TableForecast(series.values[kind], table)
    reference, tables = train_reference(scenario, year), year_tables(scenario, year)
    return Plant(
        MpcSite.of(tables, reference, weights),
        Vehicles(tables, reference),
        SiteForecast(series, method, train_statistics(scenario, hours), learned),
    )


def _learned_table(scenario: Scenario, year: int, series: SiteSeries, kind: Kind, hours: int) -> np.ndarray | None:
    """Learned forecasts, by a model that has seen no hour outside of the train split either; made the first time and cached."""
    version = forecasts_version(scenario)

    def years() -> list[tuple[SiteSeries, np.ndarray]]:
        each = ((year, train_series(scenario, year)) for year in scenario.years("train"))
        return [(own, train_rows(scenario, year, own.rows)) for year, own in each]

    model = cached_model(f"{scenario.key}/teacher-{kind}-{hours}-{version}.npz", years, kind, hours)
    if model is None:
        return None

    def write(path: Path) -> None:
        with path.open("wb") as file:
            np.save(file, forecast_table(series, kind, model, hours))

    table: np.ndarray = np.load(
        cached_file(f"{scenario.key}/teacher-{kind}-{hours}-{year}-{version}.npy", write), mmap_mode="r"
    )
    return table
