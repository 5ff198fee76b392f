"""Key performance indicators of a run. A KPI is one entry of `KPIS`: its formula, unit, meaning, direction, type and bounds.

Its value in an evaluation, its range check, its Parquet columns and what a search can do with it all follow from the entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from envs.objective.day_peak import day_peak_rises
from envs.objective.joined_run import JoinedRun
from envs.objective.series import export_kwh, import_kwh, solar_use_kwh

# KPIs of one policy by name, in the order of `KPIS`; a share of nothing is NaN.
Kpis = Mapping[str, float]


Better = Literal["less", "more", "neither"]
# How the values of several years become one: their sum as that of a year of 8,760 hours; their greatest value; or their mean,
# weighted by this column of an evaluation.
A_YEAR, MOST, BY_HOURS = "a year", "most", "hours"


@dataclass(frozen=True)
class Bounds:
    """Values that a KPI can have.

    Attributes:
        low: least value.
        high: greatest value.
        at_most: name of another KPI that it never exceeds; empty for none.
        may_be_nan: whether NaN is a value: a share of nothing.
    """

    low: float = 0.0
    high: float = math.inf
    at_most: str = ""
    may_be_nan: bool = False


AMOUNT = Bounds()
SIGNED = Bounds(low=-math.inf)
SHARE = Bounds(high=1.0, may_be_nan=True)
SIGNED_SHARE = Bounds(low=-math.inf, high=1.0, may_be_nan=True)


@dataclass(frozen=True)
class Kpi:
    """One KPI.

    Attributes:
        name: of the KPI, and of its column.
        unit: of the value; "1" for a plain number.
        meaning: one line for the column's metadata.
        formula: computes the value.
        bounds: values that it can have.
        bounds_with_giving_vehicles: the same where vehicles can give energy back; None where that makes no difference.
        kind: Arrow type of the column; an `int64` formula returns an int.
        better: whether less or more of it is better; `neither` where it says nothing about a policy.
        over: how the values of several years become one: `A_YEAR`, `MOST`, or the column that weights their mean.
    """

    name: str
    unit: str
    meaning: str
    formula: Callable[[JoinedRun], float]
    bounds: Bounds = AMOUNT
    bounds_with_giving_vehicles: Bounds | None = None
    kind: Literal["float64", "int64"] = "float64"
    better: Better = "less"
    over: str = A_YEAR

    def compute(self, run: JoinedRun) -> float:
        """Value of the KPI for a run.

        Raises:
            TypeError: if the formula does not return the type of the column.
        """
        value = self.formula(run)
        expected = int if self.kind == "int64" else float
        if type(value) is not expected:
            raise TypeError(f"KPI {self.name}: its formula returns {type(value).__name__}, and its column is {self.kind}")
        return value

    def bounds_where(self, vehicles_give: bool) -> Bounds:
        """Bounds of the KPI.

        Args:
            vehicles_give: whether the site's vehicles can give energy back.
        """
        return self.bounds_with_giving_vehicles or self.bounds if vehicles_give else self.bounds


def kpis(run: JoinedRun) -> Kpis:
    """KPIs of a policy's run; energy and money add up over the windows."""
    return {name: kpi.compute(run) for name, kpi in KPIS.items()}


# -- formulas --------------------------------------------------------------------------------


def _consumption_kwh(run: JoinedRun) -> float:
    # What is neither battery nor PV: load, thermal devices and vehicles.
    return float((run.net_kwh - run.battery_kwh + run.pv_kwh).sum())


def _energy_cost(run: JoinedRun) -> float:
    return float((run.import_kwh * run.price).sum())


def _peak_kw(run: JoinedRun) -> float:
    return max(float(import_kwh(site).max()) for site in run.site_net_kwh)


def _daily_peak_kw(run: JoinedRun) -> float:
    day = run.series.day
    rises, number = 0.0, 0
    for part, net in zip(run.parts, run.site_net_kwh, strict=True):
        own = day[part.start : part.start + len(net)]
        rises, number = rises + float(day_peak_rises(own, net).sum()), number + int(own[-1] - own[0]) + 1
    return rises / number


def _ramping_kwh(run: JoinedRun) -> float:
    return float(sum(np.abs(np.diff(site)).sum() for site in run.site_net_kwh))


def _import_kwh(run: JoinedRun) -> float:
    return float(run.import_kwh.sum())


def _pv_kwh(run: JoinedRun) -> float:
    return float(run.pv_kwh.sum())


def _self_consumption(run: JoinedRun) -> float:
    return _ratio(float(solar_use_kwh(run.net_kwh, run.pv_kwh).sum()), _pv_kwh(run))


def _battery_cycles(run: JoinedRun) -> float:
    return _ratio(float(np.maximum(-run.battery_kwh, 0.0).sum()), run.series.battery_capacity_kwh)


def _missing_kwh(run: JoinedRun) -> float:
    return float(run.missing_kwh.sum())


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else float("nan")


# -- the list --------------------------------------------------------------------------------


def _by_name(entries: Iterable[Kpi]) -> dict[str, Kpi]:
    """Entries by name.

    Raises:
        ValueError: if two have one name, or one is bounded by a KPI that does not exist.
    """
    by_name: dict[str, Kpi] = {}
    for kpi in entries:
        if kpi.name in by_name:
            raise ValueError(f"two KPIs have the name {kpi.name}")
        by_name[kpi.name] = kpi
    for kpi in by_name.values():
        for bounds in (kpi.bounds_where(False), kpi.bounds_where(True)):
            if bounds.at_most and bounds.at_most not in by_name:
                raise ValueError(f"KPI {kpi.name} is bounded by {bounds.at_most}, which is no KPI")
    return by_name


# By name; the order is that of the columns.
KPIS: dict[str, Kpi] = _by_name(
    (
        # Vehicles can give more than the site consumes.
        Kpi("consumption_kwh", "kWh", "load and vehicles", _consumption_kwh, AMOUNT, SIGNED, better="neither"),
        Kpi("pv_kwh", "kWh", "PV generation", _pv_kwh, better="neither"),
        Kpi("import_kwh", "kWh", "drawn from the grid, every building metered by itself", _import_kwh),
        Kpi("export_kwh", "kWh", "fed into the grid", lambda run: float(export_kwh(run.net_kwh).sum())),
        Kpi("co2_kg", "kg", "emission of the import", lambda run: float((run.import_kwh * run.carbon).sum())),
        # Prices may be negative.
        Kpi("energy_cost", "currency", "of the import", _energy_cost, SIGNED),
        Kpi("demand_charge", "currency", "monthly charge on the highest imports", lambda run: float(run.demand_charge)),
        Kpi("bill", "currency", "energy cost and demand charge", lambda run: _energy_cost(run) + run.demand_charge, SIGNED),
        Kpi("peak_kw", "kW", "highest import of the site", _peak_kw, over=MOST),
        Kpi("daily_peak_kw", "kW", "mean of the days' highest imports of the site", _daily_peak_kw, over=BY_HOURS),
        Kpi("ramping_kwh", "kWh", "sum of the hourly changes of net import", _ramping_kwh),
        Kpi(
            "self_consumption", "1", "part of the PV energy used on site", _self_consumption, SHARE, better="more",
            over="pv_kwh",
        ),
        # A battery imports what it loses and what it still holds, and none of that is consumption.
        Kpi(
            "self_sufficiency", "1", "part of the consumption that was not imported",
            lambda run: 1.0 - _ratio(_import_kwh(run), _consumption_kwh(run)), SIGNED_SHARE, better="more",
            over="consumption_kwh",
        ),
        # A site without a battery has no cycles.
        Kpi("battery_cycles", "1", "energy discharged over capacity", _battery_cycles, Bounds(may_be_nan=True)),
        Kpi(
            "ev_required_kwh", "kWh", "energy that departing vehicles asked for", lambda run: run.required_kwh, better="neither"
        ),
        # Vehicles that give can leave with less than they brought, so more can be missing than they required.
        Kpi("ev_missing_kwh", "kWh", "of it not delivered", _missing_kwh, Bounds(at_most="ev_required_kwh"), AMOUNT),
        Kpi(
            "ev_served", "1", "of it delivered, as a part",
            lambda run: 1.0 - _ratio(_missing_kwh(run), run.required_kwh), SHARE, SIGNED_SHARE,
            better="more", over="ev_required_kwh",
        ),
        Kpi("departures", "1", "vehicles that left", lambda run: len(run.missing_kwh), kind="int64", better="neither"),
        Kpi(
            "departures_met", "1", "of them with what they asked for", lambda run: int((run.missing_kwh == 0.0).sum()),
            Bounds(at_most="departures"), kind="int64", better="more",
        ),
    )
)  # fmt: skip
