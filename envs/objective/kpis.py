"""Key performance indicators of a run, and CityLearn's own ratios.

A KPI is one entry of `KPIS`: its measure, its formula and the values that it can have. Its value in an evaluation, its range
check, its Parquet column, tables, summary, report and what a search can do with it all follow from the entry.

CityLearn's ratios are those of its `evaluate()` 3.0.2, for any simulator; a test compares them with untouched CityLearn. Their
baseline is the same run without what batteries, thermal storages and chargers took, so it charges no vehicle. Ratios of amounts
are means over the buildings; those of the shape of the net import are of all buildings together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from common.measure import BY_HOURS, MOST, Measure
from common.units import DAY
from envs.objective.reference import Reference
from envs.objective.series import Exogenous, Run, Sessions, export_kwh, import_kwh, solar_use_kwh
from envs.scenarios.tariff import demand_costs


@dataclass(frozen=True)
class Part:
    """What KPIs need of a run, without the sessions of all the year. Shapes: N buildings, H hours."""

    start: int  # step of its year
    net_kwh: np.ndarray  # import less export of each building, shape (N, H)
    battery_kwh: np.ndarray  # what stationary batteries took (positive) or gave, shape (N, H)
    owed_kwh: np.ndarray  # what is taken from vehicles for good, in the hour in which they leave or the run ends, shape (N, H)
    missing_kwh: np.ndarray  # that each departing vehicle lacked, shape (departures,)
    # As those of `Run`, each of shape (N, H).
    off_grid: np.ndarray
    indoor_c: np.ndarray
    asked_kwh: np.ndarray
    unserved_kwh: np.ndarray

    @property
    def rows(self) -> slice:
        """Its steps among those of the year."""
        return slice(self.start, self.start + self.net_kwh.shape[1])

    @classmethod
    def of(cls, start: int, run: Run, sessions: Sessions) -> Part:
        """Of a run that starts at a step of the year of these sessions."""
        hours, owed = run.net_kwh.shape[1], np.zeros_like(run.net_kwh)
        near = sessions.near(start, hours)
        some = near[run.owed_kwh[near] > 0.0]
        np.add.at(owed, (sessions.building[some], np.minimum(sessions.end[some] - start, hours - 1)), run.owed_kwh[some])
        missing = run.missing_kwh[sessions.within(start, hours)]
        comfort = run.off_grid, run.indoor_c, run.asked_kwh, run.unserved_kwh
        return cls(start, run.net_kwh, run.battery_kwh, owed, missing, *comfort)


@dataclass(frozen=True)
class JoinedRun:
    """A policy's run over one or more windows of a year. Shapes: N buildings, H hours of all windows together."""

    parts: Sequence[Part]  # one per window
    series: Exogenous  # of the year
    reference: Reference  # its uncontrolled run, which says what vehicles bring into a window; its tariff

    @cached_property
    def net_kwh(self) -> np.ndarray:
        """Import less export of each building, shape (N, H)."""
        return self.joined("net_kwh")

    @cached_property
    def pv_kwh(self) -> np.ndarray:
        """PV generation, shape (N, H)."""
        return self.hours_of(self.series.pv_kwh)

    @cached_property
    def import_kwh(self) -> np.ndarray:
        """Energy drawn from the grid, every building metered by itself, and from vehicles that leave without it; (N, H)."""
        return import_kwh(self.net_kwh) + self.joined("owed_kwh")

    @cached_property
    def site_net_kwh(self) -> tuple[np.ndarray, ...]:
        """Net import of all buildings together in each window, each of shape (hours of the window,)."""
        return tuple(part.net_kwh.sum(axis=0) for part in self.parts)

    @cached_property
    def demand_charge(self) -> float:
        """Demand charge of all windows [currency]."""
        month, hour = self.series.month[:-1], self.series.hour[:-1]
        return sum(
            float(demand_costs(self.reference.tariff, month, hour, import_kwh(site), part.start).sum())
            for part, site in zip(self.parts, self.site_net_kwh, strict=True)
        )

    @cached_property
    def required_kwh(self) -> float:
        """Energy that departing vehicles required."""
        required = self.reference.required_kwh
        return sum(required(part.start, part.net_kwh.shape[1]) for part in self.parts)

    @cached_property
    def missing_kwh(self) -> np.ndarray:
        """Energy that each departing vehicle lacked, shape (departures,)."""
        return np.concatenate([part.missing_kwh for part in self.parts])

    def joined(self, name: str) -> np.ndarray:
        """A field of the parts over all windows, shape (N, H)."""
        return np.concatenate([getattr(part, name) for part in self.parts], axis=1)

    @cached_property
    def unmet_c(self) -> np.ndarray:
        """Degrees outside the comfort band, see `Exogenous.unmet_c`, shape (N, H)."""
        return np.concatenate([self.series.unmet_c(part.indoor_c, part.rows) for part in self.parts], axis=1)

    @cached_property
    def occupied(self) -> np.ndarray:
        """Whether people are in a building whose temperature is computed, shape (N, H)."""
        return self.hours_of(self.series.occupied)

    @cached_property
    def occupied_outages(self) -> np.ndarray:
        """Whether people are in such a building in a power outage, shape (N, H)."""
        return self.occupied & self.joined("off_grid")

    def hours_of(self, values: np.ndarray) -> np.ndarray:
        """The windows' hours of a series of the year, shape (N, H)."""
        return np.concatenate([values[:, part.rows] for part in self.parts], axis=1)


# KPIs of one policy by name, in the order of `KPIS`; a share of nothing is NaN.
Kpis = Mapping[str, float]
# What a site may lack, see `Measure.needs`.
VEHICLES, PV, BATTERY, DEMAND_CHARGE = "chargers with an action", "PV", "battery", "demand charge"
CARBON, PRICE = "carbon_intensity", "pricing"
TEMPERATURE, OUTAGES = "dynamics", "power outages"


@dataclass(frozen=True)
class Bounds:
    """Values that a KPI can have."""

    low: float = 0.0  # least value
    high: float = math.inf  # greatest value
    at_most: str = ""  # name of another KPI that it never exceeds; empty for none
    may_be_nan: bool = False  # whether NaN is a value: a share of nothing


AMOUNT = Bounds()
SIGNED = Bounds(low=-math.inf)
SHARE = Bounds(high=1.0, may_be_nan=True)
SIGNED_SHARE = Bounds(low=-math.inf, high=1.0, may_be_nan=True)


@dataclass(frozen=True)
class Kpi:
    """One KPI."""

    measure: Measure  # name, unit, meaning, direction and how years are joined
    # joins hours, windows and buildings of a year; of an `int64` measure it returns an int
    formula: Callable[[JoinedRun], float]
    bounds: Bounds = AMOUNT  # values that it can have
    # the same where vehicles can give energy back; None where that makes no difference
    bounds_with_giving_vehicles: Bounds | None = None

    def bounds_where(self, vehicles_give: bool) -> Bounds:
        """Bounds on a site whose vehicles can, or cannot, give energy back."""
        return self.bounds_with_giving_vehicles or self.bounds if vehicles_give else self.bounds


def kpis(run: JoinedRun) -> Kpis:
    """KPIs of a policy's run; energy and money add up over the windows."""
    return {name: kpi.formula(run) for name, kpi in KPIS.items()}


# -- formulas --------------------------------------------------------------------------------


def _consumption_kwh(run: JoinedRun) -> float:
    # What is neither battery nor PV: load, thermal devices and vehicles.
    return float((run.net_kwh - run.joined("battery_kwh") + run.pv_kwh + run.joined("owed_kwh")).sum())


def _energy_cost(run: JoinedRun) -> float:
    return float((run.import_kwh * run.hours_of(run.series.price)).sum())


def _peak_kw(run: JoinedRun) -> float:
    return run.series.steps_per_hour * max(float(import_kwh(site).max()) for site in run.site_net_kwh)


def _daily_peak_kw(run: JoinedRun) -> float:
    days = (np.flatnonzero(np.diff(run.series.day[part.rows], prepend=-1)) for part in run.parts)
    peaks = [np.maximum.reduceat(import_kwh(net), starts) for starts, net in zip(days, run.site_net_kwh, strict=True)]
    return run.series.steps_per_hour * float(np.concatenate(peaks).mean())


def _ramping_kwh(run: JoinedRun) -> float:
    return float(sum(np.abs(np.diff(site)).sum() for site in run.site_net_kwh))


def _import_kwh(run: JoinedRun) -> float:
    return float(run.import_kwh.sum())


def _pv_kwh(run: JoinedRun) -> float:
    return float(run.pv_kwh.sum())


def _missing_kwh(run: JoinedRun) -> float:
    return float(run.missing_kwh.sum())


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else float("nan")


def _mean_share(part: np.ndarray, whole: np.ndarray) -> float:
    """Mean over the buildings of a part of a whole, as CityLearn joins them; NaN where none has any. Both of shape (N, H)."""
    wholes = whole.sum(axis=1)
    some = wholes > 0.0
    return float(np.mean(part.sum(axis=1)[some] / wholes[some])) if some.any() else math.nan


# -- the list --------------------------------------------------------------------------------


# The order is that of the columns.
ENTRIES = (
    # Vehicles can give more than the site consumes.
    Kpi(Measure("consumption_kwh", "kWh", "load and vehicles", "neither"), _consumption_kwh, AMOUNT, SIGNED),
    Kpi(Measure("pv_kwh", "kWh", "PV generation", "neither", needs=PV), _pv_kwh),
    Kpi(
        Measure("import_kwh", "kWh", "drawn from the grid by each building, and taken from vehicles for good", label="import"),
        _import_kwh,
    ),
    Kpi(Measure("export_kwh", "kWh", "fed into the grid"), lambda run: float(export_kwh(run.net_kwh).sum())),
    Kpi(
        Measure("co2_kg", "kg", "emission of the import", label="CO2", needs=CARBON),
        lambda run: float((run.import_kwh * run.hours_of(run.series.carbon)).sum()),
    ),
    # Prices may be negative.
    Kpi(Measure("energy_cost", "currency", "of the import", needs=PRICE), _energy_cost, SIGNED),
    Kpi(
        Measure("demand_charge", "currency", "monthly charge on the highest imports", needs=DEMAND_CHARGE),
        lambda run: float(run.demand_charge),
    ),
    Kpi(
        Measure("bill", "currency", "energy cost and demand charge", label="bill", needs=PRICE),
        lambda run: _energy_cost(run) + run.demand_charge, SIGNED,
    ),
    Kpi(Measure("peak_kw", "kW", "highest import of the site", over=MOST, label="peak"), _peak_kw),
    Kpi(Measure("daily_peak_kw", "kW", "mean of the days' highest imports of the site", over=BY_HOURS), _daily_peak_kw),
    Kpi(Measure("ramping_kwh", "kWh", "sum of the changes of net import from step to step"), _ramping_kwh),
    Kpi(
        Measure("self_consumption", "1", "part of the PV energy used on site", "more", "pv_kwh", label="PV used", needs=PV),
        lambda run: _ratio(float(solar_use_kwh(run.net_kwh, run.pv_kwh).sum()), _pv_kwh(run)), SHARE,
    ),
    # A battery imports what it loses and what it still holds, and none of that is consumption.
    Kpi(
        Measure("self_sufficiency", "1", "part of the consumption that was not imported", "more", "consumption_kwh"),
        lambda run: 1.0 - _ratio(_import_kwh(run), _consumption_kwh(run)), SIGNED_SHARE,
    ),
    # A site without a battery has no cycles.
    Kpi(
        Measure("battery_cycles", "1", "energy discharged over capacity", needs=BATTERY),
        lambda run: _ratio(float(np.maximum(-run.joined("battery_kwh"), 0.0).sum()), run.series.battery_capacity_kwh),
        Bounds(may_be_nan=True),
    ),
    Kpi(
        Measure("ev_required_kwh", "kWh", "energy that departing vehicles asked for", "neither", needs=VEHICLES),
        lambda run: run.required_kwh,
    ),
    # Vehicles that give can leave with less than they brought, so more can be missing than they required.
    Kpi(
        Measure("ev_missing_kwh", "kWh", "of it not delivered", needs=VEHICLES), _missing_kwh,
        Bounds(at_most="ev_required_kwh"), AMOUNT,
    ),
    Kpi(
        Measure(
            "ev_served", "1", "of it delivered, as a part", "more", "ev_required_kwh", label="vehicle energy served",
            needs=VEHICLES,
        ),
        lambda run: 1.0 - _ratio(_missing_kwh(run), run.required_kwh), SHARE, SIGNED_SHARE,
    ),
    Kpi(
        Measure("departures", "1", "vehicles that left", "neither", kind="int64", needs=VEHICLES),
        lambda run: len(run.missing_kwh),
    ),
    Kpi(
        Measure("departures_met", "1", "of them with what they asked for", "more", kind="int64", needs=VEHICLES),
        lambda run: int((run.missing_kwh == 0.0).sum()), Bounds(at_most="departures"),
    ),
    Kpi(
        Measure("occupied_hours", "h", "that people spend in the buildings, of each", "neither", needs=TEMPERATURE),
        lambda run: float(run.occupied.sum()) / run.series.steps_per_hour,
    ),
    # Beyond the set points by more than the comfort band; as `discomfort_proportion` of CityLearn.
    Kpi(
        Measure(
            "discomfort", "1", "part of them that is too warm or too cold, mean of the buildings", over="occupied_hours",
            label="discomfort", needs=TEMPERATURE,
        ),
        lambda run: _mean_share((run.unmet_c > 0.0) & run.occupied, run.occupied), SHARE,
    ),
    Kpi(
        Measure(
            "unmet_degree_hours", "degree h", "degrees beyond the comfort band, summed over them", label="unmet comfort",
            needs=TEMPERATURE,
        ),
        lambda run: float(run.unmet_c.sum()) / run.series.steps_per_hour,
    ),
    Kpi(
        Measure("outage_hours", "h", "of power outages, of each building", "neither", needs=OUTAGES),
        lambda run: float(run.joined("off_grid").sum()) / run.series.steps_per_hour,
    ),
    Kpi(
        Measure(
            "outage_discomfort", "1", "part of the occupied hours of outages that is too warm or too cold", over="outage_hours",
            needs=OUTAGES,
        ),
        lambda run: _mean_share((run.unmet_c > 0.0) & run.occupied_outages, run.occupied_outages), SHARE,
    ),
    Kpi(
        Measure(
            "outage_unserved", "1", "part of the energy asked for in outages that is not delivered", over="outage_hours",
            label="unserved in outages", needs=OUTAGES,
        ),
        lambda run: _mean_share(run.joined("unserved_kwh"), run.joined("asked_kwh")), SHARE,
    ),
)  # fmt: skip
KPIS: dict[str, Kpi] = {kpi.measure.name: kpi for kpi in ENTRIES}


_TINY = 1e-6  # CityLearn's placeholder for zero
_MONTH = 730  # hours of CityLearn's month


def _of_pieces(kwh: np.ndarray, hours: int, figure: Callable[..., np.ndarray]) -> np.ndarray:
    """A figure of each piece of so many hours, and of what is left at the end."""
    whole = kwh[: len(kwh) // hours * hours].reshape(-1, hours)
    figures = figure(whole, axis=1)
    return np.append(figures, figure(kwh[whole.size :])) if whole.size < len(kwh) else figures


def _one_minus_load_factor(kwh: np.ndarray, hours: int) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return _mean_of_known(1.0 - _of_pieces(kwh, hours, np.mean) / _of_pieces(kwh, hours, np.max))


def _mean_of_known(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def _citylearn_ratios(control: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """CityLearn's division: what is not finite counts as 0, and 0 over 0 is 1. Shape as of the arguments."""
    control, baseline = (np.where(np.isfinite(values), values, 0.0) for values in (control, baseline))
    of_nothing = np.where(np.abs(control) <= _TINY, 1.0, math.nan)
    return np.divide(control, baseline, where=np.abs(baseline) > _TINY, out=of_nothing)


# What CityLearn's ratios compare, by our columns: their names in its `evaluate()` follow the first word.
# Amounts of each building, of its net import, price and carbon intensity.
_AMOUNTS: Mapping[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "citylearn_electricity_consumption_total": lambda kwh, price, carbon: np.maximum(kwh, 0.0).sum(axis=1),
    "citylearn_carbon_emissions_total": lambda kwh, price, carbon: np.maximum(kwh * carbon, 0.0).sum(axis=1),
    "citylearn_cost_total": lambda kwh, price, carbon: np.maximum(np.maximum(kwh, 0.0) * price, 0.0).sum(axis=1),
    "citylearn_zero_net_energy": lambda kwh, price, carbon: kwh.sum(axis=1),
}
# Figures of the shape of the site's net import, and of the steps of a day.
_SHAPES: Mapping[str, Callable[[np.ndarray, int], float]] = {
    "citylearn_ramping_average": lambda kwh, day: np.maximum(np.diff(kwh), 0.0).sum(),
    "citylearn_daily_peak_average": lambda kwh, day: _of_pieces(kwh, day, np.max).mean(),
    "citylearn_all_time_peak_average": lambda kwh, day: kwh.max(),
    "citylearn_daily_one_minus_load_factor_average": _one_minus_load_factor,
    "citylearn_monthly_one_minus_load_factor_average": lambda kwh, day: _one_minus_load_factor(kwh, _MONTH * day // DAY),
}
RATIOS = (*_AMOUNTS, *_SHAPES)  # columns
# Scores by our columns: the ratios whose mean is the part of the grid, and what they are of.
_RAMPING, _PEAK, _HIGHEST, _DAILY, _MONTHLY = _SHAPES
_PEAKS = (_RAMPING, _DAILY, _PEAK, _HIGHEST)
_SCORES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "citylearn_2022_score": (
        (_RAMPING, _MONTHLY),
        "official score of the CityLearn Challenge 2022: mean of cost, emission and grid, of ramping and monthly load factor",
    ),
    "citylearn_2022_peaks_score": (
        _PEAKS,
        "the same with ramping, daily load factor, daily and highest peak in its grid, as later comparisons take it",
    ),
}
SCORE_2023 = "citylearn_2023_score"
_MEANINGS = {
    **{name: f"CityLearn's ratio {name.removeprefix('citylearn_')}; its baseline charges no vehicle" for name in RATIOS},
    **{name: f"{meaning}; less is better" for name, (_, meaning) in _SCORES.items()},
    SCORE_2023: "score of the CityLearn Challenge 2023: comfort, emission, grid and resilience; less is better",
}
# CityLearn's ratios, and the scores that are made of them, by column; 1 is the site without control.
CITYLEARN: Mapping[str, Measure] = {
    name: Measure(name, "1", meaning, over=BY_HOURS, needs=TEMPERATURE if name == SCORE_2023 else "")
    for name, meaning in _MEANINGS.items()
}


def district_ratios(
    net: np.ndarray, baseline: np.ndarray, price: np.ndarray, carbon: np.ndarray, day: int = DAY
) -> dict[str, float]:
    """CityLearn's ratios at district level, by `RATIOS`; NaN where it gives none.

    All of shape (buildings, hours): net import [kWh], the same without storages and chargers, price and carbon intensity a kWh.
    `day` is the steps of a day.
    """
    both = net, baseline
    amounts = _citylearn_ratios(*(np.array([amount(kwh, price, carbon) for amount in _AMOUNTS.values()]) for kwh in both))
    shapes = _citylearn_ratios(*(np.array([figure(kwh.sum(axis=0), day) for figure in _SHAPES.values()]) for kwh in both))
    return dict(zip(RATIOS, [*(_mean_of_known(of_buildings) for of_buildings in amounts), *shapes.tolist()], strict=True))


def scores(ratios: Mapping[str, float], kpis: Kpis) -> dict[str, float]:
    """Scores of CityLearn's challenges, of its ratios and of KPIs; less is better.

    Those of 2022 are each the mean of cost, emission and grid as ratios. The official one has ramping and the monthly load
    factor in its grid (its announcement of the third term, of 2022). That of 2023 weighs discomfort by 0.3, emission by 0.1 and
    the grid by 0.6; where there are outages the grid by 0.3, and resilience by 0.3: the mean of discomfort and of unserved
    energy in them, as the rules of its two phases have it.
    """

    def mean(names: Sequence[str]) -> float:
        return float(np.mean([ratios[name] for name in names]))

    emission = ratios["citylearn_carbon_emissions_total"]
    rest = ratios["citylearn_cost_total"] + emission
    means = {score: (rest + mean(grid)) / 3.0 for score, (grid, _) in _SCORES.items()}
    shape, resilience = mean(_PEAKS), 0.5 * (kpis["outage_discomfort"] + kpis["outage_unserved"])
    shape = 0.6 * shape if math.isnan(resilience) else 0.3 * shape + 0.3 * resilience
    return {**means, SCORE_2023: 0.3 * kpis["discomfort"] + 0.1 * emission + shape}
