"""Hours of a generated year, its random streams, and tables of month-by-hour means."""

from __future__ import annotations

import csv
import zlib
from dataclasses import dataclass
from importlib import resources

import numpy as np
import pandas as pd

from envs.scenarios.iquitos.site import ROWS, TIME_ZONE


@dataclass(frozen=True)
class Calendar:
    """The rows of a year as arrays of shape (ROWS,).

    Attributes:
        month: 0-11.
        hour: of the day, 0-23; a row covers the hour that begins then.
        weekday: 0 Monday to 6 Sunday. The year's first day is weekday `year % 7`, so years differ.
        middle: middle of each hour, for the sun's position.
    """

    month: np.ndarray
    hour: np.ndarray
    weekday: np.ndarray
    middle: pd.DatetimeIndex


def calendar(year: int) -> Calendar:
    """Calendar of a year of 365 days."""
    # The sun repeats every year, so any year without a leap day gives its position.
    start = pd.date_range("2025-01-01", periods=ROWS, freq="h", tz=TIME_ZONE)
    day = np.arange(ROWS) // 24
    return Calendar(start.month.to_numpy() - 1, start.hour.to_numpy(), (year + day) % 7, start + pd.Timedelta(minutes=30))


def stream(year: int, *names: str) -> np.random.Generator:
    """Random stream of one ingredient of a year: adding an ingredient leaves the others as they were."""
    return np.random.default_rng([year, *(zlib.crc32(name.encode()) for name in names)])


def autoregressive(rng: np.random.Generator, size: int, lag_1: float) -> np.ndarray:
    """Stationary Gaussian AR(1) series, shape (size,), mean 0, variance 1, lag-1 correlation `lag_1`."""
    series = rng.standard_normal(size)
    for i in range(1, size):
        series[i] = lag_1 * series[i - 1] + np.sqrt(1.0 - lag_1**2) * series[i]
    return series


def by_day(daily: np.ndarray) -> np.ndarray:
    """Spread one value a day, shape (DAYS,), over the year's rows, shape (ROWS,)."""
    return np.append(np.repeat(daily, 24), daily[0])


def table(name: str) -> np.ndarray:
    """Table `tables/NAME.csv` without its header and its column of hours, shape (24, columns)."""
    text = resources.files("envs.scenarios.iquitos").joinpath("tables", f"{name}.csv").read_text(encoding="utf-8")
    return np.array([[float(cell) for cell in row[1:]] for row in list(csv.reader(text.splitlines()))[1:]])
