"""What an evaluation measures: a KPI, the score or a ratio, with its direction and how windows and years become one value.

`envs.objective` lists them; the Parquet files of evaluations hold them in their fields' metadata, where `results` reads them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from common.units import YEAR

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    # Evaluations of one policy, a row a year.
    Years = Sequence[Mapping[str, Any]] | pd.DataFrame

MONEY = "currency"
Better = Literal["less", "more", "neither"]
Sign = Literal[">=", "<="]
# How the values of several years become one: their sum as that of a year; their greatest value; or their mean, weighted by a
# column of the evaluation.
A_YEAR, MOST, BY_HOURS = "a year", "most", "hours"
BASIS = f"a year of {YEAR:,} h"  # of all amounts that are shown
SITE = "uncontrolled_"  # prefix of the columns of the uncontrolled site


@dataclass(frozen=True)
class Measure:
    """A column of evaluations. Buildings, hours and windows of a year are joined by the formula of a KPI, years by `value`."""

    name: str
    unit: str = "1"  # "1" for a plain number, `MONEY` for that of the tariff where no site says which
    meaning: str = ""  # one line
    better: Better = "less"  # `neither` where it says nothing about a policy
    over: str = A_YEAR  # how years become one: `A_YEAR`, `MOST`, or the column that weights their mean
    kind: Literal["float64", "int64"] = "float64"
    label: str = ""  # its name in tables, summary and report; empty where they leave it out
    needs: str = ""  # what a site without it has no value for, or the same for every policy, such as PV

    @property
    def metadata(self) -> dict[str, str]:
        """What a Parquet field says of it; the field has its name and type."""
        told = {name: getattr(self, name) for name in ("better", "over", "label", "needs")}
        return {"unit": self.unit, "meaning": self.meaning, **{name: text for name, text in told.items() if text}}

    @classmethod
    def of(cls, name: str, kind: str, told: Mapping[str, str]) -> Measure | None:
        """The measure whose `metadata` were written; None for a field that is none."""
        better = told.get("better")
        if better not in ("less", "more", "neither") or kind not in ("float64", "int64"):
            return None
        texts = {key: told.get(key, "") for key in ("unit", "meaning", "label", "needs")}
        return cls(name, better=better, over=told.get("over", A_YEAR), kind=kind, **texts)  # type: ignore[arg-type]

    def paid_in(self, currency: str) -> Measure:
        """The measure on a site whose prices are in this money; empty where that is not known."""
        return replace(self, unit=currency) if currency and self.unit == MONEY else self

    @property
    def is_share(self) -> bool:
        """Whether it is a part of the column that weights it."""
        return self.over not in (A_YEAR, MOST, BY_HOURS)

    def is_lacking(self, values: Iterable[float]) -> bool:
        """Whether a site lacks what it needs, by its values for several policies: none has any, or all have 0 of an amount."""
        known = [value for value in values if not math.isnan(value)]
        return bool(self.needs) and (not known or not (self.is_share or any(known)))

    def value(self, years: Years, prefix: str = "") -> float:
        """Its value over several years: the only place where these are joined.

        Amounts are those of a year of 8,760 hours. NaN where a year has none, and without a row.
        """
        import numpy as np  # which those who watch a search need not wait for

        if not len(years):
            return math.nan
        values = _column(years, prefix + self.name)
        if self.over == MOST:
            return float(values.max())
        hours = _column(years, "hours")
        if self.over == A_YEAR:
            return float(values.sum() / hours.sum() * YEAR)
        # Episodes of an environment have no hours: they weigh alike.
        alike = self.over == BY_HOURS and np.isnan(hours).all()
        weights = np.ones(len(years)) if alike else _column(years, "hours" if self.over == BY_HOURS else prefix + self.over)
        counted = weights > 0.0
        return float(np.average(values[counted], weights=weights[counted])) if counted.any() else math.nan

    def shown(self, value: float) -> str:
        """A value as a person reads it, with its unit."""
        if self.name == SCORE.name:
            return signed(value)
        scale = self.scale((value,))
        return f"{scale.text(value)} {scale.unit}".rstrip()

    def exact(self, value: float) -> str:
        """A value beside a bound, with its unit: in that of the bound, and with digits enough to tell both apart."""
        size = abs(value)
        text = f"{value:,.0f}" if size >= 1000.0 else f"{value:,.1f}" if size >= 10.0 else f"{value:.4f}"
        return self.shown(value) if self.name == SCORE.name else f"{text} {self.shown_unit}".rstrip()

    def column(self, values: Sequence[float | None]) -> tuple[str, list[str]]:
        """Heading and cells of a table's column with these values; a cell is empty where there is none."""
        heading, text = self.fitted(values)
        return heading, ["" if value is None or math.isnan(value) else text(value) for value in values]

    def fitted(self, values: Iterable[float | None]) -> tuple[str, Callable[[float], str]]:
        """How a column of values is shown, all in one unit with as many decimals: its heading, and a value in words."""
        if self.name == SCORE.name:
            return self.name, signed
        scale = self.scale(values)
        return scale.heading(self.heading), scale.text

    def scale(self, values: Iterable[float | None]) -> Scale:
        """How a column of values is shown: in a unit of their size."""
        return Scale.of(values, self.shown_unit)

    @property
    def heading(self) -> str:
        """Its name without its unit, of an amount its label."""
        # As in tables of several amounts; a plain number is found by its name.
        return (self.label if self.unit != "1" else "") or self.name.removesuffix(f"_{self.unit.lower()}")

    @property
    def shown_unit(self) -> str:
        """Its unit; empty for plain numbers, and for money where it is not known which."""
        return "" if self.unit in ("1", MONEY) else self.unit


def signed(value: float, beside: float = 0.0) -> str:
    """Four decimals with a sign, fewer of what is or stands `beside` large numbers, and three digits of small ones."""
    size = max(abs(value), abs(beside))
    if size >= _LARGE_SCORE:
        return f"{value:+,.1f}" if size < _LARGEST_WITH_TENTHS else f"{value:+,.0f}"
    return f"{value:+.{SIGNIFICANT}g}" if _NOTHING < size < _SMALL_SCORE else f"{round(value, 4) + 0.0:+.4f}"


_LARGE_SCORE: Final = 10.0  # no site has one
_LARGEST_WITH_TENTHS, _SMALL_SCORE, _NOTHING = 1e4, 5e-5, 1e-6
SCORE = Measure("score", "1", "mean reward an hour", "more", BY_HOURS)
_SCORE_TOLERANCE: Final = 1e-4  # of a bound, of its solver and of single precision
_LEAST_BOUND: Final = 1e-3  # where there is next to nothing to win, the solver's tolerance is one of the site's energies


def exceeds(score: float, bound: float) -> bool:
    """Whether a score is above what perfect foresight reaches, or no number."""
    return not score <= bound + _SCORE_TOLERANCE * max(abs(bound), _LEAST_BOUND)


def shortfall(value: float, sign: Sign, bound: float) -> float:
    """By how much a value misses a bound, as a part of it (of 1 for a bound of 0); 0 where it keeps it."""
    if math.isnan(value):
        return 1.0  # what was not measured is not met
    missing = bound - value if sign == ">=" else value - bound
    return max(0.0, missing) / (abs(bound) or 1.0)


# Part of what the uncontrolled site does for people. Below it, savings are at their cost, so no such policy wins.
LEAST_SERVED: Final = 0.95
# The bound of policies that serve vehicles so much, where that of all policies does not.
SERVED_BOUND: Final = "bound of score, vehicles served"


@dataclass(frozen=True)
class Service:
    """What a site does for people, of which a winner keeps `LEAST_SERVED` of what there is without control."""

    measure: Measure  # a share
    stated_by: tuple[str, ...]  # how names of KPIs begin whose requirements say what else has to be kept
    text: str  # what is required, in words

    @property
    def sign(self) -> Sign:
        """The sign of a requirement."""
        return ">=" if self.measure.better == "more" else "<="

    def is_stated(self, kpis: Iterable[str]) -> bool:
        """Whether requirements on these KPIs say how much of it has to be kept."""
        return any(name.startswith(self.stated_by) for name in kpis)

    def bound(self, years: Years) -> float:
        """What its measure has to keep on the site of these rows; NaN where the site does nothing of the kind."""
        before = self.measure.value(years, SITE)
        return LEAST_SERVED * before if self.sign == ">=" else 1.0 - LEAST_SERVED * (1.0 - before)

    def shortfall(self, years: Years) -> float:
        """By how much the policy of these rows misses that, see `shortfall`."""
        return shortfall(self.measure.value(years), self.sign, self.bound(years))


VEHICLES_SERVED: Final = Service(
    Measure("ev_served", better="more", over="ev_required_kwh"),
    ("ev_", "departures"),
    f"{LEAST_SERVED:.0%} of the vehicle energy that can be served",
)
COMFORT: Final = Service(
    Measure("discomfort", over="occupied_hours"),
    ("discomfort", "unmet_degree_hours"),
    f"{LEAST_SERVED:.0%} of the hours that are comfortable without control",
)


def services(years: Years, kpis: Iterable[str] = ()) -> list[Service]:
    """What a winner keeps on the site of these rows, where requirements on these KPIs say nothing else."""
    stated, both = list(kpis), (VEHICLES_SERVED, COMFORT)
    return [service for service in both if not service.is_stated(stated) and not math.isnan(service.bound(years))]


def by_the_year(title: str, measures: Iterable[Measure] = ()) -> str:
    """A heading with the time that amounts are of; unchanged where measures are given, and none of them is an amount."""
    shown = list(measures)
    return f"{title}; amounts of {BASIS}" if not shown or any(measure.over == A_YEAR for measure in shown) else title


def _column(years: Years, name: str) -> np.ndarray:
    """Values of a column, NaN where a row has none; shape (years,)."""
    import numpy as np

    values = [row.get(name) for row in years] if isinstance(years, Sequence) else years.get(name)
    if values is None:
        return np.full(len(years), math.nan)
    return np.array([math.nan if value is None else float(value) for value in values])


THOUSANDS_FROM: Final = 100_000.0  # of the smaller unit; below, five digits are still read at once
SIGNIFICANT: Final = 3  # digits, at least
MOST_DECIMALS: Final = 3
SMALL: Final = 100.0  # values that are so many times smaller than the largest have fewer digits
# Units, each a thousand of the one before. Others, such as money, have words.
_UNITS: Final = (("kWh", "MWh", "GWh", "TWh"), ("kW", "MW", "GW"), ("kg", "t", "kt", "Mt"))


def larger_units(unit: str) -> tuple[str, ...]:
    """A unit and those above it, each a thousand of the one before."""
    return next((units for units in _UNITS if units[0] == unit), (unit, f"thousand {unit}".strip(), f"million {unit}".strip()))


@dataclass(frozen=True)
class Scale:
    """How the amounts of a column are shown: in a unit that fits their size, and with one number of decimals."""

    unit: str
    factor: float  # from the unit that they are given in
    decimals: int | None  # None for numbers without a unit that are too small for decimals

    @classmethod
    def of(cls, amounts: Iterable[float | None], unit: str) -> Scale:
        """The scale of a column of amounts; the unit is empty for one that is not known."""
        sizes = [abs(amount) for amount in amounts if amount is not None and math.isfinite(amount)]
        (unit, *larger), largest, factor = larger_units(unit), max(sizes, default=0.0), 1.0
        while largest * factor >= THOUSANDS_FROM and larger:
            unit, factor = larger.pop(0), factor / 1000.0
        counted = [size * factor for size in sizes if size > 0.0 and size * SMALL >= largest]
        if not counted:
            return cls(unit, factor, 0)
        if not unit and max(counted) < 10.0 ** (SIGNIFICANT - 1 - MOST_DECIMALS):
            return cls(unit, factor, None)
        decimals = SIGNIFICANT - 1 - math.floor(math.log10(min(counted)))
        return cls(unit, factor, min(MOST_DECIMALS, max(0, decimals)))

    def text(self, amount: float | None) -> str:
        """An amount; empty where it is missing or not a number."""
        if amount is None or math.isnan(amount):
            return ""
        return f"{amount:.{SIGNIFICANT}g}" if self.decimals is None else f"{amount * self.factor:,.{self.decimals}f}"

    def heading(self, name: str) -> str:
        """Heading of the column: name and unit."""
        return f"{name}, {self.unit}" if self.unit else name
