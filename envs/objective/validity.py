"""Consistency checks of results: energy that does not add up, KPIs out of bounds, scores above the bound."""

from __future__ import annotations

import numpy as np

from common.errors import InconsistentError
from envs.objective.episodes import Episode
from envs.objective.kpis import KPIS, Kpis
from envs.objective.series import Exogenous, Run

# Series are float32, and CityLearn rounds on the way; a wrong sign or a forgotten device is a thousand times as much.
RELATIVE = 1e-4
# Of the bound, as HiGHS stops within a tolerance.
SCORE = 1e-4
LEAST_BOUND = 1e-3  # where there is next to nothing to win, the solver's tolerance is one of the site's energies


class ValidityError(InconsistentError):
    """A result that physics or arithmetic forbid: a fault of this package, not of the policy. The message has the numbers."""


def check_episode(episode: Episode) -> None:
    """Check that the energy of a run adds up, hour by hour and building by building.

    Net import is load less PV, plus what batteries, sockets and other devices take. The other devices take the rest: nothing
    where the site has none, and never less than nothing. In a power outage net import is zero.

    Raises:
        ValidityError: at the hour where it differs most.
    """
    window, run, reference = episode.window, episode.run, episode.reference
    series, part = reference.exogenous, slice(window.start, window.start + window.hours)
    unexplained = _unexplained(run, series, part)
    error = np.maximum(-unexplained, 0.0) if series.other_devices else np.abs(unexplained)
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
            f"net, but its parts are {summed}"
        )


def _unexplained(run: Run, series: Exogenous, part: slice) -> np.ndarray:
    """Net import without its known parts, over the size of these (and of 1 kWh), shape (buildings, hours)."""
    load, pv = series.load_kwh[:, part], series.pv_kwh[:, part]
    size = load + pv + np.abs(run.battery_kwh) + np.abs(run.charging_kwh) + 1.0
    rest: np.ndarray = (run.net_kwh - (load - pv + run.battery_kwh + run.charging_kwh)) / size
    return rest


def check_kpis(year: int, kpis: Kpis, vehicles_give: bool = False) -> None:
    """Check that KPIs lie within the bounds of `envs.objective.kpis.KPIS`.

    Raises:
        ValidityError: at the first KPI that is out of bounds.
    """
    for name, kpi in KPIS.items():
        value, bounds = kpis[name], kpi.bounds_where(vehicles_give)
        if np.isnan(value) and bounds.may_be_nan:
            continue
        # Written so that NaN fails.
        if not (np.isfinite(value) and bounds.low - RELATIVE <= value <= bounds.high + RELATIVE):
            raise ValidityError(
                f"year {year}: {name} is {value:,.4f}; it has to be finite and lie from {bounds.low:g} to {bounds.high:g}"
            )
        if bounds.at_most and value > kpis[bounds.at_most] * (1.0 + RELATIVE) + RELATIVE:
            raise ValidityError(
                f"year {year}: {name} is {value:,.3f}, more than {bounds.at_most}, which is {kpis[bounds.at_most]:,.3f}"
            )


def check_score(name: str, year: int, score: float, bound: float) -> None:
    """Check that a score is not above what perfect foresight reaches.

    Raises:
        ValidityError: if it is.
    """
    if not score <= bound + SCORE * max(abs(bound), LEAST_BOUND):
        raise ValidityError(f"{name}, year {year}: a score of {score:+.6f} is above the bound of {bound:+.6f}")
