"""The small site with a model of the indoor temperature and a cooling device that obeys actions."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.tree import DecisionTreeClassifier

from envs.scenarios.iquitos.site import ROWS
from tests.envs.schema_changes import edit, edited, put, with_series
from tests.envs.tanks import COOLING

INPUTS = {
    "outdoor_dry_bulb_temperature": (15.0, 40.0),
    "hour_sin": (-1.0, 1.0),
    "cooling_demand": (0.0, 200.0),
    "indoor_dry_bulb_temperature": (10.0, 40.0),
}
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
            "cooling_device": COOLING["cooling_device"],
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


def with_rooms(small: Path, folder: Path) -> Path:
    """Write the site with people in a building that cold leaves as slowly as it comes, and with a tank of cold; its schema."""
    hour = np.arange(ROWS) % 24
    path = with_series(
        with_dynamics(small, folder),
        cooling_demand=60.0 + 30.0 * np.sin((hour - 9) * np.pi / 12.0),
        indoor_dry_bulb_temperature=24.0,
        indoor_dry_bulb_temperature_cooling_set_point=24.0,
        indoor_dry_bulb_temperature_heating_set_point=18.0,
        comfort_band=1.0,
        occupant_count=((hour > 7) & (hour < 19)).astype(int),
        hvac_mode=1,
    )
    inputs = torch.zeros(4, len(INPUTS))
    inputs[2] = torch.tensor([0.1, 0.0, -0.3, 0.0])  # of what the cell takes up: warm air outside, and heat that is removed
    weights = {
        "l_lstm.weight_ih_l0": inputs, "l_lstm.weight_hh_l0": torch.zeros(4, 1), "l_lstm.bias_hh_l0": torch.zeros(4),
        "l_lstm.bias_ih_l0": torch.tensor([4.0, 0.8, 0.05, 4.0]),
        "l_linear.weight": torch.tensor([[0.5]]), "l_linear.bias": torch.tensor([0.5]),
    }  # fmt: skip
    torch.save({"model_state_dict": weights}, folder / "mall.pth")
    edit(path, put("buildings", "mall", "dynamics", "attributes", "hidden_size", value=1))
    edit(path, put("actions", "cooling_storage", value={"active": True}))
    return edit(path, put("buildings", "mall", "cooling_storage", value=COOLING["cooling_storage"]))


def occupied(folder: Path, name: str, rows: int, rng: np.random.Generator) -> dict[str, Any]:
    """Entries of a building with people who often change its set points; their files are written."""
    models = {f"setpoint_{change}_model_filename": f"{name}_{change}.pkl" for change in ("increase", "decrease")}
    for file in models.values():
        features, kinds = rng.uniform(-15.0, 30.0, (99, 3)), rng.integers(0, 3, 99)
        (folder / file).write_bytes(pickle.dumps(DecisionTreeClassifier(max_depth=4, random_state=0).fit(features, kinds)))
    habits = {f"{of}_{change}": rng.uniform(-0.1, 0.1, rows) for of in "ab" for change in ("increase", "decrease")}
    pd.DataFrame(habits).to_csv(folder / f"{name}_people.csv", index=False)
    return {
        "type": "citylearn.building.LogisticRegressionOccupantInteractionBuilding",
        "occupant": {
            "type": "citylearn.occupant.LogisticRegressionOccupant", "parameters_filename": f"{name}_people.csv",
            "attributes": {**models, "delta_output_map": {"0": 0.0, "1": 0.55, "2": 1.7}},
        },
    }  # fmt: skip


def with_people(small: Path, folder: Path) -> Path:
    """Write the site of `with_rooms` with people who change its set points; its schema."""
    path = with_rooms(small, folder)
    people = occupied(folder, "mall", ROWS, np.random.default_rng(0))
    return edit(path, lambda schema: schema["buildings"]["mall"].update(people))
