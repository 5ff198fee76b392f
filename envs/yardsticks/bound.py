"""What no policy can beat: a linear programme that knows the whole year, over a relaxation of the site's physics.

Batteries charge and discharge at their best efficiency and full power and never wear out, charging sessions that begin and end
together share their power, and nothing has to be decided before it is known. Each of these only adds freedom, so the optimum is
at least what any policy reaches; how much more is the price of foresight and of what was relaxed. Solved by HiGHS (Huangfu and
Hall 2018) through SciPy.

    maximise   sum over steps of the improvement reward (or: minimise emission, or cost, with every vehicle served)
    subject to net = base load + charging + battery - PV = import - export        for each building and step
               charge of the battery after = before + root * in - out / root      within its limits, in + out <= power
               delivered = efficiency * charging, missing >= required - delivered for each group of sessions
               ramp >= |change of the site's net|,  month's peaks >= net
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from common.errors import InconsistentError
from envs.cache import cached_file
from envs.environments.backend import beyond_batch
from envs.environments.year_cache import year_tables
from envs.errors import ScenarioError
from envs.objective.reward import WEIGHTS
from envs.objective.series import MET_TOLERANCE, import_kwh, solar_use_kwh
from envs.scenarios.scenario import Scenario, Window
from envs.scenarios.tariff import DemandCharge, demand_costs

if TYPE_CHECKING:
    from envs.batch_backend.simulator import BatchSimulator
    from envs.objective.reference import Reference
    from envs.objective.series import Exogenous

VERSION = 4
TOLERANCE = 1e-4  # of the solver, as a part
Objective = Literal["score", "co2", "cost"]
OBJECTIVES: tuple[Objective, ...] = ("score", "co2", "cost")


@dataclass(frozen=True)
class Bound:
    """The optimum of one objective over a window.

    Attributes:
        objective: what was optimised.
        score: mean reward an hour of the optimum; of the other objectives what their solution gets.
        co2_kg: emission.
        cost: of energy and demand charge.
        missing_kwh: energy that vehicles lack.
        import_kwh: drawn from the grid.
        lent_kwh: PV energy used on site that the programme counts and its hours do not have: where batteries could be exported
            the reward is no linear function. 0 means that the score is that of its hours.
    """

    objective: Objective
    score: float
    co2_kg: float
    cost: float
    missing_kwh: float
    import_kwh: float
    lent_kwh: float


class BoundError(InconsistentError):
    """The programme has no optimum, which a site always has: a fault of this module."""


def bound(scenario: Scenario, window: Window, objective: Objective) -> Bound:
    """Optimum over a window of a scenario, solved the first time and cached.

    Args:
        scenario: that the batch backend can step.
        window: consecutive hours of one of its years.
        objective: what is optimised.

    Raises:
        ScenarioError: if the batch backend cannot step the scenario, or as `window_bound`.
    """
    from envs.environments.vector_env import open_years

    def write(path: Path) -> None:
        found = window_bound(open_years(scenario, [window.year], 1), window, objective)
        path.write_text(json.dumps(asdict(found)), encoding="utf-8")

    part = f"{window.year}-{window.start}-{window.hours}"
    path = cached_file(f"{scenario.key}/bound-{objective}-{part}-v{VERSION}.json", write)
    return Bound(**json.loads(path.read_text(encoding="utf-8")))


def why_no_bound(scenario: Scenario) -> str:
    """What of a scenario no linear programme describes; nothing where it has a bound."""
    if missing := beyond_batch(scenario):
        return f"the bound knows sites that the batch backend can step, which does not do this: {', '.join(missing)}"
    year = scenario.years("train")[0]  # all of them have the same devices, and tariffs of one kind
    tables = year_tables(scenario, year)
    return _beyond(tables.site["thermal"], tables.exogenous, DemandCharge.of(scenario.schema_path(year)))


def _beyond(thermal: np.ndarray, exogenous: Exogenous, tariff: DemandCharge | None) -> str:
    if (thermal["action"] >= 0).any():
        return "the bound knows batteries and vehicles, and this site has thermal storages that can be controlled"
    for name, series in (("prices", exogenous.price), ("carbon intensities", exogenous.carbon)):
        if (series < 0.0).any():
            # Importing and exporting at once would pay then, which a linear programme cannot forbid.
            return f"{name} below zero are beyond a linear programme"
    if tariff and tariff.off_peak_excess_price > tariff.peak_price:
        # A higher import in peak hours would then lower the bill: the bill is no convex function of the imports.
        return "a demand charge whose excess costs more than its peak hours is beyond a linear programme"
    return ""


def window_bound(simulator: BatchSimulator, window: Window, objective: Objective) -> Bound:
    """Optimum over a window of a year, the batteries as empty at its start as they may be.

    Args:
        simulator: with the year, and its reference.
        window: consecutive hours.
        objective: what is optimised.

    Raises:
        BoundError: if HiGHS finds no optimum.
        ScenarioError: for what no linear programme describes, see `why_no_bound`.
    """
    from scipy.optimize import linprog

    reference = simulator.reference(window.year)
    assert reference is not None
    if found := _beyond(simulator.site.thermal, reference.exogenous, reference.tariff):
        raise ScenarioError(found)
    site = _Site(simulator, window)
    programme = _Programme()
    variables = _constrain(programme, site)
    _price(programme, site, variables, objective)
    result = linprog(**programme.arguments(), method="highs-ipm")
    if result.status != 0:
        raise BoundError(f"the bound of {objective} for year {window.year} was not found: {result.message}")
    return _read(site, variables, result.x, objective)


class _Site:
    """Numbers of a window that the programme is made of.

    Attributes:
        base_kwh: what no action changes of each building's net import, shape (buildings, hours).
        groups: of sessions that share building, first hour, last hour and power, shape (groups, 4).
        lost_kwh: what vehicles lack at chargers without an action.
    """

    def __init__(self, simulator: BatchSimulator, window: Window) -> None:
        reference = simulator.reference(window.year)
        assert reference is not None
        part = slice(window.start, window.start + window.hours)
        run, exogenous = reference.run, reference.exogenous
        self.start, self.hours = window.start, window.hours
        self.scale, self.tariff = reference.scale, reference.tariff
        self.calendar = exogenous.month[: run.net_kwh.shape[1]], exogenous.hour[: run.net_kwh.shape[1]]
        self.uncontrolled = reference.window(window.start, window.hours)
        # The uncontrolled run's own, with its batteries idle and its vehicles charging taken out.
        self.base_kwh = (run.net_kwh - run.charging_kwh - run.battery_kwh)[:, part]
        self.buildings = len(self.base_kwh)
        self.pv, self.carbon, self.price = (array[:, part] for array in (exogenous.pv_kwh, exogenous.carbon, exogenous.price))
        self.month, self.hour = exogenous.month[part], exogenous.hour[part]
        battery = simulator.site.battery[: self.buildings]
        usable = simulator.site.building["battery_action"] >= 0
        self.power = np.where(usable, battery["nominal_power"], 0.0)
        self.least, self.most = battery["minimum_energy"], np.maximum(battery["capacity"], battery["minimum_energy"])
        self.root = np.array([_best_root(simulator, k) for k in range(self.buildings)])
        self._group_sessions(simulator, reference, window)
        # What could be exported beyond PV: what batteries and vehicles could give less what the site takes without PV.
        given = np.repeat(self.power[:, np.newaxis], self.hours, axis=1)
        group, hour = self.there
        np.add.at(given, (self.building[group], hour), self.v2g[group])
        self.beyond_pv = np.maximum(0.0, given - (self.base_kwh + self.pv))

    @property
    def there(self) -> tuple[np.ndarray, np.ndarray]:
        """Each group with each hour that it is there, both of shape (groups' hours,)."""
        lengths = self.last - self.first + 1
        group = np.repeat(np.arange(len(lengths)), lengths)
        return group, np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths) + self.first[group]

    def _group_sessions(self, simulator: BatchSimulator, reference: Reference, window: Window) -> None:
        sessions = reference.sessions
        charger = simulator.site.charger[sessions.charger]
        there = (sessions.end >= window.start) & (sessions.start < window.start + window.hours) & (charger["action"] >= 0)
        counted = sessions.within(window.start, window.hours)
        self.lost_kwh = float(reference.run.missing_kwh[counted & (charger["action"] < 0)].sum())
        first = np.maximum(sessions.start - window.start, 0)
        last = np.minimum(sessions.end - window.start, window.hours - 1)
        best = _best_efficiency(simulator)[sessions.charger]
        efficiency = best * np.array([_best_root(simulator, self.buildings + k) for k in sessions.vehicle])
        keys = np.stack([charger["building"], first, last, charger["charge_max"], charger["discharge_max"], efficiency], axis=1)
        found, index = np.unique(keys[there], axis=0, return_inverse=True)
        self.building, self.first, self.last = found[:, 0].astype(int), found[:, 1].astype(int), found[:, 2].astype(int)
        number = np.bincount(index, minlength=len(found))
        self.charge, self.v2g, self.efficiency = found[:, 3] * number, found[:, 4] * number, found[:, 5]
        held = np.where(counted, sessions.arrival_soc, 0.0) * sessions.capacity_kwh
        # A departure that lacks no more than the tolerance counts as met.
        wish = (sessions.required_soc - MET_TOLERANCE - sessions.arrival_soc) * sessions.capacity_kwh
        required = np.where(counted, np.maximum(wish, 0.0), 0.0)
        self.required = np.bincount(index, required[there], len(found))
        # What full power from arrival to departure does not bring.
        brought = (sessions.end - sessions.start + 1) * charger["charge_max"] * efficiency
        self.unavoidable = np.bincount(index, np.maximum(required - brought, 0.0)[there], len(found))
        self.room = np.bincount(index, (sessions.capacity_kwh - held)[there], len(found))
        # Of a vehicle whose arrival is not known all could be there.
        self.held = np.bincount(index, np.where(counted, held, sessions.capacity_kwh)[there], len(found))


def _best_root(simulator: BatchSimulator, k: int) -> float:
    """Root of the best efficiency of a battery: of each way."""
    from envs.batch_backend import records

    battery, curve = simulator.site.battery[k], simulator.site.battery_curve[k]
    points = int(battery["efficiency_points"])
    if not points:
        return float(battery["flat_root"])
    return float(np.sqrt(curve[records.EFFICIENCY_CURVE, 1, :points].max()))


def _best_efficiency(simulator: BatchSimulator) -> np.ndarray:
    """Best efficiency of each charger, of both ways and at any power, shape (chargers,)."""
    from envs.batch_backend import records

    charger, curve = simulator.site.charger, simulator.site.charger_curve
    found = np.zeros(len(charger))
    for side, points in ((records.CHARGING, "charge_points"), (records.DISCHARGING, "discharge_points")):
        for c in range(len(charger)):
            own = int(charger[points][c])
            found[c] = max(found[c], curve[c, side, 1, :own].max() if own else charger["efficiency"][c])
    return found


class _Programme:
    """A linear programme that grows by blocks of variables and rows."""

    def __init__(self) -> None:
        self._size = 0
        self._low: list[np.ndarray] = []
        self._high: list[np.ndarray] = []
        self._rows: dict[bool, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = {True: [], False: []}
        self._right: dict[bool, list[np.ndarray]] = {True: [], False: []}
        self._count = {True: 0, False: 0}
        self.cost = np.zeros(0)

    def variables(self, *shape: int, low: Any = 0.0, high: Any = np.inf) -> np.ndarray:
        """Indices of new variables, of a shape, within bounds."""
        count = int(np.prod(shape))
        found = np.arange(self._size, self._size + count).reshape(shape)
        self._size += count
        self._low.append(np.broadcast_to(low, shape).ravel().astype(float))
        self._high.append(np.broadcast_to(high, shape).ravel().astype(float))
        self.cost = np.concatenate([self.cost, np.zeros(count)])
        return found

    def rows(self, equal: bool, right: np.ndarray, *terms: tuple[np.ndarray, np.ndarray, Any]) -> None:
        """Add rows `sum of factor * variable = right`, or `<= right`.

        Args:
            equal: which of both.
            right: shape (rows,).
            terms: each of row (within these), variable and factor, which are broadcast against one another.
        """
        for row, variable, factor in terms:
            row, variable, factor = np.broadcast_arrays(row, variable, np.asarray(factor, dtype=float))
            self._rows[equal].append((row.ravel() + self._count[equal], variable.ravel(), factor.ravel()))
        self._right[equal].append(np.asarray(right, dtype=float))
        self._count[equal] += len(right)

    def arguments(self) -> dict[str, Any]:
        """Of `scipy.optimize.linprog`."""
        from scipy.sparse import csr_array

        found: dict[str, Any] = {"c": self.cost, "bounds": np.stack([np.concatenate(self._low), np.concatenate(self._high)], 1)}
        for equal, name in ((True, "eq"), (False, "ub")):
            if not self._rows[equal]:
                continue
            row, column, value = (np.concatenate(parts) for parts in zip(*self._rows[equal], strict=True))
            found[f"A_{name}"] = csr_array((value, (row, column)), shape=(self._count[equal], self._size))
            found[f"b_{name}"] = np.concatenate(self._right[equal])
        return found


@dataclass(frozen=True)
class _Variables:
    """Indices of the programme's variables."""

    drawn: np.ndarray  # import, (buildings, hours)
    fed: np.ndarray  # export
    ramp: np.ndarray  # (hours,)
    missing: np.ndarray  # (groups,)
    peak: np.ndarray  # of each month in peak hours and outside them, (months, 2)
    above: np.ndarray  # by which the second exceeds the first, (months,)
    months: np.ndarray  # number of each hour's month, (hours,)


def _constrain(programme: _Programme, site: _Site) -> _Variables:
    buildings, hours = site.base_kwh.shape
    everywhere = (buildings, hours)
    drawn, fed = programme.variables(*everywhere), programme.variables(*everywhere)
    taken, given = (programme.variables(*everywhere, high=site.power[:, np.newaxis]) for _ in range(2))
    stored = programme.variables(*everywhere, low=site.least[:, np.newaxis], high=site.most[:, np.newaxis])
    # One variable for each group and hour that it is there.
    group, hour = site.there
    charging = programme.variables(len(group), high=site.charge[group])
    back = programme.variables(len(group), high=site.v2g[group])
    cell = np.arange(buildings * hours).reshape(everywhere)
    at = cell[site.building[group], hour]
    programme.rows(
        True, site.base_kwh.ravel(),
        (cell, drawn, 1.0), (cell, fed, -1.0), (cell, taken, -1.0), (cell, given, 1.0), (at, charging, -1.0), (at, back, 1.0),
    )  # fmt: skip
    start = np.zeros(everywhere)
    start[:, 0] = site.least
    root = site.root[:, np.newaxis]
    programme.rows(
        True, start.ravel(),
        (cell, stored, 1.0), (cell[:, 1:], stored[:, :-1], -1.0), (cell, taken, -root), (cell, given, 1.0 / root),
    )  # fmt: skip
    # A battery does one at a time, so of both together there is no more than one can be.
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
    return _Variables(drawn, fed, ramp, missing, peak, above, months)


def _add_ramp(programme: _Programme, site: _Site, drawn: np.ndarray, fed: np.ndarray, ramp: np.ndarray) -> None:
    """`ramp` is at least the size of the change of the site's net."""
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
    programme: _Programme, site: _Site, drawn: np.ndarray, fed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Highest imports of each month, at least the site's net in its hours."""
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


def _costs(site: _Site, variables: _Variables) -> tuple[list[tuple[np.ndarray, Any]], list[tuple[np.ndarray, Any]]]:
    """What emission and cost consist of: variables with their factors."""
    emission: list[tuple[np.ndarray, Any]] = [(variables.drawn, site.carbon)]
    cost: list[tuple[np.ndarray, Any]] = [(variables.drawn, site.price)]
    if site.tariff:
        share = site.uncontrolled.month_share[np.searchsorted(variables.months, np.arange(len(variables.above)))]
        cost.append((variables.peak[:, 0], site.tariff.peak_price * share))
        cost.append((variables.above, site.tariff.off_peak_excess_price * share))
    return emission, cost


def _solar_loss(site: _Site) -> np.ndarray:
    """PV energy that a kilowatt-hour of export takes from the site at least, shape (buildings, hours).

    All of it, where no more than PV can be exported; where batteries could be exported too, the line between no export and the
    most, above which the PV energy used on site never lies.
    """
    return np.where(_could_exceed_pv(site), site.pv / np.maximum(site.pv + site.beyond_pv, 1e-9), 1.0)


def _could_exceed_pv(site: _Site) -> np.ndarray:
    """Whether more than PV could be exported, shape (buildings, hours)."""
    return site.beyond_pv > 0.0


def _price(programme: _Programme, site: _Site, variables: _Variables, objective: Objective) -> None:
    """Set what is minimised."""
    emission, cost = _costs(site, variables)
    scale = site.scale
    if objective == "score":
        parts = [
            (emission, WEIGHTS["co2"], scale.emission_kg),
            (cost, WEIGHTS["cost"], scale.cost),
            ([(variables.fed, _solar_loss(site))], WEIGHTS["solar"], scale.pv_kwh),
            ([(variables.ramp, 1.0)], WEIGHTS["grid"], scale.ramp_kwh),
            ([(variables.missing, 1.0)], WEIGHTS["ev"], scale.required_kwh),
        ]
    else:
        # So dear that only what cannot be delivered is missing: more than all that a kilowatt-hour could save.
        dear = 1e3 * max(float(site.carbon.max()), float(site.price.max()), site.tariff.peak_price if site.tariff else 0.0)
        parts = [(emission if objective == "co2" else cost, 1.0, 1.0), ([(variables.missing, dear)], 1.0, 1.0)]
    for terms, weight, mean in parts:
        if mean > 0.0:
            for variable, factor in terms:
                each = np.broadcast_to(weight / mean * np.asarray(factor), variable.shape)
                np.add.at(programme.cost, variable.ravel(), each.ravel())


def _read(site: _Site, variables: _Variables, found: np.ndarray, objective: Objective) -> Bound:
    """What a solution comes to.

    Raises:
        BoundError: if the tariff makes another bill of its hours than the programme did.
    """

    def total(terms: list[tuple[np.ndarray, Any]]) -> float:
        return float(sum((found[variable] * factor).sum() for variable, factor in terms))

    own_emission, own_cost = _costs(site, variables)
    net = found[variables.drawn] - found[variables.fed]
    emission = float((import_kwh(net) * site.carbon).sum())
    site_import = import_kwh(net.sum(axis=0))
    cost = float(
        (import_kwh(net) * site.price).sum() + demand_costs(site.tariff, *site.calendar, site_import, site.start).sum()
    )
    for name, reckoned, direct in (("emission", total(own_emission), emission), ("cost", total(own_cost), cost)):
        # What an objective does not ask for, the programme leaves anywhere above what it has to be.
        asked = objective == "score" or (objective == "co2") == (name == "emission")
        if asked and abs(reckoned - direct) > TOLERANCE * max(abs(direct), 1.0):
            raise BoundError(f"the bound's {name} is {reckoned:,.2f} by its programme and {direct:,.2f} by its hours")
    before, scale = site.uncontrolled, site.scale
    solar = float((site.pv - found[variables.fed] * _solar_loss(site)).sum())
    lent = solar - float(solar_use_kwh(net, site.pv).sum())
    # Only the score asks for it; other objectives may feed in and draw at once.
    if objective == "score" and not _could_exceed_pv(site).any() and abs(lent) > TOLERANCE * max(solar, 1.0):
        raise BoundError(f"the bound uses {solar:,.2f} kWh of PV on site by its programme and {solar - lent:,.2f} by its hours")
    missing = float(found[variables.missing].sum()) + site.lost_kwh
    previous = before.previous_net_kwh
    nets = net.sum(axis=0)
    ramp = float(np.abs(np.diff(nets, prepend=nets[0] if previous is None else previous)).sum())
    terms = {
        "co2": (before.emission_kg.sum() - emission, scale.emission_kg),
        "cost": (before.cost.sum() - cost, scale.cost),
        "solar": (solar - before.solar_use_kwh.sum(), scale.pv_kwh),
        "grid": (before.ramp_kwh.sum() - ramp, scale.ramp_kwh),
        "ev": (before.missing_kwh.sum() - missing, scale.required_kwh),
    }
    score = sum(WEIGHTS[name] * difference / mean for name, (difference, mean) in terms.items() if mean > 0.0) / site.hours
    return Bound(objective, float(score), emission, cost, missing, float(import_kwh(net).sum()), lent)
