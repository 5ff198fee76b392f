"""Reads the raw observations of a year from CityLearn's objects, with those that depend on actions left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.batch_backend import records
from envs.batch_backend.tables import USES
from envs.citylearn_backend.devices import chargers_of
from envs.citylearn_backend.meters import device_efficiencies
from envs.citylearn_backend.series import COMING, CONNECTED
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.errors import ScenarioError
from envs.observation import charger_observations


def read_observations(simulator: CityLearnSimulator) -> tuple[np.ndarray, np.ndarray]:
    """Raw observations of all rows with what depends on actions left out, and what that is: `observed` of `records.Site`."""
    columns: list[np.ndarray] = []
    endogenous: list[tuple[int, int, int, int]] = []
    vehicles = [[records.VEHICLE_SOC, n, 0, -1] for n, b in enumerate(simulator.env.buildings) for _ in chargers_of(b)]
    for n, (building, names) in enumerate(observed(simulator)):
        sources = _sources(building)
        for charger in chargers_of(building):
            sources.update(_charger_columns(simulator, charger))
        soc_names = {_soc_name(c): simulator.chargers.index(c) for c in chargers_of(building)}
        for name in names:
            kind = _kind(name, n)
            if kind is not None:
                endogenous.append((*kind, len(columns)))
                columns.append(np.zeros(simulator.rows, dtype=np.float32))
            elif name in sources:
                if name in soc_names:
                    vehicles[soc_names[name]][-1] = len(columns)
                columns.append(np.asarray(sources[name], dtype=np.float32))
            else:
                raise ScenarioError(f"{simulator.schema_path}: the batch backend does not know the observation {name}")
    places = np.zeros(len(endogenous) + len(vehicles), dtype=records.OBSERVED)
    for i, place in enumerate((*endogenous, *vehicles)):
        places[i] = (*place, 0.0, 1.0, np.inf)
    return np.stack(columns, axis=-1), places


def observed(simulator: CityLearnSimulator) -> list[tuple[Any, list[str]]]:
    """Buildings and the names that they contribute to the observation, in CityLearn's order."""
    env = simulator.env
    seen: set[str] = set()
    found = []
    for n, building in enumerate(env.buildings):
        names = list(building.observations(normalize=False, periodic_normalization=False))
        shared = [name for name in names if name in env.shared_observations]
        found.append((building, [name for name in names if n == 0 or name not in shared or name not in seen]))
        seen.update(shared)
    assert [name for _, names in found for name in names] == simulator.observation_names
    return found


def charger_names(building: Any) -> set[str]:
    """Names that a building's chargers may contribute to the observation."""
    return {name for charger in chargers_of(building) for name in charger_observations(charger.charger_id)}


def _sources(building: Any) -> dict[str, np.ndarray]:
    """Series that observations are taken from, by name; of equal names the later one counts, as in CityLearn."""
    sources: dict[str, np.ndarray] = {}
    for group in ("energy_simulation", "weather", "pricing", "carbon"):
        sources.update(getattr(building, f"_{group}_observation_sources"))
    series = building.energy_simulation
    sources["solar_generation"] = np.abs(building._pv_generation_to_control_step(series.solar_generation) * -1)
    sources["power_outage"] = np.zeros(len(series.hour))
    sources["deferrable_appliance_electricity_consumption"] = sources["washing_machine_electricity_consumption"] = np.zeros(
        len(series.hour)
    )
    for use, efficiency in zip(USES, device_efficiencies(building).T, strict=True):
        sources[f"{use}_device_efficiency"] = efficiency
    for side in ("cooling", "heating"):
        set_point = getattr(series, f"indoor_dry_bulb_temperature_{side}_set_point")
        sources[f"indoor_dry_bulb_temperature_{side}_delta"] = series.indoor_dry_bulb_temperature - set_point
    return sources


def _kind(name: str, n: int) -> tuple[int, int, int] | None:
    """Kind, building and end use of an observation that depends on actions; None for others."""
    plain = {
        "net_electricity_consumption": records.NET,
        "electrical_storage_soc": records.BATTERY_SOC,
        "electrical_storage_electricity_consumption": records.BATTERY_CONSUMPTION,
    }
    if name in plain:
        return plain[name], n, 0
    thermal = {
        "storage_soc": records.TANK_SOC,
        "demand": records.THERMAL_DEMAND,
        "electricity_consumption": records.THERMAL_CONSUMPTION,
    }
    use, _, rest = name.partition("_")
    return (thermal[rest], n, USES.index(use)) if use in USES and rest in thermal else None


def _soc_name(charger: Any) -> str:
    return f"connected_electric_vehicle_at_charger_{charger.charger_id}_soc"


def _charger_columns(simulator: CityLearnSimulator, charger: Any) -> dict[str, np.ndarray]:
    """Observations of a charger by row; of a state of charge, what is observed where no vehicle is connected."""
    series, identity = charger.charger_simulation, charger.charger_id
    capacity = {vehicle.name: float(vehicle.battery.capacity) for vehicle in simulator.env.electric_vehicles}
    capacities = np.array([capacity.get(name, np.nan) for name in series.electric_vehicle_id])
    state, known = series.electric_vehicle_charger_state, ~np.isnan(capacities)
    connected, incoming = known & (state == CONNECTED), known & (state == COMING)
    here, coming = f"connected_electric_vehicle_at_charger_{identity}", f"incoming_electric_vehicle_at_charger_{identity}"
    return {
        f"electric_vehicle_charger_{identity}_connected_state": connected,
        f"electric_vehicle_charger_{identity}_incoming_state": incoming,
        f"{here}_departure_time": np.where(connected, series.electric_vehicle_departure_time, -1),
        f"{here}_required_soc_departure": np.where(connected, series.electric_vehicle_required_soc_departure, -0.1),
        _soc_name(charger): np.full(len(state), -0.1),
        f"{here}_battery_capacity": np.where(connected, capacities, -1.0),
        f"{coming}_estimated_arrival_time": np.where(incoming, series.electric_vehicle_estimated_arrival_time, -1),
        f"{coming}_estimated_soc_arrival": np.where(incoming, series.electric_vehicle_estimated_soc_arrival, -0.1),
    }
