"""Which backend steps a scenario, and what the batch backend lacks."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from common.errors import ScenarioError
from envs.batch_backend.records import PHASES
from envs.objective.reward import RewardName
from envs.scenarios.scenario import Scenario
from envs.scenarios.schema_file import read_schema
from envs.scenarios.schema_shape import BUILDING, CHARGER, SCHEMA
from envs.scenarios.schema_shape import CLASSES as DEVICES
from envs.scenarios.shapes import COMMENTS, included
from envs.scenarios.trust import CLASSES, THERMAL

Backend = Literal["batch", "citylearn"]
BackendChoice = Literal["auto", "batch", "citylearn"]


def beyond_batch(scenario: Scenario, reward: RewardName = "improvement") -> list[str]:
    """Features of a scenario that the batch backend lacks, each in a few words; empty where it has them all.

    The reward function of its schema is one where policies are trained on it.
    """
    # It has all that generated scenarios use; a look at their files here would generate them.
    paths = [scenario.schema_path(year) for year in range(len(scenario.segments) or 1)] if scenario.schema else []
    return list(dict.fromkeys(missing for path in paths for missing in unsupported(path, reward)))


def choose_backend(scenario: Scenario, choice: BackendChoice, reward: RewardName) -> Backend:
    """The backend that a choice means; a `ScenarioError` if it is `batch`, and the scenario uses what that lacks."""
    if choice == "citylearn":
        return "citylearn"
    missing = beyond_batch(scenario, reward)
    if missing and choice == "batch":
        raise ScenarioError(f"--backend batch cannot step {scenario.title}: {', '.join(missing)}; take citylearn or auto")
    return "citylearn" if missing else "batch"


_SWITCHED = ("community_market", "demand_response", "robustness")  # those that do nothing unless `enabled` is true
# Keys of which `schema_shape` knows what CityLearn reads, less those that the backend lacks. Any other is refused by name: it
# may change the physics.
_SCHEMA = {*SCHEMA.names, *SCHEMA.idle} - {"topology_events", *_SWITCHED}
_BUILDING = {*BUILDING.names, *BUILDING.idle} - {"escalators"}
_CHARGER = {*CHARGER.rest, *CHARGER.idle, "type", "attributes"}
_CHARGER_ATTRIBUTES = {*DEVICES["Charger"].names, *DEVICES["Charger"].idle} - {"random_seed"}
_VEHICLE = {"include", "type", "battery"}
# Classes of CityLearn that it computes as they do.
TYPES = {
    "type": CLASSES["building"],
    "dynamics": CLASSES["dynamics"],
    "occupant": ("citylearn.occupant.LogisticRegressionOccupant",),
    "electrical_storage": ("citylearn.energy_model.Battery",),
    "pv": ("citylearn.energy_model.PV",),
    **{name: CLASSES[name] for name in THERMAL},
}
# Observations that depend on actions, of which the dynamics may take demands and the indoor temperature alone.
_ENDOGENOUS = ("_soc", "_electricity_consumption")
_SET_BY_PEOPLE = ("_set_point", "_temperature_cooling_delta", "_temperature_heating_delta")


def unsupported(schema_path: Path, reward: RewardName = "schema") -> list[str]:
    """Features of a schema that the batch backend lacks, each in a few words; empty where it has them all."""
    schema = read_schema(schema_path)
    rewards = _rewards(schema.get("reward_function")) if reward == "schema" else ()
    return [*_found(schema), *rewards]


def _found(schema: Mapping[str, Any]) -> Iterator[str]:
    off = {name for name in _SWITCHED if not (schema.get(name) or {}).get("enabled")}
    yield from (f"'{name}' of the schema" for name in _beyond(schema, _SCHEMA | off))
    if schema.get("random_seed") is None:
        yield "random_seed null (CityLearn then draws other attributes at every start)"
    for vehicle in (schema.get("electric_vehicles_def") or {}).values():
        yield from (f"'{name}' of a vehicle" for name in _beyond(vehicle, _VEHICLE))
    for building in included(schema).values():
        yield from _in_building(building)


def _in_building(building: Mapping[str, Any]) -> Iterator[str]:
    yield from (name.replace("_", " ") for name in _beyond(building, _BUILDING))
    if (building.get("power_outage") or {}).get("simulate_power_outage") and building.get("chargers"):
        yield "power outages of a building with chargers"
    yield from _in_connection(building)
    yield from _in_dynamics((building.get("dynamics") or {}).get("attributes") or {}, bool(building.get("occupant")))
    for name, known in TYPES.items():
        entry = building.get(name)
        kind = entry if name == "type" or entry is None else entry.get("type")
        if kind is not None and kind not in known:
            yield kind.rpartition(".")[2]
    for charger in (building.get("chargers") or {}).values():
        yield from (f"'{name}' of a charger" for name in _beyond(charger, _CHARGER))
        yield from (f"'{name}' of a charger" for name in _beyond(charger.get("attributes") or {}, _CHARGER_ATTRIBUTES))
        if str(charger.get("type", "")).rpartition(".")[2] != "Charger":
            yield f"{charger.get('type')}"


def _in_connection(building: Mapping[str, Any]) -> Iterator[str]:
    """Of limits of a connection and of appliances, what depends on other devices in a way that the backend lacks."""
    has_outages = (building.get("power_outage") or {}).get("simulate_power_outage")
    constraints, service = building.get("charging_constraints") or {}, building.get("electrical_service")
    if building.get("deferrable_appliances") and (has_outages or service):
        yield "deferrable appliances of a building with power outages or an electrical service"
    for appliance in (building.get("deferrable_appliances") or {}).values():
        if appliance.get("type") not in (None, *CLASSES["appliance"]):
            yield str(appliance["type"]).rpartition(".")[2]
    if service and (has_outages or building.get("dynamics") or any(building.get(name) for name in THERMAL)):
        yield "electrical service of a building with thermal devices or power outages"
    order = list(building.get("chargers") or {})
    phases = [] if service else [phase.get("chargers") or [] for phase in constraints.get("phases") or ()]
    if len(phases) > PHASES:
        yield f"more than {PHASES} phases"
    if any(listed != [name for name in order if name in listed] for listed in phases):
        yield "phases with chargers that are not the building's, or in another order"


def _in_dynamics(attributes: Mapping[str, Any], has_occupants: bool) -> Iterator[str]:
    if attributes.get("dropout"):
        yield "dropout of dynamics (drawn anew at every step)"
    for name in attributes.get("input_observation_names") or ():
        if name.endswith(_ENDOGENOUS) or (has_occupants and name.endswith(_SET_BY_PEOPLE)):
            yield f"{name} as an input of dynamics"


def _rewards(entry: Any) -> Iterator[str]:
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    if not isinstance(kind, str) or kind not in CLASSES["reward"]:
        yield f"reward function {kind if isinstance(kind, str) else 'for each building'}"


def _beyond(entry: Mapping[str, Any], known: set[str]) -> list[str]:
    values = ((name, value) for name, value in entry.items() if name not in known and not name.startswith(COMMENTS))
    return [name for name, value in values if value not in (None, False, {}, [], "")]
