"""The small site with a model of the indoor temperature and a cooling device that obeys actions."""

from pathlib import Path
from typing import Any

import torch

from tests.envs.schema_changes import edited

INPUTS = {
    "outdoor_dry_bulb_temperature": (15.0, 40.0),
    "hour_sin": (-1.0, 1.0),
    "cooling_demand": (0.0, 200.0),
    "indoor_dry_bulb_temperature": (10.0, 40.0),
}
PUMP = {
    "type": "citylearn.energy_model.HeatPump",
    "attributes": {
        "nominal_power": 40.0, "efficiency": 0.25, "target_cooling_temperature": 8.0, "target_heating_temperature": 45.0,
    },
}  # fmt: skip
HIDDEN = 3


def with_dynamics(small: Path, folder: Path, outage: dict[str, Any] | None = None) -> Path:
    """Write the site without its chargers; its schema. `outage` is the building's `power_outage`."""
    names = list(INPUTS)

    def change(schema: dict[str, Any]) -> None:
        schema["actions"] |= {"cooling_device": {"active": True}, "electric_vehicle_storage": {"active": False}}
        schema["electric_vehicles_def"] = {}
        for name in ("indoor_dry_bulb_temperature", "cooling_demand", "power_outage"):
            schema["observations"][name] = {"active": True, "shared_in_central_agent": False}
        mall = schema["buildings"]["mall"]
        del mall["chargers"]
        mall |= {
            "type": "citylearn.building.LSTMDynamicsBuilding",
            "cooling_device": PUMP,
            "dynamics": {
                "type": "citylearn.dynamics.LSTMDynamics",
                "attributes": {
                    "filename": "mall.pth", "hidden_size": HIDDEN, "num_layers": 1, "lookback": 4,
                    "input_observation_names": names,
                    "input_normalization_minimum": [INPUTS[name][0] for name in names],
                    "input_normalization_maximum": [INPUTS[name][1] for name in names],
                },
            },
        }  # fmt: skip
        if outage:
            mall["power_outage"] = outage

    path = edited(small, folder, change)
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(len(names), HIDDEN)
    weights = {f"l_lstm.{name}": values.detach() for name, values in lstm.named_parameters()}
    weights |= {"l_linear.weight": torch.ones(1, HIDDEN), "l_linear.bias": torch.zeros(1)}
    torch.save({"model_state_dict": weights}, folder / "mall.pth")
    return path
