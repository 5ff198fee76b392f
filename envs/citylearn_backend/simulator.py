"""CityLearn as an `envs.simulator.Simulator`: it steps one scenario year."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from envs.citylearn_backend.dynamics_files import check_dynamics
from envs.citylearn_backend.series import read_exogenous, read_sessions, tanks
from envs.errors import ScenarioError
from envs.objective.citylearn_ratios import district_ratios
from envs.objective.series import MET_TOLERANCE, Run
from envs.scenarios import trust
from envs.scenarios.schema_file import count_steps, rooted
from envs.scenarios.segments import origin

# CityLearn would write files beside its own code for a schema that says so.
_WRITES_NOTHING = {"render": False, "render_mode": "none", "export_kpis_on_episode_end": False}


class CityLearnSimulator:
    """One scenario year, run by CityLearn with one central agent.

    An instance takes seconds to make and holds no state between two `begin`, so `envs.citylearn_backend.pool` passes it on
    from trial to trial.

    Args:
        schema_path: of the year's `schema.json`.
        with_reward: whether `step` gives the reward of the schema's own reward function; zero otherwise. Only then CityLearn
            imports that function.
        trusted: whether the schema may name classes and pickles of its own; see `envs.scenarios.trust`.

    Raises:
        ScenarioError: if the schema needs trust, has no active action, or names weights that cannot be read.

    Attributes:
        schema_path, with_reward, trusted: as given.
        env: the `CityLearnEnv`.
        rows: rows of the year; there are `rows - 1` steps.
        chargers: CityLearn's chargers, building by building.
        exogenous: series of the year that no action can change.
        sessions: charging sessions of the year.
        observation_names: of the raw observation, in CityLearn's order.
        action_names: of the actions, in order.
        battery_actions: indices of the actions of stationary batteries, shape (batteries with an action,).
        battery_power_kw: nominal power of these batteries together.
        longest_announcement: most steps that a vehicle's arrival is announced ahead.
        action_low: least value of each action, shape (actions,).
        action_high: greatest value of each action, shape (actions,).
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
        with _quick_time_bounds():
            self.env = CityLearnEnv(
                schema,
                central_agent=True,
                # The first episode spans all rows, whatever the schema says, so that all can be read.
                episode_time_steps=count_steps(schema_path) + 1,
                # Nothing is downloaded.
                offline=True,
            )
        _skip_charger_feedback(self.env)
        self.schema_path, self.with_reward, self.trusted = schema_path, with_reward, trusted
        self.rows: int = self.env.episode_tracker.simulation_time_steps
        self.observation_names: list[str] = list(self.env.observation_names[0])
        self.action_low, self.action_high = self.env.action_space[0].low, self.env.action_space[0].high
        self.action_names: list[str] = list(self.env.action_names[0])
        if not len(self.action_low):
            raise ScenarioError(f"{schema_path}: no action is active, so there is nothing to learn")
        kinds = [(building, name) for building in self.env.buildings for name in building.active_actions]
        batteries = [(i, building) for i, (building, name) in enumerate(kinds) if name == "electrical_storage"]
        self.battery_actions = np.array([i for i, _ in batteries], dtype=np.int64)
        self.battery_power_kw = float(sum(building.electrical_storage.nominal_power for _, building in batteries))
        self.chargers = [charger for building in self.env.buildings for charger in building.electric_vehicle_chargers]
        self.longest_announcement = max(
            (int(c.charger_simulation.electric_vehicle_estimated_arrival_time.max()) for c in self.chargers), default=0
        )
        self._start = 0
        self.exogenous = read_exogenous(self.env)
        self.sessions = read_sessions(self.chargers, self.env.electric_vehicles, self.rows)
        self._ends = _by_row(self.sessions.end)
        self._counted = np.zeros(len(self.sessions.end), dtype=bool)
        self._missing = np.zeros(len(self.sessions.end))

    # -- one run -----------------------------------------------------------------------------

    def begin(self, start: int, hours: int, seed: int, charge: float = 0.0) -> np.ndarray:
        """Start a run of `hours` steps at row `start`.

        Args:
            start: first row.
            hours: number of steps; `start + hours` is at most `rows - 1`.
            seed: of the drift of vehicles that are not plugged in.
            charge: of the stationary batteries at the start, from 0 (as empty as they may be) to 1. This energy is free:
                half a charge makes a week of the default scenario look 0.4 % better than it is.

        Returns:
            Raw observation, shape (observations,).
        """
        self._start = start
        self._counted = self.sessions.within(start, hours)
        self._missing[:] = 0.0
        for building in self.env.buildings:
            battery = building.electrical_storage
            battery.initial_soc = 1.0 - battery.depth_of_discharge * (1.0 - charge)
        first = self.env.episode_tracker.simulation_start_time_step + start
        self.env.episode_time_steps = [(first, first + hours)]
        # CityLearn draws the drift from its seed plus the number of the episode: with the number
        # always zero, a seed repeats a run.
        self.env.episode_tracker.reset_episode_index()
        observations, _ = self.env.reset(seed=seed)
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

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, float]:
        """Take one step.

        Args:
            actions: within `action_low` and `action_high`, shape (actions,).

        Returns:
            The next raw observation, shape (observations,), and the reward; see `with_reward`.
        """
        step, row = self.step_index, self.row
        observations, rewards, terminated, _, _ = self.env.step([actions.tolist()])
        for i in self._ends.get(row, ()):
            self._missing[i] = self._missing_kwh(i, step)
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
        return float(sum(self._missing[i] for i in self._ends.get(row, ())))

    def run(self) -> Run:
        """The steps taken since `begin`."""
        taken = self.step_index
        buildings = self.env.buildings
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
            off_grid=np.array([b.power_outage_signal[:taken] > 0.0 for b in buildings]),
        )

    def uncontrolled_actions(self) -> np.ndarray:
        """Actions of the uncontrolled site: storage idle, vehicles at full power until they are as full as required.

        Returns:
            Shape (actions,).
        """
        actions = np.clip(np.zeros_like(self.action_low), self.action_low, self.action_high)
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
            actions[index] = min(1.0, missing_kwh / efficiency / charger.max_charging_power)
        return actions

    def citylearn_ratios(self) -> dict[str, float]:
        """CityLearn's own district-level ratios of control to its baseline, by the names of `evaluate()`.

        They are computed from CityLearn's series of the hours taken. Its own `evaluate()` would count one hour more for the
        baseline than for the control, as the buildings have advanced after the last step here.
        """
        from citylearn.building import DynamicsBuilding

        taken, buildings, series = self.step_index, self.env.buildings, self.exogenous
        hours = slice(self._start, self._start + taken)
        return district_ratios(
            np.array([b.net_electricity_consumption[:taken] for b in buildings], dtype=np.float64),
            np.array(
                [
                    (
                        b.net_electricity_consumption_without_storage_and_partial_load
                        if isinstance(b, DynamicsBuilding)
                        else b.net_electricity_consumption_without_storage
                    )[:taken]
                    for b in buildings
                ],
                dtype=np.float64,
            ),
            series.price[:, hours],
            series.carbon[:, hours],
        )

    # -- the year ----------------------------------------------------------------------------

    @cached_property
    def charger_actions(self) -> list[tuple[int, Any]]:
        """Index of the action and the charger, for every charger that has one."""
        by_name: dict[str, list[Any]] = {}
        for charger in self.chargers:
            by_name.setdefault(f"electric_vehicle_storage_{charger.charger_id}", []).append(charger)
        # Two buildings may use one charger id; actions and chargers come in the same order.
        return [(i, by_name[name].pop(0)) for i, name in enumerate(self.action_names) if by_name.get(name)]

    def _missing_kwh(self, i: int, step: int) -> float:
        """Energy that the vehicle of a session lacks after a step, its last; zero where the session does not count."""
        if not self._counted[i]:
            return 0.0
        soc = float(self.env.electric_vehicles[self.sessions.vehicle[i]].battery.soc[step])
        short = float(self.sessions.required_soc[i]) - soc
        return short * float(self.sessions.capacity_kwh[i]) if short > MET_TOLERANCE else 0.0

    def _observe_after_last_step(self) -> Sequence[Sequence[float]]:
        """The observation that follows the last step.

        CityLearn does not advance buildings and vehicles then, and repeats the observation before. A learner would bootstrap
        from it as if it were the last state. This takes the steps of `CityLearnRuntimeService.next_time_step` instead.
        """
        env = self.env
        for device in (*env.buildings, *env.electric_vehicles):
            device.next_time_step()
        env.associate_chargers_to_electric_vehicles()
        env._observations_cache = None
        observations: Sequence[Sequence[float]] = env.observations
        return observations


@contextmanager
def _quick_time_bounds() -> Iterator[None]:
    """Let CityLearn skip the search for the upper bounds of vehicles' countdowns while it builds an environment.

    The search goes through the series of all chargers for each charger, so its time grows with their square: a site with 128
    is built 5.7 times faster without it. `envs.citylearn_backend.layout` sets these bounds from the sessions.
    """
    from citylearn.building import Building

    search = Building._ev_time_observation_high_limit
    Building._ev_time_observation_high_limit = lambda building, key: 24.0
    try:
        yield
    finally:
        Building._ev_time_observation_high_limit = search


def _skip_charger_feedback(env: Any) -> None:
    """Keep CityLearn from recording, at every step and charger, how the requested power was met.

    The record took two fifths of the time of a step in a profile with 128 sockets, and only CityLearn's entity interface reads
    it. This replaces two recorders of `BuildingOpsService` that write nothing else.
    """
    for building in env.buildings:
        building._ops_service._record_charger_action_feedback = _nothing
        building._ops_service._record_charger_post_apply_feedback = _nothing


def _total(rewards: Sequence[Any]) -> float:
    """Sum of rewards. With a reward function for each building, CityLearn gives a list for each."""
    return float(sum(value for entry in rewards for value in (entry if isinstance(entry, list) else (entry,))))


def _nothing(*_: Any) -> None:
    pass


def _by_row(rows: np.ndarray) -> dict[int, np.ndarray]:
    """Indices of the elements that have each row."""
    order = np.argsort(rows, kind="stable")
    distinct, first = np.unique(rows[order], return_index=True)
    return dict(zip(distinct.tolist(), np.split(order, first[1:]), strict=True)) if len(rows) else {}
