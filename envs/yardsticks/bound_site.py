"""Numbers of a window that the bound's programme is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from envs.batch_backend import records
from envs.batch_backend.tables import Tables
from envs.objective.reference import Reference
from envs.objective.series import MET_TOLERANCE
from envs.objective.weights import DEFAULT, Weights
from envs.planning.mpc_tanks import Tanks
from envs.scenarios.scenario import Window

if TYPE_CHECKING:
    # Compiled code takes a second to load.
    from envs.batch_backend.simulator import BatchSimulator

ROUNDED = 1.0 + 1e-6  # CityLearn keeps what tanks hold in single precision


class BoundSite:
    """Numbers of a window. N buildings, H hours, T tanks; G groups of sessions that share building, hours and power.

    Args:
        simulator: with the year, and its reference.
        window: consecutive hours of it.
        weights: of the reward's terms.

    Attributes:
        start, hours, buildings: first step of the window, its length, number of buildings.
        scale, weights, tariff: hourly means and weights of the reward, and demand charge, None where there is none.
        day: number of each hour's day, counted along the year, shape (H,).
        calendar: month and hour of the day of each step of the year.
        uncontrolled: the uncontrolled run over the window.
        base_kwh: part of each building's net import that no action changes, shape (N, H).
        pv, carbon, price: PV generation [kWh], carbon intensity and price of energy, each of shape (N, H).
        month, hour: of each hour of the window, each of shape (H,).
        power: of each battery that has an action, else 0 [kW], shape (N,).
        least, most: limits of each battery's charge [kWh], shape (N,).
        root: root of each battery's best efficiency, shape (N,).
        building, first, last: of each group, its first and last hour within the window, each of shape (G,).
        charge, v2g: greatest power of each group, in and out [kW], each of shape (G,).
        efficiency: best efficiency of each group, charger and battery together, shape (G,).
        required, unavoidable: energy that each group requires, and the part that full power does not deliver, shape (G,).
        room, held: energy that each group's batteries can still take, and hold on arrival, shape (G,).
        lost_kwh: energy that vehicles lack at chargers without an action.
        beyond_pv: energy that could be exported beyond PV, shape (N, H).
        tanks: thermal storages that act.
        fill, tap: most heat or cold that they can take and give [kWh], both of shape (T, H).
        filled_kwh, tapped_kwh: electricity of a kilowatt-hour that is taken and given, both of shape (T, H).
        first_held: heat or cold in the tanks when the window begins [kWh], shape (T,).
    """

    def __init__(self, simulator: BatchSimulator, window: Window, weights: Weights = DEFAULT) -> None:
        reference = simulator.reference(window.year)
        assert reference is not None
        part = slice(window.start, window.start + window.hours)
        run, exogenous = reference.run, reference.exogenous
        self.start, self.hours = window.start, window.hours
        self.scale, self.weights, self.tariff = reference.scale, weights, reference.tariff
        self.day = reference.day[part]
        self.calendar = exogenous.month[: run.net_kwh.shape[1]], exogenous.hour[: run.net_kwh.shape[1]]
        self.uncontrolled = reference.window(window.start, window.hours)
        # The uncontrolled run without what its vehicles and batteries took.
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
        self._set_tanks(simulator.tables(window.year))
        # Export beyond PV: what batteries, vehicles and tanks can give, less what the site takes without PV.
        given = np.repeat(self.power[:, np.newaxis], self.hours, axis=1)
        group, hour = self.there
        np.add.at(given, (self.building[group], hour), self.v2g[group])
        np.add.at(given, self.tanks.building, self.tap * self.tapped_kwh)
        self.beyond_pv = np.maximum(0.0, given - (self.base_kwh + self.pv))

    def _set_tanks(self, tables: Tables) -> None:
        tanks = self.tanks = Tanks.of(tables)
        meter = tables.rows["meter"][self.start : self.start + self.hours]
        demand, efficiency = (meter[name][:, tanks.building, tanks.use].T.astype(np.float64) for name in ("demand", "cop"))
        self.fill, self.tap = (ROUNDED * own for own in tanks.limits(demand, efficiency))
        self.filled_kwh = 1.0 / efficiency
        self.tapped_kwh = self.filled_kwh.copy()
        # CityLearn counts what a tank gives in the first hour of a run twice, see docs/batch.md.
        self.tapped_kwh[:, 0] *= 2.0
        self.first_held = tables.initial_tank[tanks.building, tanks.use] * tanks.capacity

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
        self.lost_kwh = float(reference.run.missing_kwh[counted & (charger["action"] < 0)].sum())
        first = np.maximum(sessions.start - window.start, 0)
        last = np.minimum(sessions.end - window.start, window.hours - 1)
        best = _best_efficiency(simulator)[sessions.charger]
        efficiency = best * np.array([_best_root(simulator, self.buildings + k) for k in sessions.vehicle])
        keys = np.stack([charger["building"], first, last, charger["charge_max"], charger["discharge_max"], efficiency], axis=1)
        groups, index = np.unique(keys[there], axis=0, return_inverse=True)
        self.building, self.first, self.last = groups[:, 0].astype(int), groups[:, 1].astype(int), groups[:, 2].astype(int)
        number = np.bincount(index, minlength=len(groups))
        self.charge, self.v2g, self.efficiency = groups[:, 3] * number, groups[:, 4] * number, groups[:, 5]
        held = np.where(counted, sessions.arrival_soc, 0.0) * sessions.capacity_kwh
        # A departure that lacks no more than the tolerance counts as met.
        wish = (sessions.required_soc - MET_TOLERANCE - sessions.arrival_soc) * sessions.capacity_kwh
        required = np.where(counted, np.maximum(wish, 0.0), 0.0)
        self.required = np.bincount(index, required[there], len(groups))
        # Energy that full power from arrival to departure does not deliver.
        brought = (sessions.end - sessions.start + 1) * charger["charge_max"] * efficiency
        self.unavoidable = np.bincount(index, np.maximum(required - brought, 0.0)[there], len(groups))
        self.room = np.bincount(index, (sessions.capacity_kwh - held)[there], len(groups))
        # Where the state of charge on arrival is not known, the battery may be full.
        self.held = np.bincount(index, np.where(counted, held, sessions.capacity_kwh)[there], len(groups))


def _best_root(simulator: BatchSimulator, k: int) -> float:
    """Root of the best efficiency of a battery: its loss one way."""
    battery, curve = simulator.site.battery[k], simulator.site.battery_curve[k]
    points = int(battery["efficiency_points"])
    if not points:
        return float(battery["flat_root"])
    return float(np.sqrt(curve[records.EFFICIENCY_CURVE, 1, :points].max()))


def _best_efficiency(simulator: BatchSimulator) -> np.ndarray:
    """Best efficiency of each charger, in both directions and at any power, shape (chargers,)."""
    charger, curve = simulator.site.charger, simulator.site.charger_curve
    best = np.zeros(len(charger))
    for side, points in ((records.CHARGING, "charge_points"), (records.DISCHARGING, "discharge_points")):
        for c in range(len(charger)):
            own = int(charger[points][c])
            best[c] = max(best[c], curve[c, side, 1, :own].max() if own else charger["efficiency"][c])
    return best
