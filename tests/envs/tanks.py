"""The small site with thermal storages that act: hot water, and cold water of a heat pump."""

import json
from pathlib import Path

import numpy as np

from envs.scenarios.iquitos.site import ROWS
from tests.envs.schema_changes import edited, with_series

DEVICES = {
    "dhw_device": {"type": "citylearn.energy_model.ElectricHeater", "attributes": {"nominal_power": 50.0, "efficiency": 0.9}},
    "dhw_storage": {
        "type": "citylearn.energy_model.StorageTank",
        "attributes": {"capacity": 10.0, "loss_coefficient": 0.01, "initial_soc": 0.5},
    },
}

COOLING = {
    "cooling_device": {
        "type": "citylearn.energy_model.HeatPump",
        "attributes": {
            "nominal_power": 40.0, "efficiency": 0.25, "target_cooling_temperature": 8.0, "target_heating_temperature": 45.0,
        },
    },
    "cooling_storage": {
        "type": "citylearn.energy_model.StorageTank",
        "attributes": {"capacity": 120.0, "loss_coefficient": 0.006, "initial_soc": 0.0},
    },
}  # fmt: skip


def with_tank(small: Path, folder: Path, cooling: bool = False, twin: bool = False) -> Path:
    """Write the site; its schema.

    Args:
        small: schema of the small site.
        folder: for the files.
        cooling: whether it stores cold water too.
        twin: whether there is a second building, before it, with the tank of hot water alone and no chargers. Both observe
            what their tanks hold.
    """
    schema = json.loads(small.read_text(encoding="utf-8"))
    schema["actions"]["dhw_storage"] = {"active": True}
    schema["buildings"]["mall"] |= DEVICES
    if cooling:
        schema["actions"]["cooling_storage"] = {"active": True}
        schema["buildings"]["mall"] |= COOLING
    if twin:
        mall = schema["buildings"]["mall"]
        second = {name: entry for name, entry in mall.items() if name not in ("chargers", "cooling_storage")}
        schema["buildings"] = {"annex": {**second, "inactive_actions": ["cooling_storage"]}, "mall": mall}
        for name in ("cooling_storage_soc", "dhw_storage_soc"):
            schema["observations"][name] = {"active": True, "shared_in_central_agent": False}
    path = edited(small, folder, lambda old: old.update(schema))
    hour = np.arange(ROWS)
    return with_series(path, dhw_demand=hour % 3, **({"cooling_demand": 20.0 + 5 * (hour % 7)} if cooling else {}))
