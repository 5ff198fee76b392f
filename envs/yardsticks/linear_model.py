"""Whether linear programmes describe a scenario: that of its bound, and that of model predictive control."""

from __future__ import annotations

from envs.batch_backend.tables import Tables
from envs.environments.backend import beyond_batch
from envs.environments.year_cache import year_tables
from envs.objective.series import Exogenous
from envs.planning.mpc_tanks import uses_of
from envs.scenarios.scenario import Scenario
from envs.scenarios.tariff import DemandCharge


def why_no_bound(scenario: Scenario) -> str:
    """Reason why a scenario has no bound; empty where it has one."""
    return _why_none(scenario, "the bound")


def why_no_mpc(scenario: Scenario) -> str:
    """Reason why a scenario has no model predictive control; empty where it has one."""
    if reason := _why_none(scenario, "model predictive control"):
        return reason
    # Series are forecast of the same kinds in all years.
    kinds = {uses_of(tables) for tables, _ in _years(scenario)}
    return "its segments have thermal storages of different kinds" if len(kinds) > 1 else ""


def beyond_linear(exogenous: Exogenous, tariff: DemandCharge | None) -> str:
    """What of a site year no linear programme describes; empty where one does."""
    for name, series in (("prices", exogenous.price), ("carbon intensities", exogenous.carbon)):
        if (series < 0.0).any():
            # Importing and exporting at once would then pay, and a linear programme cannot forbid it.
            return f"{name} below zero are beyond a linear programme"
    if tariff and tariff.off_peak_excess_price > tariff.peak_price:
        # A higher import in peak hours would then lower the bill: the bill is no convex function of the imports.
        return "a demand charge that costs more outside peak hours than in them is beyond a linear programme"
    return ""


def _why_none(scenario: Scenario, what: str) -> str:
    if missing := beyond_batch(scenario):
        return f"{what} needs the batch backend, which does not support: {', '.join(missing)}"
    reasons = (beyond_linear(tables.exogenous, tariff) for tables, tariff in _years(scenario))
    return next((reason for reason in reasons if reason), "")


def _years(scenario: Scenario) -> list[tuple[Tables, DemandCharge | None]]:
    """Tables and tariff of the years that can differ in what is asked here."""
    # Generated years all have the same devices, and tariffs of one kind. Segments may have other buildings and prices.
    years = range(len(scenario.segments)) if scenario.segments else scenario.years("train")[:1]
    return [(year_tables(scenario, year), DemandCharge.of(scenario.schema_path(year))) for year in years]
