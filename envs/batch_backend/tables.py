"""A scenario year as arrays: the format that the batch simulator steps, and its file in the cache."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import ScenarioError
from envs.batch_backend import records
from envs.objective.reference import Reference
from envs.objective.reward import TERMS
from envs.objective.series import MET_TOLERANCE, Exogenous, Sessions
from envs.objective.weights import DEFAULT, Weights
from envs.observation import DAY_PEAK_NAME, PEAK_NAMES, ObservationLayout
from envs.scenarios.tariff import DemandCharge

_NOTHING = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True)
class Tables:
    """One scenario year; shapes as in `records.Site` and `records.Rows`, `names` as CityLearn has them."""

    names: tuple[str, ...]  # raw observations in CityLearn's order
    site: dict[str, np.ndarray]  # arrays of `records.Site` that depend on the schema alone
    # of `records.Rows` the arrays `meter`, `plugged`, `event` and, in CityLearn's units, `template`; `first_plugged`, shape
    # (R + 1,); `shared`, whether several chargers hold one vehicle, shape (R,); `required_soc` and `countdown` to the
    # departure [h] of each vehicle that is plugged in, shape (P,); `comfort`, of `COMFORT`, shape (R, N); `arrivals_known`,
    # whether there is a state of charge for every arrival
    rows: dict[str, np.ndarray]
    # of each building whose indoor temperature is computed, by its number, such as `0_series`: fields of `records.Model`, and
    # `series`, shape (R, I), see `dynamics.step`; where people change set points, such as `0_people_node`, fields of
    # `occupants.People`, and as `0_people_series` the `habit` of `occupants.step`
    dynamics: dict[str, np.ndarray]
    initial_soc: np.ndarray  # of the batteries, shape (N + V,)
    initial_tank: np.ndarray  # state of charge of the tanks, shape (N, 3)
    depth_of_discharge: np.ndarray  # of the stationary batteries, shape (N,)
    exogenous: Exogenous  # the year's series
    sessions: Sessions  # its charging sessions
    reward: tuple[str, str]  # name of the schema's reward function and its attributes as JSON, shape (2,)

    @property
    def models(self) -> dict[str, np.ndarray]:
        """The part of `dynamics` that holds for all rows."""
        return {name: values for name, values in self.dynamics.items() if not name.endswith("_series")}

    def save(self, path: Path) -> None:
        """Write a file that `load` reads; not compressed, since it is opened far more often than it is written."""
        groups: dict[str, dict[str, Any]] = {"site": self.site, "rows": self.rows, "dynamics": self.dynamics}
        groups |= {"exogenous": asdict(self.exogenous), "sessions": asdict(self.sessions)}
        flat: dict[str, Any] = {f"{group}_{name}": array for group, arrays in groups.items() for name, array in arrays.items()}
        with path.open("wb") as file:
            np.savez(file, **flat, **{name: getattr(self, name) for name in ("names", "reward", *_PLAIN)})

    @classmethod
    def load(cls, path: Path, template: bool = True) -> Tables:
        """Tables of a file that `save` wrote; without `template`, by far the most of it, no raw observations are read."""
        with np.load(path) as saved:
            flat = {name: _aligned(saved[name]) for name in saved.files if template or name != "rows_template"}

        def group(prefix: str) -> dict[str, Any]:
            return {name.removeprefix(prefix): value for name, value in flat.items() if name.startswith(prefix)}

        return cls(
            names=tuple(flat["names"].tolist()),
            site=group("site_"),
            rows=group("rows_"),
            dynamics=group("dynamics_"),
            # In the file, numbers are arrays without dimensions.
            exogenous=Exogenous(**{name: value if value.ndim else value.item() for name, value in group("exogenous_").items()}),
            sessions=Sessions(**group("sessions_")),
            reward=tuple(flat["reward"].tolist()),
            **{name: flat[name] for name in _PLAIN},
        )


def _aligned(values: np.ndarray) -> np.ndarray:
    # A file does not say that records are aligned, and numba would compile everything twice.
    kind = values.dtype
    return values.view(records.record(*((name, kind[name]) for name in kind.names))) if kind.names else values


# What CityLearn's rewards for thermal comfort look at.
COMFORT = records.record(
    ("indoor", np.float32), ("cooling", np.float32), ("heating", np.float32), ("band", np.float32), ("mode", np.int64)
)
_PLAIN = ("initial_soc", "initial_tank", "depth_of_discharge")


def serving_actions(thermal: np.ndarray, meters: np.ndarray, actions: int) -> np.ndarray:
    """Actions by which thermal devices deliver what the building's own controller would have them deliver.

    Args:
        thermal: `records.THERMAL`, shape (N, 3).
        meters: `records.METER` of some hours, shape (any, N).
        actions: number of actions.

    Returns:
        Parts of the devices' power, negative where cooling has the negative half of an action, shape (any, actions); 0 for the
        actions of other devices. A device is at its limit where it cannot deliver so much.
    """
    parts = np.zeros((len(meters), actions))
    for n, use in np.argwhere(thermal["device_action"] >= 0):
        device = thermal[n, use]
        power = device["device_power"] * meters["cop"][:, n, use] * device["device_hours"]
        part = part_of_power(meters["demand"][:, n, use], power)
        parts[:, device["device_action"]] += device["device_sign"] * part
    return parts


def part_of_power(demand: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Part of a device's power that delivers a demand, of at most 1, from what it can deliver at most; all of one shape."""
    return np.clip(np.divide(demand, most, out=np.zeros(len(most)), where=most > 0.0), 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Year:
    """One year of a batch; equal to itself alone, so that it can be a key."""

    tables: Tables  # the year
    # its observations with what depends on actions left out, shape (rows, observations), float32; scaled, if the batch has a
    # layout; None, which is zeros, where nobody observes
    template: np.ndarray | None = None
    # Its uncontrolled run, with its tariff; without it the terms of the reward are meaningless.
    reference: Reference | None = None

    @property
    def tariff(self) -> DemandCharge | None:
        """Its demand charge; None where there is none."""
        return self.reference.tariff if self.reference else None


def site_arrays(years: list[Year], layout: ObservationLayout | None, weights: Weights = DEFAULT) -> records.Site:
    """Arrays that hold for all rows; a `ScenarioError` if the years differ in their devices or tariff."""
    first = years[0]
    for year in years[1:]:
        both = (first.tables.site, year.tables.site), (first.tables.models, year.tables.models)
        same = all(one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one) for one, other in both)
        if not same or year.tables.names != first.tables.names or year.tariff != first.tariff:
            raise ScenarioError("the years of this scenario differ in their devices or tariff, so they cannot share a batch")
    # Copies: tables are shared by all simulators of a process.
    site = {name: value.copy() for name, value in first.tables.site.items()}
    return records.Site(**{**site, "observed": _observed(first, layout)}, reward=_reward(years, weights))


def _observed(year: Year, layout: ObservationLayout | None) -> np.ndarray:
    """`observed` of `records.Site`: that of the tables, with the observations and the scaling that a layout adds."""
    observed = year.tables.site["observed"]
    if layout is None:
        return observed
    # What else is seen depends on no action: it is in the template.
    added = [name for name in layout.names[len(year.tables.names) :] if name in (*PEAK_NAMES, DAY_PEAK_NAME)]
    peaks = np.zeros(len(added), dtype=records.OBSERVED)
    peaks["use"] = np.arange(len(added))
    peaks["kind"] = [records.DAY_PEAK if name == DAY_PEAK_NAME else records.MONTH_PEAK for name in added]
    peaks["at"] = [layout.names.index(name) for name in added]
    buildings = len(observed) - len(year.tables.site["charger"])
    observed = np.concatenate([observed[:buildings], peaks, observed[buildings:]])
    observed["centre"], observed["inverse"] = (values[observed["at"]] for values in layout.linear)
    observed["bound"] = 1.0
    return observed


def _reward(years: list[Year], weights: Weights) -> np.ndarray:
    record = np.zeros(len(years), dtype=records.REWARD)
    for entry, year in zip(record, years, strict=True):
        if year.reference:
            entry["mean"] = [year.reference.scale[name] for name in TERMS]
        entry["longest"] = year.tables.sessions.longest
        if year.tariff:
            entry["demand_price"] = year.tariff.peak_price, year.tariff.off_peak_excess_price
    record["weight"], record["met_tolerance"] = list(weights.by_term().values()), MET_TOLERANCE
    return record


def _equal(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two arrays are equal; NaN equals NaN, as tanks without limits have it."""
    if first.dtype.names:
        return all(_equal(first[name], second[name]) for name in first.dtype.names)
    return np.array_equal(first, second, equal_nan=first.dtype.kind == "f")


# Trials that follow one another in a process have the same years, one set to train on and one to be evaluated on.
@lru_cache(maxsize=2)
def row_arrays(years: tuple[Year, ...]) -> records.Rows:
    """The rows of all years, one year after another. Simulators only read them."""
    joined: dict[str, list[np.ndarray]] = {name: [] for name in records.Rows._fields}
    # First index of a year's rows, vehicles, sessions and their hours among those of all years.
    row, plugged, session, held = 0, 0, 0, 0
    for index, year in enumerate(years):
        tables = year.tables
        hours = _hours(year, index, row)
        hours["first_plugged"] += plugged
        hours["first_departure"] += session
        blank = np.zeros((len(hours), len(tables.names)), np.float32)
        joined["template"].append(blank if year.template is None else year.template)
        joined["hour"].append(hours)
        joined["session"].append(_sessions(year, row, held))
        joined["held_soc"].append(year.reference.held_soc if year.reference else _NOTHING)
        for name in ("meter", "plugged", "event"):
            joined[name].append(tables.rows[name])
        row, plugged, session = row + len(hours), plugged + len(tables.rows["plugged"]), session + len(tables.sessions.end)
        held += len(joined["held_soc"][-1])
    border = np.zeros(1, dtype=records.HOUR)
    border["first_plugged"], border["first_departure"] = plugged, session
    joined["hour"].append(border)
    if all(year.tables.rows["arrivals_known"] for year in years):
        joined["event"] = [years[0].tables.rows["event"][:0]]
    return records.Rows(**{name: values[0] if len(values) == 1 else np.concatenate(values) for name, values in joined.items()})


def _sessions(year: Year, first_row: int, first_held: int) -> np.ndarray:
    sessions = year.tables.sessions
    record = np.zeros(len(sessions.end), dtype=records.SESSION)
    record["start"], record["vehicle"], record["building"] = first_row + sessions.start, sessions.vehicle, sessions.building
    record["required"], record["capacity"] = sessions.required_soc, sessions.capacity_kwh
    record["efficiency"], record["gives"] = sessions.efficiency, sessions.gives
    record["arrival"], record["offset"] = sessions.arrival_soc, first_held + sessions.offset
    record["reference_missing"] = year.reference.run.missing_kwh if year.reference else 0.0
    return record


def _hours(year: Year, index: int, first_row: int) -> np.ndarray:
    """`records.HOUR` of a year; its firsts count from the year's own first."""
    month, hour = year.tables.exogenous.month, year.tables.exogenous.hour
    # The last row is no step, so a month's share is computed without it.
    borders = np.concatenate([[0], np.flatnonzero(np.diff(month[:-1])) + 1, [len(month) - 1]])
    run = np.clip(np.searchsorted(borders, np.arange(len(month)), side="right") - 1, 0, len(borders) - 2)
    record = np.zeros(len(month), dtype=records.HOUR)
    record["year"], record["month"], record["day"] = index, month, year.tables.exogenous.day
    record["month_from"], record["month_to"] = first_row + borders[run], first_row + borders[run + 1]
    record["peak_hour"] = np.isin(hour, year.tariff.peak_hours if year.tariff else ())
    record["first_plugged"] = year.tables.rows["first_plugged"][:-1]
    record["at_once"] = np.where(year.tables.rows["shared"], 1, records.LANES)
    record["first_departure"] = np.searchsorted(year.tables.sessions.end, np.arange(len(month)))
    if year.reference:
        for name, values in zip(("emission", "energy_cost", "solar_use", "net"), year.reference.hourly.T, strict=True):
            record[name][:-1] = values
    return record


def allocate(site: records.Site, rows: records.Rows, copies: int, record: int) -> tuple[records.State, records.Out]:
    """Room for the state of all copies and for what a step gives; `record` as in `BatchSimulator`."""
    buildings, batteries = len(site.building), len(site.battery)
    first = rows.hour["first_departure"]
    # Of sessions that are there as a run ends, the longest says how far to look.
    beyond = np.arange(len(first)) + (record or len(first)) + site.reward["longest"].max() + 1
    sessions = (copies if record else 0, (first[np.minimum(beyond, len(first) - 1)] - first).max())

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
        day=np.zeros(copies, dtype=records.DAY),
        granted=zeros(len(site.action), kind=np.float64),
        run=np.zeros((copies, len(site.appliance)), dtype=records.RUN),
        room=np.zeros((copies, buildings), dtype=records.ROOM),
    )
    out = records.Out(
        observation=zeros(rows.template.shape[1]),
        terms=zeros(len(TERMS), kind=np.float64),
        energy=zeros(buildings, 5),
        session_missing=np.zeros(sessions),
        session_owed=np.zeros(sessions),
    )
    return state, out
