"""What a site does not have, so that a KPI has no value on it, or the same value for every policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from common.measure import Measure
from envs.objective.kpis import BATTERY, DEMAND_CHARGE, PV, VEHICLES
from envs.scenarios import schema_file
from envs.scenarios.references import is_on
from envs.scenarios.scenario import Scenario
from envs.scenarios.shapes import is_left_out
from envs.scenarios.splits import Split
from envs.scenarios.tariff import DemandCharge

CHARGING = "electric_vehicle_storage"  # kind of the action of a charger
_JUDGED: tuple[Split, ...] = ("validation", "test")  # where a policy is rated


def _has_charger(building: Mapping[str, Any]) -> bool:
    return bool(building.get("chargers")) and CHARGING not in (building.get("inactive_actions") or ())


def _has_device(name: str, size: str) -> Callable[[Mapping[str, Any]], bool]:
    def has(building: Mapping[str, Any]) -> bool:
        device = building.get(name) or {}
        # CityLearn sizes it where that is on, whatever the schema gives.
        return bool(device) and (is_on(device.get("autosize")) or (device.get("attributes") or {}).get(size) != 0)

    return has


# Whether a building of a schema has what a KPI needs.
_HAS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    VEHICLES: _has_charger,
    PV: _has_device("pv", "nominal_power"),
    BATTERY: _has_device("electrical_storage", "capacity"),
}


def absent(scenario: Scenario, measure: Measure) -> str:
    """Why a KPI says nothing of a site, in a few words; empty where it says something. Generated sites have everything."""
    if scenario.schema is None or not measure.needs:
        return ""
    if measure.needs == DEMAND_CHARGE:
        lacks = DemandCharge.of(scenario.schema) is None
        return f"{scenario.title} has no demand charge, because no tariff.json lies beside its schema" if lacks else ""
    if measure.needs == VEHICLES and CHARGING not in schema_file.active_actions(scenario.schema):
        return f"no action of {scenario.title} is a charger's"
    buildings = schema_file.read_schema(scenario.schema)["buildings"]
    for split in _JUDGED:
        segments = [segment for segment in scenario.segments if segment.split == split]
        names = segments[0].buildings if segments else [name for name, one in buildings.items() if not is_left_out(one)]
        if not any(_HAS[measure.needs](buildings[name]) for name in names):
            return f"no building of {scenario.title_of(split)} has {measure.needs}"
    return ""
