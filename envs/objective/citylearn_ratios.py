"""CityLearn's own ratios of a run to its baseline, by the formulas of its `evaluate()` 3.0.2, for any simulator.

The baseline is the same run without what batteries, thermal storages and chargers took, so it charges no vehicle. Ratios of
amounts are means over the buildings; those of the shape of the net import are of all buildings together. A test compares them
with untouched CityLearn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from common.units import DAY

_TINY = 1e-6  # CityLearn's placeholder for zero
_MONTH = 730  # hours of CityLearn's month

# Names of `evaluate()` by our columns.
RATIOS: Mapping[str, str] = {
    "citylearn_electricity_consumption_total": "electricity_consumption_total",
    "citylearn_carbon_emissions_total": "carbon_emissions_total",
    "citylearn_cost_total": "cost_total",
    "citylearn_zero_net_energy": "zero_net_energy",
    "citylearn_ramping_average": "ramping_average",
    "citylearn_daily_peak_average": "daily_peak_average",
    "citylearn_all_time_peak_average": "all_time_peak_average",
    "citylearn_daily_one_minus_load_factor_average": "daily_one_minus_load_factor_average",
    "citylearn_monthly_one_minus_load_factor_average": "monthly_one_minus_load_factor_average",
}
_GRID = (
    "ramping_average", "daily_one_minus_load_factor_average", "daily_peak_average", "all_time_peak_average",
)  # fmt: skip
SCORE_2022 = "citylearn_2022_score"


def district_ratios(net: np.ndarray, baseline: np.ndarray, price: np.ndarray, carbon: np.ndarray) -> dict[str, float]:
    """CityLearn's ratios at district level, by the names of its `evaluate()`; NaN where it gives none.

    All of shape (buildings, hours): net import [kWh], the same without storages and chargers, price and carbon intensity a kWh.
    """

    def mean(amount: Callable[[np.ndarray, int], float]) -> float:
        own = [_ratio(amount(net[n], n), amount(baseline[n], n)) for n in range(len(net))]
        known = [value for value in own if not math.isnan(value)]
        return float(np.mean(known)) if known else math.nan

    def shape(figure: Callable[[np.ndarray], float]) -> float:
        return _ratio(figure(net.sum(axis=0)), figure(baseline.sum(axis=0)))

    return {
        "electricity_consumption_total": mean(lambda kwh, _: float(np.maximum(kwh, 0.0).sum())),
        "carbon_emissions_total": mean(lambda kwh, n: float(np.maximum(kwh * carbon[n], 0.0).sum())),
        "cost_total": mean(lambda kwh, n: float(np.maximum(np.maximum(kwh, 0.0) * price[n], 0.0).sum())),
        "zero_net_energy": mean(lambda kwh, _: float(kwh.sum())),
        "ramping_average": shape(lambda kwh: float(np.maximum(np.diff(kwh), 0.0).sum())),
        "daily_one_minus_load_factor_average": shape(lambda kwh: _one_minus_load_factor(kwh, DAY)),
        "monthly_one_minus_load_factor_average": shape(lambda kwh: _one_minus_load_factor(kwh, _MONTH)),
        "daily_peak_average": shape(lambda kwh: float(np.mean([part.max() for part in _parts(kwh, DAY)]))),
        "all_time_peak_average": shape(lambda kwh: float(kwh.max())),
    }


def score_2022(ratios: Mapping[str, float]) -> float:
    """Score of the CityLearn Challenge 2022: the mean of cost, emission and grid, each as a ratio; less is better.

    Grid is the mean of ramping, daily load factor, daily peak and the peak of all hours.
    """
    by_name = {name: ratios[column] for column, name in RATIOS.items()}
    grid = float(np.mean([by_name[name] for name in _GRID]))
    return (by_name["cost_total"] + by_name["carbon_emissions_total"] + grid) / 3.0


def _parts(kwh: np.ndarray, hours: int) -> Iterator[np.ndarray]:
    return (kwh[start : start + hours] for start in range(0, len(kwh), hours))


def _one_minus_load_factor(kwh: np.ndarray, hours: int) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.array([1.0 - part.mean() / part.max() for part in _parts(kwh, hours)])
    known = each[~np.isnan(each)]
    return float(known.mean()) if len(known) else math.nan


def _ratio(control: float, baseline: float) -> float:
    """CityLearn's division: what is not finite counts as 0, and 0 over 0 is 1."""
    control, baseline = (value if math.isfinite(value) else 0.0 for value in (control, baseline))
    if abs(baseline) <= _TINY:
        return 1.0 if abs(control) <= _TINY else math.nan
    return control / baseline
