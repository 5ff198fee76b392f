"""Many copies of a scenario at once, over as many of its years as one likes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from envs.batch_backend import kernel, records
from envs.batch_backend.tables import Tables
from envs.current_hour import scaled
from envs.errors import ScenarioError
from envs.objective.reference import Reference
from envs.objective.reward import WEIGHTS
from envs.objective.series import MET_TOLERANCE, Run
from envs.observation import ObservationLayout
from envs.scenarios.tariff import DemandCharge


@dataclass(frozen=True)
class Year:
    """One year of a batch.

    Attributes:
        tables: the year.
        tariff: its demand charge; None where there is none.
        reference: its uncontrolled run; without it the terms of the reward mean nothing.
        template: its observations with what depends on actions left out, shape (rows, observations), float32; scaled, if
            the batch has a layout.
    """

    tables: Tables
    template: np.ndarray
    tariff: DemandCharge | None = None
    reference: Reference | None = None


class BatchSimulator:
    """Steps copies of a scenario with CityLearn's numbers; see `envs.batch_backend.kernel`.

    Args:
        years: by year number; a copy can be anywhere in any of them.
        copies: how many.
        layout: scales the observation; None gives CityLearn's raw one.
        record: whether to keep what each session lacked, for `missing_kwh`.
        parked: whether vehicles that are away are followed too, their drift drawn as CityLearn draws it. It costs as much
            as all else together and changes nothing else where the data give the state of charge of every arrival,
            so it is done then only if asked for.

    Attributes:
        copies: how many.
        observation: of each copy after its last step or `begin`, shape (copies, observations); written anew by each.
        terms: terms of the reward of the last step, in the order of `envs.objective.reward.WEIGHTS`, shape (copies, 5).
        out, state, site: arrays of the last step, of the copies and of the site, see `envs.batch_backend.kernel`.
        comfort: what rewards for thermal comfort look at, `envs.batch_backend.tables.COMFORT`, shape (rows, buildings).
    """

    def __init__(
        self,
        years: dict[int, Year],
        copies: int,
        layout: ObservationLayout | None = None,
        record: bool = False,
        parked: bool = False,
    ) -> None:
        tables = [year.tables for year in years.values()]
        self._years, self.copies = years, copies
        self._first = tables[0]
        lengths, sessions = [len(t.exogenous.hour) for t in tables], [len(t.sessions.end) for t in tables]
        self._offset = dict(zip(years, np.cumsum([0, *lengths]).tolist(), strict=False))
        self._first_session = dict(zip(years, np.cumsum([0, *sessions]).tolist(), strict=False))
        self._required, self._countdown = (
            np.concatenate([t.rows[name] for t in tables]) for name in ("required_soc", "countdown")
        )
        self._hour_of_day = np.concatenate([t.exogenous.hour for t in tables])
        self.comfort = np.concatenate([t.rows["comfort"] for t in tables])
        self.site = _site(list(years.values()), layout)
        self._rows = _rows(list(years.values()), parked)
        self.state, self.out = _allocate(self.site, self._rows, copies, record)
        self.observation, self.terms = self.out.observation, self.out.terms
        self._least_efficiency = self.site.battery_curve[:, records.EFFICIENCY_CURVE, 1].min(axis=1)
        self._everyone = np.arange(copies)

    @property
    def actions(self) -> int:
        """Number of actions."""
        return len(self.site.action)

    @property
    def net_buildings(self) -> int:
        """Number of buildings, each of which has a meter of its own."""
        return len(self.site.building)

    @property
    def follows_parked(self) -> bool:
        """Whether vehicles that are away are followed too."""
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
        references = [year.reference for year in self._years.values()]
        return np.concatenate([reference.dear for reference in references if reference])

    @property
    def action_range(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest value of each action as CityLearn takes it, both of shape (actions,)."""
        low = self.site.action["low"]
        return low, low + self.site.action["span"]

    @property
    def battery_actions(self) -> np.ndarray:
        """Indices of the actions of stationary batteries."""
        actions = self.site.building["battery_action"]
        return np.asarray(actions[actions >= 0])

    @property
    def battery_power_kw(self) -> float:
        """Nominal power of these batteries together."""
        own = self.site.battery["nominal_power"][: self.net_buildings]
        return float(own[self.site.building["battery_action"] >= 0].sum())

    @property
    def hour_of_day(self) -> np.ndarray:
        """That hour, 0 to 23, shape (copies,)."""
        return np.asarray(self._hour_of_day[self.row])

    @property
    def reward(self) -> tuple[str, str]:
        """Class of the schema's reward function (see `envs.batch_backend.unsupported.REWARDS`), and its attributes as JSON."""
        return self._first.reward

    @property
    def initial_soc(self) -> np.ndarray:
        """State of charge of all batteries that the schema gives them at the start, shape (batteries,)."""
        return self._first.initial_soc

    def reference(self, year: int) -> Reference | None:
        """Uncontrolled run of a year."""
        return self._years[year].reference

    def begin(self, copy: int, year: int, start: int, hours: int, seed: int, charge: float = 0.0) -> None:
        """Start a run of one copy; see `CityLearnSimulator.begin`.

        Args:
            copy: which.
            year: number of the year.
            start: first row within the year.
            hours: number of steps.
            seed: of the drift of vehicles that are not plugged in.
            charge: of the stationary batteries at the start, from 0 (as empty as they may be) to 1.
        """
        tables = self._years[year].tables
        soc = tables.initial_soc.copy()
        soc[: len(tables.depth_of_discharge)] = 1.0 - tables.depth_of_discharge * (1.0 - charge)
        state, first = self.state, self._offset[year]
        own = state.copy[copy]
        own["start"], own["hours"] = first + start, hours
        kernel.seed_generator(state.key[copy], seed)
        own["position"], own["has_spare"] = state.key.shape[1], 0
        copies, first_row = np.array([copy]), np.array([first])
        kernel.begin(self.site, self._rows, state, self.out, copies, first_row, soc[np.newaxis], tables.initial_tank)

    def step(self, actions: np.ndarray, which: np.ndarray | None = None) -> None:
        """Take one step.

        Args:
            actions: within [-1, 1], which stands for CityLearn's range of each, shape (copies, actions).
            which: indices of the copies that take it; all by default.
        """
        # One type, as each would be compiled by itself.
        given = np.ascontiguousarray(actions, dtype=np.float64)
        kernel.step(self.site, self._rows, self.state, self.out, given, self._everyone if which is None else which)

    def get_state(self) -> dict[str, np.ndarray]:
        """Copies of all that later steps depend on, by name; what no action can change is not in it."""
        return {name: array.copy() for name, array in self._remembered()}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a state of `get_state`, number by number.

        Raises:
            ValueError: if the state is of other copies or of another site.
        """
        for name, array in self._remembered():
            if state[name].shape != array.shape or state[name].dtype != array.dtype:
                raise ValueError(f"a state of {name} {state[name].shape} does not fit {array.shape}: it is of another site")
        for name, array in self._remembered():
            array[...] = state[name]

    def _remembered(self) -> Iterator[tuple[str, np.ndarray]]:
        for part in (self.state, self.out):
            for name, array in zip(part._fields, part, strict=True):
                # Lanes are room to reckon in.
                if name != "lane":
                    yield name, array

    def plugged(self, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Vehicles that chargers hold in a row: `records.PLUGGED`, what they ask for, hours they stay; shape (vehicles,)."""
        here = slice(self._rows.hour["first_plugged"][row], self._rows.hour["first_plugged"][row + 1])
        return self._rows.plugged[here], self._required[here], self._countdown[here]

    def commanded_kwh(self, actions: np.ndarray) -> np.ndarray:
        """Energy that actions tell each charger to take, whether or not a vehicle is there.

        Args:
            actions: within [-1, 1], shape (copies, actions).

        Returns:
            Shape (copies, chargers), float32.
        """
        site, charger = self.site, self.site.charger
        native = site.action["low"] + (np.clip(actions, -1.0, 1.0) + 1.0) / 2.0 * site.action["span"]
        wish = np.where(charger["action"] >= 0, native[:, charger["action"]], 0.0)
        side = np.where(wish > 0.0, "charge", "discharge")
        greatest, least = (
            np.where(side == "charge", charger[f"charge_{end}"], charger[f"discharge_{end}"]) for end in ("max", "min")
        )
        power = np.abs(wish) * greatest
        return np.where(power < np.minimum(least, greatest), 0.0, np.sign(wish) * power).astype(np.float32)

    def uncontrolled_actions(self) -> np.ndarray:
        """Actions of the uncontrolled site, within [-1, 1], shape (copies, actions)."""
        return scaled(self.native_uncontrolled_actions(), *self.action_range)

    def native_uncontrolled_actions(self) -> np.ndarray:
        """The same in CityLearn's ranges, see `envs.simulator.Simulator.uncontrolled_actions`; shape (copies, actions)."""
        site, state = self.site, self.state
        low, high = self.action_range
        actions = np.tile(np.clip(0.0, low, high), (self.copies, 1))
        for b, row in enumerate(self.row):
            plugged, required, _ = self.plugged(row)
            charger, k = site.charger[plugged["charger"]], self.net_buildings + plugged["vehicle"]
            missing = np.maximum(0.0, required.astype(np.float64) - state.soc[b, k]) * site.battery["capacity"][k]
            wish = np.minimum(
                1.0, missing / (charger["efficiency"] * np.sqrt(self._least_efficiency[k])) / charger["charge_max"]
            )
            can = charger["action"] >= 0
            actions[b, charger["action"][can]] = wish[can]
        return actions

    def missing_kwh(self, copy: int, year: int) -> np.ndarray:
        """Energy that the vehicle of each session of a year lacked in this run [kWh], shape (sessions,); see `record`."""
        first = self._first_session[year]
        return self.out.session_missing[copy, first : first + len(self._years[year].tables.sessions.end)].copy()


class Recorder:
    """Collects the energies of all copies, hour by hour, and makes `Run`s of them.

    Attributes:
        hours: energies of each hour that was recorded, each as `records.Out.energy`, in float64.
    """

    def __init__(self, simulator: BatchSimulator) -> None:
        self._simulator = simulator
        self.hours: list[np.ndarray] = []

    def add(self) -> None:
        """Take in the last step."""
        self.hours.append(self._simulator.out.energy.astype(np.float64))

    def run(self, copy: int, year: int, hours: int) -> Run:
        """The first `hours` steps of a copy that ran in a year."""
        energy = np.stack([hour[copy] for hour in self.hours[:hours]], axis=1)  # (buildings, hours, 3)
        net, battery, charging = np.moveaxis(energy, -1, 0)
        return Run(net, battery, charging, self._simulator.missing_kwh(copy, year), np.zeros(net.shape, dtype=bool))


def _site(years: list[Year], layout: ObservationLayout | None) -> records.Site:
    first = years[0]
    for year in years[1:]:
        same = all(_equal(value, year.tables.site[name]) for name, value in first.tables.site.items())
        if not same or year.tables.names != first.tables.names or year.tariff != first.tariff:
            raise ScenarioError("the years of this scenario differ in their devices or tariff, so they cannot share a batch")
    # Copies: tables are shared by all simulators of a process.
    site = {name: value.copy() for name, value in first.tables.site.items()}
    return records.Site(**{**site, "observed": _observed(first, layout)}, reward=_reward(years))


def _observed(year: Year, layout: ObservationLayout | None) -> np.ndarray:
    """`observed` of `records.Site`: that of the tables, with what a layout adds and how it scales."""
    observed = year.tables.site["observed"]
    if layout is None:
        return observed
    added = layout.names[len(year.tables.names) :]
    peaks = np.zeros(len(added), dtype=records.OBSERVED)
    peaks["kind"], peaks["use"] = records.MONTH_PEAK, np.arange(len(added))
    peaks["at"] = [layout.names.index(name) for name in added]
    buildings = len(observed) - len(year.tables.site["charger"])
    observed = np.concatenate([observed[:buildings], peaks, observed[buildings:]])
    observed["centre"], observed["inverse"] = (values[observed["at"]] for values in layout.linear)
    observed["bound"] = 1.0
    return observed


def _reward(years: list[Year]) -> np.ndarray:
    """`records.REWARD` of each year."""
    record = np.zeros(len(years), dtype=records.REWARD)
    for own, year in zip(record, years, strict=True):
        if year.reference:
            own["mean"] = list(year.reference.scale.by_term().values())
        if year.tariff:
            own["demand_price"] = year.tariff.peak_price, year.tariff.off_peak_excess_price
    record["weight"], record["met_tolerance"] = list(WEIGHTS.values()), MET_TOLERANCE
    return record


def _equal(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two arrays hold the same; a tank without limits has NaNs."""
    if first.dtype.names:
        return all(_equal(first[name], second[name]) for name in first.dtype.names)
    return np.array_equal(first, second, equal_nan=first.dtype.kind == "f")


def _rows(years: list[Year], parked: bool) -> records.Rows:
    joined: dict[str, list[np.ndarray]] = {name: [] for name in records.Rows._fields}
    # Where a year's rows, vehicles and sessions begin among those of all.
    row, plugged, session = 0, 0, 0
    for index, year in enumerate(years):
        tables = year.tables
        hours = _hours(year, index, row)
        hours["first_plugged"] += plugged
        hours["first_departure"] += session
        joined["template"].append(year.template)
        joined["hour"].append(hours)
        joined["session"].append(_sessions(year, row))
        for name in ("meter", "plugged", "event"):
            joined[name].append(tables.rows[name])
        row, plugged, session = row + len(hours), plugged + len(tables.rows["plugged"]), session + len(tables.sessions.end)
    border = np.zeros(1, dtype=records.HOUR)
    border["first_plugged"], border["first_departure"] = plugged, session
    joined["hour"].append(border)
    if not parked and all(year.tables.rows["arrivals_known"] for year in years):
        joined["event"] = [years[0].tables.rows["event"][:0]]
    return records.Rows(**{name: values[0] if len(values) == 1 else np.concatenate(values) for name, values in joined.items()})


def _sessions(year: Year, first_row: int) -> np.ndarray:
    sessions = year.tables.sessions
    record = np.zeros(len(sessions.end), dtype=records.SESSION)
    record["start"], record["vehicle"] = first_row + sessions.start, sessions.vehicle
    record["required"], record["capacity"] = sessions.required_soc, sessions.capacity_kwh
    record["reference_missing"] = year.reference.run.missing_kwh if year.reference else 0.0
    return record


def _hours(year: Year, index: int, first_row: int) -> np.ndarray:
    """`records.HOUR` of a year; its firsts count from the year's own first."""
    month, hour = year.tables.exogenous.month, year.tables.exogenous.hour
    # The last row is no step, so a month's share is reckoned without it.
    borders = np.concatenate([[0], np.flatnonzero(np.diff(month[:-1])) + 1, [len(month) - 1]])
    run = np.clip(np.searchsorted(borders, np.arange(len(month)), side="right") - 1, 0, len(borders) - 2)
    record = np.zeros(len(month), dtype=records.HOUR)
    record["year"], record["month"] = index, month
    record["month_from"], record["month_to"] = first_row + borders[run], first_row + borders[run + 1]
    record["peak_hour"] = np.isin(hour, year.tariff.peak_hours if year.tariff else ())
    record["first_plugged"] = year.tables.rows["first_plugged"][:-1]
    record["at_once"] = np.where(year.tables.rows["shared"], 1, records.LANES)
    record["first_departure"] = np.searchsorted(year.tables.sessions.end, np.arange(len(month)))
    if year.reference:
        for name, values in zip(("emission", "energy_cost", "solar_use", "net"), year.reference.hourly.T, strict=True):
            record[name][:-1] = values
    return record


def _allocate(site: records.Site, rows: records.Rows, copies: int, record: bool) -> tuple[records.State, records.Out]:
    buildings, batteries = len(site.building), len(site.battery)

    def zeros(*shape: int, kind: type = np.float32) -> np.ndarray:
        return np.zeros((copies, *shape), dtype=kind)

    state = records.State(
        copy=np.zeros(copies, dtype=records.COPY),
        key=zeros(624, kind=np.uint32),
        soc=zeros(batteries),
        previous_soc=zeros(batteries),
        degraded=zeros(batteries, kind=np.float64),
        tank=np.zeros((copies, buildings, 3), dtype=records.TANK),
        lane=np.zeros(1, dtype=records.LANE),
    )
    out = records.Out(
        observation=zeros(rows.template.shape[1]),
        terms=zeros(len(WEIGHTS), kind=np.float64),
        energy=zeros(buildings, 3),
        money=zeros(buildings, 2),
        session_missing=np.zeros((copies if record else 0, len(rows.session))),
    )
    return state, out
