"""A scenario year as arrays: read once from CityLearn itself, then from the cache.

What CityLearn makes of its files (defaults, drawn attributes, float32, vehicles' schedules) is taken from its own
objects, so nothing of its loading is written here again and none of it can differ.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from envs.batch_backend import records
from envs.citylearn_backend.simulator import CONNECTED, CityLearnSimulator, current_soc
from envs.errors import ScenarioError
from envs.objective.series import Exogenous, Sessions

USES = ("cooling", "heating", "dhw")  # end uses in the kernel's order


@dataclass(frozen=True)
class Tables:
    """One scenario year; shapes as in `records.Site` and `records.Rows`, `names` as CityLearn has them.

    Attributes:
        names: raw observations in CityLearn's order.
        site: arrays of `records.Site` that depend on the schema alone.
        rows: of `records.Rows` the arrays `meter`, `plugged`, `event` and, in CityLearn's units, `template`;
            `first_plugged`, shape (R + 1,); `shared`, whether several chargers hold one vehicle, shape (R,); `required_soc`
            and `countdown` to the departure [h] of each vehicle that is plugged in, shape (P,); `comfort`, of `COMFORT`,
            shape (R, N); `arrivals_known`, whether there is a state of charge for every arrival.
        initial_soc: of the batteries, shape (N + V,).
        initial_tank: state of charge of the tanks, shape (N, 3).
        depth_of_discharge: of the stationary batteries, shape (N,).
        exogenous: the year's series.
        sessions: its charging sessions.
        reward: name of the schema's reward function and its attributes as JSON, shape (2,).
    """

    names: tuple[str, ...]
    site: dict[str, np.ndarray]
    rows: dict[str, np.ndarray]
    initial_soc: np.ndarray
    initial_tank: np.ndarray
    depth_of_discharge: np.ndarray
    exogenous: Exogenous
    sessions: Sessions
    reward: tuple[str, str]

    def save(self, path: Path) -> None:
        """Write a file that `load` reads; not compressed, since it is opened far more often than it is written."""
        flat: dict[str, Any] = {
            **{f"site_{name}": value for name, value in self.site.items()},
            **{f"rows_{name}": value for name, value in self.rows.items()},
            **{f"exogenous_{field.name}": getattr(self.exogenous, field.name) for field in fields(Exogenous)},
            **{f"sessions_{field.name}": getattr(self.sessions, field.name) for field in fields(Sessions)},
            **{name: getattr(self, name) for name in _PLAIN},
            "names": np.array(self.names),
            "reward": np.array(self.reward),
        }
        with path.open("wb") as file:
            np.savez(file, **flat)

    @classmethod
    def load(cls, path: Path, template: bool = True) -> Tables:
        """Tables of a file that `save` wrote.

        Args:
            path: of the file.
            template: whether to read the raw observations too, by far the most of it.
        """
        with np.load(path) as saved:
            flat = {name: saved[name] for name in saved.files if template or name != "rows_template"}
        for name, kind in _RECORDS.items():
            # A file does not say that records are aligned, and numba would compile everything twice.
            flat[name] = flat[name].view(kind)

        def group(prefix: str) -> dict[str, Any]:
            return {name.removeprefix(prefix): value for name, value in flat.items() if name.startswith(prefix)}

        return cls(
            names=tuple(flat["names"].tolist()),
            site=group("site_"),
            rows=group("rows_"),
            exogenous=_exogenous(group("exogenous_")),
            sessions=Sessions(**group("sessions_")),
            reward=tuple(flat["reward"].tolist()),
            **{name: flat[name] for name in _PLAIN},
        )


def _exogenous(saved: dict[str, Any]) -> Exogenous:
    # A file has arrays of what are numbers.
    plain = {name: values.item() for name, values in saved.items() if not values.ndim}
    return Exogenous(**{**saved, **plain})


# What CityLearn's rewards for thermal comfort look at.
COMFORT = np.dtype(
    [("indoor", np.float32), ("cooling", np.float32), ("heating", np.float32), ("band", np.float32), ("mode", np.int64)],
    align=True,
)
_RECORDS = {
    "site_action": records.ACTION,
    "site_building": records.BUILDING,
    "site_thermal": records.THERMAL,
    "site_battery": records.BATTERY,
    "site_charger": records.CHARGER,
    "site_observed": records.OBSERVED,
    "rows_meter": records.METER,
    "rows_plugged": records.PLUGGED,
    "rows_event": records.EVENT,
    "rows_comfort": COMFORT,
}
_PLAIN = ("initial_soc", "initial_tank", "depth_of_discharge")


def read_tables(simulator: CityLearnSimulator, reward: tuple[str, str]) -> Tables:
    """Tables of the year that a simulator has open; it starts a run of the whole year.

    Args:
        simulator: of the year, with a schema that `unsupported` finds nothing in.
        reward: name of the schema's reward function and its attributes as JSON.

    Raises:
        ScenarioError: if the scenario has something that only CityLearn's objects show to be beyond the backend.
    """
    simulator.begin(0, simulator.rows - 1, seed=0)  # the series are cut to an episode, so it spans them all
    buildings, vehicles = simulator.env.buildings, simulator.env.electric_vehicles
    batteries = [*(b.electrical_storage for b in buildings), *(v.battery for v in vehicles)]
    for device in (*batteries, *buildings):
        if not isinstance(device.time_step_ratio, np.float64) or device.time_step_ratio != 1.0:
            raise ScenarioError(f"{simulator.schema_path}: its series are not hourly, which the batch backend cannot step")
    template, observed = _template(simulator)
    return Tables(
        names=tuple(simulator.observation_names),
        site={**_battery_parameters(batteries), **_charger_parameters(simulator), **_building_parameters(simulator),
              "observed": observed},
        rows={"template": template, "meter": _meters(simulator), "comfort": _comfort(simulator), **_schedule(simulator)},
        initial_soc=np.array([battery.initial_soc for battery in batteries], dtype=np.float64),
        initial_tank=np.array([[t.initial_soc for t in _tanks(b)] for b in buildings], dtype=np.float64),
        depth_of_discharge=np.array([b.electrical_storage.depth_of_discharge for b in buildings], dtype=np.float64),
        exogenous=simulator.exogenous,
        sessions=simulator.sessions,
        reward=reward,
    )  # fmt: skip


# -- devices -------------------------------------------------------------------------------


def _battery_parameters(batteries: list[Any]) -> dict[str, np.ndarray]:
    power, efficiency = [b.capacity_power_curve for b in batteries], [b.power_efficiency_curve for b in batteries]
    record = np.zeros(len(batteries), dtype=records.BATTERY)
    for k, b in enumerate(batteries):
        minimum_soc = b._minimum_soc()
        record[k] = (
            b.capacity, b.nominal_power, minimum_soc, minimum_soc * b.capacity, (1.0 - b.depth_of_discharge) * b.capacity,
            1.0 - b.loss_coefficient, b.capacity_loss_coefficient * b.capacity, _points(power[k]), _points(efficiency[k]),
            max(b.nominal_power * power[k][1, 0], 0.0), np.sqrt(efficiency[k][1, 0]),
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


def _charger_parameters(simulator: CityLearnSimulator) -> dict[str, np.ndarray]:
    buildings = [n for n, b in enumerate(simulator.env.buildings) for _ in b.electric_vehicle_chargers or ()]
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
        )  # fmt: skip
    stacked = _stacked(curves) if curves else np.zeros((0, 2, 1))
    return {"charger": record, "charger_curve": stacked.reshape(len(record), 2, *stacked.shape[1:])}


def _chargers(building: Any) -> list[Any]:
    return list(building.electric_vehicle_chargers or ())


def _tanks(building: Any) -> list[Any]:
    return [getattr(building, f"{use}_storage") for use in USES]


def _devices(building: Any) -> list[Any]:
    return [getattr(building, f"{use}_device") for use in USES]


def _building_parameters(simulator: CityLearnSimulator) -> dict[str, np.ndarray]:
    from citylearn.energy_model import ElectricHeater

    buildings = simulator.env.buildings
    building = np.zeros(len(buildings), dtype=records.BUILDING)
    thermal = np.zeros((len(buildings), len(USES)), dtype=records.THERMAL)
    for n, b in enumerate(buildings):
        for use, (tank, device) in enumerate(zip(_tanks(b), _devices(b), strict=True)):
            # CityLearn draws what tanks are like that a building does not have; nothing follows from it.
            root, kept = (tank.round_trip_efficiency, 1.0 - tank.loss_coefficient) if tank.capacity > 0.0 else (1.0, 1.0)
            limits = (np.nan if limit is None else limit for limit in (tank.max_input_power, tank.max_output_power))
            thermal[n, use] = (
                -1, device.nominal_power, isinstance(device, ElectricHeater), tank.capacity, root, kept, *limits,
            )  # fmt: skip
        demand = any(getattr(b.energy_simulation, f"{use}_demand").any() for use in USES)
        building[n] = (-1, demand or (thermal["capacity"][n] > 0.0).any())
    index = 0
    for n, b in enumerate(buildings):
        for name in b.active_actions:
            if name == "electrical_storage":
                building["battery_action"][n] = index
            elif name.removesuffix("_storage") in USES:
                thermal["action"][n, USES.index(name.removesuffix("_storage"))] = index
            index += 1
    action = np.zeros(len(simulator.action_low), dtype=records.ACTION)
    action["low"], action["span"] = simulator.action_low, simulator.action_high - simulator.action_low
    return {"building": building, "thermal": thermal, "action": action}


# -- series --------------------------------------------------------------------------------


def _meters(simulator: CityLearnSimulator) -> np.ndarray:
    buildings = simulator.env.buildings
    meters = np.zeros((simulator.rows, len(buildings)), dtype=records.METER)
    for n, b in enumerate(buildings):
        series = b.energy_simulation
        meters["load"][:, n] = series.non_shiftable_load
        meters["solar"][:, n] = b._pv_generation_to_control_step(series.solar_generation) * -1
        meters["price"][:, n] = b.pricing.electricity_pricing
        meters["carbon"][:, n] = b.carbon_intensity.carbon_intensity
        meters["demand"][:, n] = np.stack([getattr(series, f"{use}_demand") for use in USES], axis=-1)
        meters["cop"][:, n] = _efficiencies(b)
    return meters


def _comfort(simulator: CityLearnSimulator) -> np.ndarray:
    record = np.zeros((simulator.rows, len(simulator.env.buildings)), dtype=COMFORT)
    for n, building in enumerate(simulator.env.buildings):
        series = building.energy_simulation
        record["indoor"][:, n] = series.indoor_dry_bulb_temperature
        record["cooling"][:, n] = series.indoor_dry_bulb_temperature_cooling_set_point
        record["heating"][:, n] = series.indoor_dry_bulb_temperature_heating_set_point
        record["band"][:, n], record["mode"][:, n] = series.comfort_band, series.hvac_mode
    return record


def _efficiencies(building: Any) -> np.ndarray:
    """Efficiency of a building's thermal devices by row, shape (R, 3), as CityLearn reckons it for one row."""
    from citylearn.energy_model import HeatPump

    temperature = building.weather.outdoor_dry_bulb_temperature
    columns: list[Any] = []
    for use, device in zip(USES, _devices(building), strict=True):
        if isinstance(device, HeatPump):
            columns.append([device.get_cop(value, heating=use != "cooling") for value in temperature])
        else:
            columns.append([device.efficiency] * len(temperature))
    return np.array(columns, dtype=np.float64).T


# -- vehicles ------------------------------------------------------------------------------


def _by_charger(simulator: CityLearnSimulator, name: str, kind: type) -> np.ndarray:
    """A series of the chargers' files, shape (R, C)."""
    columns: list[np.ndarray] = [np.asarray(getattr(c.charger_simulation, name)).astype(kind) for c in simulator.chargers]
    return np.stack(columns, axis=-1) if columns else np.zeros((simulator.rows, 0), dtype=kind)


def _schedule(simulator: CityLearnSimulator) -> dict[str, np.ndarray]:
    """Who is where and arrives with what: `associate_chargers_to_electric_vehicles` and `simulate_unconnected_ev_soc`."""
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
    announced = np.where(np.isin(state_before, (2, 3)), np.roll(given, 1, axis=0), given)
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
        # Where every arrival is known, what parked vehicles do is seen by nobody.
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
        incoming = (who[connecting] == next_who[connecting]) & (now[connecting] == 2)
        arrival = given[connecting + 1 - incoming, c]
        event["kind"][connecting, next_who[connecting]] = np.where(np.isnan(arrival), records.KEEP, records.SET)
        event["soc"][connecting, next_who[connecting]] = arrival
        connected = np.flatnonzero((who >= 0) & (now == CONNECTED))
        event["kind"][connected, who[connected]] = records.KEEP
        event["soc"][connected, who[connected]] = np.nan
    return event


# -- observation ---------------------------------------------------------------------------


def _template(simulator: CityLearnSimulator) -> tuple[np.ndarray, np.ndarray]:
    """Raw observations of all rows with what depends on actions left out, and what that is: `observed` of `records.Site`."""
    columns: list[np.ndarray] = []
    endogenous: list[tuple[int, int, int, int]] = []
    vehicles = [[records.VEHICLE_SOC, n, 0, -1] for n, b in enumerate(simulator.env.buildings) for _ in _chargers(b)]
    for n, (building, names) in enumerate(_observed(simulator)):
        sources = _sources(building)
        for charger in _chargers(building):
            sources.update(_charger_columns(simulator, charger))
        soc_names = {_soc_name(c): simulator.chargers.index(c) for c in _chargers(building)}
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
    observed = np.zeros(len(endogenous) + len(vehicles), dtype=records.OBSERVED)
    for i, place in enumerate((*endogenous, *vehicles)):
        observed[i] = (*place, 0.0, 1.0, np.inf)
    return np.stack(columns, axis=-1), observed


def _observed(simulator: CityLearnSimulator) -> list[tuple[Any, list[str]]]:
    """Buildings and the names that they contribute to the observation, in CityLearn's order."""
    env = simulator.env
    seen: set[str] = set()
    observed = []
    for n, building in enumerate(env.buildings):
        names = list(building.observations(normalize=False, periodic_normalization=False))
        shared = [name for name in names if name in env.shared_observations]
        observed.append((building, [name for name in names if n == 0 or name not in shared or name not in seen]))
        seen.update(shared)
    assert [name for _, names in observed for name in names] == simulator.observation_names
    return observed


def _sources(building: Any) -> dict[str, np.ndarray]:
    """Series that observations are taken from, by name; of equal names the later one counts, as in CityLearn."""
    found: dict[str, np.ndarray] = {}
    for group in ("energy_simulation", "weather", "pricing", "carbon"):
        found.update(getattr(building, f"_{group}_observation_sources"))
    series = building.energy_simulation
    found["solar_generation"] = np.abs(building._pv_generation_to_control_step(series.solar_generation) * -1)
    found["power_outage"] = np.zeros(len(series.hour))
    found["deferrable_appliance_electricity_consumption"] = found["washing_machine_electricity_consumption"] = np.zeros(
        len(series.hour)
    )
    for use, efficiency in zip(USES, _efficiencies(building).T, strict=True):
        found[f"{use}_device_efficiency"] = efficiency
    for side in ("cooling", "heating"):
        set_point = getattr(series, f"indoor_dry_bulb_temperature_{side}_set_point")
        found[f"indoor_dry_bulb_temperature_{side}_delta"] = series.indoor_dry_bulb_temperature - set_point
    return found


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
    connected, incoming = known & (state == CONNECTED), known & (state == 2)
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
