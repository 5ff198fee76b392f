"""Scenarios that try to run code: each is the small site with one change."""

import json
import os
import pickle
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
_DEVICES = (
    "pv", "electrical_storage", "cooling_device", "heating_device", "dhw_device", "cooling_storage", "heating_storage",
    "dhw_storage",
)  # fmt: skip

Schema = dict[str, Any]
Change = Callable[[Schema, Schema], None]  # of a schema and of its building


class Payload:
    """Unpickled, it runs a command."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("echo unpickled",)


def _set(*keys: str, to: Any) -> Change:
    """A change that sets a value of the building."""

    def change(_: Schema, building: Schema) -> None:
        inner = building
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[keys[-1]] = to

    return change


def _of_schema(*keys: str, to: Any) -> Change:
    return lambda schema, _: _set(*keys, to=to)(schema, schema)


def _first(key: str, *keys: str, to: Any) -> Change:
    """A change within the first charger or vehicle."""

    def change(schema: Schema, building: Schema) -> None:
        of = building if key in building else schema
        _set(*keys, to=to)(schema, next(iter(of[key].values())))

    return change


# Each names a class that is not CityLearn's own for its place, and has to be refused.
CLASSES: dict[str, Change] = {
    "an occupant as PV": _set("pv", to={"type": OCCUPANT, "attributes": _MODELS}),
    "an occupant": _set(
        "occupant",
        to={
            "type": OCCUPANT, "parameters_filename": "weather.csv",
            "attributes": {
                "setpoint_increase_model_filename": "model.pkl", "setpoint_decrease_model_filename": "model.pkl",
                "delta_output_map": {},
            },
        },
    ),
    "a building": _set("type", to=CLASS),
    "a building of another module": _set("type", to="os.system"),
    "a building that is a list": _set("type", to=["os", "system"]),
    "an empty name": _set("type", to=""),
    "dynamics": _set("dynamics", to={"type": CLASS, "attributes": {"filename": "model.pkl"}}),
    "a power outage": _set("power_outage", to={"stochastic_power_outage_model": {"type": CLASS}}),
    "a charger": _first("chargers", "type", to=CLASS),
    "a vehicle": _first("electric_vehicles_def", "type", to=CLASS),
    "an appliance": _set(
        "deferrable_appliances",
        to={"a": {"type": CLASS, "cycle_profiles_file": "weather.csv", "flexibility_schedule_file": "weather.csv"}},
    ),
    "an escalator": _set("escalators", to={"a": {"type": CLASS, "simulation": "weather.csv"}}),
    "a class of CityLearn for another place": _set("electrical_storage", "type", to="citylearn.energy_model.PV"),
    "a building that is left out": lambda schema, building: schema["buildings"].update(
        {"out": {**building, "include": False, "type": CLASS}}
    ),
    **{f"a {device}": _set(device, to={"type": CLASS}) for device in _DEVICES},
}  # fmt: skip

# Each names a file that lies outside of the schema's folder, and has to be refused.
PATHS: dict[str, Change] = {
    "a series above": _set("energy_simulation", to="../outside.csv"),
    "a series with an absolute path": _set("weather", to="{outside}"),
    "a series behind a link": _set("pricing", to="link.csv"),
    "a folder behind a link": _set("carbon_intensity", to="linked/outside.csv"),
    "a drive": _set("weather", to="C:\\outside.csv"),
    "a drive's own folder": _set("weather", to="C:outside.csv"),
    "a share": _set("weather", to="\\\\server\\share\\outside.csv"),
    "a share with slashes": _set("weather", to="//server/share/outside.csv"),
    "a charger": _first("chargers", "charger_simulation", to="../outside.csv"),
    "weights": _set("dynamics", to={"type": "citylearn.dynamics.LSTMDynamics", "attributes": {"filename": "../outside.csv"}}),
    "a name that no file has": _set("weather", to="weather\0.csv"),
    "profiles": _set("deferrable_appliances", to={"a": {"cycle_profiles_file": "../outside.csv"}}),
    "a schedule": _set("deferrable_appliances", to={"a": {"flexibility_schedule_file": "../outside.csv"}}),
    "an escalator": _set("escalators", to={"a": {"simulation": "../outside.csv"}}),
    "an escalator by its other name": _set("escalators", to={"a": {"simulation_file": "../outside.csv"}}),
    "weather for PV": _set(
        "pv",
        to={"type": "citylearn.energy_model.PV", "autosize": True, "autosize_attributes": {"epw_filepath": "../outside.csv"}},
    ),
    "events": _of_schema("robustness", to={"enabled": True, "events_file": "../outside.csv"}),
    "events at home": _of_schema("robustness", to={"enabled": True, "events_file": "~/outside.csv"}),
    "requests": _of_schema("demand_response", to={"enabled": True, "requests_file": "{outside}"}),
    "a root above": _of_schema("root_directory", to=".."),
    "a root elsewhere": _of_schema("root_directory", to="{parent}"),
    "a root behind a link": _of_schema("root_directory", to="linked"),
    "a root on a share": _of_schema("root_directory", to="\\\\server\\share"),
}

# Each names a class at a place that a run does not need, so it runs without that class.
NOT_NEEDED: dict[str, Change] = {
    "a reward": _of_schema("reward_function", to={"type": CLASS}),
    "rewards of each building": _of_schema("reward_function", to={"type": {"default": CLASS}, "attributes": {}}),
    "an agent": _of_schema("agent", to={"type": CLASS}),
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
    (building,) = schema["buildings"].values()
    change(schema, building)
    text = json.dumps(schema)
    for name, path in (("folder", folder), ("outside", outside), ("parent", parent)):
        text = text.replace(f"{{{name}}}", json.dumps(str(path))[1:-1])
    path = folder / "schema.json"
    path.write_text(text, encoding="utf-8")
    return path
