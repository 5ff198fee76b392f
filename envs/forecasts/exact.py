"""The future itself, as a forecast: what perfect foresight would be worth."""

from __future__ import annotations

import numpy as np

from common.units import DAY


class ExactForecast:
    """Knows the year; hours after its last are as a day before.

    Args:
        values: the series, shape (buildings, rows).
    """

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def ahead(self, row: int, hours: int) -> np.ndarray:
        """The present hour and those that follow, shape (buildings, hours); see `envs.forecasts.daily.DailyForecast.ahead`."""
        rows = row + np.arange(hours)
        beyond = np.maximum(rows - (self._values.shape[1] - 1), 0)
        source = rows - DAY * -(-beyond // DAY)
        return np.asarray(self._values[:, np.maximum(source, 0)])
