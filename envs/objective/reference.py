"""The uncontrolled run of a year, with which rewards and savings are compared, and what single buildings earn beside it.

Of the reward `improvement`, emission, cost of energy, PV use and comfort are sums over buildings, so each one's own gain is
known. Ramps belong to the district: a building is paid what its own deviation from the uncontrolled run changes of the ramp.
What remains (demand charge, peaks, vehicles) goes to all alike.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from envs.cache import cached_arrays
from envs.objective.reward import TERMS, ByTerm, coefficients
from envs.objective.series import Exogenous, Run, Sessions, day_peak_rises, import_kwh, solar_use_kwh
from envs.objective.weights import Weights
from envs.scenarios.scenario import Scenario, Window
from envs.scenarios.tariff import DemandCharge, demand_costs, month_shares

# Part of the cache key: raise it when a change of the code changes uncontrolled runs.
VERSION = 8


@dataclass(frozen=True)
class WindowReference:
    """The uncontrolled run over a window, hour by hour."""

    figures: Mapping[str, np.ndarray]  # of each term of the reward, shape (hours,)
    month_share: np.ndarray  # part of its month that the window covers, shape (hours,)
    previous_net_kwh: float | None  # of the site in the hour before; None at the year's start

    @property
    def total(self) -> ByTerm:
        """Figures of the whole window together."""
        return {name: float(values.sum()) for name, values in self.figures.items()}

    def step(self, index: int) -> ByTerm:
        """Figures of one hour of the window."""
        return {name: float(values[index]) for name, values in self.figures.items()}


class Reference:
    """The uncontrolled run of one scenario year, with the hourly means (`scale`) that normalise the reward.

    `held_soc` is the state of charge of each session's vehicle ahead of each of its hours, session by session, shape (sessions'
    hours,). Windows of the year begin with it.
    """

    def __init__(
        self, run: Run, exogenous: Exogenous, sessions: Sessions, tariff: DemandCharge | None, held_soc: np.ndarray
    ) -> None:
        self.run, self.exogenous, self.sessions, self.tariff, self.held_soc = run, exogenous, sessions, tariff, held_soc
        steps = run.net_kwh.shape[1]
        self._month, self._hour = exogenous.month[:steps], exogenous.hour[:steps]
        self.day = exogenous.day
        drawn = import_kwh(run.net_kwh)
        self._emission = (drawn * exogenous.carbon[:, :steps]).sum(axis=0)
        self._energy_cost = (drawn * exogenous.price[:, :steps]).sum(axis=0)
        self._solar = solar_use_kwh(run.net_kwh, exogenous.pv_kwh[:, :steps]).sum(axis=0)
        self.net_kwh = run.net_kwh.sum(axis=0)  # of the site by step, shape (steps,)
        self._ramp = np.abs(np.diff(self.net_kwh, prepend=self.net_kwh[0]))
        year_cost = self._energy_cost + self._demand_cost(0, steps)
        self.scale: ByTerm = {
            "co2": float(self._emission.mean()),
            "cost": float(year_cost.mean()),
            "solar": float(exogenous.pv_kwh[:, :steps].sum(axis=0).mean()),
            "grid": float(self._ramp.mean()),
            "ev": self.required_kwh(0, steps) / steps,
            "peak": float(self._peak_rises(0, steps).mean()),
            "comfort": float(self.occupied(0, steps).mean()),
        }

    def scaled_by(self, scale: ByTerm) -> Reference:
        """The same run, with other means for the reward."""
        other = copy.copy(self)
        other.scale = scale
        return other

    @property
    def hourly(self) -> np.ndarray:
        """Emission [kg], cost of energy [currency], PV use and net import of the site [kWh] by step, shape (steps, 4)."""
        return np.stack([self._emission, self._energy_cost, self._solar, self.net_kwh], axis=-1)

    @cached_property
    def dear(self) -> np.ndarray:
        """Rows in which imports cost most: peak hours of the demand charge, else those above the mean price; shape (rows,)."""
        if self.tariff:
            return np.isin(self.exogenous.hour, self.tariff.peak_hours)
        price = self.exogenous.price.mean(axis=0)
        # The mean of equal prices may differ from them in the last digit.
        return np.asarray((price > price.mean()) & (np.ptp(price) > 0.0))

    def brought_soc(self, session: np.ndarray, start: int) -> np.ndarray:
        """State of charge that vehicles bring into a window that begins at a row; shape as `session`, indices of sessions.

        That on arrival, or, where it was plugged in before, what the uncontrolled run had given it by then.
        """
        begin, end = self.sessions.start[session], self.sessions.end[session]
        begun = (begin < start) & (end >= start)
        held = self.held_soc[self.sessions.offset[session] + np.where(begun, start - begin, 0)]
        return np.where(begun, held, self.sessions.arrival_soc[session])

    def due_soc(self, session: np.ndarray, row: np.ndarray | int, start: int) -> np.ndarray:
        """State of charge that vehicles of a window from `start` on have to have after the step at a row that they are there.

        One that leaves has what it brought, or what standby left of it on the uncontrolled site. One that stays has what it has
        there: otherwise it would pay to charge behind the window's end. Shape as `session`, indices of sessions, and `row`.
        """
        stays = self.sessions.end[session] > row
        held = self.held_soc[self.sessions.offset[session] + row + stays - self.sessions.start[session]]
        return np.where(stays, held, np.minimum(self.brought_soc(session, start), held))

    def required_kwh(self, start: int, hours: int) -> float:
        """Energy that vehicles that leave within a window require of it."""
        sessions, leaving = self.sessions, np.flatnonzero(self.sessions.within(start, hours))
        lacking = np.maximum(sessions.required_soc[leaving] - self.brought_soc(leaving, start), 0.0)
        return float((lacking * sessions.capacity_kwh[leaving]).sum())

    def window(self, start: int, hours: int, alone: Run | None = None) -> WindowReference:
        """The run over steps `start` to `start + hours - 1`; its demand charge and days start without earlier peaks.

        `alone` is the run of these hours with its own temperatures, where they are to count.
        """
        rows = np.arange(start, start + hours)
        unmet = self.unmet_c(rows, np.arange(hours)) if alone is None else self.exogenous.unmet_c(alone.indoor_c, rows)
        part = slice(start, start + hours)
        figures = {
            "co2": self._emission[part],
            "cost": self._energy_cost[part] + self._demand_cost(start, hours),
            "solar": self._solar[part],
            "grid": self._ramp[part],
            "ev": self._missing(start, hours),
            "peak": self._peak_rises(start, hours),
            "comfort": unmet.sum(axis=0),
        }
        return WindowReference(
            figures,
            month_share=month_shares(self._month, start, hours),
            previous_net_kwh=float(self.net_kwh[start - 1]) if start else None,
        )

    def unmet_c(self, rows: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Degrees beyond the comfort band at rows, each so many steps after a window's start, both (hours,); shape (N, hours).

        A window begins with the temperatures of the data. What its models make of them later differs little from the year's.
        """
        series, indoor = self.exogenous, self.run.indoor_c[:, rows]
        if len(series.warm_up):
            is_early = ~np.isnan(indoor) & (steps < series.warm_up[:, np.newaxis])
            indoor = np.where(is_early, series.given_c[:, rows], indoor)
        return series.unmet_c(indoor, rows)

    def occupied(self, start: int, hours: int) -> np.ndarray:
        """Number of buildings with people in them, of those whose temperature is computed, shape (hours,)."""
        return np.asarray(self.exogenous.occupied[:, start : start + hours].sum(axis=0))

    def _missing(self, start: int, hours: int) -> np.ndarray:
        inside = self.sessions.within(start, hours)
        return np.bincount(self.sessions.end[inside] - start, weights=self.run.missing_kwh[inside], minlength=hours)

    def _peak_rises(self, start: int, hours: int) -> np.ndarray:
        return day_peak_rises(self.day[start : start + hours], self.net_kwh[start : start + hours])

    def _demand_cost(self, start: int, hours: int) -> np.ndarray:
        site_import = import_kwh(self.net_kwh[start : start + hours])
        return demand_costs(self.tariff, self._month, self._hour, site_import, start)


def first_soc(sessions: Sessions, start: int, reference: Reference | None) -> dict[int, float]:
    """States of charge with which a run begins at a row, by vehicle, where it is there by then or in the next hour.

    Without a reference only of those that arrive. CityLearn looks one row ahead for what an arrival brings, so of the first two
    rows it does not know it.
    """
    near = sessions.near(start)
    begin = sessions.start[near]
    near = near[(begin <= start + 1) & ((begin >= start) | (reference is not None))]
    # Of one vehicle the session counts in which it is there.
    near = near[np.argsort(sessions.start[near] <= start, kind="stable")]
    brought = sessions.arrival_soc[near] if reference is None else reference.brought_soc(near, start)
    return dict(zip(sessions.vehicle[near].tolist(), brought.tolist(), strict=True))


def scale_of(parts: Sequence[tuple[Reference, Window]]) -> dict[str, float]:
    """Hourly means of uncontrolled runs over some windows, and over no other hour."""
    hours = sum(window.hours for _, window in parts)
    sums = dict.fromkeys(TERMS, 0.0)
    for reference, window in parts:
        uncontrolled, part = reference.window(window.start, window.hours), window.rows
        for name in ("co2", "cost", "grid", "peak"):
            sums[name] += float(uncontrolled.figures[name].sum())
        sums["solar"] += float(reference.exogenous.pv_kwh[:, part].sum())
        sums["ev"] += reference.required_kwh(window.start, window.hours)
        sums["comfort"] += float(reference.occupied(window.start, window.hours).sum())
    return {name: value / hours for name, value in sums.items()}


def cached_reference(
    scenario: Scenario, year: int, exogenous: Exogenous, sessions: Sessions, simulate: Callable[[], tuple[Run, np.ndarray]]
) -> Reference:
    """Reference of a scenario year; its run and `held_soc` are simulated the first time and cached."""

    def arrays() -> dict[str, np.ndarray]:
        run, held_soc = simulate()
        return {**asdict(run), "held_soc": held_soc}

    saved = cached_arrays(reference_key(scenario, year), arrays)
    held_soc = saved.pop("held_soc")
    return Reference(Run(**saved), exogenous, sessions, DemandCharge.of(scenario.schema_path(year)), held_soc)


def reference_key(scenario: Scenario, year: int) -> str:
    """Key of an uncontrolled run in the cache."""
    return f"{scenario.key}/uncontrolled-{year}-v{VERSION}.npz"


_RAMP_TERM = [*TERMS].index("grid")


@dataclass(frozen=True)
class BuildingSeries:
    """What the gains of N buildings are computed from, by row of the years, one year after another."""

    import_worth: np.ndarray  # what a kilowatt-hour of import costs of the reward, shape (rows, N)
    pv_kwh: np.ndarray  # generation, shape (rows, N)
    solar_worth: np.ndarray  # what a kilowatt-hour of PV use brings, shape (rows, 1)
    ramp_worth: np.ndarray  # what a kilowatt-hour of the ramp costs, shape (rows,)
    uncontrolled: np.ndarray  # worth of the uncontrolled run, shape (rows, N)
    net_kwh: np.ndarray  # of the uncontrolled run, shape (rows, N)

    @classmethod
    def of(cls, references: Sequence[Reference], weights: Weights) -> BuildingSeries:
        """Series of years, each with as many rows as its data have; the last one of each is no step."""
        parts = [_of_year(reference, weights) for reference in references]
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def worth(self, rows: np.ndarray, net_kwh: np.ndarray) -> np.ndarray:
        """Reward of emission, energy cost and PV use, before the uncontrolled run's is taken off; shape (copies, N)."""
        solar = solar_use_kwh(net_kwh, self.pv_kwh[rows]) * self.solar_worth[rows]
        return np.asarray(solar - np.maximum(net_kwh, 0.0) * self.import_worth[rows])


def _of_year(reference: Reference, weights: Weights) -> tuple[np.ndarray, ...]:
    factor, series = coefficients(reference.scale, weights), reference.exogenous
    rows = len(series.hour)
    worth = (factor["co2"] * series.carbon + factor["cost"] * series.price).T
    net = np.zeros((rows, len(series.pv_kwh)))
    net[: reference.run.net_kwh.shape[1]] = reference.run.net_kwh.T
    plain = (worth, series.pv_kwh.T, np.full((rows, 1), factor["solar"]), np.full(rows, factor["grid"]))
    alone = BuildingSeries(*plain, np.zeros((0, 0)), net)
    return (*plain, alone.worth(np.arange(rows), net), net)


@dataclass(frozen=True)
class Before:
    """The hour before a step, for C copies of a site with N buildings."""

    net_kwh: np.ndarray  # of each building, shape (C, N); without meaning at an episode's first step
    site_net_kwh: np.ndarray  # of the site, NaN at a year's start, shape (C,)
    first: np.ndarray  # whether the step is the episode's first, shape (C,)


def building_rewards(
    series: BuildingSeries, rows: np.ndarray, before: Before, net_kwh: np.ndarray, comfort: np.ndarray, terms: np.ndarray
) -> np.ndarray:
    """Rewards of the buildings in an hour, shape (C, N).

    From rows (C,), net import (C, N), each building's part of the term comfort (C, N) and the site's terms (C, terms). With g_n
    a building's own gain in emission, cost of energy, PV use and comfort, G the site's net import, d_n a building's deviation
    from the uncontrolled run and D the change since the hour before, it is

        N (g_n + w (|DG - D d_n| - |DG|)) + rest.

    The second term compares the site's ramp with the one that it would have with this building uncontrolled, a difference
    reward (Wolpert and Tumer 2002). Its gradient by the building's actions is that of the site's ramp, with less noise from the
    others. N makes the numbers as large as those of the site. The rest is of the whole site.
    """
    gain = series.worth(rows, net_kwh) - series.uncontrolled[rows] + comfort
    deviation = net_kwh - series.net_kwh[rows]
    earlier = np.where(before.first[:, np.newaxis], 0.0, before.net_kwh - series.net_kwh[rows - 1])
    change = net_kwh.sum(axis=1) - before.site_net_kwh
    # A year's first hour has no ramp.
    change = np.where(np.isnan(change), 0.0, change)[:, np.newaxis]
    moved = np.where(np.isnan(before.site_net_kwh)[:, np.newaxis], 0.0, deviation - earlier)
    ramp = series.ramp_worth[rows][:, np.newaxis] * (np.abs(change - moved) - np.abs(change))
    rest = terms.sum(axis=1) - terms[:, _RAMP_TERM] - gain.sum(axis=1)
    return np.asarray(net_kwh.shape[1] * (gain + ramp) + rest[:, np.newaxis])
