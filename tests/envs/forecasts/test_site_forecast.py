"""Forecasts of a site by each method; none but the exact one knows what follows."""

from dataclasses import replace

import numpy as np
import pytest

from envs.forecasts.series import KINDS, SiteSeries
from envs.forecasts.site_forecast import METHODS, Method, SiteForecast, TrainStatistics

ROWS, NOW, HOURS = 300, 200, 30
RNG = np.random.default_rng(0)
SERIES = SiteSeries(
    np.arange(ROWS) % 24, {kind: RNG.uniform(size=(2, ROWS)) for kind in KINDS}, np.zeros((ROWS, 0), np.float32), ()
)
STATISTICS = TrainStatistics({kind: np.ones((2, 24)) for kind in KINDS}, np.full((2, 24, HOURS), 0.5), 0.3)


@pytest.mark.parametrize("method", METHODS)
def test_only_the_exact_forecast_changes_with_the_future(method: Method) -> None:
    shifted = {kind: np.where(np.arange(ROWS) > NOW, values + 5.0, values) for kind, values in SERIES.values.items()}
    first, second = (SiteForecast(own, method, STATISTICS) for own in (SERIES, replace(SERIES, values=shifted)))
    for kind in KINDS:
        before, after = (own.ahead(kind, NOW, HOURS) for own in (first, second))
        assert np.array_equal(before, after) == (method != "exact")
        np.testing.assert_array_equal(before[:, 0], SERIES.values[kind][:, NOW])
    assert first.foresees == (method == "exact")
    assert first.error == (0.0 if method == "exact" else 0.3)


def test_vehicles_to_come_take_their_part_of_the_charging() -> None:
    forecast = SiteForecast(SERIES, "yesterday", STATISTICS)
    np.testing.assert_allclose(forecast.arriving(NOW, 5), 0.5 * forecast.ahead("charging", NOW, 5))


def test_after_the_last_row_the_calendar_repeats_a_day() -> None:
    rows = SiteForecast(SERIES, "yesterday", STATISTICS).calendar_rows(ROWS - 2, 4)
    assert rows.tolist() == [ROWS - 2, ROWS - 1, ROWS - 24, ROWS - 23]
