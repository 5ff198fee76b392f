"""What a site does not have, so that a KPI has no value on it, or the same value for every policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from envs.scenarios import schema_file
from envs.scenarios.references import is_on
from envs.scenarios.scenario import Scenario
from envs.scenarios.shapes import is_left_out
from envs.scenarios.splits import Split
from envs.scenarios.tariff import DemandCharge

CHARGING = "electric_vehicle_storage"  # kind of the action of a charger
_JUDGED: tuple[Split, ...] = ("validation", "test")  # where a policy is rated


@dataclass(frozen=True)
class _Need:
    """What a KPI measures.

    Attributes:
        name: in words, in the plural or without number.
        has: whether a building of a schema has it.
    """

    name: str
    has: Callable[[Mapping[str, Any]], bool]


def _has_charger(building: Mapping[str, Any]) -> bool:
    return bool(building.get("chargers")) and CHARGING not in (building.get("inactive_actions") or ())


def _has_device(name: str, size: str) -> Callable[[Mapping[str, Any]], bool]:
    def has(building: Mapping[str, Any]) -> bool:
        device = building.get(name) or {}
        # CityLearn sizes it where that is on, whatever the schema gives.
        return bool(device) and (is_on(device.get("autosize")) or (device.get("attributes") or {}).get(size) != 0)

    return has


_VEHICLES = _Need("chargers with an action", _has_charger)
_PV = _Need("PV", _has_device("pv", "nominal_power"))
_BATTERY = _Need("battery", _has_device("electrical_storage", "capacity"))
_NEEDS: Mapping[str, _Need] = {
    "ev_required_kwh": _VEHICLES, "ev_missing_kwh": _VEHICLES, "ev_served": _VEHICLES, "departures": _VEHICLES,
    "departures_met": _VEHICLES, "pv_kwh": _PV, "self_consumption": _PV, "battery_cycles": _BATTERY,
}  # fmt: skip


def absent(scenario: Scenario, measure: str) -> str:
    """Why a KPI says nothing of a site, in a few words; empty where it says something. Generated sites have everything.

    Args:
        scenario: the site.
        measure: name of the KPI.
    """
    if scenario.schema is None:
        return ""
    if measure == "demand_charge" and DemandCharge.of(scenario.schema) is None:
        return f"{scenario.title} has no demand charge, because no tariff.json lies beside its schema"
    need = _NEEDS.get(measure)
    if need is None:
        return ""
    if need is _VEHICLES and CHARGING not in schema_file.active_actions(scenario.schema):
        return f"no action of {scenario.title} is a charger's"
    buildings = schema_file.read_schema(scenario.schema)["buildings"]
    for split in _JUDGED:
        segments = [segment for segment in scenario.segments if segment.split == split]
        names = segments[0].buildings if segments else [name for name, own in buildings.items() if not is_left_out(own)]
        if not any(need.has(buildings[name]) for name in names):
            return f"no building of {scenario.title_of(split)} has {need.name}"
    return ""
