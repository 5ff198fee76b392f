"""What no run of a site can be: signs of a fault in this package, which stop whoever finds them."""

from __future__ import annotations

import numpy as np

from common.errors import InconsistentError
from envs.objective.episodes import Episode
from envs.objective.kpis import Kpis
from envs.objective.series import Exogenous, Run

# Series are float32, and CityLearn rounds on the way; a wrong sign or a forgotten device is a thousand times as much.
RELATIVE = 1e-4
# Of the bound, as HiGHS stops within a tolerance.
SCORE = 1e-4
LEAST_BOUND = 1e-3  # where there is next to nothing to win, the solver's tolerance is one of the site's energies
_SHARES = ("self_consumption", "self_sufficiency", "ev_served")
_AMOUNTS = (
    "consumption_kwh", "pv_kwh", "import_kwh", "export_kwh", "co2_kg", "energy_cost", "demand_charge", "bill", "peak_kw",
    "ramping_kwh", "battery_cycles", "ev_required_kwh", "ev_missing_kwh",
)  # fmt: skip
# Prices may be negative, and of what a battery took from the grid some is lost and some still in it: all of it is imported,
# and none of it consumption.
_NEGATIVE = frozenset({"energy_cost", "bill", "self_sufficiency"})
_NEGATIVE_BY_VEHICLES = frozenset({"consumption_kwh", "ev_served"})


class ValidityError(InconsistentError):
    """A result that physics or arithmetic forbid: a fault of this package, not of the policy. Says the numbers."""


def check_episode(episode: Episode) -> None:
    """Check that the energy of a run adds up, hour by hour and building by building.

    Net import is load less PV, plus what batteries, sockets and other devices take. What is not of the first four is the
    other devices': nothing where the site has none, and never less than nothing. In a power outage it is nothing.

    Raises:
        ValidityError: at the hour where it differs most.
    """
    window, run, reference = episode.window, episode.run, episode.reference
    series, part = reference.exogenous, slice(window.start, window.start + window.hours)
    found = _unexplained(run, series, part)
    error = np.maximum(-found, 0.0) if series.other_devices else np.abs(found)
    error = np.where(run.off_grid, np.abs(run.net_kwh), error)
    # Written so that NaN fails.
    if not (error <= RELATIVE).all():
        at = np.unravel_index(int(np.nan_to_num(error, nan=np.inf).argmax()), error.shape)
        parts = {
            "load": series.load_kwh[:, part], "PV": -series.pv_kwh[:, part], "battery": run.battery_kwh,
            "sockets": run.charging_kwh,
        }  # fmt: skip
        summed = ", ".join(f"{name} {values[at]:,.3f}" for name, values in parts.items())
        raise ValidityError(
            f"year {window.year}, hour {window.start + int(at[1])}: building {int(at[0])} imports {run.net_kwh[at]:,.3f} kWh "
            f"net, which its parts do not make: {summed}"
        )


def _unexplained(run: Run, series: Exogenous, part: slice) -> np.ndarray:
    """Net import without its known parts, over the size of these (and of 1 kWh), shape (buildings, hours)."""
    load, pv = series.load_kwh[:, part], series.pv_kwh[:, part]
    size = load + pv + np.abs(run.battery_kwh) + np.abs(run.charging_kwh) + 1.0
    found: np.ndarray = (run.net_kwh - (load - pv + run.battery_kwh + run.charging_kwh)) / size
    return found


def check_kpis(year: int, kpis: Kpis, vehicles_give: bool = False) -> None:
    """Check that KPIs lie where such numbers can lie.

    Args:
        year: that they are of, for the message.
        kpis: of a run.
        vehicles_give: whether vehicles can give energy back. They may then leave with less than they brought, so that more is
            missing than was asked for, and give more than the site consumes.

    Raises:
        ValidityError: at the first that does not.
    """
    negative = _NEGATIVE | (_NEGATIVE_BY_VEHICLES if vehicles_give else frozenset())
    for name in _SHARES:
        value = getattr(kpis, name)
        least = -np.inf if name in negative else -RELATIVE
        # A share of nothing is NaN.
        if not np.isnan(value) and not least <= value <= 1.0 + RELATIVE:
            raise ValidityError(f"year {year}: {name} is {value:.4f}, which is no share")
    for name in _AMOUNTS:
        value = getattr(kpis, name)
        # A site without a battery has no cycles.
        is_none = name == "battery_cycles" and np.isnan(value)
        if not is_none and not (np.isfinite(value) and (name in negative or value >= -RELATIVE)):
            raise ValidityError(f"year {year}: {name} is {value:,.3f}, which cannot be")
    ordered = [("departures_met", "departures")]
    if not vehicles_give:
        ordered.append(("ev_missing_kwh", "ev_required_kwh"))
    for small, large in ordered:
        if getattr(kpis, small) > getattr(kpis, large) * (1.0 + RELATIVE) + RELATIVE:
            raise ValidityError(
                f"year {year}: {small} is {getattr(kpis, small):,.3f}, {large} only {getattr(kpis, large):,.3f}"
            )


def check_score(name: str, year: int, score: float, bound: float) -> None:
    """Check that a score is not above what perfect foresight reaches.

    Args:
        name: of the policy.
        year: that it is of.
        score: of the policy.
        bound: of the score, over the same hours.

    Raises:
        ValidityError: if it is.
    """
    if not score <= bound + SCORE * max(abs(bound), LEAST_BOUND):
        raise ValidityError(f"{name}, year {year}: a score of {score:+.6f} is above the bound of {bound:+.6f}")
