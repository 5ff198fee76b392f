"""The bound's linear programme: its variables, its constraints and what it minimises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from envs.objective.reward import coefficients
from envs.planning.linear_programme import LinearProgramme
from envs.yardsticks.bound_site import BoundSite

Terms = list[tuple[np.ndarray, Any]]  # variables with their factors

Objective = Literal["score", "co2", "cost"]
OBJECTIVES: tuple[Objective, ...] = ("score", "co2", "cost")
LEAST_WORTH = 1e-9  # of a kilowatt-hour: far below the solver's tolerance of a score


@dataclass(frozen=True)
class Variables:
    """Indices of the programme's variables."""

    drawn: np.ndarray  # import, (buildings, hours)
    fed: np.ndarray  # export
    ramp: np.ndarray  # (hours,)
    missing: np.ndarray  # (groups,)
    peak: np.ndarray  # of each month in peak hours and outside them, (months, 2)
    above: np.ndarray  # by which the second exceeds the first, (months,)
    months: np.ndarray  # number of each hour's month, (hours,)
    day_peak: np.ndarray  # highest import of each day, (days,); none without weight


def constrain(programme: LinearProgramme, site: BoundSite) -> Variables:
    """Add the variables of a site and their constraints."""
    buildings, hours = site.base_kwh.shape
    everywhere = (buildings, hours)
    drawn, fed = programme.variables(*everywhere), programme.variables(*everywhere)
    taken, given = (programme.variables(*everywhere, high=site.power[:, np.newaxis]) for _ in range(2))
    stored = programme.variables(*everywhere, low=site.least[:, np.newaxis], high=site.most[:, np.newaxis])
    # One variable for each group and hour in which it is plugged in.
    group, hour = site.there
    charging = programme.variables(len(group), high=site.charge[group])
    back = programme.variables(len(group), high=site.v2g[group])
    filled, tapped, of_tanks = _add_tanks(programme, site)
    cell = np.arange(buildings * hours).reshape(everywhere)
    at = cell[site.building[group], hour]
    programme.rows(
        True, site.base_kwh.ravel(),
        (cell, drawn, 1.0), (cell, fed, -1.0), (cell, taken, -1.0), (cell, given, 1.0), (at, charging, -1.0), (at, back, 1.0),
        (cell[of_tanks], filled, -site.filled_kwh), (cell[of_tanks], tapped, site.tapped_kwh),
    )  # fmt: skip
    start = np.zeros(everywhere)
    start[:, 0] = site.least
    root = site.root[:, np.newaxis]
    programme.rows(
        True, start.ravel(),
        (cell, stored, 1.0), (cell[:, 1:], stored[:, :-1], -1.0), (cell, taken, -root), (cell, given, 1.0 / root),
    )  # fmt: skip
    # A battery charges or discharges, so both together stay within its power.
    programme.rows(False, np.repeat(site.power, hours), (cell, taken, 1.0), (cell, given, 1.0))
    groups, efficiency = np.arange(len(site.first)), site.efficiency[group]
    missing = programme.variables(len(groups), low=site.unavoidable)
    delivered = ((group, charging, efficiency), (group, back, -1.0 / efficiency))
    programme.rows(False, site.room, *delivered)
    programme.rows(False, site.held, *((row, variable, -factor) for row, variable, factor in delivered))
    lacking = [(row, variable, -factor) for row, variable, factor in delivered]
    programme.rows(False, -site.required, *lacking, (groups, missing, -1.0))
    ramp = programme.variables(hours)
    _add_ramp(programme, site, drawn, fed, ramp)
    months, peak, above = _add_peaks(programme, site, drawn, fed)
    return Variables(drawn, fed, ramp, missing, peak, above, months, _add_day_peaks(programme, site, drawn, fed))


def _add_tanks(programme: LinearProgramme, site: BoundSite) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add thermal storages: heat or cold that each takes and gives, shape (tanks, hours), and the building of each."""
    tanks, shape = site.tanks, (len(site.tanks), site.hours)
    filled, tapped = programme.variables(*shape, high=site.fill), programme.variables(*shape, high=site.tap)
    held = programme.variables(*shape, high=tanks.capacity[:, np.newaxis])
    cell, first = np.arange(held.size).reshape(shape), np.zeros(shape)
    first[:, 0] = site.first_held
    kept, root = tanks.kept[:, np.newaxis], tanks.root[:, np.newaxis]
    programme.rows(
        True, first.ravel(),
        (cell, held, 1.0), (cell[:, 1:], held[:, :-1], -kept), (cell, filled, -root), (cell, tapped, 1.0 / root),
    )  # fmt: skip
    return filled, tapped, tanks.building


def _add_ramp(programme: LinearProgramme, site: BoundSite, drawn: np.ndarray, fed: np.ndarray, ramp: np.ndarray) -> None:
    """Keep `ramp` at or above the size of the change of the site's net import."""
    before = site.uncontrolled.previous_net_kwh
    hours = np.arange(site.hours - 1)
    for sign in (1.0, -1.0):
        terms = [
            (hours, variable[building, 1:] if later else variable[building, :-1], factor * sign * (1.0 if later else -1.0))
            for building in range(site.buildings)
            for variable, factor in ((drawn, 1.0), (fed, -1.0))
            for later in (True, False)
        ]
        programme.rows(False, np.zeros(site.hours - 1), *terms, (hours, ramp[1:], -1.0))
        if before is not None:
            zero = np.zeros(site.buildings, dtype=int)
            first = [(zero, drawn[:, 0], sign), (zero, fed[:, 0], -sign)]
            programme.rows(False, np.array([sign * before]), *first, (zero[:1], ramp[:1], -1.0))


def _add_peaks(
    programme: LinearProgramme, site: BoundSite, drawn: np.ndarray, fed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add the highest imports of each month: at or above the site's net import in its hours."""
    months = np.concatenate([[0], np.cumsum(np.diff(site.month) != 0)])
    count = int(months[-1]) + 1 if site.tariff else 0
    peak, above = programme.variables(count, 2), programme.variables(count)
    if site.tariff:
        outside = np.where(np.isin(site.hour, site.tariff.peak_hours), 0, 1)
        hours = np.arange(site.hours)
        own = ((drawn, 1.0), (fed, -1.0))
        terms = [(hours, variable[building], factor) for building in range(site.buildings) for variable, factor in own]
        programme.rows(False, np.zeros(site.hours), *terms, (hours, peak[months, outside], -1.0))
        each = np.arange(count)
        programme.rows(False, np.zeros(count), (each, peak[:, 1], 1.0), (each, peak[:, 0], -1.0), (each, above, -1.0))
    return months, peak, above


def _add_day_peaks(programme: LinearProgramme, site: BoundSite, drawn: np.ndarray, fed: np.ndarray) -> np.ndarray:
    """Add the highest import of each day, at or above the site's net import in its hours, where the reward weighs it."""
    if not site.weights.peak:
        return programme.variables(0)
    day = site.day - site.day[0]
    peak = programme.variables(int(day[-1]) + 1)
    hours, own = np.arange(site.hours), ((drawn, 1.0), (fed, -1.0))
    terms = [(hours, variable[building], factor) for building in range(site.buildings) for variable, factor in own]
    programme.rows(False, np.zeros(site.hours), *terms, (hours, peak[day], -1.0))
    return peak


def emission_and_cost(site: BoundSite, variables: Variables) -> tuple[Terms, Terms]:
    """Terms of emission and of cost."""
    emission: Terms = [(variables.drawn, site.carbon)]
    cost: Terms = [(variables.drawn, site.price)]
    if site.tariff:
        share = site.uncontrolled.month_share[np.searchsorted(variables.months, np.arange(len(variables.above)))]
        cost.append((variables.peak[:, 0], site.tariff.peak_price * share))
        cost.append((variables.above, site.tariff.off_peak_excess_price * share))
    return emission, cost


def solar_loss(site: BoundSite) -> np.ndarray:
    """Least PV energy that a kilowatt-hour of export takes from the site, shape (buildings, hours).

    It is 1 where only PV can be exported. Where batteries can be exported too, it is the slope of the line from no export to
    the most. The PV energy used on site never lies above that line.
    """
    return np.where(could_exceed_pv(site), site.pv / np.maximum(site.pv + site.beyond_pv, 1e-9), 1.0)


def could_exceed_pv(site: BoundSite) -> np.ndarray:
    """Whether more than PV could be exported, shape (buildings, hours)."""
    return site.beyond_pv > 0.0


def set_objective(programme: LinearProgramme, site: BoundSite, variables: Variables, objective: Objective) -> None:
    """Set what the programme minimises."""
    emission, cost = emission_and_cost(site, variables)
    if objective == "score":
        # A unit of each quantity lowers the reward by the term's coefficient.
        worth = coefficients(site.scale, site.weights)
        parts = [
            (emission, worth["co2"]),
            (cost, worth["cost"]),
            ([(variables.fed, solar_loss(site))], worth["solar"]),
            ([(variables.ramp, 1.0)], worth["grid"]),
            ([(variables.missing, 1.0)], worth["ev"]),
            ([(variables.day_peak, 1.0)], worth["peak"]),
        ]
        if not (worth["co2"] or worth["cost"] or worth["solar"]):
            # Nothing else keeps the programme from importing and exporting at once without end. The score is read from net
            # imports, so this only chooses among its optima.
            parts.append(([(variables.drawn, 1.0)], LEAST_WORTH))
    else:
        # Missing energy costs more than a kilowatt-hour could ever save, so every vehicle is served as far as possible.
        dear = 1e3 * max(float(site.carbon.max()), float(site.price.max()), site.tariff.peak_price if site.tariff else 0.0)
        parts = [(emission if objective == "co2" else cost, 1.0), ([(variables.missing, dear)], 1.0)]
    for terms, coefficient in parts:
        for variable, factor in terms:
            each = np.broadcast_to(coefficient * np.asarray(factor), variable.shape)
            np.add.at(programme.cost, variable.ravel(), each.ravel())
