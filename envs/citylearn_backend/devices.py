"""Reads the parameters of CityLearn's batteries, chargers, tanks and thermal devices into the batch simulator's records."""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.batch_backend import records
from envs.batch_backend.tables import USES
from envs.citylearn_backend.series import tanks
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.errors import ScenarioError


def battery_parameters(batteries: list[Any]) -> dict[str, np.ndarray]:
    """`battery` and `battery_curve` of `envs.batch_backend.records.Site`."""
    power, efficiency = [b.capacity_power_curve for b in batteries], [b.power_efficiency_curve for b in batteries]
    record = np.zeros(len(batteries), dtype=records.BATTERY)
    for k, b in enumerate(batteries):
        minimum_soc = b._minimum_soc()
        record[k] = (
            b.capacity, b.nominal_power, minimum_soc, minimum_soc * b.capacity, (1.0 - b.depth_of_discharge) * b.capacity,
            1.0 - b.loss_coefficient, b.capacity_loss_coefficient * b.capacity, _points(power[k]), _points(efficiency[k]),
            max(b.nominal_power * power[k][1, 0], 0.0), np.sqrt(efficiency[k][1, 0]),
        )  # fmt: skip
    curves = _stacked([curve for both in zip(power, efficiency, strict=True) for curve in both])
    return {"battery": record, "battery_curve": curves.reshape(len(batteries), 2, *curves.shape[1:])}


def _points(curve: np.ndarray) -> int:
    """Points of a battery's curve, 0 for a flat one, on which interpolation gives its value exactly."""
    if curve.shape[1] < 2:
        raise ScenarioError("a battery's curve has a single point; CityLearn needs two")
    return 0 if (curve[1] == curve[1, 0]).all() else curve.shape[1]


def _stacked(curves: list[np.ndarray]) -> np.ndarray:
    """Curves of shape (2, points) as one array; the last point is repeated where one has fewer."""
    most = max(curve.shape[1] for curve in curves)
    return np.stack([np.pad(curve, ((0, 0), (0, most - curve.shape[1])), "edge") for curve in curves]).astype(np.float64)


def charger_parameters(simulator: CityLearnSimulator) -> dict[str, np.ndarray]:
    """`charger` and `charger_curve` of `envs.batch_backend.records.Site`."""
    buildings = [n for n, b in enumerate(simulator.env.buildings) for _ in b.electric_vehicle_chargers or ()]
    action = {id(charger): index for index, charger in simulator.charger_actions}
    record = np.zeros(len(simulator.chargers), dtype=records.CHARGER)
    curves = []
    for c, charger in enumerate(simulator.chargers):
        sides = [charger.charge_efficiency_curve, charger.discharge_efficiency_curve]
        curves += [np.zeros((2, 1)) if side is None else side for side in sides]
        record[c] = (
            buildings[c], action.get(id(charger), -1),
            charger.max_charging_power, charger.min_charging_power,
            charger.max_discharging_power, charger.min_discharging_power,
            charger.efficiency, *(0 if side is None else side.shape[1] for side in sides),
        )  # fmt: skip
    stacked = _stacked(curves) if curves else np.zeros((0, 2, 1))
    return {"charger": record, "charger_curve": stacked.reshape(len(record), 2, *stacked.shape[1:])}


def chargers_of(building: Any) -> list[Any]:
    """Chargers of a building."""
    return list(building.electric_vehicle_chargers or ())


def thermal_devices(building: Any) -> list[Any]:
    """Heat pumps and heaters of a building, in the order of `USES`."""
    return [getattr(building, f"{use}_device") for use in USES]


def building_parameters(simulator: CityLearnSimulator) -> dict[str, np.ndarray]:
    """`building`, `thermal` and `action` of `envs.batch_backend.records.Site`."""
    from citylearn.energy_model import ElectricHeater

    buildings = simulator.env.buildings
    building = np.zeros(len(buildings), dtype=records.BUILDING)
    thermal = np.zeros((len(buildings), len(USES)), dtype=records.THERMAL)
    for n, b in enumerate(buildings):
        for use, (tank, device) in enumerate(zip(tanks(b), thermal_devices(b), strict=True)):
            # CityLearn draws attributes at random for tanks that a building lacks; they have no effect.
            root, kept = (tank.round_trip_efficiency, 1.0 - tank.loss_coefficient) if tank.capacity > 0.0 else (1.0, 1.0)
            limits = (np.nan if limit is None else limit for limit in (tank.max_input_power, tank.max_output_power))
            thermal[n, use] = (
                -1, device.nominal_power, isinstance(device, ElectricHeater), tank.capacity, root, kept, *limits,
            )  # fmt: skip
        demand = any(getattr(b.energy_simulation, f"{use}_demand").any() for use in USES)
        building[n] = (-1, demand or (thermal["capacity"][n] > 0.0).any())
    index = 0
    for n, b in enumerate(buildings):
        for name in b.active_actions:
            if name == "electrical_storage":
                building["battery_action"][n] = index
            elif name.removesuffix("_storage") in USES:
                thermal["action"][n, USES.index(name.removesuffix("_storage"))] = index
            index += 1
    action = np.zeros(len(simulator.action_low), dtype=records.ACTION)
    action["low"], action["span"] = simulator.action_low, simulator.action_high - simulator.action_low
    return {"building": building, "thermal": thermal, "action": action}
