"""An upper bound of every policy: a linear programme that knows the whole year, over a relaxation of the site's physics.

The relaxation:

- batteries charge and discharge at their best efficiency and full power, and never wear out;
- charging sessions that begin and end together share their power;
- a thermal storage may take and give in one hour;
- every decision is made with full knowledge of what follows.

Each of these only adds freedom, so no policy exceeds the optimum. The gap is the price of foresight and of the relaxation.
HiGHS (Huangfu and Hall 2018) solves the programme through SciPy.

    maximise   sum over steps of the improvement reward (or: minimise emission, or cost, with every vehicle served)
    subject to net = base load + charging + battery + (filled - tapped) / efficiency - PV = import - export
                                                                                  for each building and step
               charge of the battery after = before + root * in - out / root      within its limits, in + out <= power
               held after = kept * before + root * filled - tapped / root         within the tank and what its device leaves
               delivered = efficiency * charging, missing >= required - delivered for each group of sessions
               owed >= due - delivered, which counts as import when they leave or the window ends, see `Reference.due_soc`
               ramp >= |change of the site's net|,  month's peaks >= net,  day's peak >= net
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from common.errors import InconsistentError, ScenarioError
from common.measure import LEAST_SERVED
from envs.batch_backend import records
from envs.batch_backend.tables import Tables
from envs.cache import cached_json
from envs.environments.fit import beyond_linear
from envs.environments.vector_env import open_years
from envs.objective.reference import Reference
from envs.objective.reward import TERMS, coefficients, improvement_terms
from envs.objective.series import MET_TOLERANCE, day_peak_rises, import_kwh, solar_use_kwh
from envs.objective.weights import DEFAULT, Weights
from envs.planning.mpc_programme import LinearProgramme
from envs.planning.mpc_site import Tanks
from envs.scenarios.scenario import Window
from envs.scenarios.tariff import demand_costs
from envs.task import SiteTask

if TYPE_CHECKING:
    from envs.batch_backend.simulator import BatchSimulator

VERSION = 8  # part of the cache's key


def bound(task: SiteTask, window: Window, objective: Objective, most_seconds: float | None = None) -> Bound:
    """Optimum over a window of a year, solved the first time and cached; errors as of `window_bound`."""
    weights = task.aim.weights

    def optimum() -> Bound:
        simulator = open_years(task.site, [window.year], 1)
        return window_bound(simulator, window, objective, weights, most_seconds)

    part = f"{window.year}-{window.start}-{window.hours}"
    key = f"{task.site.key}/bound-{objective}{weights.key}-{part}-v{VERSION}.json"
    return cached_json(Bound, key, optimum)


def served_bounds(task: SiteTask, windows: Sequence[Window], most_seconds: float | None = None) -> list[Bound]:
    """Optimum of the score over several windows that together serve vehicles as a winner has to: `LEAST_SERVED`.

    Bounds of single windows may leave vehicles without energy, which no winner may. To serve them so in each window would be
    too strict, as a policy may serve more in one and less in another. So one programme has all windows. Solved the first time
    and cached; errors as of `window_bound`.
    """

    def optimum() -> list[Bound]:
        parts, solution = _served(task, windows, most_seconds)
        return [read_solution(*part, solution, "score") for part in parts]

    digest = hashlib.sha256(repr([(window.year, window.start, window.hours) for window in windows]).encode()).hexdigest()[:16]
    key = f"{task.site.key}/bound-served-{LEAST_SERVED}{task.aim.weights.key}-{digest}-v{VERSION}.json"
    return cached_json(list[Bound], key, optimum)


def served_net_kwh(task: SiteTask, window: Window, most_seconds: float | None = None) -> np.ndarray:
    """Net import of the site in each hour of the optimum of `served_bounds`, kWh, shape (hours,); errors as there."""
    ((_, variables),), solution = _served(task, [window], most_seconds)
    net: np.ndarray = (solution[variables.drawn] - solution[variables.fed]).sum(axis=0)
    return net.reshape(-1, window.per_hour).sum(axis=1)


class TooLongError(Exception):
    """What was to be computed takes longer than it may."""


def window_bound(
    simulator: BatchSimulator,
    window: Window,
    objective: Objective,
    weights: Weights = DEFAULT,
    most_seconds: float | None = None,
) -> Bound:
    """Optimum over a window of a year, the batteries as empty at its start as they may be.

    A `BoundError` if HiGHS finds no optimum, a `TooLongError` if it takes more than `most_seconds`, a `ScenarioError` if no
    linear programme describes the site.
    """
    programme = LinearProgramme()
    site, variables = _part(programme, simulator, window, objective, weights)
    return read_solution(site, variables, _solved(programme, objective, most_seconds), objective)


def _served(
    task: SiteTask, windows: Sequence[Window], most_seconds: float | None
) -> tuple[list[tuple[BoundSite, Variables]], np.ndarray]:
    """Sites and variables of windows, and their values at the optimum of `served_bounds`."""
    simulator, programme = open_years(task.site, sorted({window.year for window in windows}), 1), LinearProgramme()
    parts = [_part(programme, simulator, window, "score", task.aim.weights) for window in windows]
    served = sum(site.required_kwh - site.uncontrolled.total["ev"] for site, _ in parts)
    may_miss = sum(site.required_kwh - site.lost_kwh for site, _ in parts) - LEAST_SERVED * served
    missing = np.concatenate([variables.missing for _, variables in parts])
    if len(missing):
        programme.rows(False, np.array([may_miss]), (..., missing, 1.0))
    return parts, _solved(programme, "score", most_seconds)


def _part(
    programme: LinearProgramme, simulator: BatchSimulator, window: Window, objective: Objective, weights: Weights
) -> tuple[BoundSite, Variables]:
    """Add a window to a programme. Raises a ScenarioError if no linear programme describes the site."""
    reference = simulator.reference(window.year)
    if reason := beyond_linear(reference.exogenous, reference.tariff):
        raise ScenarioError(reason)
    site = BoundSite(simulator, window, weights)
    variables = constrain(programme, site)
    set_objective(programme, site, variables, objective)
    return site, variables


def _solved(programme: LinearProgramme, objective: Objective, most_seconds: float | None) -> np.ndarray:
    """Values of the variables at the optimum; errors as of `window_bound`."""
    from scipy.optimize import linprog

    options = {} if most_seconds is None else {"time_limit": max(most_seconds, 0.0)}
    # The dual simplex: a year of a mall takes it 5 s, and 39 s the interior point method, most of it to get to a corner.
    result = linprog(**programme.arguments(), method="highs-ds", options=options)
    if most_seconds is not None and result.status == 1:
        raise TooLongError
    if result.status != 0:
        raise BoundError(f"the bound of {objective} was not found: {result.message}")
    return result.x


TOLERANCE = 1e-4  # of the solver, as a part


@dataclass(frozen=True)
class Bound:
    """The optimum of one objective over a window."""

    objective: Objective
    score: float  # mean reward an hour
    co2_kg: float
    cost: float  # of energy and demand charge
    missing_kwh: float  # that vehicles lack
    required_kwh: float  # that they require
    uncontrolled_missing_kwh: float  # that they lack on the uncontrolled site
    import_kwh: float  # with what vehicles brought and leave without
    # PV energy used on site that the programme counts and its hours do not have. It is above 0 only where batteries can be
    # exported, as the reward is no linear function there. 0 means that the score is that of its hours.
    lent_kwh: float


class BoundError(InconsistentError):
    """The programme has no optimum, though every site has one, or a wrong one: a fault of this package."""


def read_solution(site: BoundSite, variables: Variables, solution: np.ndarray, objective: Objective) -> Bound:
    """Figures of a solution; a `BoundError` if emission, cost or PV use of the programme differ from those of its hours."""

    def total(terms: list[tuple[np.ndarray, Any]]) -> float:
        return float(sum((solution[variable] * factor).sum() for variable, factor in terms))

    own_emission, own_cost = emission_and_cost(site, variables)
    net = solution[variables.drawn] - solution[variables.fed]
    owed = np.zeros(net.shape)
    np.add.at(owed, site.leaves, solution[variables.owed] / site.efficiency[site.owes])
    drawn = import_kwh(net) + owed
    emission = float((drawn * site.carbon).sum())
    nets = net.sum(axis=0)
    cost = float((drawn * site.price).sum() + demand_costs(site.tariff, *site.calendar, import_kwh(nets), site.start).sum())
    worth = coefficients(site.scale, site.weights)
    for name, term, by_programme, by_hours in (
        ("emission", "co2", total(own_emission), emission), ("cost", "cost", total(own_cost), cost),
    ):  # fmt: skip
        # A quantity that is not part of the objective can lie anywhere above its least value.
        minimised = worth[term] > 0.0 if objective == "score" else objective == term
        if minimised and abs(by_programme - by_hours) > TOLERANCE * max(abs(by_hours), 1.0):
            raise BoundError(f"the bound's {name} is {by_programme:,.2f} by its programme and {by_hours:,.2f} by its hours")
    solar = float((site.pv - solution[variables.fed] * solar_loss(site)).sum())
    used = float(solar_use_kwh(net, site.pv).sum())
    if objective == "score" and not worth["solar"]:
        solar = used  # the programme has no reason to count it right
    lent = solar - used
    # Only the score has PV use in its objective; the others may import and export at once.
    if objective == "score" and not (site.beyond_pv > 0.0).any() and abs(lent) > TOLERANCE * max(solar, 1.0):
        raise BoundError(f"the bound uses {solar:,.2f} kWh of PV on site by its programme and {solar - lent:,.2f} by its hours")
    missing = float(solution[variables.missing].sum()) + site.lost_kwh
    previous, uncontrolled = site.uncontrolled.previous_net_kwh, site.uncontrolled.total
    ramp = float(np.abs(np.diff(nets, prepend=nets[0] if previous is None else previous)).sum())
    peaks = float(day_peak_rises(site.day, nets).sum())
    figures = dict(zip(TERMS, (emission, cost, solar, ramp, missing, peaks, uncontrolled["comfort"]), strict=True))
    score = sum(improvement_terms(figures, uncontrolled, site.scale, site.weights).values()) / site.hours
    return Bound(objective, score, emission, cost, missing, site.required_kwh, uncontrolled["ev"], float(drawn.sum()), lent)


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
    owed: np.ndarray  # of the groups that may be owed, see `BoundSite.owes`
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
    at = site.building[group], hour
    programme.rows(
        True, site.base_kwh,
        (..., drawn, 1.0), (..., fed, -1.0), (..., taken, -1.0), (..., given, 1.0), (at, charging, -1.0), (at, back, 1.0),
        (of_tanks, filled, -site.filled_kwh), (of_tanks, tapped, site.tapped_kwh),
    )  # fmt: skip
    start = np.zeros(everywhere)
    start[:, 0] = site.least
    root = site.root[:, np.newaxis]
    programme.rows(
        True, start,
        (..., stored, 1.0), (np.s_[:, 1:], stored[:, :-1], -1.0), (..., taken, -root), (..., given, 1.0 / root),
    )  # fmt: skip
    # A battery charges or discharges, so both together stay within its power.
    power = np.repeat(site.power[:, np.newaxis], hours, axis=1)
    programme.rows(False, power, (..., taken, 1.0), (..., given, 1.0))
    efficiency = site.efficiency[group]
    missing = programme.variables(len(site.first), low=site.unavoidable)
    delivered = ((group, charging, efficiency), (group, back, -1.0 / efficiency))
    lacking = [(row, variable, -factor) for row, variable, factor in delivered]
    programme.rows(False, site.room, *delivered)
    programme.rows(False, site.held, *lacking)
    programme.rows(False, -site.required, *lacking, (..., missing, -1.0))
    owes = np.flatnonzero(site.owes)
    owed, row = programme.variables(len(owes)), np.full(len(site.first), -1)
    row[owes] = np.arange(len(owes))
    owing = np.flatnonzero(row[group] >= 0)
    taken_back = [(row[group[owing]], variable[owing], factor[owing]) for _, variable, factor in lacking]
    programme.rows(False, -site.due[owes], *taken_back, (..., owed, -1.0))
    ramp, *peaks = _add_ramp_and_peaks(programme, site, drawn, fed)
    return Variables(drawn, fed, ramp, missing, owed, *peaks)


def _add_tanks(programme: LinearProgramme, site: BoundSite) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add thermal storages: heat or cold that each takes and gives, shape (tanks, hours), and the building of each."""
    tanks, shape = site.tanks, (len(site.tanks), site.hours)
    filled, tapped = programme.variables(*shape, high=site.fill), programme.variables(*shape, high=site.tap)
    held = programme.variables(*shape, high=tanks.capacity[:, np.newaxis])
    first = np.zeros(shape)
    first[:, 0] = site.first_held
    kept, root = tanks.kept[:, np.newaxis], tanks.root[:, np.newaxis]
    programme.rows(
        True, first,
        (..., held, 1.0), (np.s_[:, 1:], held[:, :-1], -kept), (..., filled, -root), (..., tapped, 1.0 / root),
    )  # fmt: skip
    return filled, tapped, tanks.building


def _add_ramp_and_peaks(
    programme: LinearProgramme, site: BoundSite, drawn: np.ndarray, fed: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Add `ramp`, at or above the size of the change of the site's net import, and `peak` to `day_peak` of `Variables`.

    Peaks are at or above net import in their hours. Those of days are there where the reward weighs them.
    """

    def net(hours: slice, sign: float = 1.0) -> tuple[tuple[Any, np.ndarray, float], ...]:
        return (..., drawn[:, hours], sign), (..., fed[:, hours], -sign)

    ramp, before = programme.variables(site.hours), site.uncontrolled.previous_net_kwh
    for sign in (1.0, -1.0):
        change = *net(np.s_[1:], sign), *net(np.s_[:-1], -sign), (..., ramp[1:], -1.0)
        programme.rows(False, np.zeros(site.hours - 1), *change)
        if before is not None:
            programme.rows(False, np.array([sign * before]), *net(np.s_[:1], sign), (..., ramp[:1], -1.0))
    months, whole = np.concatenate([[0], np.cumsum(np.diff(site.month) != 0)]), net(np.s_[:])
    count = int(months[-1]) + 1 if site.tariff else 0
    peak, above = programme.variables(count, 2), programme.variables(count)
    if site.tariff:
        outside = np.where(np.isin(site.hour, site.tariff.peak_hours), 0, 1)
        programme.rows(False, np.zeros(site.hours), *whole, (..., peak[months, outside], -1.0))
        programme.rows(False, np.zeros(count), (..., peak[:, 1], 1.0), (..., peak[:, 0], -1.0), (..., above, -1.0))
    day = site.day - site.day[0]
    day_peak = programme.variables(int(day[-1]) + 1 if site.weights.peak else 0)
    if site.weights.peak:
        programme.rows(False, np.zeros(site.hours), *whole, (..., day_peak[day], -1.0))
    return ramp, peak, above, months, day_peak


def emission_and_cost(site: BoundSite, variables: Variables) -> tuple[Terms, Terms]:
    """Terms of emission and of cost."""
    drawn = 1.0 / site.efficiency[site.owes]
    emission: Terms = [(variables.drawn, site.carbon), (variables.owed, site.carbon[site.leaves] * drawn)]
    cost: Terms = [(variables.drawn, site.price), (variables.owed, site.price[site.leaves] * drawn)]
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
    return np.where(site.beyond_pv > 0.0, site.pv / np.maximum(site.pv + site.beyond_pv, 1e-9), 1.0)


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


ROUNDED = 1.0 + 1e-6  # CityLearn keeps what tanks hold in single precision


class BoundSite:
    """Numbers of a window. N buildings, H hours, T tanks; G groups of sessions that share building, hours and power."""

    def __init__(self, simulator: BatchSimulator, window: Window, weights: Weights = DEFAULT) -> None:
        reference = simulator.reference(window.year)
        part = window.rows
        run, exogenous = reference.run, reference.exogenous
        self.start, self.hours = window.start, window.hours
        self.scale, self.weights, self.tariff = reference.scale, weights, reference.tariff
        self.day = reference.day[part]  # number along the year
        # Month and hour of the day of each step of the year.
        self.calendar = exogenous.month[: run.net_kwh.shape[1]], exogenous.hour[: run.net_kwh.shape[1]]
        self.uncontrolled = reference.window(window.start, window.hours)
        # Part of each building's net import that no action changes, shape (N, H).
        self.base_kwh = (run.net_kwh - run.charging_kwh - run.battery_kwh)[:, part]
        self.buildings = len(self.base_kwh)
        self.pv, self.carbon, self.price = (array[:, part] for array in (exogenous.pv_kwh, exogenous.carbon, exogenous.price))
        self.month, self.hour = exogenous.month[part], exogenous.hour[part]
        battery = simulator.site.battery[: self.buildings]
        usable = simulator.site.building["battery_action"] >= 0
        # Greatest energy of a step, limits of the charge [kWh] and root of the best efficiency of each battery, shape (N,).
        self.power = np.where(usable, battery["nominal_power"], 0.0) * simulator.step_hours
        self.least, self.most = battery["minimum_energy"], np.maximum(battery["capacity"], battery["minimum_energy"])
        self.root = np.array([_best_root(simulator, k) for k in range(self.buildings)])
        self._group_sessions(simulator, reference, window)
        self._set_tanks(simulator.tables(window.year))
        # Export beyond PV: what batteries, vehicles and tanks can give, less what the site takes without PV.
        given = np.repeat(self.power[:, np.newaxis], self.hours, axis=1)
        group, hour = self.there
        np.add.at(given, (self.building[group], hour), self.v2g[group])
        np.add.at(given, self.tanks.building, self.tap * self.tapped_kwh)
        self.beyond_pv = np.maximum(0.0, given - (self.base_kwh + self.pv))

    def _set_tanks(self, tables: Tables) -> None:
        """What tanks take and give at most, and the electricity of a kilowatt-hour of each, shape (T, H)."""
        tanks = self.tanks = Tanks.of(tables)
        meter = tables.rows["meter"][self.start : self.start + self.hours]
        demand, efficiency = (meter[name][:, tanks.building, tanks.use].T.astype(np.float64) for name in ("demand", "cop"))
        self.fill, self.tap = (ROUNDED * limit for limit in tanks.limits(demand, efficiency))
        self.filled_kwh = 1.0 / efficiency
        self.tapped_kwh = self.filled_kwh.copy()
        # CityLearn counts what a tank gives in the first hour of a run twice, see docs/batch.md.
        self.tapped_kwh[:, 0] *= 2.0
        self.first_held = tables.initial_tank[tanks.building, tanks.use] * tanks.capacity

    @property
    def owes(self) -> np.ndarray:
        """Groups whose vehicles may be owed energy: the site can take some, or has to give them some; shape (G,)."""
        return (self.v2g > 0.0) | (self.due > 0.0)

    @property
    def leaves(self) -> tuple[np.ndarray, np.ndarray]:
        """Building and last hour of these groups."""
        return self.building[self.owes], self.last[self.owes]

    @property
    def there(self) -> tuple[np.ndarray, np.ndarray]:
        """Each group with each hour that it is plugged in, both of shape (groups' hours,)."""
        lengths = self.last - self.first + 1
        group = np.repeat(np.arange(len(lengths)), lengths)
        return group, np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths) + self.first[group]

    def _group_sessions(self, simulator: BatchSimulator, reference: Reference, window: Window) -> None:
        sessions = reference.sessions
        charger = simulator.site.charger[sessions.charger]
        there = (sessions.end >= window.start) & (sessions.start < window.start + window.hours) & (charger["action"] >= 0)
        counted = sessions.within(window.start, window.hours)
        self.required_kwh = reference.required_kwh(window.start, window.hours)
        self.lost_kwh = float(reference.run.missing_kwh[counted & (charger["action"] < 0)].sum())
        first = np.maximum(sessions.start - window.start, 0)
        last = np.minimum(sessions.end - window.start, window.hours - 1)
        efficiency = sessions.efficiency
        charge, give = (charger[f"{side}_max"] * simulator.step_hours for side in ("charge", "discharge"))
        keys = np.stack([charger["building"], first, last, charge, give, efficiency], axis=1)
        groups, index = np.unique(keys[there], axis=0, return_inverse=True)
        self.building, self.first, self.last = groups[:, 0].astype(int), groups[:, 1].astype(int), groups[:, 2].astype(int)
        number = np.bincount(index, minlength=len(groups))
        # Of each group, shape (G,): most energy in and out in a step [kWh], and the efficiency of charger and battery together.
        self.charge, self.v2g, self.efficiency = groups[:, 3] * number, groups[:, 4] * number, groups[:, 5]
        soc = reference.brought_soc(np.arange(len(sessions.end)), window.start)
        held = soc * sessions.capacity_kwh
        # A departure that lacks no more than the tolerance counts as met.
        wish = (sessions.required_soc - MET_TOLERANCE - soc) * sessions.capacity_kwh
        # What can be taken from a vehicle is missing only as far as it then lacks what it wants, and only if it leaves.
        least = np.where(give > 0.0, -sessions.capacity_kwh, 0.0)
        required = np.where(counted, np.maximum(wish, least), least)
        self.required = np.bincount(index, required[there], len(groups))
        # Energy that full power from arrival to departure does not deliver.
        most = (sessions.end - np.maximum(sessions.start, window.start) + 1) * charge * efficiency
        self.unavoidable = np.bincount(index, np.maximum(required - most, 0.0)[there], len(groups))
        self.room = np.bincount(index, (sessions.capacity_kwh - held)[there], len(groups))
        self.held = np.bincount(index, held[there], len(groups))
        indices = np.flatnonzero(there)
        due = reference.due_soc(indices, np.minimum(sessions.end[indices], window.start + window.hours - 1), window.start)
        # Energy that has to be delivered so that nothing is owed; below 0 what may be taken.
        self.due = np.bincount(index, (due - soc[indices]) * sessions.capacity_kwh[indices], len(groups))


def _best_root(simulator: BatchSimulator, k: int) -> float:
    """Root of the best efficiency of a battery: its loss one way."""
    battery, curve = simulator.site.battery[k], simulator.site.battery_curve[k]
    points = int(battery["efficiency_points"])
    if not points:
        return float(battery["flat_root"])
    return float(np.sqrt(curve[records.EFFICIENCY_CURVE, 1, :points].max()))
