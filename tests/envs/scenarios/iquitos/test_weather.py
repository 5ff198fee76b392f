"""Irradiance keeps to the table of means, and forecasts are as good as they are meant to be."""

import numpy as np
import pytest

from common.units import YEAR
from envs.scenarios.iquitos.calendar import calendar, table
from envs.scenarios.iquitos.weather import Weather


def test_irradiance_follows_the_months_and_the_year(skies: dict[int, Weather]) -> None:
    ghi = np.mean([sky.ghi[:YEAR] for sky in skies.values()], axis=0)
    cal = calendar(0)
    expected = table("ghi_w_per_m2")[cal.hour, cal.month][:YEAR]
    assert ghi.sum() / 1e3 == pytest.approx(1668.0, rel=0.01)
    for month in range(12):
        here = cal.month[:YEAR] == month
        assert ghi[here].sum() == pytest.approx(expected[here].sum(), rel=0.08), month


def test_forecasts_know_something_and_not_all(skies: dict[int, Weather]) -> None:
    sky, cal = skies[1], calendar(1)
    noon = np.flatnonzero(cal.hour == 12)[:300]
    for hours, forecast in zip((6, 12, 24), sky.forecasts["direct_solar_irradiance"], strict=True):
        made = noon - hours + (24 if hours == 24 else 0)
        correlation = np.corrcoef(forecast[made[made >= 0]], sky.dni[made[made >= 0] + hours])[0, 1]
        assert 0.4 < correlation < 0.95
    assert all(np.all(forecast >= 0.0) for forecast in sky.forecasts["diffuse_solar_irradiance"])


def test_nights_are_dark_and_no_value_is_negative(skies: dict[int, Weather]) -> None:
    sky = skies[0]
    night = sky.zenith > 100.0
    assert night.sum() > 3000
    assert not sky.ghi[night].any()
    for series in (sky.ghi, sky.dni, sky.dhi, sky.humidity):
        assert series.min() >= 0.0
