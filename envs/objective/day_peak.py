"""The day's highest import so far: the quantity behind the term `peak` of the reward."""

from __future__ import annotations

import numpy as np


class DayPeak:
    """Highest import of the running day, hour by hour [kW]."""

    def __init__(self) -> None:
        """Begin without a day."""
        self._day: int | None = None
        self.kw = 0.0

    def enter(self, day: int) -> None:
        """Set the day of the next hour; a new day starts from zero."""
        if day != self._day:
            self._day, self.kw = day, 0.0

    def add(self, import_kw: float) -> float:
        """Count an hour's mean net import [kW]; by how much it raised the day's highest. The rises of a day add up to that."""
        before = self.kw
        self.kw = max(self.kw, import_kw)
        return self.kw - before


def days(hour: np.ndarray) -> np.ndarray:
    """Number of each row's day from 0, shape (rows,); a day begins where the hour of the day starts again."""
    return np.concatenate([[0], np.cumsum(np.diff(hour) < 0)]).astype(np.int64)


def day_peak_rises(day: np.ndarray, net_kwh: np.ndarray) -> np.ndarray:
    """By how much each hour of a run raises its day's highest import [kW], shape (hours,), without earlier hours."""
    peak, rises = DayPeak(), np.zeros(len(net_kwh))
    for i in range(len(net_kwh)):
        peak.enter(int(day[i]))
        rises[i] = peak.add(float(net_kwh[i]))
    return rises
