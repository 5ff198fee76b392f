"""Reads from CityLearn's objects to which building each observation and action belongs, and how large buildings are."""

from __future__ import annotations

from typing import Any

from envs.batch_backend.tables import USES
from envs.citylearn_backend.observations import charger_names, observed
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.district import COMMON, Buildings


def read_buildings(simulator: CityLearnSimulator, history: int = 0) -> Buildings:
    """Buildings of a scenario, from one of its years.

    Args:
        simulator: of the year.
        history: rows before those that a split runs, which alone say how large a building without a battery is; 0 for all rows.
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
