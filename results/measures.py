"""Columns of evaluations by which policies are compared: which direction is better, and how several years become one value.

The columns are made from `envs/objective`, which this room does not know. A test holds both to each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from common.units import YEAR

if TYPE_CHECKING:
    import pandas as pd

Better = Literal["less", "more"]
A_YEAR, MOST, BY_HOURS = "a year", "most", "hours"  # or the column that weights the mean
RATIO_PREFIX = "citylearn_"  # of CityLearn's own ratios; less is better


@dataclass(frozen=True)
class Measure:
    """How a column of evaluations is read.

    Attributes:
        better: direction.
        over: how several years become one: an amount a year, the greatest value, or the mean with this column as weights.
    """

    better: Better
    over: str = A_YEAR


MEASURES: Mapping[str, Measure] = {
    "score": Measure("more", BY_HOURS),
    **dict.fromkeys(
        (
            "import_kwh", "export_kwh", "co2_kg", "energy_cost", "demand_charge", "bill", "ramping_kwh", "battery_cycles",
            "ev_missing_kwh",
        ),
        Measure("less"),
    ),
    "peak_kw": Measure("less", MOST),
    "daily_peak_kw": Measure("less", BY_HOURS),
    "self_consumption": Measure("more", "pv_kwh"),
    "self_sufficiency": Measure("more", "consumption_kwh"),
    "ev_served": Measure("more", "ev_required_kwh"),
    "departures_met": Measure("more"),
}  # fmt: skip


def measure(name: str) -> Measure | None:
    """How a column is read; None for one that says nothing about a policy, or is not known."""
    return Measure("less", BY_HOURS) if name.startswith(RATIO_PREFIX) else MEASURES.get(name)


def value(rows: pd.DataFrame, name: str, over: str, prefix: str = "") -> float:
    """Value of a column over the years of one policy.

    Args:
        rows: its evaluation, a row a year.
        name: of the column.
        over: see `Measure`.
        prefix: of the columns, such as `uncontrolled_`.

    Returns:
        In the column's unit; amounts as those of a year of 8,760 hours. NaN where a year has none.
    """
    import numpy as np

    if rows.empty or prefix + name not in rows:
        return math.nan
    values = rows[prefix + name].to_numpy(float)
    if over == MOST:
        return float(values.max())
    hours = rows["hours"].to_numpy(float)
    if over == A_YEAR:
        return float(values.sum() / hours.sum() * YEAR)
    if over != BY_HOURS and prefix + over not in rows:
        return math.nan
    weights = hours if over == BY_HOURS else rows[prefix + over].to_numpy(float)
    counted = weights > 0.0
    return float(np.average(values[counted], weights=weights[counted])) if counted.any() else math.nan
