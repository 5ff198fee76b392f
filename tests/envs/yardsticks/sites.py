"""The small site with a change, as a scenario of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.envs.schema_changes import edited


def charging_curve(schema: dict[str, Any], folder: Path) -> None:
    """Chargers with an efficiency curve, far above their constant efficiency."""
    for charger in chargers(schema):
        attributes = charger["attributes"]
        attributes["efficiency"] = 0.5
        attributes["charge_efficiency_curve"] = [[0.0, 0.99], [1.0, 0.99]]


def measured_arrival(schema: dict[str, Any], folder: Path) -> None:
    """Vehicles that arrive with more charge than was announced."""
    for charger in chargers(schema):
        path = folder / charger["charger_simulation"]
        series = pd.read_csv(path)
        here = series["electric_vehicle_charger_state"] == 1
        series["electric_vehicle_current_soc"] = np.where(here & ~here.shift(fill_value=False), 0.75, np.nan)
        series.to_csv(path, index=False)


def to_grid(schema: dict[str, Any], folder: Path) -> None:
    """Vehicles that can give back."""
    for charger in chargers(schema):
        charger["attributes"]["max_discharging_power"] = 2.0


def idle_chargers(schema: dict[str, Any], folder: Path) -> None:
    """Chargers without an action, which never charge."""
    schema["actions"]["electric_vehicle_storage"]["active"] = False


def chargers(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [charger for building in schema["buildings"].values() for charger in building["chargers"].values()]


def changed(small_schema: Path, folder: Path, change: Callable[[dict[str, Any], Path], None]) -> Path:
    """The small site with a change of its schema and of its files."""
    return edited(small_schema, folder, lambda schema: change(schema, folder))
