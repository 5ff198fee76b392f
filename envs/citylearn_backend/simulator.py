"""CityLearn steps one scenario year hour by hour; simulators of a process are passed on."""

import pickle
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import ScenarioError
from common.units import DAY, WEEK
from envs.citylearn_backend import outages
from envs.citylearn_backend.occupants import check_occupants
from envs.citylearn_backend.thermal import has_dynamics, owned_actions, serving_actions
from envs.objective.reference import Reference, first_soc
from envs.objective.series import MET_TOLERANCE, Exogenous, Run, Sessions
from envs.observation import CHARGER_ACTION
from envs.scenarios import trust
from envs.scenarios.scenario import Scenario
from envs.scenarios.schema_file import count_steps, rooted
from envs.scenarios.schema_shape import USES
from envs.scenarios.segments import origin
from envs.scenarios.series_files import COMING, PLUGGED
from envs.scenarios.shapes import included


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
        steps_per_hour=round(3600 / env.seconds_per_time_step),
        other_devices=any(_has_other_devices(b) for b in buildings),
        vehicles_give=any(c.max_discharging_power > 0.0 for b in buildings for c in b.electric_vehicle_chargers),
        **_comfort(buildings),
    )


def _comfort(buildings: Sequence[Any]) -> dict[str, np.ndarray]:
    """What people want of the temperature, by field of `Exogenous`; empty where no building computes its temperature."""
    if not any(has_dynamics(b) for b in buildings):
        return {}
    names = {
        "cool_above_c": "indoor_dry_bulb_temperature_cooling_set_point",
        "heat_below_c": "indoor_dry_bulb_temperature_heating_set_point",
        "band_c": "comfort_band",
        "occupants": "occupant_count",
        "given_c": "indoor_dry_bulb_temperature",
    }
    series = {
        field: np.array([getattr(b.energy_simulation, name) for b in buildings], dtype=np.float64)
        for field, name in names.items()
    }
    return {**series, "warm_up": np.array([b.dynamics.lookback if has_dynamics(b) else 0 for b in buildings], dtype=np.float64)}


def read_sessions(buildings: Sequence[Any], vehicles: Sequence[Any], rows: int) -> Sessions:
    """Charging sessions of a year."""
    chargers = [charger for building in buildings for charger in building.electric_vehicle_chargers]
    number = {vehicle.name: i for i, vehicle in enumerate(vehicles)}
    of_batteries = [float(np.sqrt(np.asarray(v.battery.power_efficiency_curve)[1].max())) for v in vehicles]
    sessions: list[tuple[float, ...]] = []
    for index, charger in enumerate(chargers):
        series = charger.charger_simulation
        # Reading an attribute slices and copies it, so each is read once.
        state, vehicle_id = series.electric_vehicle_charger_state, series.electric_vehicle_id
        required, arrival = series.electric_vehicle_required_soc_departure, series.electric_vehicle_estimated_soc_arrival
        current, plugged = current_soc(charger, rows), state == PLUGGED
        of_charger = _best_efficiency(charger)
        goes_on = plugged[1:] & plugged[:-1] & (vehicle_id[1:] == vehicle_id[:-1]) & ~new_sessions(series)[1:]
        starts = np.flatnonzero(plugged & ~np.append(False, goes_on))
        ends = np.flatnonzero(plugged & ~np.append(goes_on, False))
        for start, row in zip(starts.tolist(), ends.tolist(), strict=True):
            vehicle = number[vehicle_id[row]]  # that the schema has it is checked with its series
            announced = start > 0 and state[start - 1] == COMING
            estimated = float(arrival[start - 1 if announced else start])
            if not 0.0 <= estimated <= 1.0:
                # Of a vehicle that is there in the first row the data need not say it.
                estimated = float(vehicles[vehicle].battery.initial_soc)
            measured = float(current[start])
            arrival_soc, capacity = estimated if np.isnan(measured) else measured, float(vehicles[vehicle].battery.capacity)
            efficiency = of_charger * of_batteries[vehicle]
            sessions.append((index, vehicle, start, row, arrival_soc, float(required[row]), capacity, efficiency))
    sessions.sort(key=lambda session: session[3])
    integers, numbers = ("charger", "vehicle", "start", "end"), ("arrival_soc", "required_soc", "capacity_kwh", "efficiency")
    columns = np.array(sessions, dtype=np.float64).reshape(-1, 8).T
    arrays = {
        name: values.astype(np.int64 if name in integers else np.float64)
        for name, values in zip((*integers, *numbers), columns, strict=True)
    }
    building = np.array([n for n, building in enumerate(buildings) for _ in building.electric_vehicle_chargers], np.int64)
    gives = np.array([charger.max_discharging_power > 0.0 for charger in chargers], bool)
    return Sessions(**arrays, building=building[arrays["charger"]], gives=gives[arrays["charger"]])


def _best_efficiency(charger: Any) -> float:
    curves = (charger.charge_efficiency_curve, charger.discharge_efficiency_curve)
    return max(float(charger.efficiency) if curve is None else float(np.asarray(curve)[1].max()) for curve in curves)


def tanks(building: Any) -> list[Any]:
    """Tanks of a building, in the order of `USES`."""
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


def new_sessions(series: Any) -> np.ndarray:
    """Rows at which CityLearn sees a new session of the vehicle that was there before, shape (R,)."""
    identity = np.array([i.strip() if isinstance(i, str) else "" for i in series.electric_vehicle_session_id], dtype=object)
    has = (identity != "") & (identity != "nan")
    countdown = series.electric_vehicle_departure_time
    before, has_before = np.roll(countdown, 1), np.roll(has, 1)
    changed = has & has_before & (series.electric_vehicle_session_id != np.roll(series.electric_vehicle_session_id, 1))
    restarted = ~has & (before <= 1) & (countdown > before)
    return np.asarray(changed | restarted, dtype=bool)


def current_soc(charger: Any, rows: int) -> np.ndarray:
    """Measured state of charge where a charger's file has one, else NaN, shape (rows,)."""
    values = getattr(charger.charger_simulation, "electric_vehicle_current_soc", None)
    series = np.full(rows, np.nan) if values is None else np.asarray(values, dtype=np.float64)
    return np.where((series >= 0.0) & (series <= 1.0), series, np.nan)


# CityLearn would write files beside its own code for a schema that says so.
_WRITES_NOTHING = {"render": False, "render_mode": "none", "export_kpis_on_episode_end": False}


class CityLearnSimulator:
    """One scenario year, run by CityLearn with one central agent. A row is an hour of the year; a step is an hour of the run.

    An instance takes seconds to make and holds no state between two `begin`, so `SIMULATORS` passes it on from trial to trial.
    Only `with_reward`, `step` gives the schema's own reward and CityLearn imports its class; zero otherwise. A `ScenarioError`
    if the schema needs trust, has no active action, or names weights that cannot be read.
    """

    def __init__(self, schema_path: Path, with_reward: bool, trusted: bool = False) -> None:
        # The schema that is checked is the one that CityLearn gets: the file may have changed since the scenario was opened.
        schema = {**rooted(schema_path), **_WRITES_NOTHING}
        if not trusted:
            trust.check(origin(schema_path), schema)
        if with_reward:
            trust.check_reward(schema_path, schema, trusted)
        # Imported here: it takes seconds and imports torch.
        from citylearn.citylearn import CityLearnEnv

        from envs.citylearn_backend.no_reward import NoReward

        # Nothing here uses an agent. CityLearn imports a reward for each building, whatever reward it is given beside.
        schema["agent"] = None
        if not with_reward:
            schema["reward_function"] = {"type": f"{NoReward.__module__}.{NoReward.__name__}"}
        check_dynamics(schema_path, schema)
        with _quick_time_bounds(), outages.drawn_for_any_length(), _seeded_noise(schema.get("random_seed")):
            try:
                self.env = CityLearnEnv(
                    schema,
                    central_agent=True,
                    # The first episode spans all rows, whatever the schema says, so that all can be read.
                    episode_time_steps=count_steps(schema_path) + 1,
                    # Nothing is downloaded.
                    offline=True,
                    # The entity interface gives the same quantities as tables.
                    interface="flat",
                )
            except Exception as error:
                classes = [named for named in trust.named_classes(schema) if named.name not in trust.CLASSES[named.role]]
                if not classes:
                    raise
                # It is the user's code, which may raise anything.
                raise ScenarioError(
                    f"{schema_path}: CityLearn fails with classes of the schema's own, such as {classes[0].place} "
                    f"{classes[0].name} ({type(error).__name__}: {error}); correct their names or their code"
                ) from error
            outages.fix_outages(self.env.buildings)
        if any(building.time_step_ratio not in (None, 1.0) for building in self.env.buildings):
            raise ScenarioError(
                f"{schema_path}: the rows of its series are not {self.env.seconds_per_time_step:g} s apart, as its steps are; "
                "set seconds_per_time_step to what lies between rows, or give a row for each step"
            )
        check_occupants(schema_path, self.env.buildings)
        _skip_charger_feedback(self.env)
        self.schema_path, self.with_reward, self.trusted = schema_path, with_reward, trusted
        self.rows: int = self.env.episode_tracker.simulation_time_steps
        self.observation_names: list[str] = list(self.env.observation_names[0])
        self.action_low, self.action_high = self.env.action_space[0].low, self.env.action_space[0].high
        self.action_names: list[str] = list(self.env.action_names[0])
        if not len(self.action_low):
            raise ScenarioError(f"{schema_path}: no action is active, so nothing can be controlled; activate one")
        owned = enumerate(owned_actions(self.env.buildings))
        batteries = [(i, self.env.buildings[n]) for i, (n, name) in owned if name == "electrical_storage"]
        self.battery_actions = np.array([i for i, _ in batteries], dtype=np.int64)
        self.step_hours = self.env.seconds_per_time_step / 3600
        power = float(sum(building.electrical_storage.nominal_power for _, building in batteries))
        self.battery_step_kwh = power * self.step_hours
        self.chargers = [charger for building in self.env.buildings for charger in building.electric_vehicle_chargers]
        self.longest_announcement = max(
            (int(c.charger_simulation.electric_vehicle_estimated_arrival_time.max()) for c in self.chargers), default=0
        )
        self._start = 0
        self._serving = serving_actions(self.env.buildings, self.rows, len(self.action_low))
        self.exogenous = read_exogenous(self.env)
        self.sessions = read_sessions(self.env.buildings, self.env.electric_vehicles, self.rows)
        self._missing, self._owed = np.zeros((2, len(self.sessions.end)))
        self._hours = 0
        self._reference: Reference | None = None

    # -- one run -----------------------------------------------------------------------------

    def begin(self, start: int, hours: int, seed: int, charge: float = 0.0, reference: Reference | None = None) -> np.ndarray:
        """Start a run of `hours` steps at a row; returns the raw observation, shape (observations,).

        Args:
            start: the row; 0 is the first of the year.
            hours: steps of the run.
            seed: of the drift of vehicles that are not plugged in.
            charge: part of its usable capacity that each stationary battery holds at the start, 0 to 1. Half of it, for free,
                makes a week of the default site look 0.4 % better than it is.
            reference: the uncontrolled run, by which vehicles are charged that were plugged in before; without it they begin
                as CityLearn begins them, and nothing is owed to them.
        """
        from citylearn.building import DynamicsBuilding, OccupantInteractionBuilding

        self._start, self._hours, self._reference = start, hours, reference
        self._missing[:] = self._owed[:] = 0.0
        for building in self.env.buildings:
            battery = building.electrical_storage
            battery.initial_soc = 1.0 - battery.depth_of_discharge * (1.0 - charge)
            # CityLearn writes demands and temperatures into its series. At a reset it restores as many hours of the last
            # episode as the next one has; here are all of them.
            building.reset_dynamic_variables()
            if isinstance(building, OccupantInteractionBuilding):
                # Its own reset restores the set points that occupants changed, and leaves out what others restore.
                DynamicsBuilding.reset_dynamic_variables(building)
            # It keeps what was asked for beyond a connection's limits, and shows it after a reset.
            building._charging_constraint_last_penalty_kwh = 0.0
        first = self.env.episode_tracker.simulation_start_time_step + start
        self.env.episode_time_steps = [(first, first + hours)]
        # CityLearn draws the drift from its seed plus the number of the episode: with the number
        # always zero, a seed repeats a run.
        self.env.episode_tracker.reset_episode_index()
        observations, _ = self.env.reset(seed=seed)
        if known := first_soc(self.sessions, start, reference):
            for vehicle, soc in known.items():
                self.env.electric_vehicles[vehicle].battery.force_set_soc(soc)
            self.env._observations_cache = None
            observations = self.env.observations
        return np.asarray(observations[0], dtype=np.float64)

    @property
    def step_index(self) -> int:
        """Number of steps taken since `begin`."""
        return int(self.env.time_step)

    @property
    def row(self) -> int:
        """Row of the year that the next step covers."""
        return self._start + self.step_index

    @property
    def battery_soc(self) -> np.ndarray:
        """State of charge of each building's battery before the next step, shape (buildings,)."""
        step = self.step_index
        return np.array([building.electrical_storage.soc[step] for building in self.env.buildings], dtype=np.float64)

    @property
    def tank_soc(self) -> np.ndarray:
        """State of charge of each building's tanks of cooling, heating and hot water, shape (buildings, 3)."""
        step = self.step_index
        return np.array([[tank.soc[step] for tank in tanks(building)] for building in self.env.buildings], dtype=np.float64)

    @property
    def vehicle_soc(self) -> np.ndarray:
        """State of charge of each vehicle before the next step, shape (vehicles,); only of those that are plugged in."""
        step = self.step_index
        return np.array([vehicle.battery.soc[step] for vehicle in self.env.electric_vehicles], dtype=np.float64)

    @property
    def rooms_before(self) -> tuple[np.ndarray, np.ndarray]:
        """Temperatures and deliveries of the hour before, as fields of `envs.current_hour.SiteState`."""
        buildings, step = self.env.buildings, self.step_index - 1
        if not any(map(has_dynamics, buildings)):
            return np.zeros(0), np.zeros((0, len(USES)))
        if step < 0:
            return np.full(len(buildings), np.nan), np.zeros((len(buildings), len(USES)))
        indoor = [b.indoor_dry_bulb_temperature[step] if has_dynamics(b) else np.nan for b in buildings]
        delivered = [
            [sum(getattr(b, f"energy_from_{use}_{source}")[step] for source in ("device", "storage")) for use in USES]
            for b in buildings
        ]
        return np.array(indoor, dtype=np.float64), np.array(delivered, dtype=np.float64)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, float]:
        """Take one step within the actions' ranges; the next raw observation, shape (observations,), and the reward."""
        step, row = self.step_index, self.row
        observations, rewards, terminated, _, _ = self.env.step([actions.tolist()])
        leaving = self._leaving(row)
        self._missing[leaving] = self._missing_kwh(leaving, step)
        if self._reference is not None:
            settled = self.sessions.there(row) if step + 1 == self._hours else leaving
            settled = settled[self.sessions.gives[settled] | (self.sessions.end[settled] > row)]
            due = self._reference.due_soc(settled, row, self._start)
            worth = self.sessions.capacity_kwh[settled] / self.sessions.efficiency[settled]
            self._owed[settled] = np.maximum(due - self._soc(settled, step), 0.0) * worth
        if terminated:
            observations = self._observe_after_last_step()
        return np.asarray(observations[0], dtype=np.float64), _total(rewards)

    def net_kwh(self, step: int) -> np.ndarray:
        """Net consumption of each building in a step that was taken, shape (buildings,)."""
        return np.array([building.net_electricity_consumption[step] for building in self.env.buildings], dtype=np.float64)

    def indoor_temperatures(self, step: int) -> np.ndarray:
        """Indoor temperature of each building in a step that was taken [C], shape (buildings,)."""
        return np.array([building.energy_simulation.indoor_dry_bulb_temperature[step] for building in self.env.buildings])

    def missing_kwh(self, row: int) -> float:
        """Energy that the vehicles lacked that left after the step at a row."""
        return float(self._missing[self._leaving(row)].sum())

    def owed_kwh(self, row: int) -> np.ndarray:
        """Energy that each building owes to the vehicles that left after the step at a row, shape (buildings,); see `Run`.

        At the end of the run also to those that stay.
        """
        settled = self.sessions.there(row) if row + 1 == self._start + self._hours else self._leaving(row)
        return np.bincount(self.sessions.building[settled], self._owed[settled], len(self.env.buildings))

    def run(self) -> Run:
        """The steps taken since `begin`."""
        taken = self.step_index
        buildings, (asked, unserved) = self.env.buildings, self._of_outages()
        return Run(
            net_kwh=np.array([b.net_electricity_consumption[:taken] for b in buildings], dtype=np.float64),
            battery_kwh=np.array([b.electrical_storage.electricity_consumption[:taken] for b in buildings], dtype=np.float64),
            charging_kwh=np.array(
                [
                    np.sum([c.electricity_consumption[:taken] for c in b.electric_vehicle_chargers], axis=0, dtype=np.float64)
                    if b.electric_vehicle_chargers
                    else np.zeros(taken)
                    for b in buildings
                ]
            ),
            missing_kwh=self._missing.copy(),
            owed_kwh=self._owed.copy(),
            off_grid=np.array([b.power_outage_signal[:taken] > 0.0 for b in buildings]),
            baseline_kwh=self._baseline_kwh(),
            indoor_c=np.array(
                [b.indoor_dry_bulb_temperature[:taken] if has_dynamics(b) else np.full(taken, np.nan) for b in buildings],
                dtype=np.float64,
            ),
            asked_kwh=asked,
            unserved_kwh=unserved,
        )

    def uncontrolled_actions(self) -> np.ndarray:
        """Actions, shape (actions,): storages idle, vehicles at full power until they are as full as required.

        Thermal devices that obey actions deliver what the building's own controller would have them deliver.
        """
        actions = np.clip(self._serving[self.row], self.action_low, self.action_high)
        for index, charger in self.charger_actions:
            vehicle = charger.connected_electric_vehicle
            if vehicle is None:
                continue
            required = charger.charger_simulation.electric_vehicle_required_soc_departure[self.step_index]
            battery = vehicle.battery
            missing_kwh = max(0.0, float(required) - float(battery.soc[self.step_index])) * battery.capacity
            # The battery's own loss is taken at its worst, so that the vehicle is not short for it.
            curve = np.asarray(battery.power_efficiency_curve)
            efficiency = float(charger.efficiency) * float(np.sqrt(curve[1].min()))
            actions[index] = min(1.0, missing_kwh / efficiency / (charger.max_charging_power * self.step_hours))
        return actions

    def _baseline_kwh(self) -> np.ndarray:
        """See `Run`. CityLearn would count one hour more, as the buildings have advanced after the last step here."""
        from citylearn.building import DynamicsBuilding

        series = [
            b.net_electricity_consumption_without_storage_and_partial_load
            if isinstance(b, DynamicsBuilding)
            else b.net_electricity_consumption_without_storage
            for b in self.env.buildings
        ]
        return np.array([values[: self.step_index] for values in series], dtype=np.float64)

    def _of_outages(self) -> tuple[np.ndarray, np.ndarray]:
        taken = self.step_index
        asked, unserved = np.zeros((2, len(self.env.buildings), taken))
        for n, b in enumerate(self.env.buildings):
            if not b.simulate_power_outage:
                continue
            wanted = [*(getattr(b, f"{name}_demand") for name in USES), b.non_shiftable_load]
            served = [getattr(b, f"energy_from_{name}_{source}") for name in USES for source in ("device", "storage")]
            total, given = (
                np.array([series[:taken] for series in parts], dtype=np.float64).sum(axis=0)
                for parts in (wanted, [*served, b.energy_to_non_shiftable_load])
            )
            dark = b.power_outage_signal[:taken] > 0.0
            asked[n, dark], unserved[n, dark] = total[dark], np.maximum(total - given, 0.0)[dark]
        return asked, unserved

    # -- the year ----------------------------------------------------------------------------

    @cached_property
    def charger_actions(self) -> list[tuple[int, Any]]:
        """Index of the action and the charger, for every charger that has one."""
        by_name: dict[str, list[Any]] = {}
        for charger in self.chargers:
            by_name.setdefault(CHARGER_ACTION + charger.charger_id, []).append(charger)
        # Two buildings may use one charger id; actions and chargers come in the same order.
        return [(i, by_name[name].pop(0)) for i, name in enumerate(self.action_names) if by_name.get(name)]

    def _leaving(self, row: int) -> np.ndarray:
        """Sessions that end with the step at a row; they lie in the order of their ends."""
        return np.arange(*np.searchsorted(self.sessions.end, (row, row + 1)))

    def _missing_kwh(self, sessions: np.ndarray, step: int) -> np.ndarray:
        """Energy that vehicles lack after a step, the last of their sessions."""
        short = self.sessions.required_soc[sessions] - self._soc(sessions, step)
        return np.where(short > MET_TOLERANCE, short * self.sessions.capacity_kwh[sessions], 0.0)

    def _soc(self, sessions: np.ndarray, step: int) -> np.ndarray:
        vehicles = self.env.electric_vehicles
        return np.array([vehicles[v].battery.soc[step] for v in self.sessions.vehicle[sessions]], np.float64)

    def _observe_after_last_step(self) -> Sequence[Sequence[float]]:
        """The observation that follows the last step, by the steps of `CityLearnRuntimeService.next_time_step`.

        CityLearn repeats the one before then, and a learner would bootstrap from it as if it were the last state.
        """
        env = self.env
        for device in (*env.buildings, *env.electric_vehicles):
            device.next_time_step()
        env.associate_chargers_to_electric_vehicles()
        env._observations_cache = None
        return env.observations


@contextmanager
def _quick_time_bounds() -> Iterator[None]:
    """Let CityLearn skip the search for the bounds of vehicles' countdowns, whose time grows with the square of the chargers.

    A site with 128 is built 5.7 times faster. `envs.citylearn_backend.tables` sets these bounds from the sessions.
    """
    from citylearn.building import Building

    search = Building._ev_time_observation_high_limit
    Building._ev_time_observation_high_limit = lambda building, key: 24.0
    try:
        yield
    finally:
        Building._ev_time_observation_high_limit = search


@contextmanager
def _seeded_noise(seed: int | None) -> Iterator[None]:
    """Let CityLearn draw the noise on series by the schema's seed; from NumPy's global generator they are others every time."""
    before = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)


def _skip_charger_feedback(env: Any) -> None:
    """Keep CityLearn from recording how each charger's power was met: two fifths of a step's time with 128 sockets.

    Only its entity interface reads it, and the two recorders of `BuildingOpsService` write nothing else.
    """
    for building in env.buildings:
        service = building._ops_service
        service._record_charger_action_feedback = service._record_charger_post_apply_feedback = lambda *_: None


def _total(rewards: Sequence[Any]) -> float:
    """Sum of rewards. With a reward function for each building, CityLearn gives a list for each."""
    return float(sum(value for entry in rewards for value in (entry if isinstance(entry, list) else (entry,))))


KIND = "citylearn.dynamics.LSTMDynamics"
MOST_BYTES = 2**28  # of a file of weights; the largest network that a schema may describe has 40 MB
# By which torch says that it cannot read a file, or that the weights in it are those of another network.
_ERRORS = (
    pickle.UnpicklingError, RuntimeError, OSError, EOFError, LookupError, ValueError, TypeError, AttributeError,
    AssertionError, struct.error,
)  # fmt: skip


def check_dynamics(path: Path, schema: Mapping[str, Any]) -> None:
    """Read the weights of included dynamics before CityLearn does; a `ScenarioError` names all that fit no such network."""
    faults = []
    for name, building in included(schema).items():
        entry = building.get("dynamics")
        if entry is None or entry.get("type") != KIND:
            continue
        from citylearn.dynamics import LSTMDynamics

        attributes = {**entry.get("attributes", {})}
        file = Path(schema["root_directory"]) / attributes.pop("filename", "")
        try:
            if file.stat().st_size > MOST_BYTES:
                raise ValueError(f"the file has more than {MOST_BYTES // 2**20} MiB")
            LSTMDynamics(filepath=file, **attributes).reset()
        except _ERRORS as error:
            # The first sentence: torch goes on with how to unpickle the file all the same.
            why = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
            faults.append(
                f"{path}: the dynamics of building {name} cannot be built from {file} ({type(error).__name__}: {why}): give "
                "its weights as torch.save writes a state_dict, which holds tensors alone, and the attributes of its training"
            )
    if faults:
        raise ScenarioError(*faults)


class SimulatorPool:
    """Passes simulators on between the environments of a process, as to build one takes seconds; two never share one."""

    def __init__(self) -> None:
        self._idle: dict[tuple[Path, bool, bool], list[CityLearnSimulator]] = {}

    @contextmanager
    def lend(self, scenario: Scenario, year: int, with_reward: bool = False) -> Iterator[CityLearnSimulator]:
        """A year's simulator for the length of a `with` block, see `CityLearnSimulator`; built if there is none idle.

        After an error it is dropped, as its state is not known.
        """
        key = scenario.schema_path(year), with_reward, scenario.trusted
        idle = self._idle.setdefault(key, [])
        simulator = idle.pop() if idle else CityLearnSimulator(*key)
        yield simulator
        idle.append(simulator)


SIMULATORS = SimulatorPool()


def check_repeats(used: CityLearnSimulator) -> None:
    """Compare runs of a simulator with those of one that is built anew; a `ScenarioError` if they differ.

    The whole year's series are compared, then two weeks with the same random actions, bit by bit, after the used simulator has
    run through them with other ones. This notices drawn series and attributes, dropout, models without a seed, and state that
    outlives a run; not what happens in other weeks alone.
    """
    new = CityLearnSimulator(used.schema_path, used.with_reward, used.trusted)
    if not all(_equal(getattr(used, part), getattr(new, part)) for part in ("exogenous", "sessions")):
        raise _error(used, "CityLearn makes other series of its files each time")
    steps = used.rows - 1
    hours = min(WEEK * used.exogenous.steps_per_hour, steps)
    for start in sorted({0, (steps - hours) // 2}):
        for _ in _driven(used, start, hours, seed=1):
            pass
        both = zip(_driven(used, start, hours, seed=2), _driven(new, start, hours, seed=2), strict=True)
        for hour, (first, second) in enumerate(both):
            for name, values in first.items():
                if np.array_equal(values, second[name], equal_nan=True):
                    continue
                if name == "observations":
                    differs = (values != second[name]) & ~(np.isnan(values) & np.isnan(second[name]))
                    shown = [used.observation_names[index] for index in np.flatnonzero(differs)]
                    name = f"the observation {shown[0]}"
                raise _error(used, f"two runs with the same actions differ in {name} after hour {start + hour}")


def _driven(simulator: CityLearnSimulator, start: int, hours: int, seed: int) -> Iterator[dict[str, np.ndarray]]:
    rng = np.random.default_rng([seed, start])
    yield {"observations": simulator.begin(start, hours, seed=0)}
    for step in range(hours):
        observation, _ = simulator.step(rng.uniform(simulator.action_low, simulator.action_high))
        yield {
            "observations": observation,
            "consumption": simulator.net_kwh(step),
            "indoor temperatures": simulator.indoor_temperatures(step),
        }


def _equal(first: Any, second: Any) -> bool:
    return all(
        np.array_equal(getattr(first, field.name), getattr(second, field.name), equal_nan=True) for field in fields(first)
    )


def _error(simulator: CityLearnSimulator, what: str) -> ScenarioError:
    return ScenarioError(
        f"{simulator.schema_path}: {what}, so results could not be compared: set a random_seed and the "
        "dropout of dynamics to 0, and leave out models that draw without a seed"
    )


CLASSES = ("BasicRBC", "OptimizedRBC", "BasicBatteryRBC", "BasicElectricVehicleRBC_ReferenceController")
_UNKNOWN_ACTION = "Unknown action name"  # CityLearn's message about a device that a controller has no rule for


def read_rules(simulator: CityLearnSimulator) -> dict[str, list[list[float]]]:
    """Actions of CityLearn's rules by the hour that cover every device, by class, each (24, actions) in its ranges."""
    from citylearn.agents import rbc

    rules: dict[str, list[list[float]]] = {}
    for name in CLASSES:
        try:
            agent = getattr(rbc, name)(simulator.env)
        except ValueError as error:
            if _UNKNOWN_ACTION not in str(error):
                raise
            continue
        # CityLearn counts the hours of a day from 1 to 24.
        (by_device,), (devices,) = agent.action_map, agent.action_names
        rules[name] = [[float(by_device[device][hour + 1]) for device in devices] for hour in range(DAY)]
    return rules
