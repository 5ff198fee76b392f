"""A run over a scenario year as arrays: the common language of backends, reward and KPIs."""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np


class DayPeak:
    """Highest import of the running day, step by step [kWh of a step, which is kW where it is an hour]."""

    def __init__(self) -> None:
        """Begin without a day."""
        self._day: int | None = None
        self.kw = 0.0

    def enter(self, day: int) -> None:
        """Set the day of the next hour; a new day starts from zero."""
        if day != self._day:
            self._day, self.kw = day, 0.0

    def add(self, import_kwh: float) -> float:
        """Count a step's net import; by how much it raised the day's highest. The rises of a day add up to that."""
        before = self.kw
        self.kw = max(self.kw, import_kwh)
        return self.kw - before


def days(hour: np.ndarray) -> np.ndarray:
    """Number of each row's day from 0, shape (rows,); a day begins where the hour of the day starts again."""
    return np.concatenate([[0], np.cumsum(np.diff(hour) < 0)]).astype(np.int64)


def day_peak_rises(day: np.ndarray, net_kwh: np.ndarray) -> np.ndarray:
    """By how much each step of a run raises its day's highest import [kWh of a step], shape (hours,), without earlier ones."""
    drawn, rises = np.maximum(net_kwh, 0.0, dtype=np.float64), np.zeros(len(net_kwh))
    # As `DayPeak` hour by hour, of a day at once.
    for steps in np.split(np.arange(len(rises)), np.flatnonzero(np.diff(day)) + 1):
        rises[steps] = np.diff(np.maximum.accumulate(drawn[steps]), prepend=0.0)
    return rises


MET_TOLERANCE = 1e-3  # state of charge; float32 and rounding must not turn a met departure into a missed one


@dataclass(frozen=True)
class Exogenous:
    """Series that no action can change, for all rows of a year."""

    month: np.ndarray  # 1-12, shape (rows,)
    hour: np.ndarray  # of the day 0-23, the hour that a row covers, shape (rows,)
    load_kwh: np.ndarray  # consumption before batteries and vehicles, shape (buildings, rows)
    pv_kwh: np.ndarray  # PV generation, shape (buildings, rows)
    price: np.ndarray  # of energy [currency/kWh], shape (buildings, rows)
    carbon: np.ndarray  # carbon intensity [kg CO2/kWh], shape (buildings, rows)
    battery_capacity_kwh: float  # of all stationary batteries together
    steps_per_hour: int = 1  # rows of an hour; all energies are those of a row
    other_devices: bool = False  # whether devices without a series here take energy, such as heat pumps and appliances
    vehicles_give: bool = False  # whether chargers can take energy from vehicles
    # What people want, each of shape (buildings, rows); empty where no building computes its temperature.
    cool_above_c: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # set point of cooling
    heat_below_c: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # set point of heating
    band_c: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # by which it may be beyond a set point
    occupants: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # people in the building
    given_c: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # temperature of the data
    # Hours of a run before a building's model has its inputs; until then the temperature is that of the data. (buildings,)
    warm_up: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @cached_property
    def occupied(self) -> np.ndarray:
        """Whether people are in a building whose temperature is computed, shape (buildings, rows)."""
        if not len(self.warm_up):
            return np.zeros(self.load_kwh.shape, dtype=bool)
        return (self.occupants > 0.0) & (self.warm_up > 0.0)[:, np.newaxis]

    @cached_property
    def day(self) -> np.ndarray:
        """Number of each row's day, see `envs.objective.series.days`, shape (rows,)."""
        return days(self.hour)

    def unmet_c(self, indoor_c: np.ndarray, rows: np.ndarray | slice) -> np.ndarray:
        """Degrees by which temperatures at rows, shape (buildings, hours), lie outside the comfort band; the same shape.

        0 where it is not `occupied`.
        """
        if not len(self.band_c):
            return np.zeros_like(indoor_c)
        beyond = np.maximum(indoor_c - self.cool_above_c[:, rows], self.heat_below_c[:, rows] - indoor_c)
        unmet = np.maximum(beyond - self.band_c[:, rows], 0.0)
        return np.where(self.occupied[:, rows], unmet, 0.0)


@dataclass(frozen=True)
class Sessions:
    """Charging sessions of a year, one element per session, in order of their last row.

    One that the data cut off ends with their last row. That is no step, so it never counts as a departure.
    """

    charger: np.ndarray  # index of the charger, shape (sessions,)
    building: np.ndarray  # index of its building, shape (sessions,)
    gives: np.ndarray  # whether the charger can take energy from the vehicle, shape (sessions,)
    vehicle: np.ndarray  # index of the vehicle, shape (sessions,)
    start: np.ndarray  # first row plugged in, shape (sessions,)
    end: np.ndarray  # last row plugged in; the vehicle leaves after this row's step, shape (sessions,)
    arrival_soc: np.ndarray  # state of charge on arrival [-], shape (sessions,)
    required_soc: np.ndarray  # required state of charge at departure [-], shape (sessions,)
    capacity_kwh: np.ndarray  # of the vehicle's battery, shape (sessions,)
    efficiency: np.ndarray  # best one of charger and battery together, shape (sessions,)

    @cached_property
    def required_kwh(self) -> np.ndarray:
        """Energy that each session requires, shape (sessions,)."""
        return np.maximum(self.required_soc - self.arrival_soc, 0.0) * self.capacity_kwh

    @cached_property
    def offset(self) -> np.ndarray:
        """Where each session's hours begin among the hours of all, as in `Reference.held_soc`, shape (sessions,)."""
        hours = self.end - self.start + 1
        return np.cumsum(hours) - hours

    def there(self, row: int) -> np.ndarray:
        """Indices of the sessions whose vehicle is plugged in at a row."""
        near = self.near(row)
        return near[self.start[near] <= row]

    def near(self, row: int, hours: int = 1) -> np.ndarray:
        """Indices of the sessions of whom some are there at a row or in the hours after it: those that end soon enough."""
        return np.arange(*np.searchsorted(self.end, [row, row + hours + self.longest + 1]))

    @cached_property
    def longest(self) -> int:
        """Hours from the first row of the longest session to its last."""
        return int((self.end - self.start).max(initial=0))

    def within(self, start: int, hours: int) -> np.ndarray:
        """Whose vehicle leaves within a window, shape (sessions,): one of windows that follow each other."""
        leaves = np.zeros(len(self.end), bool)
        leaves[slice(*np.searchsorted(self.end, [start, start + hours]))] = True
        return leaves


class HeldSoc:
    """Collects the state of charge of each session's vehicle ahead of each of its hours: `Reference.held_soc`."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self.soc = np.full(int((sessions.end - sessions.start + 1).sum()), np.nan, np.float32)

    def add(self, row: int, vehicle_soc: np.ndarray) -> None:
        """Note the states ahead of the step at a row, shape (vehicles,)."""
        there = self._sessions.there(row)
        self.soc[self._sessions.offset[there] + row - self._sessions.start[there]] = vehicle_soc[self._sessions.vehicle[there]]


@dataclass(frozen=True)
class Run:
    """One policy's run over consecutive hours."""

    net_kwh: np.ndarray  # import less export of each building, shape (buildings, hours)
    battery_kwh: np.ndarray  # what stationary batteries took (positive) or gave, shape (buildings, hours)
    charging_kwh: np.ndarray  # what the chargers took, shape (buildings, hours)
    # energy that the vehicle of each session lacked when it left, shape (sessions,); zero for sessions that did not end in
    # this run
    missing_kwh: np.ndarray
    # what the site has to draw for what it brought and is without when it leaves, or, where it stays, for what the
    # uncontrolled run has given it and this one has not when the run ends; shape (sessions,)
    owed_kwh: np.ndarray
    off_grid: np.ndarray  # hours of a power outage, in which a building draws and feeds nothing, shape (buildings, hours)
    # net import as CityLearn's ratios compare it with: without what storages and chargers took, and with thermal devices as
    # the building's own controller has them, shape (buildings, hours)
    baseline_kwh: np.ndarray
    indoor_c: np.ndarray  # temperature, NaN where it is not computed, shape (buildings, hours)
    # load and heat that were asked for in an outage, and what of it was not delivered; 0 in other hours, (buildings, hours)
    asked_kwh: np.ndarray
    unserved_kwh: np.ndarray


HOURLY = tuple(entry.name for entry in fields(Run) if entry.name not in ("missing_kwh", "owed_kwh"))


def cut(run: Run, start: int, hours: int) -> Run:
    """Some hours of a run."""
    return replace(run, **{name: getattr(run, name)[:, start : start + hours] for name in HOURLY})


def import_kwh(net_kwh: np.ndarray) -> np.ndarray:
    """Energy drawn from the grid; every building has a meter of its own. Same shape as `net_kwh`."""
    return np.maximum(net_kwh, 0.0)


def export_kwh(net_kwh: np.ndarray) -> np.ndarray:
    """Energy fed into the grid. Same shape as `net_kwh`."""
    return np.maximum(-net_kwh, 0.0)


def solar_use_kwh(net_kwh: np.ndarray, pv_kwh: np.ndarray) -> np.ndarray:
    """PV generation that is not exported in the same hour. Same shape as the arguments."""
    return np.maximum(pv_kwh - export_kwh(net_kwh), 0.0)
