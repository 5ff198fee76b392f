"""What no run of a site can be: signs of a fault in this package, which stop whoever finds them."""

from __future__ import annotations

import numpy as np

from envs.episodes import Episode
from envs.kpis import Kpis
from envs.series import Exogenous, Run

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


class ValidityError(RuntimeError):
    """A result that physics or arithmetic forbid: a fault of this package, not of the policy. Says the numbers."""


def check_episode(episode: Episode) -> None:
    """Check that the energy of a run adds up, hour by hour and building by building.

    Net import is load less PV, plus what batteries, sockets and thermal devices take. What is not of the first four is the
    thermal devices': nothing where the uncontrolled site has none, and never less than nothing.

    Raises:
        ValidityError: at the hour where it differs most.
    """
    window, run, reference = episode.window, episode.run, episode.reference
    series = reference.exogenous
    steps = reference.run.net_kwh.shape[1]
    whole, part = slice(0, steps), slice(window.start, window.start + window.hours)
    has_thermal = bool((_unexplained(reference.run, series, whole) > RELATIVE).any())
    found = _unexplained(run, series, part)
    error = np.maximum(-found, 0.0) if has_thermal else np.abs(found)
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


def check_kpis(year: int, kpis: Kpis) -> None:
    """Check that KPIs lie where such numbers can lie.

    Args:
        year: that they are of, for the message.
        kpis: of a run.

    Raises:
        ValidityError: at the first that does not.
    """
    for name in _SHARES:
        value = getattr(kpis, name)
        # A share of nothing is NaN.
        if not np.isnan(value) and not -RELATIVE <= value <= 1.0 + RELATIVE:
            raise ValidityError(f"year {year}: {name} is {value:.4f}, which is no share")
    for name in _AMOUNTS:
        value = getattr(kpis, name)
        # A price may be negative, and a site without a battery has no cycles.
        may_be_negative = name in ("energy_cost", "bill") or (name == "battery_cycles" and np.isnan(value))
        if not may_be_negative and not (np.isfinite(value) and value >= -RELATIVE):
            raise ValidityError(f"year {year}: {name} is {value:,.3f}, which cannot be")
    ordered = (("ev_missing_kwh", "ev_required_kwh"), ("departures_met", "departures"))
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
