"""PV output keeps to the figures of the site."""

import numpy as np
import pytest

from common.units import YEAR
from envs.scenarios.iquitos.calendar import calendar
from envs.scenarios.iquitos.site import Pv
from envs.scenarios.iquitos.solar import ac_power, irradiance_on_modules, power_before_limit
from envs.scenarios.iquitos.weather import Weather


def test_pv_yields_8_29_gwh_a_year_at_most_2887_kw(skies: dict[int, Weather]) -> None:
    output = {year: ac_power(Pv(), sky, calendar(year))[:YEAR] for year, sky in skies.items()}
    annual = np.array([series.sum() / 1e6 for series in output.values()])
    assert annual.mean() == pytest.approx(8.29, rel=0.015)
    assert np.all(np.abs(annual / 8.29 - 1.0) < 0.04)
    assert max(series.max() for series in output.values()) == pytest.approx(2887.0)


def test_performance_ratio_before_the_inverters_limit_is_0_80(skies: dict[int, Weather]) -> None:
    pv = Pv()
    ratios = [
        power_before_limit(pv, sky, calendar(year)).sum()
        / (irradiance_on_modules(pv, sky, calendar(year)).sum() / 1e3 * pv.kwp)
        for year, sky in skies.items()
    ]
    assert np.mean(ratios) == pytest.approx(0.80, abs=0.01)


def test_daily_pv_energy_varies_as_metered(skies: dict[int, Weather]) -> None:
    days = np.array([ac_power(Pv(), sky, calendar(year))[:YEAR].reshape(-1, 24).sum(axis=1) for year, sky in skies.items()])
    variation = np.mean(days.std(axis=1) / days.mean(axis=1))
    skewness = np.mean((days - days.mean()) ** 3) / days.std() ** 3
    month = calendar(0).month[:YEAR:24]
    anomaly = days - np.stack([[row[month == m].mean() for m in month] for row in days])
    lag_1 = np.mean([np.corrcoef(row[1:], row[:-1])[0, 1] for row in anomaly])
    assert variation == pytest.approx(0.146, abs=0.015)
    assert skewness < -1.0
    # The inverter's limit cuts what the clear days have in common, so less than the clouds' 0.18 is left.
    assert 0.05 < lag_1 < 0.25


def test_a_given_dc_size_gives_less_where_it_is_smaller(skies: dict[int, Weather]) -> None:
    full, small = (ac_power(Pv(kwp=kwp), skies[1], calendar(1)).sum() for kwp in (Pv().kwp, 4162.0))
    assert small < 0.8 * full
