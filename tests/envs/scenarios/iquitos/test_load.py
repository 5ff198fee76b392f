"""The mall's load keeps to the figures of the site."""

import numpy as np
import pytest

from common.units import YEAR
from envs.scenarios.iquitos.calendar import calendar, table
from envs.scenarios.iquitos.load import mall_load

YEARS = range(8)


def test_load_is_12_37_gwh_a_year_with_the_residuals_variation() -> None:
    loads = np.array([mall_load(year, calendar(year))[:YEAR] for year in YEARS])
    assert loads.sum(axis=1).mean() / 1e6 == pytest.approx(12.37, rel=0.01)
    days = np.log(loads.reshape(len(loads), -1, 24).sum(axis=2))
    residual = days - np.log(table("mall_load_kw").sum(axis=0))[calendar(0).month[:YEAR:24]]
    assert residual.std() == pytest.approx(0.072, abs=0.01)
    assert np.mean([np.corrcoef(row[1:], row[:-1])[0, 1] for row in residual]) == pytest.approx(0.40, abs=0.08)


def test_sundays_differ_from_weekdays() -> None:
    cal, load = calendar(1), mall_load(1, calendar(1))
    morning = (cal.hour == 8)[:YEAR]
    weekday, sunday = (load[:YEAR][morning & cond[:YEAR]].mean() for cond in (cal.weekday < 5, cal.weekday == 6))
    assert sunday < 0.85 * weekday
