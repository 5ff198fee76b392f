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


def values(rows: pd.DataFrame, name: str, over: str, prefix: str = "") -> pd.Series:
    """Value of a column over the years of each trial.

    Args:
        rows: of one evaluation of each trial, a row a year.
        name: of the column.
        over: see `Measure`.
        prefix: of the columns, such as `uncontrolled_`.

    Returns:
        By trial, in the column's unit; amounts as those of a year of 8,760 hours. NaN where a year has none.
    """
    import numpy as np

    weight = "hours" if over in (A_YEAR, MOST, BY_HOURS) else prefix + over
    trials = rows["trial"].astype("int64")
    if prefix + name not in rows or weight not in rows:
        return rows.groupby(trials)["hours"].first().astype(float) * math.nan
    own, weights = rows[prefix + name].astype(float), rows[weight].astype(float)
    if over in (MOST, A_YEAR):
        # Not the sum of the years that have one.
        known = own.notna().groupby(trials).all()
        many = own.groupby(trials).max() if over == MOST else own.groupby(trials).sum() / weights.groupby(trials).sum() * YEAR
        return many.where(known)
    counted = weights > 0.0
    total = weights.where(counted, 0.0).groupby(trials).sum()
    products = (own * weights).where(counted, 0.0)
    known = products.notna().groupby(trials).all()
    return (products.groupby(trials).sum() / total.replace(0.0, np.nan)).where(known)
