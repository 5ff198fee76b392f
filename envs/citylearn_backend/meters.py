"""Reads the series that no action can change from CityLearn's buildings: loads, PV, prices, demands, temperatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.batch_backend import records
from envs.batch_backend.tables import COMFORT, USES
from envs.citylearn_backend.devices import thermal_devices
from envs.citylearn_backend.simulator import CityLearnSimulator


def read_meters(simulator: CityLearnSimulator) -> np.ndarray:
    """`records.METER` of each building in each row, shape (R, N)."""
    buildings = simulator.env.buildings
    meters = np.zeros((simulator.rows, len(buildings)), dtype=records.METER)
    for n, b in enumerate(buildings):
        series = b.energy_simulation
        meters["load"][:, n] = series.non_shiftable_load
        meters["solar"][:, n] = b._pv_generation_to_control_step(series.solar_generation) * -1
        meters["price"][:, n] = b.pricing.electricity_pricing
        meters["carbon"][:, n] = b.carbon_intensity.carbon_intensity
        meters["demand"][:, n] = np.stack([getattr(series, f"{use}_demand") for use in USES], axis=-1)
        meters["cop"][:, n] = device_efficiencies(b)
    return meters


def read_comfort(simulator: CityLearnSimulator) -> np.ndarray:
    """`COMFORT` of each building in each row, shape (R, N)."""
    record = np.zeros((simulator.rows, len(simulator.env.buildings)), dtype=COMFORT)
    for n, building in enumerate(simulator.env.buildings):
        series = building.energy_simulation
        record["indoor"][:, n] = series.indoor_dry_bulb_temperature
        record["cooling"][:, n] = series.indoor_dry_bulb_temperature_cooling_set_point
        record["heating"][:, n] = series.indoor_dry_bulb_temperature_heating_set_point
        record["band"][:, n], record["mode"][:, n] = series.comfort_band, series.hvac_mode
    return record


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
