"""What a scenario may name unless the user trusts it: CityLearn's own classes, and files below the folder of its schema.

CityLearn imports and calls each class that a schema names. Some of its own run code too: an occupant model is a pickle. LSTM
weights are not: torch reads them by an unpickler that takes tensors alone (`weights_only`, its default since 2.6).
"""

import importlib.util
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

from common.errors import ScenarioError
from common.paths import is_share
from common.texts import printable
from envs.scenarios.schema_shape import REWARDS, USES
from envs.scenarios.series_files import NEEDED
from envs.scenarios.shapes import is_left_out
from envs.scenarios.tariff import FILE_NAME

THERMAL = tuple(f"{use}_{device}" for device in ("device", "storage") for use in USES)
DEVICES = (*THERMAL, "electrical_storage", "pv")


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


# Places in a schema. A star stands for each name there.
_CLASSES_OF_BUILDING = {  # and what the class is for
    "type": "building",
    **{f"{name}.type": name for name in ("dynamics", "occupant", *DEVICES)},
    "power_outage.stochastic_power_outage_model.type": "power_outage",
    "chargers.*.type": "charger",
    "deferrable_appliances.*.type": "appliance",
    "escalators.*.type": "escalator",
}
_FILES_OF_BUILDING = (
    *NEEDED, "chargers.*.charger_simulation", "deferrable_appliances.*.cycle_profiles_file",
    "deferrable_appliances.*.flexibility_schedule_file", "escalators.*.simulation", "dynamics.attributes.filename",
    "occupant.parameters_filename", "occupant.attributes.setpoint_increase_model_filename",
    "occupant.attributes.setpoint_decrease_model_filename",
)  # fmt: skip


def _at(entry: Any, places: str, before: str = "") -> Iterator[tuple[str, Any]]:
    """Each value that stands at some places of an entry, which need not be there or of the right form, with its own place."""
    if not places:
        yield before, entry
    elif isinstance(entry, Mapping):
        first, _, inner = places.partition(".")
        for name in entry if first == "*" else entry.keys() & {first}:
            yield from _at(entry[name], inner, f"{before}.{name}" if before else name)


def named_classes(schema: Mapping[str, Any]) -> Iterator[NamedClass]:
    """Classes that CityLearn imports when it builds an environment, other than that of the reward."""
    for place, building in _at(schema, "buildings.*"):
        for places, role in _CLASSES_OF_BUILDING.items():
            yield from _classes(building, places, role, place)
    yield from _classes(schema, "electric_vehicles_def.*.type", "vehicle")


def reward_classes(schema: Mapping[str, Any]) -> Iterator[NamedClass]:
    """Classes of the schema's reward: one for all buildings, or one for each."""
    one_each = any(isinstance(kind, Mapping) for _, kind in _at(schema, "reward_function.type"))
    yield from _classes(schema, "reward_function.type.*" if one_each else "reward_function.type", "reward")


def _classes(entry: Any, places: str, role: str, before: str = "") -> Iterator[NamedClass]:
    yield from (NamedClass(place, role, name) for place, name in _at(entry, places, before) if name is not None)


def named_files(schema: Mapping[str, Any]) -> Iterator[NamedFile]:
    """Files that CityLearn may open when it builds an environment."""
    is_dynamic = schema.get("topology_mode") not in (None, "", "static")
    for before, building in _at(schema, "buildings.*"):
        for place, name in _in_building(before, building):
            yield NamedFile(place, name, is_dynamic or not is_left_out(building))
    for section, key in (("robustness", "events_file"), ("demand_response", "requests_file")):
        for place, name in _texts(schema, f"{section}.{key}"):
            yield NamedFile(place, name, is_on(schema[section].get("enabled")), at_home=True)


def _in_building(before: str, building: Any) -> Iterator[tuple[str, str]]:
    for places in _FILES_OF_BUILDING:
        yield from _texts(building, places, before)
    for place, escalator in _at(building, "escalators.*", before):
        if isinstance(escalator, Mapping) and not escalator.get("simulation"):
            yield from _texts(escalator, "simulation_file", place)
    if any(is_on(value) for _, value in _at(building, "pv.autosize")):
        yield from _texts(building, "pv.autosize_attributes.epw_filepath", before)


def _texts(entry: Any, places: str, before: str = "") -> Iterator[tuple[str, str]]:
    yield from ((place, name) for place, name in _at(entry, places, before) if isinstance(name, str) and name)


def autosized(schema: Mapping[str, Any], device: str) -> list[str]:
    """Places of the devices of a kind, `pv` or `electrical_storage`, that CityLearn sizes itself, in included buildings."""
    return [
        f"{place}.{device}"
        for place, building in _at(schema, "buildings.*")
        for _, value in _at(building, f"{device}.autosize")
        if is_on(value) and not is_left_out(building)
    ]


def is_on(value: Any) -> bool:
    """Whether CityLearn takes a value for true."""
    return value.strip().lower() in ("true", "1", "yes", "on") if isinstance(value, str) else value in (True, 1)


OPTION = "--trust-scenario"
MOST_NAMED = 20  # faults in one message
# Classes that pass without trust, by what they are for. Not here: `citylearn.occupant.LogisticRegressionOccupant`, which
# unpickles two files; classes that CityLearn leaves abstract.
CLASSES: dict[str, tuple[str, ...]] = {
    "building": (
        "citylearn.citylearn.Building", "citylearn.building.Building", "citylearn.building.LSTMDynamicsBuilding",
        "citylearn.building.LogisticRegressionOccupantInteractionBuilding",
    ),
    "dynamics": ("citylearn.dynamics.LSTMDynamics",),
    "occupant": (),
    "power_outage": ("citylearn.power_outage.PowerOutage", "citylearn.power_outage.ReliabilityMetricsPowerOutage"),
    "charger": ("citylearn.electric_vehicle_charger.Charger",),
    "appliance": ("citylearn.energy_model.DeferrableAppliance", "citylearn.citylearn.DeferrableAppliance"),
    "escalator": ("citylearn.energy_model.Escalator",),
    "vehicle": ("citylearn.citylearn.ElectricVehicle", "citylearn.electric_vehicle.ElectricVehicle"),
    "cooling_device": ("citylearn.energy_model.HeatPump",),
    "heating_device": ("citylearn.energy_model.HeatPump", "citylearn.energy_model.ElectricHeater"),
    "dhw_device": ("citylearn.energy_model.HeatPump", "citylearn.energy_model.ElectricHeater"),
    **{f"{use}_storage": ("citylearn.energy_model.StorageTank",) for use in USES},
    "electrical_storage": ("citylearn.energy_model.Battery", "citylearn.citylearn.Battery"),
    "pv": ("citylearn.energy_model.PV", "citylearn.citylearn.PV"),
    "reward": tuple(f"citylearn.reward_function.{name}" for name in REWARDS),
}  # fmt: skip
_UNPICKLES = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"  # environment variable by which torch unpickles weights again


def check(path: Path, schema: Mapping[str, Any]) -> None:
    """Check, opening nothing, that a schema names CityLearn's classes and files of its folder; else a `ScenarioError`."""
    _refuse(path, [*_unknown(named_classes(schema)), *outside(path, schema), *_unpickled(schema)])


def check_reward(path: Path, schema: Mapping[str, Any], trusted: bool) -> None:
    """Check the classes of the schema's own reward; a `ScenarioError` if one is not CityLearn's and not trusted, or missing."""
    if not trusted:
        _refuse(path, list(_unknown(reward_classes(schema))))
    _module_files(path, reward_classes(schema))


def own_code(path: Path, schema: Mapping[str, Any]) -> list[Path]:
    """Files with the code of a trusted scenario's classes but its reward's; a `ScenarioError` if a module does not exist."""
    return _module_files(path, named_classes(schema))


def _refuse(path: Path, faults: list[str]) -> None:
    if not faults:
        return
    more = f"; and {len(faults) - MOST_NAMED} more" if len(faults) > MOST_NAMED else ""
    named = printable("; ".join(faults[:MOST_NAMED]))
    raise ScenarioError(
        f"{path}: {named}{more}. If you trust this scenario as your own code, {OPTION} lets it run "
        "classes and pickles and read files elsewhere"
    )


def _unknown(classes: Iterator[NamedClass]) -> Iterator[str]:
    for named in classes:
        known = CLASSES[named.role]
        if not isinstance(named.name, str) or named.name not in known:
            own_classes = ", ".join(name.removeprefix("citylearn.") for name in known)
            reason = f"none of CityLearn's own ({own_classes})" if known else "which unpickles files, and so runs code in them"
            yield f"{named.place} is {named.name!r}, {reason}"


def outside(path: Path, schema: Mapping[str, Any]) -> Iterator[str]:
    """Names that lead out of the folder of the schema; drives and shares are refused before any of them is looked at."""
    root, folder = root_of(path, schema), path.parent.resolve()
    configured = schema.get("root_directory")
    if isinstance(configured, str) and not _is_within(configured, root, folder):
        yield f"root_directory is {configured!r}, which is outside of {folder}"
        return
    # The schema does not name it, so it can lead out by a link alone.
    if not _is_within(FILE_NAME, folder / FILE_NAME, folder):
        yield f"{FILE_NAME} is a link to a file outside of {folder}"
    for file in named_files(schema):
        if not _is_within(file.name, root / file.relative, folder):
            yield f"{file.place} is {file.name!r}, which is outside of {folder}"


def _is_within(name: str, path: Path, folder: Path) -> bool:
    # The folder itself may lie on a share.
    if "\0" in name or (_is_share(name) and not (os.name == "nt" and path.is_relative_to(folder))):
        return False
    try:
        return path.resolve().is_relative_to(folder)
    except (OSError, RuntimeError):  # links in a circle
        return False


def _is_share(name: str) -> bool:
    """Whether a name is that of a Windows share, which a look at it would connect to; elsewhere, of a drive as well."""
    return is_share(name) or bool(os.name != "nt" and PureWindowsPath(name).drive)


def _unpickled(schema: Mapping[str, Any]) -> Iterator[str]:
    if os.environ.get(_UNPICKLES, "0").lower() in ("1", "y", "yes", "true"):
        for named in named_classes(schema):
            if named.role == "dynamics":
                yield f"{named.place}: torch would unpickle its weights, as the environment variable {_UNPICKLES} is set"


def _module_files(path: Path, classes: Iterator[NamedClass]) -> list[Path]:
    """Files of the modules of classes that are not CityLearn's; finding them imports the packages that hold them."""
    files = []
    for named in classes:
        module = named.name.rpartition(".")[0] if isinstance(named.name, str) else ""
        if module.partition(".")[0] == "citylearn":
            continue
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            spec = None
        if spec is None:
            raise ScenarioError(
                f"{path}: {named.place} is {named.name!r}, and Python finds no module {module!r}: run in the folder that holds "
                "it, or name that folder in PYTHONPATH"
            )
        if spec.origin and Path(spec.origin).is_file():
            files.append(Path(spec.origin))
    return files
