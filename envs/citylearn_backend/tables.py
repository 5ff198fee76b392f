"""Reads a scenario year from CityLearn's objects into the batch simulator's tables.

Defaults, drawn attributes, float32 and schedules are taken from its objects, so nothing of its loading can differ.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import ScenarioError
from envs.batch_backend import records
from envs.batch_backend.tables import COMFORT, Tables
from envs.citylearn_backend.appliances import appliance_places, read_appliances
from envs.citylearn_backend.connection import on_phases, read_connection, room_places, shown_phases
from envs.citylearn_backend.dynamics import read_inputs, read_model
from envs.citylearn_backend.occupants import has_occupants, people_move, read_habits, read_people
from envs.citylearn_backend.simulator import CityLearnSimulator, current_soc, new_sessions, tanks
from envs.citylearn_backend.thermal import (
    device_actions,
    device_efficiencies,
    device_hours,
    has_dynamics,
    owned_actions,
    thermal_devices,
)
from envs.current_hour import scaled
from envs.district import COMMON, Buildings
from envs.observation import DAY_PEAK_NAME, MARGIN, PEAK_NAMES, PERIODS, ObservationLayout, charger_observations
from envs.scenarios.schema_file import read_schema
from envs.scenarios.schema_shape import USES
from envs.scenarios.series_files import AWAY, COMING, PLUGGED
from envs.scenarios.tariff import DemandCharge


def read_tables(simulator: CityLearnSimulator) -> Tables:
    """Tables of the year that a simulator has open; it starts a run of the whole year.

    A `ScenarioError` if the scenario has a feature that the backend lacks and that only CityLearn's objects show.
    """
    simulator.begin(0, simulator.rows - 1, seed=0)  # the series are cut to an episode, so it spans them all
    buildings, vehicles = simulator.env.buildings, simulator.env.electric_vehicles
    batteries = [*(b.electrical_storage for b in buildings), *(v.battery for v in vehicles)]
    for device in (*batteries, *buildings):
        if not isinstance(device.time_step_ratio, np.float64):
            raise ScenarioError(f"{simulator.schema_path}: its series have no minutes, which the batch backend cannot step")
    template, observed = read_observations(simulator)
    return Tables(
        names=tuple(simulator.observation_names),
        site={**battery_parameters(batteries), **charger_parameters(simulator),
              **building_parameters(simulator),
              **read_appliances(simulator), "observed": observed},
        rows={"template": template, "meter": read_meters(simulator), "comfort": read_comfort(simulator),
              **read_schedule(simulator)},
        initial_soc=np.array([battery.initial_soc for battery in batteries], dtype=np.float64),
        initial_tank=np.array([[t.initial_soc for t in tanks(b)] for b in buildings], dtype=np.float64),
        dynamics=read_dynamics(simulator),
        depth_of_discharge=np.array([b.electrical_storage.depth_of_discharge for b in buildings], dtype=np.float64),
        exogenous=simulator.exogenous,
        sessions=simulator.sessions,
        reward=schema_reward(simulator.schema_path),
    )  # fmt: skip


def schema_reward(schema_path: Path) -> tuple[str, str]:
    """Class of the reward function that a schema names, without its module, and its attributes as JSON.

    Where each building has one, the class is empty.
    """
    reward = read_schema(schema_path)["reward_function"]
    kind = reward["type"] if isinstance(reward["type"], str) else ""
    return kind.rpartition(".")[2], json.dumps(reward.get("attributes"))


def battery_parameters(batteries: list[Any]) -> dict[str, np.ndarray]:
    """`battery` and `battery_curve` of `envs.batch_backend.records.Site`."""
    from citylearn.internal.runtime import CityLearnRuntimeService

    power, efficiency = [b.capacity_power_curve for b in batteries], [b.power_efficiency_curve for b in batteries]
    record = np.zeros(len(batteries), dtype=records.BATTERY)
    for k, b in enumerate(batteries):
        minimum_soc = b._minimum_soc()
        record[k] = (
            b.capacity, b.nominal_power, minimum_soc, minimum_soc * b.capacity,
            (1.0 - b.depth_of_discharge) * b.capacity,
            1.0 - b.loss_coefficient, b.capacity_loss_coefficient * b.capacity, _points(power[k]), _points(efficiency[k]),
            max(b.nominal_power * power[k][1, 0], 0.0), efficiency[k][1, 0] ** 0.5,
            CityLearnRuntimeService._ev_unconnected_drift_std(b.seconds_per_time_step),
        )  # fmt: skip
    curves = _stacked([curve for both in zip(power, efficiency, strict=True) for curve in both])
    return {"battery": record, "battery_curve": curves.reshape(len(batteries), 2, *curves.shape[1:])}


def _points(curve: np.ndarray) -> int:
    """Points of a battery's curve, 0 for a flat one, on which interpolation gives its value exactly."""
    if curve.shape[1] < 2:
        raise ScenarioError("a battery's curve has a single point; CityLearn needs two")
    return 0 if (curve[1] == curve[1, 0]).all() else curve.shape[1]


def _stacked(curves: list[np.ndarray]) -> np.ndarray:
    """Curves of shape (2, points) as one array; the last point is repeated where one has fewer."""
    most = max(curve.shape[1] for curve in curves)
    return np.stack([np.pad(curve, ((0, 0), (0, most - curve.shape[1])), "edge") for curve in curves]).astype(np.float64)


def charger_parameters(simulator: CityLearnSimulator) -> dict[str, np.ndarray]:
    """`charger` and `charger_curve` of `envs.batch_backend.records.Site`."""
    buildings = [n for n, b in enumerate(simulator.env.buildings) for _ in b.electric_vehicle_chargers]
    action = {id(charger): index for index, charger in simulator.charger_actions}
    record = np.zeros(len(simulator.chargers), dtype=records.CHARGER)
    curves = []
    for c, charger in enumerate(simulator.chargers):
        sides = [charger.charge_efficiency_curve, charger.discharge_efficiency_curve]
        curves += [np.zeros((2, 1)) if side is None else side for side in sides]
        record[c] = (
            buildings[c], action.get(id(charger), -1),
            charger.max_charging_power, charger.min_charging_power,
            charger.max_discharging_power, charger.min_discharging_power,
            charger.efficiency, *(0 if side is None else side.shape[1] for side in sides),
            on_phases(simulator.env.buildings[buildings[c]], charger),
        )  # fmt: skip
    stacked = _stacked(curves) if curves else np.zeros((0, 2, 1))
    return {"charger": record, "charger_curve": stacked.reshape(len(record), 2, *stacked.shape[1:])}


def _type(value: Any) -> int:
    return {np.float32: records.SINGLE, np.float64: records.DOUBLE}.get(type(value), records.PYTHON)


def building_parameters(simulator: CityLearnSimulator) -> dict[str, np.ndarray]:
    """`building`, `thermal` and `action` of `envs.batch_backend.records.Site`."""
    from citylearn.energy_model import ElectricHeater

    buildings, step_hours = simulator.env.buildings, simulator.step_hours
    building = np.zeros(len(buildings), dtype=records.BUILDING)
    thermal = np.zeros((len(buildings), len(USES)), dtype=records.THERMAL)
    for n, b in enumerate(buildings):
        for use, (tank, device) in enumerate(zip(tanks(b), thermal_devices(b), strict=True)):
            # CityLearn draws attributes at random for tanks that a building lacks; they have no effect.
            root, kept = (tank.round_trip_efficiency, 1.0 - tank.loss_coefficient) if tank.capacity > 0.0 else (1.0, 1.0)
            limits = (np.nan if limit is None else limit for limit in (tank.max_input_power, tank.max_output_power))
            thermal[n, use] = (
                -1, -1, 1.0, device.nominal_power, device_hours(b)[use], _type(device.nominal_power),
                isinstance(device, ElectricHeater), tank.capacity, _type(tank.capacity), root, kept,
                *(limit * step_hours for limit in limits),
            )  # fmt: skip
        demand = any(getattr(b.energy_simulation, f"{use}_demand").any() for use in USES)
        lookback = b.dynamics.lookback if has_dynamics(b) else 0
        acts = lookback > 0 or (thermal["capacity"][n] > 0.0).any()
        building[n] = (step_hours, -1, demand or acts, b.simulate_power_outage, lookback, *read_connection(b))
    for index, (n, name) in enumerate(owned_actions(buildings)):
        if name == "electrical_storage":
            building["battery_action"][n] = index
        elif name.removesuffix("_storage") in USES:
            thermal["action"][n, USES.index(name.removesuffix("_storage"))] = index
    for obeyed, n, use, sign in device_actions(buildings):
        thermal["device_action"][n, use], thermal["device_sign"][n, use] = obeyed, sign
    action = np.zeros(len(simulator.action_low), dtype=records.ACTION)
    action["low"], action["span"] = simulator.action_low, simulator.action_high - simulator.action_low
    return {"building": building, "thermal": thermal, "action": action}


def read_meters(simulator: CityLearnSimulator) -> np.ndarray:
    """`records.METER` of each building in each row, shape (R, N)."""
    buildings = simulator.env.buildings
    meters = np.zeros((simulator.rows, len(buildings)), dtype=records.METER)
    for n, b in enumerate(buildings):
        series = b.energy_simulation
        meters["load"][:, n] = series.non_shiftable_load
        meters["solar"][:, n] = b._pv_generation_to_control_step(series.solar_generation) * -1
        meters["price"][:, n] = b.pricing.electricity_pricing
        meters["carbon"][:, n] = b.carbon_intensity.carbon_intensity
        meters["demand"][:, n] = np.stack([getattr(series, f"{use}_demand") for use in USES], axis=-1)
        meters["cop"][:, n] = device_efficiencies(b)
        meters["off_grid"][:, n] = series.power_outage > 0.0 if b.simulate_power_outage else False
        meters["mode"][:, n] = series.hvac_mode
    return meters


def read_dynamics(simulator: CityLearnSimulator) -> dict[str, np.ndarray]:
    """`Tables.dynamics`."""
    arrays: dict[str, np.ndarray] = {}
    first = 0  # position of a building's first observation
    for n, (building, names) in enumerate(observed(simulator)):
        if has_dynamics(building):
            arrays[f"{n}_series"] = read_inputs(building, _sources(building))
            arrays |= {f"{n}_{name}": values for name, values in read_model(building)._asdict().items()}
        if has_occupants(building):
            arrays[f"{n}_people_series"] = read_habits(building)
            people = read_people(building, dict(zip(names, range(first, first + len(names)), strict=True)))
            arrays |= {f"{n}_people_{name}": values for name, values in people._asdict().items()}
        first += len(names)
    return arrays


def read_comfort(simulator: CityLearnSimulator) -> np.ndarray:
    """`COMFORT` of each building in each row, shape (R, N)."""
    record = np.zeros((simulator.rows, len(simulator.env.buildings)), dtype=COMFORT)
    for n, building in enumerate(simulator.env.buildings):
        series = building.energy_simulation
        record["indoor"][:, n] = series.indoor_dry_bulb_temperature
        record["cooling"][:, n] = series.indoor_dry_bulb_temperature_cooling_set_point
        record["heating"][:, n] = series.indoor_dry_bulb_temperature_heating_set_point
        record["band"][:, n], record["mode"][:, n] = series.comfort_band, series.hvac_mode
    return record


def _by_charger(simulator: CityLearnSimulator, name: str, kind: type) -> np.ndarray:
    """A series of the chargers' files, shape (R, C)."""
    columns: list[np.ndarray] = [np.asarray(getattr(c.charger_simulation, name)).astype(kind) for c in simulator.chargers]
    return np.stack(columns, axis=-1) if columns else np.zeros((simulator.rows, 0), dtype=kind)


def read_schedule(simulator: CityLearnSimulator) -> dict[str, np.ndarray]:
    """Which vehicle is plugged in where, and events of all others, as in `envs.batch_backend.tables.Tables.rows`.

    After CityLearn's `associate_chargers_to_electric_vehicles` and `simulate_unconnected_ev_soc`.
    """
    number = {vehicle.name: v for v, vehicle in enumerate(simulator.env.electric_vehicles)}
    rows, chargers = simulator.rows, len(simulator.chargers)
    state = _by_charger(simulator, "electric_vehicle_charger_state", np.float32)
    named = np.full((rows, chargers), -1, dtype=np.int16)
    new = np.zeros((rows, chargers), dtype=bool)
    given = _by_charger(simulator, "electric_vehicle_estimated_soc_arrival", np.float32)
    for c, charger in enumerate(simulator.chargers):
        named[:, c] = [number.get(name, -1) for name in charger.charger_simulation.electric_vehicle_id]
        new[:, c] = new_sessions(charger.charger_simulation)
    vehicle = np.where(state == PLUGGED, named, -1).astype(np.int16)
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


def _events(state: np.ndarray, named: np.ndarray, given: np.ndarray, vehicles: int) -> np.ndarray:
    """What happens to each vehicle's state of charge on the way to a row; of several chargers the first decides."""
    rows, chargers = state.shape
    event = np.zeros((rows, vehicles), dtype=records.EVENT)
    event["kind"], event["soc"] = records.DRIFT, np.nan
    for c in reversed(range(chargers)):
        now, then = state[:-1, c], state[1:, c]
        who, next_who = named[:-1, c], named[1:, c]
        connecting = np.flatnonzero((next_who >= 0) & (then == PLUGGED) & (now != PLUGGED))
        incoming = (who[connecting] == next_who[connecting]) & (now[connecting] == COMING)
        arrival = given[connecting + 1 - incoming, c]
        event["kind"][connecting, next_who[connecting]] = np.where(np.isnan(arrival), records.KEEP, records.SET)
        event["soc"][connecting, next_who[connecting]] = arrival
        connected = np.flatnonzero((who >= 0) & (now == PLUGGED))
        event["kind"][connected, who[connected]] = records.KEEP
        event["soc"][connected, who[connected]] = np.nan
    return event


def read_observations(simulator: CityLearnSimulator) -> tuple[np.ndarray, np.ndarray]:
    """Raw observations of all rows with what depends on actions left out, and what that is: `observed` of `records.Site`."""
    columns: list[np.ndarray] = []
    endogenous: list[tuple[int, int, int, int]] = []
    buildings = simulator.env.buildings
    vehicles = [[records.VEHICLE_SOC, n, 0, -1] for n, b in enumerate(buildings) for _ in b.electric_vehicle_chargers]
    for n, (building, names) in enumerate(observed(simulator)):
        sources = _sources(building)
        for charger in building.electric_vehicle_chargers:
            sources.update(_charger_columns(simulator, charger))
        sources.update(shown_phases(building))
        special = appliance_places(simulator, building) | room_places(building, n)
        soc_names = {_soc_name(c): simulator.chargers.index(c) for c in building.electric_vehicle_chargers}
        for name in names:
            kind = special.get(name) or _kind(name, n)
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
    pairs = []
    for n, building in enumerate(env.buildings):
        names = list(building.observations(normalize=False, periodic_normalization=False))
        shared = [name for name in names if name in env.shared_observations]
        pairs.append((building, [name for name in names if n == 0 or name not in shared or name not in seen]))
        seen.update(shared)
    assert [name for _, names in pairs for name in names] == simulator.observation_names
    return pairs


def _sources(building: Any) -> dict[str, np.ndarray]:
    """Series that observations are taken from, by name; of equal names the later one counts, as in CityLearn."""
    sources: dict[str, np.ndarray] = {}
    for group in ("energy_simulation", "weather", "pricing", "carbon"):
        sources.update(getattr(building, f"_{group}_observation_sources"))
    series = building.energy_simulation
    sources["solar_generation"] = np.abs(building._pv_generation_to_control_step(series.solar_generation) * -1)
    sources["power_outage"] = series.power_outage if building.simulate_power_outage else np.zeros(len(series.hour))
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
        "storage_electricity_consumption": records.TANK_CONSUMPTION,
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
    connected, incoming = known & (state == PLUGGED), known & (state == COMING)
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


def read_layout(simulator: CityLearnSimulator, tariff: DemandCharge | None, day_peak: bool = False) -> ObservationLayout:
    """Layout of a scenario from one of its years, with the day's highest import so far where `day_peak` is true.

    The bounds are CityLearn's, but for countdowns of vehicles, bounded by the longest in the data, capacities, bounded by the
    largest battery instead of 100 kWh, set points that people change, and net consumption, with the chargers counted.
    """
    space = simulator.env.observation_space[0]
    sessions = simulator.sessions
    longest_stay = float(max(sessions.end - sessions.start + 1, default=1))
    largest_battery = float(max(sessions.capacity_kwh, default=1.0))
    net_low, net_high = _net_bounds(simulator)
    net = iter(zip(net_low, net_high, strict=True))
    names, shown = simulator.observation_names, list[tuple[str, float, float]]()
    moved = [people_move(building, name) for building, names in observed(simulator) for name in names]
    for name, low, high, change in zip(names, space.low.tolist(), space.high.tolist(), moved, strict=True):
        if name.endswith("_departure_time"):
            low, high = -1.0, longest_stay
        elif name.endswith("_estimated_arrival_time"):
            low, high = -1.0, float(max(1, simulator.longest_announcement))
        elif name.endswith("_battery_capacity"):
            low, high = -1.0, largest_battery
        elif name == "net_electricity_consumption":
            low, high = next(net)
        elif not _has_fixed_bounds(name):
            margin = MARGIN * (high - low) + change
            low, high = low - margin, high + margin
        shown.append((name, low, high))
    peaks = [*(PEAK_NAMES if tariff else ()), *([DAY_PEAK_NAME] if day_peak else ())]
    shown += [(name, 0.0, float(net_high.sum())) for name in peaks]
    action_low, action_high = simulator.action_low.astype(np.float64), simulator.action_high.astype(np.float64)
    idle = scaled(np.zeros(len(action_low)), action_low, action_high)
    every, lows, highs = zip(*shown, strict=True)
    actions, hourly_soc = tuple(simulator.action_names), tuple(_hourly_soc(simulator).tolist())
    return ObservationLayout(every, lows, highs, actions, tuple(idle.tolist()), hourly_soc)


def _hourly_soc(simulator: CityLearnSimulator) -> np.ndarray:
    sessions = simulator.sessions
    rise = np.zeros(len(simulator.action_low))
    for action, charger in simulator.charger_actions:
        here = sessions.charger == simulator.chargers.index(charger)
        if here.any():
            energy = float(charger.max_charging_power) * simulator.step_hours * float(charger.efficiency)
            rise[action] = energy / float(sessions.capacity_kwh[here].mean())
    return rise


def _has_fixed_bounds(name: str) -> bool:
    return name in PERIODS or name.endswith(("_soc", "_state", "_soc_departure", "_soc_arrival"))


def _net_bounds(simulator: CityLearnSimulator) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest net consumption of each building in a step [kWh], each of shape (buildings,)."""
    series = simulator.exogenous
    low, high = [], []
    for i, building in enumerate(simulator.env.buildings):
        chargers = building.electric_vehicle_chargers
        storage = float(building.electrical_storage.nominal_power)
        gives = storage + sum(float(c.max_discharging_power) for c in chargers)
        takes = storage + sum(float(c.max_charging_power) for c in chargers)
        devices = sum(float(d.nominal_power) for d in (building.cooling_device, building.heating_device, building.dhw_device))
        without = series.load_kwh[i] - series.pv_kwh[i]
        low.append((1.0 + MARGIN) * min(0.0, without.min() - gives * simulator.step_hours))
        # CityLearn lets a thermal device take its power in kWh in a step, however short that is.
        high.append((1.0 + MARGIN) * (series.load_kwh[i].max() + takes * simulator.step_hours + devices))
    return np.array(low), np.array(high)


def read_buildings(simulator: CityLearnSimulator, history: int = 0) -> Buildings:
    """Buildings of a scenario; the size of one without a battery is its highest load before row `history`, or in all for 0."""
    buildings = simulator.env.buildings
    shared = set(simulator.env.shared_observations)
    owners: list[int] = []
    of_chargers: list[int] = []
    for n, (building, names) in enumerate(observed(simulator)):
        charging = {name for charger in building.electric_vehicle_chargers for name in charger_observations(charger.charger_id)}
        of_chargers += [len(owners) + i for i, name in enumerate(names) if name in charging]
        owners += [COMMON if name in shared else n for name in names]
    actions = [n for n, _ in owned_actions(buildings)]
    load = simulator.exogenous.load_kwh[:, : history or None]
    power, hours = [], []
    for n, building in enumerate(buildings):
        battery = building.electrical_storage
        nominal = float(battery.nominal_power) if "electrical_storage" in building.active_actions else 0.0
        power.append(nominal * simulator.step_hours or float(load[n].max()) or 1.0)
        hours.append(float(battery.capacity) / nominal if nominal else 0.0)
    filling = tuple(_tank_hours(building) for building in buildings)
    return Buildings(tuple(owners), tuple(actions), tuple(of_chargers), tuple(power), tuple(hours), filling)


def _tank_hours(building: Any) -> tuple[float, float, float]:
    """Of the tank of each use, see `Buildings.tank_hours`. The action is the part of its capacity that it takes in an hour."""
    most = dict(zip(building.active_actions, building.action_space.high.tolist(), strict=True))
    cooling, heating, dhw = (1.0 / most[name] if most.get(name) else 0.0 for name in (f"{use}_storage" for use in USES))
    return cooling, heating, dhw
