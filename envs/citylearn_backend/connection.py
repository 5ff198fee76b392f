"""Reads the limits of buildings' connections, CityLearn's charging constraints and electrical service, into tables."""

from typing import Any

import numpy as np

from envs.batch_backend import records


def read_connection(building: Any) -> tuple[int, bool, int, np.ndarray, list[int], list[int]]:
    """`connection` to `battery_on_phase` of `records.BUILDING`."""
    limit = np.full((1 + records.PHASES, 2), np.nan)
    nowhere = [0] * records.PHASES
    if not building._charging_constraints_enabled:
        return 0, False, 0, limit, nowhere, nowhere
    phases, serves = building._phase_limits, building.electrical_service_enabled
    in_all = {"import_kw": building._building_charger_limit_kw}
    in_all |= building._electrical_service_limits["total"] if serves else {}
    for powers, scope in zip(limit, (in_all, *phases), strict=False):
        powers[:] = [np.nan if scope.get(f"{way}_kw") is None else scope[f"{way}_kw"] for way in ("import", "export")]
    return (
        records.SERVICE if serves else records.CHARGING_LIMITS,
        building._expose_charging_violation,
        len(phases),
        limit,
        _parts(building, building._electrical_service_default_split) if serves else nowhere,
        _parts(building, building.electrical_storage_phase_connection) if serves else nowhere,
    )


def on_phases(building: Any, charger: Any) -> list[int]:
    """`on_phase` of `records.CHARGER`."""
    if building.electrical_service_enabled:
        return _parts(building, building._charger_phase_map[charger.charger_id])
    on = [records.WHOLE if charger.charger_id in phase["chargers"] else 0 for phase in building._phase_limits]
    return on + [0] * (records.PHASES - len(on))


def _parts(building: Any, phase: str) -> list[int]:
    """Parts of a power on each phase of an electrical service, of which `balanced` and `all_phases` are all."""
    names = [limits["name"] for limits in building._phase_limits]
    one = records.WHOLE if len(names) == 1 else 0
    parts = [
        one or (records.WHOLE if phase.upper() == name else records.THIRD * (phase.upper() not in names)) for name in names
    ]
    return parts + [0] * (records.PHASES - len(parts))


def room_places(building: Any, n: int) -> dict[str, tuple[int, int, int]]:
    """`kind`, `building` and `use` of `records.OBSERVED` by the name of an observation of a building's connection."""
    places = {"charging_constraint_violation_kwh": (records.VIOLATION, n, 0)}
    names = ["building", *(f"phase_{phase['name']}" for phase in building._phase_limits)]
    for use, name in enumerate(names):
        places[f"charging_{name}_headroom_kw"] = records.IMPORT_ROOM, n, use
        places[f"charging_{name}_export_headroom_kw"] = records.EXPORT_ROOM, n, use
    return places


def shown_phases(building: Any) -> dict[str, np.ndarray]:
    """Observations that say on which phase a charger is, each of shape (rows,)."""
    rows = len(building.energy_simulation.hour)
    return {name: np.full(rows, value) for name, value in (building._phase_encoding_observations or {}).items()}
