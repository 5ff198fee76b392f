"""The future as a forecast."""

import numpy as np

from envs.forecasts.exact import ExactForecast

VALUES = np.arange(100.0)[np.newaxis]


def test_it_is_the_future() -> None:
    np.testing.assert_array_equal(ExactForecast(VALUES).ahead(10, 24), VALUES[:, 10:34])


def test_after_the_last_row_days_repeat() -> None:
    found = ExactForecast(VALUES).ahead(98, 28)
    np.testing.assert_array_equal(found[0, :2], [98.0, 99.0])
    np.testing.assert_array_equal(found[0, 2:26], np.arange(76.0, 100.0))
    np.testing.assert_array_equal(found[0, 26:], [76.0, 77.0])
