"""Faults of a `schema.json`: of its form, and of values that do not go with one another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from envs.scenarios.faults import shown
from envs.scenarios.schema_shape import AT_CHARGERS, BUILDING_CLASSES, FIRST, LAST, OBSERVATIONS, OF_APPLIANCES, SCHEMA
from envs.scenarios.shapes import Fault, Place, dotted, hint, is_left_out

MOST_WEIGHTS = 10**7  # of an LSTM, 40 MB; those of the public scenarios have less than a hundred thousand


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
    buildings = {name: building for name, building in schema["buildings"].items() if not is_left_out(building)}
    if not buildings:
        yield Fault(("buildings",), "has none with include true; include one")
    active = {name for name, entry in schema["observations"].items() if entry.get("active")}
    seen = {name: active - set(building.get("inactive_observations") or ()) for name, building in buildings.items()}
    chargers = any(building.get("chargers") for building in buildings.values())
    if buildings and not any(names if chargers else names - AT_CHARGERS for names in seen.values()):
        yield Fault(("observations",), "has none that is active; a policy needs one")
    if any(building.get("dynamics") for building in buildings.values()):
        # A model of the indoor temperature makes CityLearn compute the inactive ones too.
        for name in schema["observations"]:
            if name not in OBSERVATIONS | AT_CHARGERS and not name.startswith(OF_APPLIANCES):
                text = f"is unknown to CityLearn, which stops at it in a building with dynamics; {hint(name, OBSERVATIONS)}"
                yield Fault(("observations", name), text)
    robustness = schema.get("robustness") or {}
    if robustness.get("enabled") and not robustness.get("events_file"):
        yield Fault(("robustness", "events_file"), "is missing, and robustness is enabled; name a file")
    for name, building in buildings.items():
        yield from _in_building(schema, building, ("buildings", name))


def _in_building(schema: dict[str, Any], building: dict[str, Any], place: Place) -> Iterator[Fault]:
    acting = (schema["actions"].get("electrical_storage") or {}).get("active")
    if (
        acting
        and not building.get("electrical_storage")
        and "electrical_storage" not in (building.get("inactive_actions") or ())
    ):
        text = "is missing, and its action is active; add one, or add 'electrical_storage' to the building's inactive_actions"
        yield Fault((*place, "electrical_storage"), text)
    kind = str(building.get("type") or "").rpartition(".")[2]
    for part, kinds in (("dynamics", BUILDING_CLASSES[1:]), ("occupant", BUILDING_CLASSES[3:])):
        if kind in kinds and not building.get(part):
            yield Fault((*place, part), f"is missing; a building of type {kind} needs one")
    if building.get("dynamics"):
        yield from _dynamics(building["dynamics"], (*place, "dynamics", "attributes"))
    yield from _phases(building, place)
    for use in ("cooling", "heating", "dhw"):
        sizing = (building.get(f"{use}_device") or {}).get("autosize_attributes") or {}
        if sizing.get("safety_factor") is not None and sizing["safety_factor"] < 1.0:
            where = (*place, f"{use}_device", "autosize_attributes", "safety_factor")
            yield Fault(where, f"is {shown(sizing['safety_factor'])}; below 1 the device cannot meet its demand", form=False)
    for name, charger in (building.get("chargers") or {}).items():
        attributes = charger.get("attributes") or {}
        for way in ("charging_power", "discharging_power"):
            low, high = attributes.get(f"min_{way}"), attributes.get(f"max_{way}")
            if low is not None and high is not None and low > high:
                where = (*place, "chargers", name, "attributes", f"min_{way}")
                yield Fault(where, f"is {shown(low)}, above max_{way} {shown(high)}; lower it", form=False)


def _phases(building: dict[str, Any], place: Place) -> Iterator[Fault]:
    """Faults of the phases to which a building with an electrical service connects its devices."""
    service = building.get("electrical_service")
    if not service:
        return
    one = service.get("mode", "single_phase") == "single_phase"
    phases = ("L1",) if one else ("L1", "L2", "L3")
    named: dict[Place, Any] = {
        ("electrical_storage", "attributes"): building.get("electrical_storage"),
        **{("chargers", name, "attributes"): charger for name, charger in (building.get("chargers") or {}).items()},
    }
    for where, entry in named.items():
        phase = ((entry or {}).get("attributes") or {}).get("phase_connection")
        if phase is not None and phase not in (*phases, *(() if one else ("all_phases",))):
            yield Fault((*place, *where, "phase_connection"), f"is {shown(phase)}; it has to be one of {', '.join(phases)}")
    if one and service.get("default_split", "balanced") not in ("balanced", "L1"):
        yield Fault((*place, "electrical_service", "default_split"), "has to be balanced or L1 with a single phase")
    for phase in (service.get("limits") or {}).get("per_phase") or {}:
        if phase not in phases:
            where = (*place, "electrical_service", "limits", "per_phase", phase)
            yield Fault(where, f"is no phase of this service; it has to be one of {', '.join(phases)}")


def _dynamics(entry: dict[str, Any], place: Place) -> Iterator[Fault]:
    attributes = entry.get("attributes") or {}
    if str(entry["type"]).rpartition(".")[2] != "LSTMDynamics":
        return
    lists = ("input_observation_names", "input_normalization_minimum", "input_normalization_maximum")
    for name in ("filename", *lists, "hidden_size", "num_layers", "lookback"):
        if attributes.get(name) is None:
            yield Fault((*place, name), "is missing; the model cannot be read without it")
    for i, name in enumerate(attributes.get(lists[0]) or ()):
        if name.removesuffix("_sin").removesuffix("_cos") not in OBSERVATIONS:
            yield Fault((*place, lists[0], str(i)), f"is {shown(name)}, and CityLearn has no such observation; correct it")
    inputs = attributes.get("input_size") or len(attributes.get(lists[0]) or ())
    weights = _lstm_weights(inputs, attributes.get("hidden_size") or 0, attributes.get("num_layers") or 0)
    if weights > MOST_WEIGHTS:
        # CityLearn builds the network before it reads the file.
        text = f"and num_layers make a network of {weights:,.0f} weights; it may have at most {MOST_WEIGHTS:,}, so lower them"
        yield Fault((*place, "hidden_size"), text, form=False)
    lengths = {len(attributes.get(name) or ()) for name in lists}
    if len(lengths) > 1:
        yield Fault((*place, lists[0]), f"and {dotted(lists[1:])} have different lengths; give each input two bounds")


def _lstm_weights(inputs: float, hidden: float, layers: float) -> float:
    """Weights of an LSTM as torch builds it: in each layer four gates, each with two biases for a neuron."""
    return 4 * hidden * (inputs + hidden + 2 + (layers - 1) * (2 * hidden + 2))
