"""Reads from CityLearn's chargers which vehicle is where, and with which state of charge it arrives."""

from __future__ import annotations

from typing import Any

import numpy as np

from envs.batch_backend import records
from envs.citylearn_backend.series import AWAY, COMING, CONNECTED, current_soc
from envs.citylearn_backend.simulator import CityLearnSimulator


def _by_charger(simulator: CityLearnSimulator, name: str, kind: type) -> np.ndarray:
    """A series of the chargers' files, shape (R, C)."""
    columns: list[np.ndarray] = [np.asarray(getattr(c.charger_simulation, name)).astype(kind) for c in simulator.chargers]
    return np.stack(columns, axis=-1) if columns else np.zeros((simulator.rows, 0), dtype=kind)


def read_schedule(simulator: CityLearnSimulator) -> dict[str, np.ndarray]:
    """Vehicles that are plugged in, and events of all others, as arrays of `envs.batch_backend.tables.Tables.rows`.

    They follow CityLearn's `associate_chargers_to_electric_vehicles` and `simulate_unconnected_ev_soc`.
    """
    number = {vehicle.name: v for v, vehicle in enumerate(simulator.env.electric_vehicles)}
    rows, chargers = simulator.rows, len(simulator.chargers)
    state = _by_charger(simulator, "electric_vehicle_charger_state", np.float32)
    named = np.full((rows, chargers), -1, dtype=np.int16)
    new = np.zeros((rows, chargers), dtype=bool)
    given = _by_charger(simulator, "electric_vehicle_estimated_soc_arrival", np.float32)
    for c, charger in enumerate(simulator.chargers):
        named[:, c] = [number.get(name, -1) for name in charger.charger_simulation.electric_vehicle_id]
        new[:, c] = _new_sessions(charger.charger_simulation)
    vehicle = np.where(state == CONNECTED, named, -1).astype(np.int16)
    before, state_before = np.roll(vehicle, 1, axis=0), np.roll(state, 1, axis=0)
    given = np.where((given >= 0.0) & (given <= 1.0), given, np.nan).astype(np.float32)
    measured = [current_soc(charger, rows) for charger in simulator.chargers]
    current = np.stack(measured, axis=-1) if measured else np.zeros((rows, 0))
    arrives = (vehicle >= 0) & ((before != vehicle) | new)
    announced = np.where(np.isin(state_before, (COMING, AWAY)), np.roll(given, 1, axis=0), given)
    arrival = np.where(arrives, np.where(np.isnan(current), announced, current), np.nan)
    first = np.where(vehicle >= 0, np.where(np.isnan(current), given, current), np.nan)
    event = _events(state, named, given, len(number))
    row, charger = np.nonzero(vehicle >= 0)
    who = vehicle[row, charger]
    plugged = np.zeros(len(row), dtype=records.PLUGGED)
    plugged["charger"], plugged["vehicle"] = charger, who
    away = np.ones((rows, len(number)), dtype=bool)
    away[row, who] = False
    came = (row > 0) & away[row - 1, who]
    plugged["before"] = np.where(came, event["soc"][row - 1, who], np.nan)
    # Of a vehicle that goes from one charger to another without a row between CityLearn sets the state of charge early.
    plugged["arrival"] = np.where(np.isnan(arrival[row, charger]), event["soc"][row, who], arrival[row, charger])
    plugged["first"] = first[row, charger]
    required = _by_charger(simulator, "electric_vehicle_required_soc_departure", np.float32)
    holders = np.zeros((rows, len(number)), dtype=np.int64)
    np.add.at(holders, (row, who), 1)
    return {
        "plugged": plugged,
        "first_plugged": np.searchsorted(row, np.arange(rows + 1)),
        "required_soc": required[row, charger],
        "countdown": _by_charger(simulator, "electric_vehicle_departure_time", np.int64)[row, charger],
        "event": event,
        # One after the other, such a vehicle is charged by all that hold it.
        "shared": np.asarray((holders > 1).any(axis=1)),
        # Where every arrival is known, parked vehicles have no effect.
        "arrivals_known": np.array(not np.isnan(plugged["before"][came]).any()),
    }


def _new_sessions(series: Any) -> np.ndarray:
    """Rows at which CityLearn sees a new session of the vehicle that was there before, shape (R,)."""
    identity = np.array([i.strip() if isinstance(i, str) else "" for i in series.electric_vehicle_session_id], dtype=object)
    has = (identity != "") & (identity != "nan")
    countdown = series.electric_vehicle_departure_time
    before, has_before = np.roll(countdown, 1), np.roll(has, 1)
    changed = has & has_before & (series.electric_vehicle_session_id != np.roll(series.electric_vehicle_session_id, 1))
    restarted = ~has & (before <= 1) & (countdown > before)
    return np.asarray(changed | restarted, dtype=bool)


def _events(state: np.ndarray, named: np.ndarray, given: np.ndarray, vehicles: int) -> np.ndarray:
    """What happens to each vehicle's state of charge on the way to a row; of several chargers the first decides."""
    rows, chargers = state.shape
    event = np.zeros((rows, vehicles), dtype=records.EVENT)
    event["kind"], event["soc"] = records.DRIFT, np.nan
    for c in reversed(range(chargers)):
        now, then = state[:-1, c], state[1:, c]
        who, next_who = named[:-1, c], named[1:, c]
        connecting = np.flatnonzero((next_who >= 0) & (then == CONNECTED) & (now != CONNECTED))
        incoming = (who[connecting] == next_who[connecting]) & (now[connecting] == COMING)
        arrival = given[connecting + 1 - incoming, c]
        event["kind"][connecting, next_who[connecting]] = np.where(np.isnan(arrival), records.KEEP, records.SET)
        event["soc"][connecting, next_who[connecting]] = arrival
        connected = np.flatnonzero((who >= 0) & (now == CONNECTED))
        event["kind"][connected, who[connected]] = records.KEEP
        event["soc"][connected, who[connected]] = np.nan
    return event
