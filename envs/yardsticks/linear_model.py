"""Whether linear programmes describe a scenario: that of its bound, and that of model predictive control."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from envs.batch_backend.tables import Tables
from envs.environments.backend import beyond_batch
from envs.environments.year_cache import year_tables
from envs.objective.series import Exogenous
from envs.planning.mpc_tanks import uses_of
from envs.scenarios.scenario import Scenario
from envs.scenarios.tariff import DemandCharge


def why_no_bound(scenario: Scenario) -> str:
    """Reason why a scenario has no bound; empty where it has one."""
    if missing := beyond_batch(scenario):
        return f"the bound needs the batch backend, which does not support: {', '.join(missing)}"
    reasons = (beyond_bound(own.site["thermal"], own.exogenous, tariff) for own, tariff in _years(scenario))
    return next((reason for reason in reasons if reason), "")


def why_no_mpc(scenario: Scenario) -> str:
    """Reason why a scenario has no model predictive control; empty where it has one.

    It plans thermal storages too, which the bound does not. So a site can have it and no bound.
    """
    if missing := beyond_batch(scenario):
        return f"model predictive control needs the batch backend, which does not support: {', '.join(missing)}"
    years = list(_years(scenario))
    # Series are forecast of the same kinds in all years.
    if len({uses_of(own) for own, _ in years}) > 1:
        return "its segments have thermal storages of different kinds"
    reasons = (_beyond_linear(own.exogenous, tariff) for own, tariff in years)
    return next((reason for reason in reasons if reason), "")


def beyond_bound(thermal: np.ndarray, exogenous: Exogenous, tariff: DemandCharge | None) -> str:
    """What of a site year the programme of the bound does not describe; empty where it describes all.

    Args:
        thermal: devices and tanks, `envs.batch_backend.records.THERMAL`, shape (buildings, 3).
        exogenous: series of the year.
        tariff: its demand charge; None for none.
    """
    if (thermal["action"] >= 0).any():
        return "the bound covers batteries and vehicles, and this site has thermal storages with an action"
    return _beyond_linear(exogenous, tariff)


def _beyond_linear(exogenous: Exogenous, tariff: DemandCharge | None) -> str:
    for name, series in (("prices", exogenous.price), ("carbon intensities", exogenous.carbon)):
        if (series < 0.0).any():
            # Importing and exporting at once would then pay, and a linear programme cannot forbid it.
            return f"{name} below zero are beyond a linear programme"
    if tariff and tariff.off_peak_excess_price > tariff.peak_price:
        # A higher import in peak hours would then lower the bill: the bill is no convex function of the imports.
        return "a demand charge whose excess costs more than its peak hours is beyond a linear programme"
    return ""


def _years(scenario: Scenario) -> Iterator[tuple[Tables, DemandCharge | None]]:
    """Tables and tariff of the years that can differ in what is asked here."""
    # Generated years all have the same devices, and tariffs of one kind. Segments may have other buildings and prices.
    for year in range(len(scenario.segments)) if scenario.segments else scenario.years("train")[:1]:
        yield year_tables(scenario, year), DemandCharge.of(scenario.schema_path(year))
