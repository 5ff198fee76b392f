"""Whether linear programmes describe a scenario: that of its bound, and that of model predictive control."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from envs.batch_backend.tables import Tables
from envs.environments.backend import beyond_batch
from envs.environments.year_cache import year_tables
from envs.objective.series import Exogenous
from envs.scenarios.scenario import Scenario
from envs.scenarios.tariff import DemandCharge

TANKS_LEFT = "model predictive control plans batteries and vehicles here, and leaves thermal storages alone"


def why_no_bound(scenario: Scenario) -> str:
    """Reason why a scenario has no bound; empty where it has one."""
    if missing := beyond_batch(scenario):
        return f"the bound needs the batch backend, which does not support: {', '.join(missing)}"
    reasons = (beyond_bound(own.site["thermal"], own.exogenous, tariff) for own, tariff in _years(scenario))
    return next((reason for reason in reasons if reason), "")


def why_no_mpc(scenario: Scenario) -> str:
    """Reason why a scenario has no model predictive control; empty where it has one.

    It plans batteries and vehicles, and leaves thermal storages alone. So a site can have it and no bound.
    """
    if missing := beyond_batch(scenario):
        return f"model predictive control needs the batch backend, which does not support: {', '.join(missing)}"
    reasons = (_beyond_mpc(own.site, own.exogenous, tariff) for own, tariff in _years(scenario))
    return next((reason for reason in reasons if reason), "")


def has_tanks(scenario: Scenario) -> bool:
    """Whether a scenario that the batch backend can step has thermal storages that act."""
    return any(_acts(own.site["thermal"]) for own, _ in _years(scenario))


def beyond_bound(thermal: np.ndarray, exogenous: Exogenous, tariff: DemandCharge | None) -> str:
    """What of a site year the programme of the bound does not describe; empty where it describes all.

    Args:
        thermal: devices and tanks, `envs.batch_backend.records.THERMAL`, shape (buildings, 3).
        exogenous: series of the year.
        tariff: its demand charge; None for none.
    """
    if _acts(thermal):
        return "the bound covers batteries and vehicles, and this site has thermal storages with an action"
    return _beyond_linear(exogenous, tariff)


def _beyond_mpc(site: dict[str, np.ndarray], exogenous: Exogenous, tariff: DemandCharge | None) -> str:
    plans = (site["building"]["battery_action"] >= 0).any() or _acts(site["charger"])
    if _acts(site["thermal"]) and not plans:
        return "it plans batteries and vehicles, and of this site thermal storages alone have an action"
    return _beyond_linear(exogenous, tariff)


def _acts(devices: np.ndarray) -> bool:
    return bool((devices["action"] >= 0).any())


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
