"""What CityLearn does not know of a tariff: the money of its prices, and a demand charge.

They stand in a file `tariff.json` beside `schema.json`, which need not be there, nor have a demand charge:

    {"currency": "PEN",
     "demand_charge": {"peak_hours": [18, 19, 20, 21, 22], "peak_price": 48.5, "off_peak_excess_price": 22.8}}
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import ScenarioError
from envs.scenarios.schema_shape import steps_per_hour
from envs.scenarios.shapes import Checked, Each, Faults, Limit, Record, read_object

FILE_NAME = "tariff.json"
_FORM = "docs/formats.md shows its form"


@dataclass(frozen=True)
class DemandCharge:
    """Monthly charge on the highest imports of a site.

    A month costs `peak_price * P + off_peak_excess_price * max(0, O - P)`. P is the highest import of the month in peak hours
    and O the highest outside them, both in kWh of a step: in kW where an hour has one step, so prices of a kW are multiplied by
    the steps of an hour as they are read.
    """

    peak_hours: tuple[int, ...]  # hours of the day, 0-23, each standing for the hour that begins then
    peak_price: float  # per kWh of a step and month
    off_peak_excess_price: float  # per kWh of a step and month

    def month(self, peak_kw: np.ndarray | float, off_peak_kw: np.ndarray | float) -> np.ndarray:
        """Charge of a month with highest imports of `peak_kw` in peak hours and `off_peak_kw` outside, each of any shape."""
        return np.asarray(self.peak_price * peak_kw + self.off_peak_excess_price * np.maximum(0.0, off_peak_kw - peak_kw))

    @classmethod
    def of(cls, schema_path: Path) -> DemandCharge | None:
        """Demand charge of a scenario; None where its tariff file has none, a `ScenarioError` for a faulty file."""
        values = _read(schema_path).get("demand_charge")
        if values is None:
            return None
        per_hour = steps_per_hour(read_object(schema_path))
        return cls(
            tuple(int(hour) for hour in values["peak_hours"]),
            float(values["peak_price"]) * per_hour,
            float(values["off_peak_excess_price"]) * per_hour,
        )


def is_currency(value: Any) -> bool:
    """Whether something can be the name of a money: it stands in headings, and a number is none."""
    return (
        isinstance(value, str) and 0 < len(value) <= _MOST_LETTERS and value.isprintable() and not any(map(str.isdigit, value))
    )


def currency(schema_path: Path) -> str:
    """Money of a scenario's prices, such as EUR; empty where no file says it. A `ScenarioError` for a faulty file."""
    return str(_read(schema_path).get("currency", ""))


def write_tariff(folder: Path, money: str, charge: DemandCharge | None = None) -> None:
    """Write the tariff file of a scenario's folder."""
    content = {"currency": money, **({"demand_charge": asdict(charge)} if charge else {})}
    (folder / FILE_NAME).write_text(json.dumps(content, indent=1), encoding="utf-8")


def _read(schema_path: Path) -> dict[str, Any]:
    path = schema_path.parent / FILE_NAME
    if not path.exists():
        return {}
    faults = Faults()
    faults.add(*tariff_faults(schema_path))
    faults.refuse()
    return read_object(path)


_MOST_LETTERS = 8  # of a currency, which stands in headings
_PRICE = Limit(0, 1e9, "a price for each kW and month, not below zero", null=False)
_CHARGE = Record(
    {
        "peak_hours": Each(
            Limit(0, 23, "hours of the day", whole=True, null=False), "hours of the day from 0 to 23", list, least=1
        ),
        "peak_price": _PRICE,
        "off_peak_excess_price": _PRICE,
    },
    needed=("peak_hours", "peak_price", "off_peak_excess_price"),
    null=False,
    unknown="is unknown here",
)
_SHAPE = Record(
    {
        "currency": Checked(f"a text of at most {_MOST_LETTERS} letters, such as EUR", is_currency, null=False),
        "demand_charge": _CHARGE,
    },
    needed=("currency",),
    null=False,
    unknown="is unknown here",
)


def tariff_faults(schema_path: Path) -> list[str]:
    """Faults of the tariff file beside a schema, each as one line; none where there is no such file."""
    path = schema_path.parent / FILE_NAME
    if not path.exists():
        return []
    try:
        content = read_object(path)
    except ScenarioError as error:
        return [f"{error}; {_FORM}"]
    return [f"{path}: {fault}; {_FORM}" for fault in _SHAPE.faults(content, ())]


class MonthPeaks:
    """Highest imports of the running month so far [kW], in peak hours and outside them, hour by hour."""

    def __init__(self, tariff: DemandCharge) -> None:
        self._tariff = tariff
        self._month: int | None = None
        self.peak_kw = 0.0
        self.off_peak_kw = 0.0

    def enter(self, month: int) -> None:
        """Set the month of the next hour; a new month starts from zero."""
        if month != self._month:
            self._month, self.peak_kw, self.off_peak_kw = month, 0.0, 0.0

    def add(self, hour: int, import_kw: float) -> float:
        """Count an hour's import; the rise of the month's charge, below 0 where a new peak makes an earlier excess cheaper."""
        before = self._tariff.month(self.peak_kw, self.off_peak_kw)
        import_kw = max(0.0, import_kw)
        if hour in self._tariff.peak_hours:
            self.peak_kw = max(self.peak_kw, import_kw)
        else:
            self.off_peak_kw = max(self.off_peak_kw, import_kw)
        return float(self._tariff.month(self.peak_kw, self.off_peak_kw) - before)


def month_shares(month: np.ndarray, start: int, hours: int) -> np.ndarray:
    """Part of its month that a run over a window covers, for each of its hours, shape (hours,).

    A run over less than a month pays that part of the charge, else a week would pay four times too much beside its energy.
    `month` is of each step of the year.
    """
    run = np.concatenate([[0], np.cumsum(np.diff(month) != 0)])  # number of the month, counted along the year
    covered = run[start : start + hours]
    return np.bincount(covered, minlength=run[-1] + 1)[covered] / np.bincount(run)[covered]


def demand_costs(
    tariff: DemandCharge | None, month: np.ndarray, hour: np.ndarray, import_kw: np.ndarray, start: int = 0
) -> np.ndarray:
    """Hourly demand charge of a run from step `start` on; month and hour of each step of the year, import of each hour."""
    costs = np.zeros(len(import_kw))
    if tariff is None:
        return costs
    part, drawn = slice(start, start + len(costs)), np.maximum(import_kw, 0.0)
    is_peak = np.isin(hour[part], tariff.peak_hours)
    # As `MonthPeaks` hour by hour, of a month at once.
    for steps in np.split(np.arange(len(costs)), np.flatnonzero(np.diff(month[part])) + 1):
        peak = np.maximum.accumulate(np.where(is_peak[steps], drawn[steps], 0.0))
        off_peak = np.maximum.accumulate(np.where(is_peak[steps], 0.0, drawn[steps]))
        costs[steps] = np.diff(tariff.month(peak, off_peak), prepend=0.0)
    return costs * month_shares(month, start, len(import_kw))
