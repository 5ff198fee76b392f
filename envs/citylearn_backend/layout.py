"""Reads from CityLearn's objects the layout of a scenario's observations, whose they are, and how large buildings are."""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.batch_backend.tables import USES
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.citylearn_backend.tables import charger_names, observed
from envs.district import COMMON, Buildings
from envs.observation import DAY_PEAK_NAME, MARGIN, PEAK_NAMES, PERIODS, ObservationLayout
from envs.scenarios.tariff import DemandCharge


def read_layout(simulator: CityLearnSimulator, tariff: DemandCharge | None, day_peak: bool = False) -> ObservationLayout:
    """Layout of a scenario from one of its years, with the day's highest import so far where `day_peak` is true.

    The bounds are CityLearn's, but for countdowns of vehicles, bounded by the longest in the data, capacities, bounded by the
    largest battery instead of 100 kWh, and net consumption, with the chargers counted.
    """
    space = simulator.env.observation_space[0]
    sessions = simulator.sessions
    longest_stay = float(max(sessions.end - sessions.start + 1, default=1))
    largest_battery = float(max(sessions.capacity_kwh, default=1.0))
    net_low, net_high = _net_bounds(simulator)
    net = iter(zip(net_low, net_high, strict=True))
    names, lows, highs = list(simulator.observation_names), [], []
    for name, low, high in zip(names, space.low.tolist(), space.high.tolist(), strict=True):
        if name.endswith("_departure_time"):
            low, high = -1.0, longest_stay
        elif name.endswith("_estimated_arrival_time"):
            low, high = -1.0, float(max(1, simulator.longest_announcement))
        elif name.endswith("_battery_capacity"):
            low, high = -1.0, largest_battery
        elif name == "net_electricity_consumption":
            low, high = next(net)
        elif not _has_fixed_bounds(name):
            margin = MARGIN * (high - low)
            low, high = low - margin, high + margin
        lows.append(low)
        highs.append(high)
    if tariff:
        names += PEAK_NAMES
        lows += [0.0, 0.0]
        highs += [float(net_high.sum())] * 2
    if day_peak:
        names.append(DAY_PEAK_NAME)
        lows.append(0.0)
        highs.append(float(net_high.sum()))
    action_low, action_high = simulator.action_low.astype(np.float64), simulator.action_high.astype(np.float64)
    idle = (np.clip(0.0, action_low, action_high) - action_low) / (action_high - action_low) * 2.0 - 1.0
    return ObservationLayout(
        tuple(names),
        tuple(lows),
        tuple(highs),
        tuple(simulator.action_names),
        tuple(idle.tolist()),
        tuple(_hourly_soc(simulator).tolist()),
    )


def _hourly_soc(simulator: CityLearnSimulator) -> np.ndarray:
    """See `ObservationLayout`."""
    sessions = simulator.sessions
    rise = np.zeros(len(simulator.action_low))
    for action, charger in simulator.charger_actions:
        here = sessions.charger == simulator.chargers.index(charger)
        if here.any():
            power = float(charger.max_charging_power) * float(charger.efficiency)
            rise[action] = power / float(sessions.capacity_kwh[here].mean())
    return rise


def _has_fixed_bounds(name: str) -> bool:
    return name in PERIODS or name.endswith(("_soc", "_state", "_soc_departure", "_soc_arrival"))


def _net_bounds(simulator: CityLearnSimulator) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest net consumption of each building in an hour [kWh], each of shape (buildings,)."""
    series = simulator.exogenous
    low, high = [], []
    for i, building in enumerate(simulator.env.buildings):
        chargers = building.electric_vehicle_chargers
        storage = float(building.electrical_storage.nominal_power)
        gives = storage + sum(float(c.max_discharging_power) for c in chargers)
        takes = storage + sum(float(c.max_charging_power) for c in chargers)
        devices = sum(float(d.nominal_power) for d in (building.cooling_device, building.heating_device, building.dhw_device))
        without = series.load_kwh[i] - series.pv_kwh[i]
        low.append((1.0 + MARGIN) * min(0.0, without.min() - gives))
        high.append((1.0 + MARGIN) * (series.load_kwh[i].max() + takes + devices))
    return np.array(low), np.array(high)


def read_buildings(simulator: CityLearnSimulator, history: int = 0) -> Buildings:
    """Buildings of a scenario, from one of its years.

    Rows before `history` alone say how large a building without a battery is, all rows where it is 0.
    """
    buildings = simulator.env.buildings
    shared = set(simulator.env.shared_observations)
    owners: list[int] = []
    of_chargers: list[int] = []
    for n, (building, names) in enumerate(observed(simulator)):
        own = charger_names(building)
        of_chargers += [len(owners) + i for i, name in enumerate(names) if name in own]
        owners += [COMMON if name in shared else n for name in names]
    actions = [n for n, building in enumerate(buildings) for _ in building.active_actions]
    load = simulator.exogenous.load_kwh[:, : history or None]
    power, hours = [], []
    for n, building in enumerate(buildings):
        battery = building.electrical_storage
        nominal = float(battery.nominal_power) if "electrical_storage" in building.active_actions else 0.0
        power.append(nominal or float(load[n].max()) or 1.0)
        hours.append(float(battery.capacity) / nominal if nominal else 0.0)
    filling = tuple(_tank_hours(building) for building in buildings)
    return Buildings(tuple(owners), tuple(actions), tuple(of_chargers), tuple(power), tuple(hours), filling)


def _tank_hours(building: Any) -> tuple[float, float, float]:
    """Of the tank of each use, see `Buildings.tank_hours`. The action is the part of its capacity that it takes in an hour."""
    most = dict(zip(building.active_actions, building.action_space.high.tolist(), strict=True))
    cooling, heating, dhw = (1.0 / most[name] if most.get(name) else 0.0 for name in (f"{use}_storage" for use in USES))
    return cooling, heating, dhw
