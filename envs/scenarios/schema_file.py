"""Checks of a scenario's `schema.json` and of the files that it names, before CityLearn opens them."""

import copy
import hashlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import platformdirs

from common.errors import ScenarioError
from envs.scenarios.schema_shape import (
    AT_CHARGERS,
    BUILDING_CLASSES,
    CONVERT,
    FIRST,
    INPUTS,
    LAST,
    OBSERVATIONS,
    OF_APPLIANCES,
    SCHEMA,
    USES,
    is_older,
)
from envs.scenarios.series_files import check_series, is_file
from envs.scenarios.shapes import Fault, Faults, Place, dotted, included, read_object, remedy, shown
from envs.scenarios.tariff import FILE_NAME, tariff_faults
from envs.scenarios.trust import autosized, named_files, root_of

MOST_WEIGHTS = 10**7  # of an LSTM, 40 MB; those of the public scenarios have less than a hundred thousand

TABLES = {"pv": "lbl-tracking_the_sun-res-pv.csv", "electrical_storage": "battery_choices.yaml"}

_GETTERS = {"pv": "get_pv_sizing_data", "electrical_storage": "get_battery_sizing_data"}


def read_schema(path: Path) -> dict[str, Any]:
    """Content of a `schema.json`, whose form only `check` looks at; a `ScenarioError` if it is not JSON, or no schema."""
    schema = read_object(path)
    if not isinstance(schema.get("buildings"), dict):
        raise ScenarioError(f"{path} is not a CityLearn schema: it lacks an object buildings; name a schema.json")
    return schema


def count_steps(path: Path) -> int:
    """Steps of a scenario year: one less than its rows, as in CityLearn."""
    schema = read_schema(path)
    return int(schema[LAST]) - int(schema[FIRST])


def building_names(path: Path) -> list[str]:
    """Names of the buildings that a schema includes, in its order."""
    return list(included(read_schema(path)))


def active_actions(path: Path) -> list[str]:
    """Kinds of actions that a schema activates, as it names them."""
    return [name for name, action in read_schema(path).get("actions", {}).items() if action.get("active")]


def rooted(path: Path) -> dict[str, Any]:
    """Content of a `schema.json` with the absolute folder of its series, which CityLearn reads wherever it runs."""
    schema = read_schema(path)
    root = root_of(path.absolute(), schema)
    # CityLearn needs the length of a step.
    seconds = schema.get("seconds_per_time_step") or 3600
    return {
        **schema,
        "seconds_per_time_step": seconds,
        "root_directory": str(root if schema.get("root_directory") is None else root.resolve()),
    }


def digest(path: Path, code: Sequence[Path] = ()) -> str:
    """Hash of a scenario's files and of the `code` of its own classes, so that a change changes the key in the cache."""
    schema = read_schema(path)
    named = (root_of(path, schema) / name for name in sorted(set(_named(schema))))
    hashed = hashlib.sha256()
    for file in (path, path.parent / FILE_NAME, *named, *_sizing_tables(schema), *code):
        if file.is_file():
            hashed.update(file.name.encode())
            with file.open("rb") as opened:
                hashlib.file_digest(opened, lambda: hashed)
    return hashed.hexdigest()[:12]


def check(path: Path) -> None:
    """Check a scenario without CityLearn; a `ScenarioError` has a line for each fault of schema, files, tariff and series."""
    all_faults(path).refuse()


def all_faults(path: Path) -> Faults:
    """Every fault of a scenario that can be told without CityLearn."""
    schema = read_schema(path)
    faults, of_schema = Faults(), schema_faults(schema)
    faults.add(*(f"{path}: {fault}" for fault in of_schema), *tariff_faults(path))
    sound = _without(schema, [fault.place for fault in of_schema if fault.form])
    if sound:
        _check_files(path, sound, faults)
    return faults


# Places of a schema without which its files cannot be told.
_NEEDED = ("buildings", "electric_vehicles_def", "observations", FIRST, LAST, "root_directory")


def _without(schema: dict[str, Any], places: Sequence[Place]) -> dict[str, Any]:
    """A schema without its entries of a wrong form, so that the files of all others can be checked; empty if there are none."""
    sound = copy.deepcopy(schema)
    for place in places:
        top, *inner = place
        if top in _NEEDED and not inner:
            return {}
        if top == "observations":
            sound[top].pop(inner[0], None)
        elif top == "reward_function":
            sound[top] = {"type": ""}
        elif top == "buildings":
            building = sound[top].get(inner[0])
            if len(inner) == 1 or not isinstance(building, dict):
                sound[top].pop(inner[0], None)
                continue
            group = building.get(inner[1])
            if inner[1] == "chargers" and len(inner) > 2 and isinstance(group, dict):
                group.pop(inner[2], None)
            else:
                building.pop(inner[1], None)
                # Of another kind than CityLearn's own, so that nobody asks whether its devices meet their demands.
                building["type"] = "of a wrong form"
    return sound


def _check_files(path: Path, schema: dict[str, Any], faults: Faults) -> None:
    root = root_of(path, schema)
    missing = sorted({name for name in _named(schema) if not is_file(root / name)})
    faults.add(
        *(f"{path} names {name}, which is not in {root}; put it there, or correct the name" for name in missing),
        *_unsized(path, schema),
    )
    for name, building in included(schema).items():
        outage = _at(building, "power_outage")
        if not (outage.get("simulate_power_outage") and outage.get("stochastic_power_outage")):
            continue
        if _at(outage, "stochastic_power_outage_model", "attributes").get("random_seed") is None:
            faults.add(
                f"{path}: building {name} draws its power outages without a seed, so runs cannot be compared with one another: "
                "give random_seed among the attributes of its stochastic_power_outage_model"
            )
    check_series(path, schema, root, faults)


def _named(schema: dict[str, Any]) -> list[str]:
    return [file.relative for file in named_files(schema) if file.opened]


def schema_faults(schema: dict[str, Any]) -> list[Fault]:
    """Faults of a schema's form and of its numbers, without a look at any file."""
    faults = list(SCHEMA.faults(schema, ()))
    # What depends on several places can be told only where each has its form.
    return faults if any(fault.form for fault in faults) else [*faults, *_beside(schema)]


def _beside(schema: dict[str, Any]) -> Iterator[Fault]:
    """Faults of values beside one another, in a schema of the right form."""
    if schema[FIRST] >= schema[LAST]:
        text = f"is {schema[LAST]} and {FIRST} {schema[FIRST]}; the last row to be run has to come after the first"
        yield Fault((LAST,), text)
    buildings = included(schema)
    if not buildings:
        yield Fault(("buildings",), "has none with include true; include one")
    active = {name for name, entry in schema["observations"].items() if entry.get("active")}
    seen = {name: active.difference(_at(building, "inactive_observations")) for name, building in buildings.items()}
    chargers = any(building.get("chargers") for building in buildings.values())
    if buildings and not any(names if chargers else names - AT_CHARGERS for names in seen.values()):
        yield Fault(("observations",), "has none that is active; a policy needs one")
    if any(building.get("dynamics") for building in buildings.values()):
        # A model of the indoor temperature makes CityLearn compute the inactive ones too; the active ones are named before.
        for name in schema["observations"]:
            if name not in OBSERVATIONS | AT_CHARGERS | active and not name.startswith(OF_APPLIANCES):
                told = CONVERT if is_older(name) else remedy(name, OBSERVATIONS)
                yield Fault(
                    ("observations", name), f"is unknown to CityLearn, which stops at it in a building with dynamics; {told}"
                )
    robustness = _at(schema, "robustness")
    if robustness.get("enabled") and not robustness.get("events_file"):
        yield Fault(("robustness", "events_file"), "is missing, and robustness is enabled; name a file")
    for name, building in buildings.items():
        yield from _in_building(schema, building, ("buildings", name))


def _in_building(schema: dict[str, Any], building: dict[str, Any], place: Place) -> Iterator[Fault]:
    acts = _at(schema, "actions", "electrical_storage").get("active")
    if acts and not building.get("electrical_storage") and "electrical_storage" not in _at(building, "inactive_actions"):
        text = "is missing, and its action is active; add one, or add 'electrical_storage' to the building's inactive_actions"
        yield Fault((*place, "electrical_storage"), text)
    kind = str(building.get("type") or "").rpartition(".")[2]
    for part, kinds in (("dynamics", BUILDING_CLASSES[1:]), ("occupant", BUILDING_CLASSES[3:])):
        if kind in kinds and not building.get(part):
            yield Fault((*place, part), f"is missing; a building of type {kind} needs one")
    if building.get("dynamics"):
        yield from _dynamics(building["dynamics"], (*place, "dynamics", "attributes"))
    yield from _phases(building, place)
    for use in USES:
        factor = _at(building, f"{use}_device", "autosize_attributes").get("safety_factor")
        if factor is not None and factor < 1.0:
            where = (*place, f"{use}_device", "autosize_attributes", "safety_factor")
            yield Fault(where, f"is {shown(factor)}; below 1 the device cannot meet its demand", form=False)
    for name, charger in _at(building, "chargers").items():
        attributes = _at(charger, "attributes")
        for way in ("charging_power", "discharging_power"):
            low, high = attributes.get(f"min_{way}"), attributes.get(f"max_{way}")
            if low is not None and high is not None and low > high:
                where = (*place, "chargers", name, "attributes", f"min_{way}")
                yield Fault(where, f"is {shown(low)}, above max_{way} {shown(high)}; lower it", form=False)


def _at(entry: Any, *place: str) -> Any:
    """What stands at a place; an empty object where there is nothing, or null."""
    for name in place:
        entry = entry.get(name) or {}
    return entry


def _phases(building: dict[str, Any], place: Place) -> Iterator[Fault]:
    """Faults of the phases to which a building with an electrical service connects its devices."""
    service = building.get("electrical_service")
    if not service:
        return
    one = service.get("mode", "single_phase") == "single_phase"
    phases = ("L1",) if one else ("L1", "L2", "L3")
    for where in (("electrical_storage",), *(("chargers", name) for name in _at(building, "chargers"))):
        phase = _at(building, *where, "attributes").get("phase_connection")
        if phase is not None and phase not in (*phases, *(() if one else ("all_phases",))):
            yield Fault(
                (*place, *where, "attributes", "phase_connection"),
                f"is {shown(phase)}; it has to be one of {', '.join(phases)}",
            )
    if one and service.get("default_split", "balanced") not in ("balanced", "L1"):
        yield Fault((*place, "electrical_service", "default_split"), "has to be balanced or L1 with a single phase")
    for phase in _at(service, "limits", "per_phase"):
        if phase not in phases:
            where = (*place, "electrical_service", "limits", "per_phase", phase)
            yield Fault(where, f"is no phase of this service; it has to be one of {', '.join(phases)}")


def _dynamics(entry: dict[str, Any], place: Place) -> Iterator[Fault]:
    attributes = _at(entry, "attributes")
    if str(entry["type"]).rpartition(".")[2] != "LSTMDynamics":
        return
    for name in ("filename", *INPUTS, "hidden_size", "num_layers", "lookback"):
        if attributes.get(name) is None:
            yield Fault((*place, name), "is missing; the model cannot be read without it")
    for i, name in enumerate(_at(attributes, INPUTS[0])):
        if name.removesuffix("_sin").removesuffix("_cos") not in OBSERVATIONS:
            yield Fault((*place, INPUTS[0], str(i)), f"is {shown(name)}, and CityLearn has no such observation; correct it")
    inputs = attributes.get("input_size") or len(_at(attributes, INPUTS[0]))
    weights = _lstm_weights(inputs, attributes.get("hidden_size") or 0, attributes.get("num_layers") or 0)
    if weights > MOST_WEIGHTS:
        # CityLearn builds the network before it reads the file.
        text = f"and num_layers make a network of {weights:,.0f} weights; it may have at most {MOST_WEIGHTS:,}, so lower them"
        yield Fault((*place, "hidden_size"), text, form=False)
    lengths = {len(_at(attributes, name)) for name in INPUTS}
    if len(lengths) > 1:
        yield Fault((*place, INPUTS[0]), f"and {dotted(INPUTS[1:])} have different lengths; give each input two bounds")


def _lstm_weights(inputs: float, hidden: float, layers: float) -> float:
    """Weights of an LSTM as torch builds it: in each layer four gates, each with two biases for a neuron."""
    return 4 * hidden * (inputs + hidden + 2 + (layers - 1) * (2 * hidden + 2))


def _unsized(path: Path, schema: Mapping[str, Any]) -> Iterator[str]:
    """What this machine lacks of what CityLearn sizes devices with, in lines for people."""
    for device, name in TABLES.items():
        places = autosized(schema, device)
        if places and device == "pv" and importlib.util.find_spec("PySAM") is None:
            yield (
                f"{path}: {places[0]}.autosize needs the package NREL-PySAM, which is not installed: install it, or set "
                "autosize to false and give nominal_power"
            )
        if places and not _path(name):
            yield (
                f"{path}: {places[0]}.autosize needs CityLearn's table {name}, which is not in {_cache()}: download it by "
                f'python -c "from citylearn.data import DataSet; DataSet().{_GETTERS[device]}()", or set autosize to false'
            )


def _sizing_tables(schema: Mapping[str, Any]) -> list[Path]:
    """Tables that a scenario is sized with, and that are on this machine."""
    return [path for device, name in TABLES.items() if autosized(schema, device) and (path := _path(name))]


def _path(name: str) -> Path | None:
    """The copy of a table that CityLearn takes; None where it would download one."""
    return next((folder / name for folder in (_cache(), *_local()) if (folder / name).is_file()), None)


def _cache() -> Path:
    repository = os.environ.get("CITYLEARN_DATASET_REPOSITORY", "CityLearn").lower()
    account = os.environ.get("CITYLEARN_DATASET_GITHUB_ACCOUNT", "citylearn-project")
    tag = os.environ.get("CITYLEARN_DATASET_TAG", f"v{importlib.metadata.version('citylearn')}")
    return Path(platformdirs.user_cache_dir(appname=repository, appauthor=account, version=tag)) / "misc"


def _local() -> Iterator[Path]:
    """Folders from which CityLearn copies a table that its cache lacks."""
    named = os.environ.get("CITYLEARN_LOCAL_MISC_PATH", "").split(os.pathsep)
    yield from (Path(folder).expanduser() for folder in named if folder.strip())
    spec = importlib.util.find_spec("citylearn")
    if spec and spec.origin:
        yield Path(spec.origin).parents[1] / "data" / "misc"
    yield Path.cwd() / "data" / "misc"
