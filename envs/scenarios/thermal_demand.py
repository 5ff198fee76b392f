"""How much heat or cold a building's devices can give: CityLearn stops in the middle of a run where a demand is higher."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

USES = ("cooling", "heating", "dhw")
_SLACK = 1e-3  # CityLearn allows 1e-4 kWh and keeps float32
_HIGHEST_COP = 20.0
_KELVIN = 273.15
# The highest values that CityLearn draws where a schema gives none.
_DRAWN = {"HeatPump": 0.3, "ElectricHeater": 0.99}


def most_output(building: Mapping[str, Any], use: str, temperature: np.ndarray) -> np.ndarray | None:
    """The most that a building's device gives in each hour.

    Args:
        building: its entry in a schema of the right form.
        use: one of `USES`.
        temperature: outdoors [degrees Celsius], shape (rows,).

    Returns:
        Energy [kWh], shape (rows,). None where the schema does not say it: for devices that CityLearn sizes, for classes of the
        user's, and for buildings with a model of their indoor temperature.
    """
    device = building.get(f"{use}_device")
    if building.get("dynamics") or str(building.get("type") or "Building").rpartition(".")[2] != "Building":
        return None
    if not device:
        return np.zeros(len(temperature))
    attributes = device.get("attributes") or {}
    kind = str(device["type"]).rpartition(".")[2]
    if device.get("autosize") or kind not in _DRAWN:
        return None
    power = float(attributes.get("nominal_power") or 0.0)
    efficiency = float(attributes.get("efficiency") or _DRAWN[kind])
    if power == 0.0 or kind == "ElectricHeater":
        return np.full(len(temperature), power * efficiency)
    target = attributes.get(f"target_{'cooling' if use == 'cooling' else 'heating'}_temperature")
    if target is None:
        return None
    # As in CityLearn: a share of Carnot's, and 20 where it is beyond or the heat flows by itself.
    lift = temperature - target if use == "cooling" else target - temperature
    with np.errstate(divide="ignore"):
        cop = efficiency * (target + _KELVIN) / lift
    return power * np.where((cop < 0.0) | (cop > _HIGHEST_COP), _HIGHEST_COP, cop)


def is_beyond(demand: np.ndarray, output: np.ndarray) -> np.ndarray:
    """Where a demand is higher than an output [kWh], shape (rows,)."""
    return np.asarray(demand > output * (1.0 + _SLACK) + _SLACK)
