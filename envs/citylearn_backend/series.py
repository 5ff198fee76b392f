"""Reads the series of a year and its charging sessions from CityLearn's objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.batch_backend.tables import USES
from envs.errors import ScenarioError
from envs.objective.series import Exogenous, Sessions

CONNECTED, COMING, AWAY = 1, 2, 3  # CityLearn's charger states of a vehicle: plugged in, announced, neither


def read_exogenous(env: Any) -> Exogenous:
    """Series of a year of a `CityLearnEnv` that no action can change."""
    buildings = env.buildings
    first = buildings[0].energy_simulation
    # CityLearn counts hours 1-24; its data sets call the hour that begins at midnight 24 or 1. Here
    # hour 1 covers midnight to one o'clock, as in its documentation.
    return Exogenous(
        month=np.array(first.month, dtype=np.int64),
        hour=np.array(first.hour, dtype=np.int64) - 1,
        load_kwh=np.array([b.energy_simulation.non_shiftable_load for b in buildings], dtype=np.float64),
        pv_kwh=np.array([b.pv.get_generation(b.energy_simulation.solar_generation) for b in buildings], dtype=np.float64),
        price=np.array([b.pricing.electricity_pricing for b in buildings], dtype=np.float64),
        carbon=np.array([b.carbon_intensity.carbon_intensity for b in buildings], dtype=np.float64),
        battery_capacity_kwh=float(sum(b.electrical_storage.capacity for b in buildings)),
        other_devices=any(_has_other_devices(b) for b in buildings),
        vehicles_give=any(c.max_discharging_power > 0.0 for b in buildings for c in b.electric_vehicle_chargers),
    )


def read_sessions(chargers: Sequence[Any], vehicles: Sequence[Any], rows: int) -> Sessions:
    """Charging sessions of a year with CityLearn's chargers and vehicles.

    Raises:
        ScenarioError: if a vehicle is plugged in that the schema does not define.
    """
    number = {vehicle.name: i for i, vehicle in enumerate(vehicles)}
    columns: dict[str, list[float]] = {
        name: [] for name in ("charger", "vehicle", "start", "end", "arrival_soc", "required_soc", "capacity_kwh")
    }
    for index, charger in enumerate(chargers):
        series = charger.charger_simulation
        # Reading an attribute slices and copies it, so each is read once.
        state, vehicle_id = series.electric_vehicle_charger_state, series.electric_vehicle_id
        session_id, countdown = series.electric_vehicle_session_id, series.electric_vehicle_departure_time
        required, arrival = series.electric_vehicle_required_soc_departure, series.electric_vehicle_estimated_soc_arrival
        current = current_soc(charger, rows)
        start = 0
        for row in np.flatnonzero(state == CONNECTED).tolist():
            follows = row > 0 and state[row - 1] == CONNECTED and vehicle_id[row - 1] == vehicle_id[row]
            if not follows or _is_new_session(session_id, countdown, row):
                start = row
            goes_on = (
                row + 1 < len(state)
                and state[row + 1] == CONNECTED
                and vehicle_id[row + 1] == vehicle_id[row]
                and not _is_new_session(session_id, countdown, row + 1)
            )
            # A session that the data cut off has no departure.
            if goes_on or row + 1 == len(state):
                continue
            vehicle = number.get(vehicle_id[row])
            if vehicle is None:
                raise ScenarioError(
                    f"charger {charger.charger_id}, row {row}: vehicle '{vehicle_id[row]}' is not in the schema's "
                    "electric_vehicles_def, so CityLearn would never connect it"
                )
            announced = start > 0 and state[start - 1] == COMING
            estimated = float(arrival[start - 1 if announced else start])
            measured = float(current[start])
            columns["charger"].append(index)
            columns["vehicle"].append(vehicle)
            columns["start"].append(start)
            columns["end"].append(row)
            columns["arrival_soc"].append(estimated if np.isnan(measured) else measured)
            columns["required_soc"].append(float(required[row]))
            columns["capacity_kwh"].append(float(vehicles[vehicle].battery.capacity))
    order = np.argsort(columns["end"], kind="stable")
    integer = ("charger", "vehicle", "start", "end")
    return Sessions(
        **{name: np.array(values, dtype=np.int64 if name in integer else np.float64)[order] for name, values in columns.items()}
    )


def tanks(building: Any) -> list[Any]:
    """Tanks of a building, in the order of `envs.batch_backend.tables.USES`."""
    return [getattr(building, f"{use}_storage") for use in USES]


def _has_other_devices(building: Any) -> bool:
    """Whether a building has devices that consume energy and have no series of their own in `Run`."""
    from citylearn.building import DynamicsBuilding

    series = building.energy_simulation
    return bool(
        isinstance(building, DynamicsBuilding)
        or building.deferrable_appliances
        or building.escalators
        or any(tank.capacity > 0.0 for tank in tanks(building))
        or any(demand.any() for demand in (series.cooling_demand, series.heating_demand, series.dhw_demand))
    )


def _is_new_session(session_id: np.ndarray, countdown: np.ndarray, row: int) -> bool:
    """CityLearn's rule for two sessions of one vehicle without a row between them."""
    if row == 0:
        return True
    now, before = session_id[row], session_id[row - 1]
    if isinstance(now, str) and now.strip() not in {"", "nan"}:
        return bool(isinstance(before, str) and now != before)
    return bool(countdown[row - 1] <= 1 and countdown[row] > countdown[row - 1])


def current_soc(charger: Any, rows: int) -> np.ndarray:
    """Measured state of charge where a charger's file has one, else NaN, shape (rows,)."""
    values = getattr(charger.charger_simulation, "electric_vehicle_current_soc", None)
    series = np.full(rows, np.nan) if values is None else np.asarray(values, dtype=np.float64)
    return np.where((series >= 0.0) & (series <= 1.0), series, np.nan)
