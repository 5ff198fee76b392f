"""The future itself, as a forecast: what perfect foresight would be worth."""

from __future__ import annotations

import numpy as np

from envs.forecasts.series import next_rows


class ExactForecast:
    """Knows the year's values, shape (buildings, rows); hours after its last are as a day before."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def ahead(self, row: int, hours: int) -> np.ndarray:
        """The present hour and those that follow, shape (buildings, hours); see `envs.forecasts.daily.DailyForecast.ahead`."""
        return np.asarray(self._values[:, np.maximum(next_rows(row, hours, self._values.shape[1]), 0)])
