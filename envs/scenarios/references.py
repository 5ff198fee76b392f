"""What a schema refers to: the classes that CityLearn 3.0.2 imports and the files that it opens, each with its place.

Values of another type than CityLearn can follow are passed over: they lead to no class and no file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envs.scenarios.shapes import is_left_out

SERIES = ("energy_simulation", "weather", "carbon_intensity", "pricing")
DEVICES = (
    "cooling_device", "heating_device", "dhw_device", "dhw_storage", "cooling_storage", "heating_storage",
    "electrical_storage", "pv",
)  # fmt: skip


@dataclass(frozen=True)
class NamedClass:
    """A class that a schema names."""

    place: str  # in the schema, such as `buildings.mall.pv.type`
    role: str  # what the class is for, such as `pv`; see `envs.scenarios.trust.CLASSES`
    name: Any  # as the schema has it, which may be no text; never None


@dataclass(frozen=True)
class NamedFile:
    """A file that a schema names."""

    place: str  # in the schema, such as `buildings.mall.weather`
    name: str  # as the schema has it
    opened: bool = True  # whether CityLearn opens it; it does not for a building that is left out
    at_home: bool = False  # whether a `~` at its start is the user's home

    @property
    def relative(self) -> str:
        """Path of the file: absolute, or from the folder of the series."""
        try:
            return str(Path(self.name).expanduser()) if self.at_home else self.name
        except RuntimeError:  # there is no such user
            return self.name


def root_of(path: Path, schema: Mapping[str, Any]) -> Path:
    """Folder of the series, relative to that of the schema, as in CityLearn."""
    configured = schema.get("root_directory")
    return path.parent / configured if isinstance(configured, str) else path.parent


def named_classes(schema: Mapping[str, Any]) -> Iterator[NamedClass]:
    """Classes that CityLearn imports when it builds an environment, other than that of the reward."""
    for place, building in _entries(schema, "buildings"):
        yield from _kind(place, "building", building)
        for name in ("dynamics", "occupant", *DEVICES):
            yield from _kind(f"{place}.{name}", name, building.get(name))
        outage = building.get("power_outage")
        model = outage.get("stochastic_power_outage_model") if isinstance(outage, Mapping) else None
        yield from _kind(f"{place}.power_outage.stochastic_power_outage_model", "power_outage", model)
        for group, role in (("chargers", "charger"), ("deferrable_appliances", "appliance"), ("escalators", "escalator")):
            for own, entry in _entries(building, group, f"{place}."):
                yield from _kind(own, role, entry)
    for place, vehicle in _entries(schema, "electric_vehicles_def"):
        yield from _kind(place, "vehicle", vehicle)


def reward_classes(schema: Mapping[str, Any]) -> Iterator[NamedClass]:
    """Classes of the schema's reward: one for all buildings, or one for each."""
    entry = schema.get("reward_function")
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    if isinstance(kind, Mapping):
        yield from (NamedClass(f"reward_function.type.{name}", "reward", value) for name, value in kind.items())
    else:
        yield from _kind("reward_function", "reward", entry)


def named_files(schema: Mapping[str, Any]) -> Iterator[NamedFile]:
    """Files that CityLearn may open when it builds an environment."""
    is_dynamic = schema.get("topology_mode") not in (None, "", "static")
    for place, building in _entries(schema, "buildings"):
        opened = is_dynamic or not is_left_out(building)
        yield from (NamedFile(at, name, opened) for at, name in _in_building(place, building))
    for section, key in (("robustness", "events_file"), ("demand_response", "requests_file")):
        entry = schema.get(section)
        if isinstance(entry, Mapping) and isinstance(entry.get(key), str):
            yield NamedFile(f"{section}.{key}", entry[key], is_on(entry.get("enabled")), at_home=True)


def _in_building(place: str, building: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Places and names of the files of a building."""
    yield from _texts(place, building, SERIES)
    for own, entry in _entries(building, "chargers", f"{place}."):
        yield from _texts(own, entry, ("charger_simulation",))
    for own, entry in _entries(building, "deferrable_appliances", f"{place}."):
        yield from _texts(own, entry, ("cycle_profiles_file", "flexibility_schedule_file"))
    for own, entry in _entries(building, "escalators", f"{place}."):
        yield from _texts(own, entry, ("simulation" if entry.get("simulation") else "simulation_file",))
    models = ("setpoint_increase_model_filename", "setpoint_decrease_model_filename")
    for name, own_keys, keys in (("dynamics", (), ("filename",)), ("occupant", ("parameters_filename",), models)):
        device = building.get(name)
        if isinstance(device, Mapping):
            yield from _texts(f"{place}.{name}", device, own_keys)
            yield from _texts(f"{place}.{name}.attributes", device.get("attributes"), keys)
    pv = building.get("pv")
    if isinstance(pv, Mapping) and is_on(pv.get("autosize")):
        yield from _texts(f"{place}.pv.autosize_attributes", pv.get("autosize_attributes"), ("epw_filepath",))


def autosized(schema: Mapping[str, Any], device: str) -> list[str]:
    """Places of the devices of a kind, `pv` or `electrical_storage`, that CityLearn sizes itself, in included buildings."""
    return [
        f"{place}.{device}"
        for place, building in _entries(schema, "buildings")
        if not is_left_out(building) and isinstance(building.get(device), Mapping)
        if is_on(building[device].get("autosize"))
    ]


def is_on(value: Any) -> bool:
    """Whether CityLearn takes a value for true."""
    return value.strip().lower() in ("true", "1", "yes", "on") if isinstance(value, str) else value in (True, 1)


def _entries(of: Mapping[str, Any], key: str, prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Places and values of a group of entries."""
    group = of.get(key)
    if isinstance(group, Mapping):
        yield from ((f"{prefix}{key}.{name}", entry) for name, entry in group.items() if isinstance(entry, Mapping))


def _kind(place: str, role: str, entry: Any) -> Iterator[NamedClass]:
    if isinstance(entry, Mapping) and entry.get("type") is not None:
        yield NamedClass(f"{place}.type", role, entry["type"])


def _texts(place: str, entry: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(entry, Mapping):
        yield from ((f"{place}.{key}", entry[key]) for key in keys if isinstance(entry.get(key), str) and entry[key])
