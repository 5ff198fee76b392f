"""Thermal devices of CityLearn's buildings, and the actions that they obey."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from envs.batch_backend import records
from envs.batch_backend.tables import part_of_power
from envs.scenarios.schema_shape import USES

# End uses whose devices an action runs, and the sign at which.
_OBEYING = {
    "cooling_device": ((records.COOLING, 1.0),),
    "heating_device": ((records.HEATING, 1.0),),
    "cooling_or_heating_device": ((records.COOLING, -1.0), (records.HEATING, 1.0)),
}


def has_dynamics(building: Any) -> bool:
    """Whether a building of CityLearn computes its indoor temperature."""
    from citylearn.building import LSTMDynamicsBuilding

    return isinstance(building, LSTMDynamicsBuilding)


def thermal_devices(building: Any) -> list[Any]:
    """Heat pumps and heaters of a building, in the order of `USES`."""
    return [getattr(building, f"{use}_device") for use in USES]


def device_efficiencies(building: Any) -> np.ndarray:
    """Efficiency of a building's thermal devices by row, shape (R, 3), as CityLearn computes it for one row."""
    from citylearn.energy_model import HeatPump

    temperature = building.weather.outdoor_dry_bulb_temperature
    columns: list[Any] = []
    for use, device in zip(USES, thermal_devices(building), strict=True):
        if isinstance(device, HeatPump):
            columns.append([device.get_cop(value, heating=use != "cooling") for value in temperature])
        else:
            columns.append([device.efficiency] * len(temperature))
    return np.array(columns, dtype=np.float64).T


def device_hours(building: Any) -> tuple[float, float, float]:
    """Hours of its power that a full action asks of each device of a building in a step, in the order of `USES`.

    CityLearn counts those of a step for cooling alone; at its full action a heater takes its power in kWh, however short it is.
    """
    return building.algorithm_action_based_time_step_hours_ratio, 1.0, 1.0


def owned_actions(buildings: Sequence[Any]) -> list[tuple[int, str]]:
    """Of each action in the environment's order, the number of its building and its name there."""
    return [(n, name) for n, building in enumerate(buildings) for name in building.active_actions]


def device_actions(buildings: Sequence[Any]) -> Iterator[tuple[int, int, int, float]]:
    """Actions that thermal devices obey: each one's index, the building's number, its end use, and the sign at which it runs.

    CityLearn's devices obey where the building computes its temperature.
    """
    for index, (n, name) in enumerate(owned_actions(buildings)):
        for use, sign in _OBEYING.get(name, ()) if has_dynamics(buildings[n]) else ():
            yield index, n, use, sign


def serving_actions(buildings: Sequence[Any], rows: int, actions: int) -> np.ndarray:
    """Of all rows, see `envs.batch_backend.tables.serving_actions`; shape (rows, actions)."""
    parts = np.zeros((rows, actions))
    for index, n, use, sign in device_actions(buildings):
        power = thermal_devices(buildings[n])[use].nominal_power * device_efficiencies(buildings[n])[:, use]
        power = power * device_hours(buildings[n])[use]
        parts[:, index] += sign * part_of_power(getattr(buildings[n].energy_simulation, f"{USES[use]}_demand"), power)
    return parts
