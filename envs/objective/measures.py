"""What a search can aim at: the score, every KPI, and CityLearn's ratios. Each has a unit and a direction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from common.amounts import Scale
from common.units import YEAR
from envs.objective.citylearn_ratios import RATIOS, SCORE_2022
from envs.objective.kpis import A_YEAR, BY_HOURS, KPIS, MOST, Better

SCORE = "score"
# A row of evaluations: values by column, see `results.schema` and `envs.objective.columns`.
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Measure:
    """A column of evaluations that a policy can be rated by.

    Attributes:
        name: of the column.
        unit: of its values; "1" for a plain number.
        better: whether less or more is better.
        over: how the values of several years become one, see `envs.objective.kpis`.
        may_be_nothing: whether NaN says that there is nothing to measure, such as the part of no vehicles' energy.
    """

    name: str
    unit: str
    better: Better
    over: str
    may_be_nothing: bool = False

    def value(self, rows: Sequence[Row], prefix: str = "") -> float:
        """Its value over several years.

        Args:
            rows: of one policy, a row a year.
            prefix: of the columns, such as `uncontrolled_`.

        Returns:
            In its unit; amounts as those of a year of 8,760 hours. NaN where a year has none, and without a row.
        """
        if not rows:
            return math.nan
        values = _column(rows, prefix + self.name)
        if self.over == MOST:
            return float(values.max())
        hours = _column(rows, "hours")
        if self.over == A_YEAR:
            return float(values.sum() / hours.sum() * YEAR)
        weights = hours if self.over == BY_HOURS else _column(rows, prefix + self.over)
        counted = weights > 0.0
        return float(np.average(values[counted], weights=weights[counted])) if counted.any() else math.nan

    def gain(self, rows: Sequence[Row]) -> float:
        """By how much a policy is better than the uncontrolled site, as a part of what that has.

        So gains of several measures can be compared and added. Where the uncontrolled site has 0, it is the plain difference.
        CityLearn's ratios are compared with 1, its own baseline.

        Args:
            rows: of one policy, a row a year.

        Returns:
            Above 0 where the policy is better; NaN where a year has no value.
        """
        if self.name == SCORE:
            return self.value(rows)
        # CityLearn's ratios are parts of its own baseline.
        before = 1.0 if self.name in (*RATIOS, SCORE_2022) else self.value(rows, "uncontrolled_")
        more = self.value(rows) - before
        return (-more if self.better == "less" else more) / (abs(before) or 1.0)

    def shown(self, value: float) -> str:
        """A value as a person reads it, with its unit."""
        if self.name == SCORE:
            return f"{value:+.4f}"
        scale = self._scale((value,))
        return f"{scale.text(value)} {scale.unit}".rstrip()

    def exact(self, value: float) -> str:
        """A value beside a bound, with its unit: in that of the bound, and with digits enough to tell both apart."""
        size = abs(value)
        text = f"{value:,.0f}" if size >= 1000.0 else f"{value:,.1f}" if size >= 10.0 else f"{value:.4f}"
        return self.shown(value) if self.name == SCORE else f"{text} {self._unit}".rstrip()

    def column(self, values: Sequence[float | None]) -> tuple[str, list[str]]:
        """Heading and cells of a table's column with these values; a cell is empty where there is none."""
        heading, text = self.fitted(values)
        return heading, ["" if value is None or math.isnan(value) else text(value) for value in values]

    def fitted(self, values: Iterable[float | None]) -> tuple[str, Callable[[float], str]]:
        """How a table shows values: in a unit that fits their size, all with as many decimals.

        Args:
            values: of the column.

        Returns:
            Heading of the column with its unit, and a value in words.
        """
        if self.name == SCORE:
            return self.name, lambda value: f"{value:+.4f}"
        scale = self._scale(values)
        return scale.heading(self.name.removesuffix(f"_{self.unit.lower()}")), scale.text

    def _scale(self, values: Iterable[float | None]) -> Scale:
        return Scale.of(values, self._unit)

    @property
    def _unit(self) -> str:
        # Money and plain numbers have no unit that is shown.
        return "" if self.unit in ("1", "currency") else self.unit


def _column(rows: Sequence[Row], name: str) -> np.ndarray:
    """Values of a column, NaN where a row has none; shape (rows,)."""
    values = (row.get(name) for row in rows)
    return np.array([math.nan if value is None else float(value) for value in values])


def _all() -> dict[str, Measure]:
    measures = [Measure(SCORE, "1", "more", BY_HOURS)]
    measures += [
        Measure(kpi.name, kpi.unit, kpi.better, kpi.over, kpi.bounds.may_be_nan or kpi.bounds_where(True).may_be_nan)
        for kpi in KPIS.values()
    ]
    measures += [Measure(column, "1", "less", BY_HOURS) for column in (*RATIOS, SCORE_2022)]
    return {measure.name: measure for measure in measures}


MEASURES: Mapping[str, Measure] = _all()
# Short names that can mean nothing else. A peak may be that of a year or of the days, a cost with or without demand charge.
ALIASES: Mapping[str, str] = {"co2": "co2_kg", "ramping": "ramping_kwh"}
