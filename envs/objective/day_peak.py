"""The day's highest import so far: the quantity behind the term `peak` of the reward."""

from __future__ import annotations

import numpy as np


class DayPeak:
    """Highest import of the running day, hour by hour.

    Attributes:
        kw: highest import so far.
    """

    def __init__(self) -> None:
        """Begin without a day."""
        self._day: int | None = None
        self.kw = 0.0

    def enter(self, day: int) -> None:
        """Set the day of the next hour; a new day starts from zero."""
        if day != self._day:
            self._day, self.kw = day, 0.0

    def add(self, import_kw: float) -> float:
        """Count one hour and return by how much it raised the day's highest import [kW].

        The rises of a day add up to its highest import.

        Args:
            import_kw: mean net import of the site in the hour [kW]; an export counts as zero.
        """
        before = self.kw
        self.kw = max(self.kw, import_kw)
        return self.kw - before


def days(hour: np.ndarray) -> np.ndarray:
    """Number of each row's day, counted along the year; a day begins where the hour of the day starts again.

    Args:
        hour: of the day, shape (rows,).

    Returns:
        From 0, shape (rows,).
    """
    return np.concatenate([[0], np.cumsum(np.diff(hour) < 0)]).astype(np.int64)


def day_peak_rises(day: np.ndarray, net_kwh: np.ndarray) -> np.ndarray:
    """By how much each hour of a run raises its day's highest import, without earlier hours.

    Args:
        day: number of each hour's day, see `days`, shape (hours,).
        net_kwh: net import of the site, shape (hours,).

    Returns:
        Rises [kW], shape (hours,).
    """
    peak, rises = DayPeak(), np.zeros(len(net_kwh))
    for i in range(len(net_kwh)):
        peak.enter(int(day[i]))
        rises[i] = peak.add(float(net_kwh[i]))
    return rises
