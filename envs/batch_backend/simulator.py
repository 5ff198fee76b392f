"""Steps many copies of a scenario at once, over any number of its years."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from common.generators import check_twister
from envs.batch_backend import compiling, kernel, records
from envs.batch_backend.dynamics import Dynamics
from envs.batch_backend.occupants import Occupants
from envs.batch_backend.tables import Tables, Year, allocate, row_arrays, serving_actions, site_arrays
from envs.current_hour import SiteState, scaled
from envs.objective.reference import Reference, first_soc
from envs.objective.reward import TERMS
from envs.objective.series import Run
from envs.objective.weights import DEFAULT, Weights
from envs.observation import ObservationLayout
from envs.scenarios.scenario import Window

_COMFORT = [*TERMS].index("comfort")


class BatchSimulator:
    """Steps copies of a scenario with CityLearn's numbers; see `envs.batch_backend.kernel`.

    A copy can be anywhere in any of the years. Without a layout the observation is CityLearn's raw one. `record` keeps the
    energy that each session lacked, of runs of so many hours at most; 0 keeps none. Vehicles that are away are stepped where
    the data do not give the charge of every arrival, their drift drawn as CityLearn draws it. Else it would change nothing, and
    take as long as all the rest.

    Of the last step are `observation`, shape (copies, observations), `terms` of the reward, shape (copies, 7), and
    `comfort_parts`, the buildings' parts of the term comfort, shape (copies, N).
    """

    def __init__(
        self,
        years: dict[int, Year],
        copies: int,
        layout: ObservationLayout | None = None,
        record: int = 0,
        weights: Weights = DEFAULT,
    ) -> None:
        compiling.ready()
        tables = [year.tables for year in years.values()]
        self._years, self.copies = years, copies
        self.first = tables[0]  # of the first year; others have the same site
        self._offset = dict(zip(years, np.cumsum([0, *(len(t.exogenous.hour) for t in tables)]).tolist(), strict=False))
        self._required, self._countdown = (
            np.concatenate([t.rows[name] for t in tables]) for name in ("required_soc", "countdown")
        )
        self._hour_of_day = np.concatenate([t.exogenous.hour for t in tables])
        self._comfort = np.concatenate([t.rows["comfort"] for t in tables])
        self.site = site_arrays(list(years.values()), layout, weights)
        self._rows = row_arrays(tuple(years.values()))
        self.state, self.out = allocate(self.site, self._rows, copies, record)
        self._dynamics, self._occupants = Dynamics(tables, copies), Occupants(tables, copies, layout)
        self.comfort_parts = np.zeros((copies, len(self.site.building)))
        # Degrees of the uncontrolled site, see `compare_with`, shape (copies, N, hours).
        self._uncomfortable: np.ndarray | None = None
        self._most_hours = record or len(self._rows.hour)
        self.observation, self.terms = self.out.observation, self.out.terms
        self._least_efficiency = self.site.battery_curve[:, records.EFFICIENCY_CURVE, 1].min(axis=1)
        self._everyone = np.arange(copies)
        self.step_hours = 1.0 / tables[0].exogenous.steps_per_hour

    @property
    def actions(self) -> int:
        """Number of actions."""
        return len(self.site.action)

    @property
    def net_buildings(self) -> int:
        """Number of buildings; each has its own meter."""
        return len(self.site.building)

    @property
    def follows_parked(self) -> bool:
        """Whether vehicles that are away are stepped too."""
        return len(self._rows.event) > 0

    @property
    def row(self) -> np.ndarray:
        """Row that the next step of each copy covers, among the rows of all years; shape (copies,)."""
        return np.asarray(self.state.copy["start"] + self.state.copy["step"])

    @property
    def uncontrolled_net_kwh(self) -> np.ndarray:
        """Net import of the uncontrolled site in the hour that the next step of each copy covers, shape (copies,)."""
        return np.asarray(self._rows.hour["net"][self.row])

    @property
    def is_dear(self) -> np.ndarray:
        """Whether imports cost more in that hour than in others, see `Reference.dear`; shape (copies,)."""
        return np.asarray(self._dear[self.row])

    @cached_property
    def _dear(self) -> np.ndarray:
        return np.concatenate([self.reference(year).dear for year in self._years])

    @property
    def action_range(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest value of each action in CityLearn, both of shape (actions,)."""
        low = self.site.action["low"]
        return low, low + self.site.action["span"]

    @property
    def battery_actions(self) -> np.ndarray:
        """Indices of the actions of stationary batteries."""
        actions = self.site.building["battery_action"]
        return np.asarray(actions[actions >= 0])

    @property
    def battery_step_kwh(self) -> float:
        """What these batteries take in a step at their nominal power."""
        nominal_power = self.site.battery["nominal_power"][: self.net_buildings]
        return float(nominal_power[self.site.building["battery_action"] >= 0].sum()) * self.step_hours

    @property
    def hour_of_day(self) -> np.ndarray:
        """That hour, 0 to 23, shape (copies,)."""
        return np.asarray(self._hour_of_day[self.row])

    def reference(self, year: int) -> Reference:
        """Uncontrolled run of a year that was opened with one."""
        reference = self._years[year].reference
        assert reference is not None
        return reference

    def tables(self, year: int) -> Tables:
        """Tables of a year."""
        return self._years[year].tables

    def begin(self, copy: int, year: int, start: int, hours: int, seed: int, charge: float = 0.0) -> None:
        """Start a run of one copy at row `start` of a year; see `CityLearnSimulator.begin`."""
        if hours > self._most_hours:
            raise ValueError(f"a run of {hours} hours, where {self._most_hours} are recorded")
        tables = self._years[year].tables
        soc = tables.initial_soc.copy()
        soc[: self.net_buildings] = 1.0 - tables.depth_of_discharge * (1.0 - charge)
        soc = np.maximum(soc, self.site.battery["minimum_soc"])
        plugged = self.plugged(self._offset[year] + start)[0]
        given = plugged[~np.isnan(plugged["first"])]
        soc[self.net_buildings + given["vehicle"]] = given["first"]
        for vehicle, brought in first_soc(tables.sessions, start, self._years[year].reference).items():
            soc[self.net_buildings + vehicle] = brought
        state, first = self.state, self._offset[year]
        record = state.copy[copy]
        record["start"], record["hours"] = first + start, hours
        kernel.seed_generator(state.key[copy], seed)
        record["position"], record["has_spare"] = state.key.shape[1], 0
        copies, first_row = np.array([copy]), np.array([first])
        kernel.begin(self.site, self._rows, state, self.out, copies, first_row, soc[np.newaxis], tables.initial_tank)
        self._dynamics.begin(copies)
        self._occupants.begin(copies, seed)

    def step(self, actions: np.ndarray, which: np.ndarray | None = None) -> None:
        """Take a step, all copies or those of the indices `which`; actions within [-1, 1], shape (copies, actions)."""
        # One type, as each would be compiled by itself.
        given = np.ascontiguousarray(actions, dtype=np.float64)
        copies = self._everyone if which is None else which
        rows, steps = self.row[copies], self.state.copy["step"][copies].copy()
        kernel.step(self.site, self._rows, self.state, self.out, given, copies)
        if self._dynamics:
            self._dynamics.step(self.state.copy, self.state.tank, copies)
            self._occupants.step(self.state.copy, self._dynamics.indoor, self.observation, copies)
            self._rate_comfort(copies, rows, steps)

    def compare_with(self, windows: Sequence[Window], alone: Sequence[Run]) -> None:
        """Rate comfort from now on by these runs of the uncontrolled site; each copy runs the window of its own."""
        if not self._dynamics:
            return
        self._uncomfortable = np.zeros((*self.comfort_parts.shape, max(window.hours for window in windows)))
        for unmet, window, run in zip(self._uncomfortable, windows, alone, strict=True):
            unmet[:, : window.hours] = self._years[window.year].tables.exogenous.unmet_c(run.indoor_c, window.rows)

    def _rate_comfort(self, copies: np.ndarray, rows: np.ndarray, steps: np.ndarray) -> None:
        """Set the term comfort of `envs.objective.reward.improvement_terms`, of copies that took a step at rows."""
        indoor = np.full((self.net_buildings, len(copies)), np.nan)
        for n, values in self._dynamics.indoor.items():
            indoor[n] = values[copies]
        for reward, (number, year) in zip(self.site.reward, self._years.items(), strict=True):
            first = self._offset[number]
            here = np.flatnonzero((rows >= first) & (rows < first + len(year.tables.exogenous.hour)))
            if year.reference is None or not reward["mean"][_COMFORT]:
                continue
            if self._uncomfortable is None:
                before = year.reference.unmet_c(rows[here] - first, steps[here])
            else:
                before = self._uncomfortable[copies[here], :, steps[here]].T
            now = year.tables.exogenous.unmet_c(indoor[:, here], rows[here] - first)
            worth = reward["weight"][_COMFORT] / reward["mean"][_COMFORT]
            self.comfort_parts[copies[here]] = worth * (before - now).T
            self.terms[copies[here], _COMFORT] = self.comfort_parts[copies[here]].sum(axis=1)

    def get_state(self) -> dict[str, np.ndarray]:
        """Copies of all that actions change and later steps depend on, by name."""
        return {name: array.copy() for name, array in self._remembered()}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state of `get_state`; a `ValueError` if it is of other copies or another site, or impossible."""
        for name, array in self._remembered():
            if state[name].shape != array.shape or state[name].dtype != array.dtype:
                raise ValueError(f"a state of {name} {state[name].shape} does not fit {array.shape}: it is of another site")
        self._check_places(state)
        for name, array in self._remembered():
            array[...] = state[name]

    def _check_places(self, state: dict[str, np.ndarray]) -> None:
        """Refuse places outside the arrays, and levels that are no numbers: the kernel does not look before it reads there."""
        copy = state["copy"]
        ends = np.array([*self._offset.values(), len(self._rows.hour) - 1])
        # Each within one year, compared by differences: a sum of great numbers would wrap around.
        year = np.searchsorted(ends, copy["start"], side="right").clip(1, len(ends) - 1)
        inside = (copy["start"] >= 0) & (copy["hours"] > 0) & (copy["hours"] < ends[year] - copy["start"])
        inside &= (copy["step"] >= 0) & (copy["step"] <= copy["hours"]) & (copy["hours"] <= self._most_hours)
        inside &= self._cycles_inside(state["run"], copy)
        check_twister(state["key"], copy["position"])
        levels = (state[name] for name in ("soc", "previous_soc", "degraded"))
        if not inside.all() or not all(np.isfinite(level).all() for level in levels):
            raise ValueError("a state lies outside the rows of the site")

    def _cycles_inside(self, run: np.ndarray, copy: np.ndarray) -> np.ndarray:
        """Whether the appliances of each copy are at cycles and hours that there are, shape (copies,)."""
        appliance, cycle = self.site.appliance, self.site.cycle
        if not len(appliance):
            return np.ones(len(copy), dtype=bool)
        # The first hour of each cycle; `next`, `current` and `missed` are always one of these.
        first = np.union1d(np.flatnonzero(np.diff(cycle["earliest"], prepend=-1)), [appliance["first"], appliance["end"]])
        now = (copy["start"] + copy["step"])[:, np.newaxis] + appliance["offset"]
        runs = run["current"] >= 0
        left = now - run["started"]
        inside = np.isin(run["next"], first) & (run["next"] >= appliance["first"]) & (run["next"] <= appliance["end"])
        for place in ("current", "missed"):
            inside &= (run[place] == -1) | (
                np.isin(run[place], first) & (run[place] >= appliance["first"]) & (run[place] < appliance["end"])
            )
        steps = cycle["steps"][np.where(runs, np.clip(run["current"], 0, len(cycle) - 1), 0)]
        inside &= ~runs | ((left >= 0) & (left <= steps))
        return np.asarray(inside.all(axis=1))

    def _remembered(self) -> Iterator[tuple[str, np.ndarray]]:
        for part in (self.state, self.out):
            for name, array in zip(part._fields, part, strict=True):
                # These hold intermediate results only.
                if name not in ("lane", "granted"):
                    yield name, array
        yield from self._dynamics.remembered()
        yield from self._occupants.remembered()

    def comfort(self, rows: np.ndarray) -> np.ndarray:
        """`COMFORT` of each building in the hour that the last step covered, of rows of shape (copies,); (copies, N)."""
        series = self._comfort[rows]
        for n, indoor in self._dynamics.indoor.items():
            series["indoor"][:, n] = indoor
        for n, points in self._occupants.set_points.items():
            series["cooling"][:, n], series["heating"][:, n] = points.T
        return series

    def plugged(self, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Vehicles plugged in at a row: `records.PLUGGED`, required state of charge, hours to departure; shape (vehicles,)."""
        here = slice(self._rows.hour["first_plugged"][row], self._rows.hour["first_plugged"][row + 1])
        return self._rows.plugged[here], self._required[here], self._countdown[here]

    @property
    def commanded_kwh(self) -> np.ndarray:
        """Energy that the last step commanded each charger to take; shape (copies, chargers)."""
        charger = self.site.charger
        wish = np.where(charger["action"] >= 0, self.state.granted[:, charger["action"]], 0.0)
        side = np.where(wish > 0.0, "charge", "discharge")
        greatest, least = (
            np.where(side == "charge", charger[f"charge_{end}"], charger[f"discharge_{end}"]) for end in ("max", "min")
        )
        power = np.abs(wish) * greatest
        given = np.where(power < np.minimum(least, greatest), 0.0, np.sign(wish) * power) * self.step_hours
        return given.astype(np.float32)

    def uncontrolled_actions(self) -> np.ndarray:
        """Actions of the uncontrolled site, within [-1, 1], shape (copies, actions); see `CityLearnSimulator`."""
        site, state = self.site, self.state
        low, high = self.action_range
        actions = np.clip(serving_actions(site.thermal, self._rows.meter[self.row], self.actions), low, high)
        for b, row in enumerate(self.row):
            plugged, required, _ = self.plugged(row)
            charger, k = site.charger[plugged["charger"]], self.net_buildings + plugged["vehicle"]
            missing = np.maximum(0.0, required.astype(np.float64) - state.soc[b, k]) * site.battery["capacity"][k]
            taken = missing / (charger["efficiency"] * np.sqrt(self._least_efficiency[k]))
            wish = np.minimum(1.0, taken / (charger["charge_max"] * self.step_hours))
            can = charger["action"] >= 0
            actions[b, charger["action"][can]] = wish[can]
        return scaled(actions, low, high)

    def site_state(self, copy: int) -> SiteState | None:
        """State of a copy before its next step; None at the end of its window."""
        record, soc = self.state.copy[copy], self.state.soc[copy].astype(np.float64)
        if record["step"] == record["hours"]:
            return None
        year, first = max((pair for pair in self._offset.items() if pair[1] <= record["start"]), key=lambda pair: pair[1])
        return SiteState(
            Window(year, int(record["start"]) - first, int(record["hours"])),
            int(record["start"] + record["step"]) - first,
            soc[: self.net_buildings],
            self.state.tank[copy]["soc"].astype(np.float64),
            soc[self.net_buildings :],
            None if np.isnan(record["net"]) else float(record["net"]),
            (float(record["peak"][0]), float(record["peak"][1])),
            float(self.state.day[copy]["peak"]),
            *self._rooms_before(copy),
        )

    def _rooms_before(self, copy: int) -> tuple[np.ndarray, np.ndarray]:
        """Temperatures and deliveries of the hour before, see `SiteState`."""
        if not self._dynamics:
            return np.zeros(0), np.zeros((0, 3))
        indoor = np.full(self.net_buildings, np.nan)
        for n, values in self._dynamics.indoor.items() if self.state.copy[copy]["step"] else ():
            indoor[n] = values[copy]
        return indoor, self.delivered_kwh[copy]

    @property
    def delivered_kwh(self) -> np.ndarray:
        """Cold, heat and hot water that devices and tanks delivered in the last step, shape (copies, N, 3)."""
        tank = self.state.tank
        return np.asarray(tank["given"].astype(np.float64) + np.maximum(-tank["balance"], 0.0))

    def vehicle_soc(self, copy: int) -> np.ndarray:
        """State of charge of each vehicle before the next step, shape (vehicles,)."""
        return np.asarray(self.state.soc[copy, self.net_buildings :])

    def meters(self, copy: int, hours: int) -> np.ndarray:
        """`records.METER` of each building in the first hours of a copy's episode, shape (hours, N)."""
        start = self.state.copy["start"][copy]
        return np.asarray(self._rows.meter[start : start + hours])

    def of_sessions(self, copy: int, year: int) -> tuple[np.ndarray, np.ndarray]:
        """See `Run`: energy missing and owed of each session of a year [kWh], each of shape (sessions,); see `record`."""
        ends = self._years[year].tables.sessions.end
        first = np.searchsorted(ends, self.state.copy["start"][copy] - self._offset[year])
        missing, owed = np.zeros((2, len(ends)))
        for whole, recorded in ((missing, self.out.session_missing[copy]), (owed, self.out.session_owed[copy])):
            whole[first : first + len(recorded)] = recorded[: len(ends) - first]
        return missing, owed


class Recorder:
    """Collects what `Run`s of all copies hold, step by step."""

    def __init__(self, simulator: BatchSimulator, steps: int) -> None:
        self._simulator = simulator
        building = simulator.site.building
        self._is_thermal = bool((building["thermal"] | building["outages"]).any())
        self._is_computed = building["lookback"] > 0  # whether a model computes a building's temperature, shape (N,)
        self._added = 0
        copies, buildings, values = simulator.out.energy.shape
        self._energy = np.empty((copies, buildings, steps, values))  # `records.Out.energy`
        # `records.TANK`, where there are thermal devices or outages
        tank = simulator.state.tank
        self._tank = np.empty((copies, buildings, steps * self._is_thermal, *tank.shape[2:]), tank.dtype)
        # Temperature where one is computed, else NaN [C].
        self._indoor = np.full((copies, buildings, steps), np.nan)

    def add(self) -> None:
        """Record the last step."""
        simulator, step = self._simulator, self._added
        self._energy[:, :, step] = simulator.out.energy
        if self._is_thermal:
            self._tank[:, :, step] = simulator.state.tank
        if self._is_computed.any():
            self._indoor[:, self._is_computed, step] = simulator.comfort(simulator.row - 1)["indoor"][:, self._is_computed]
        self._added += 1

    def run(self, copy: int, year: int, hours: int) -> Run:
        """The first `hours` steps of a copy that ran in a year."""
        simulator = self._simulator
        # (buildings, hours) each.
        net, battery, charging, load, _ = np.moveaxis(self._energy[copy, :, :hours], -1, 0)
        off_grid = simulator.meters(copy, hours)["off_grid"].T > 0
        baseline, (asked, unserved) = net - battery - charging, np.zeros((2, *net.shape))
        if self._is_thermal:
            tank = self._tank[copy, :, :hours]  # (buildings, hours, 3)
            meter = simulator.meters(copy, hours + 1).T  # (buildings, hours + 1)
            baseline = baseline - self._shifted(tank, meter)
            wanted = tank["demand"].sum(axis=-1, dtype=np.float64) + meter["load"][:, :-1]
            given = (tank["given"] + np.maximum(-tank["balance"], 0.0)).sum(axis=-1, dtype=np.float64) + load
            asked[off_grid], unserved[off_grid] = wanted[off_grid], np.maximum(wanted - given, 0.0)[off_grid]
        sessions = simulator.of_sessions(copy, year)
        return Run(net, battery, charging, *sessions, off_grid, baseline, self._indoor[copy, :, :hours], asked, unserved)

    def _shifted(self, tank: np.ndarray, meter: np.ndarray) -> np.ndarray:
        """What tanks took, less what devices were let off [kWh of electricity], shape (buildings, hours), as in CityLearn.

        CityLearn takes heat that was let off at the efficiency after the run, and an electric heater's at that of hot water.
        """
        efficiency = meter["cop"][:, :-1]
        shifted = (tank["balance"] / efficiency).sum(axis=-1)
        let_off = np.where(self._is_computed[:, np.newaxis, np.newaxis], meter["demand"][:, :-1] - tank["demand"], 0.0)
        cold, heat = let_off[..., records.COOLING], let_off[..., records.HEATING]
        is_heater = self._simulator.site.thermal["device_wide"][:, records.HEATING] > 0
        of_heat = np.where(is_heater, meter["cop"][:, -1, records.DHW], meter["cop"][:, -1, records.HEATING])
        return np.asarray(shifted - cold / efficiency[..., records.COOLING] - heat / of_heat[:, np.newaxis])
