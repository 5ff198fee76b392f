"""Scenarios that try to run code: each is the small site with one change."""

import json
import os
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.envs.schema_changes import MALL, Change, put

PACKAGE = "stranger"  # name of the folder, which is importable from its parent
CLASS = f"{PACKAGE}.evil.Evil"
MODULE = """
import pathlib
pathlib.Path(__file__).with_name("imported").touch()

from citylearn.reward_function import RewardFunction


class Evil(RewardFunction):
    def __init__(self, env_metadata=None, **_):
        super().__init__(env_metadata)

    def calculate(self, observations):
        return [1.0]
"""
OCCUPANT = "citylearn.occupant.LogisticRegressionOccupant"
_MODELS = {
    "setpoint_increase_model_filepath": "{folder}/model.pkl", "setpoint_decrease_model_filepath": "{folder}/model.pkl",
    "delta_output_map": {}, "parameters": None,
}  # fmt: skip


class Payload:
    """Unpickled, it runs a command."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("echo unpickled",)


# Each names a class that is not CityLearn's own for its place, and has to be refused.
CLASSES: dict[str, Change] = {
    "an occupant as PV": put(*MALL, "pv", value={"type": OCCUPANT, "attributes": _MODELS}),
    "an occupant": put(
        *MALL, "occupant",
        value={
            "type": OCCUPANT, "parameters_filename": "weather.csv",
            "attributes": {
                "setpoint_increase_model_filename": "model.pkl", "setpoint_decrease_model_filename": "model.pkl",
                "delta_output_map": {},
            },
        },
    ),
    "a building": put(*MALL, "type", value=CLASS),
    "a building of another module": put(*MALL, "type", value="os.system"),
    "a building that is a list": put(*MALL, "type", value=["os", "system"]),
    "an empty name": put(*MALL, "type", value=""),
    "a vehicle": put("electric_vehicles_def", "motorcycle_001", "type", value=CLASS),
    "a class of CityLearn for another place": put(*MALL, "electrical_storage", "type", value="citylearn.energy_model.PV"),
    "a building that is left out": lambda schema: schema["buildings"].update(
        {"out": {**schema["buildings"]["mall"], "include": False, "type": CLASS}}
    ),
}  # fmt: skip

# Each names a file that lies outside of the schema's folder, and has to be refused.
PATHS: dict[str, Change] = {
    "a series above": put(*MALL, "energy_simulation", value="../outside.csv"),
    "a series with an absolute path": put(*MALL, "weather", value="{outside}"),
    "a series behind a link": put(*MALL, "pricing", value="link.csv"),
    "a folder behind a link": put(*MALL, "carbon_intensity", value="linked/outside.csv"),
    "a drive": put(*MALL, "weather", value="C:\\outside.csv"),
    "a drive's own folder": put(*MALL, "weather", value="C:outside.csv"),
    "a share": put(*MALL, "weather", value="\\\\server\\share\\outside.csv"),
    "a share with slashes": put(*MALL, "weather", value="//server/share/outside.csv"),
    "weights": put(
        *MALL, "dynamics", value={"type": "citylearn.dynamics.LSTMDynamics", "attributes": {"filename": "../outside.csv"}}
    ),
    "a name that no file has": put(*MALL, "weather", value="weather\0.csv"),
    "events at home": put("robustness", value={"enabled": True, "events_file": "~/outside.csv"}),
    "a root above": put("root_directory", value=".."),
    "a root elsewhere": put("root_directory", value="{parent}"),
    "a root behind a link": put("root_directory", value="linked"),
    "a root on a share": put("root_directory", value="\\\\server\\share"),
}

# Each names a class at a place that a run does not need, so it runs without that class.
NOT_NEEDED: dict[str, Change] = {
    "a reward": put("reward_function", value={"type": CLASS}),
    "rewards of each building": put("reward_function", value={"type": {"default": CLASS}, "attributes": {}}),
    "an agent": put("agent", value={"type": CLASS}),
}


def write(sound: Path, parent: Path, change: Change) -> Path:
    """Write a scenario with a change.

    Args:
        sound: `schema.json` of the small site.
        parent: folder for the scenario's folder, and for a file outside of it.
        change: of the schema.

    Returns:
        Its `schema.json`.
    """
    # Python remembers where the package lay that another test looked for.
    sys.modules.pop(PACKAGE, None)
    folder = Path(shutil.copytree(sound.parent, parent / PACKAGE))
    outside = parent / "outside.csv"
    outside.write_bytes((folder / "weather.csv").read_bytes())
    (folder / "link.csv").symlink_to(outside)
    (folder / "linked").symlink_to(parent, target_is_directory=True)
    (folder / "evil.py").write_text(MODULE, encoding="utf-8")
    (folder / "model.pkl").write_bytes(pickle.dumps(Payload()))
    schema = json.loads((folder / "schema.json").read_text(encoding="utf-8"))
    change(schema)
    text = json.dumps(schema)
    for name, path in (("folder", folder), ("outside", outside), ("parent", parent)):
        text = text.replace(f"{{{name}}}", json.dumps(str(path))[1:-1])
    path = folder / "schema.json"
    path.write_text(text, encoding="utf-8")
    return path
