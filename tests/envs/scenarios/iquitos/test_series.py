"""Generated years have the means, spreads and habits that their parameters say."""

import itertools
from functools import lru_cache

import numpy as np
import pytest

from common.units import YEAR
from envs.scenarios.iquitos import SITES
from envs.scenarios.iquitos.series import (
    Session,
    Weather,
    ac_power,
    autoregressive,
    by_day,
    calendar,
    irradiance_on_modules,
    mall_load,
    power_before_limit,
    sessions,
    stream,
    table,
)
from envs.scenarios.iquitos.site import CLOSING_HOUR, DAYS, ROWS, Pv, SocketType


def test_a_year_begins_on_the_weekday_of_its_number_and_ends_with_the_next_years_first_hour() -> None:
    for year in (0, 1, 8):
        cal = calendar(year)
        assert cal.weekday[0] == year % 7
        assert (cal.month[0], cal.hour[0]) == (cal.month[-1], cal.hour[-1]) == (0, 0)
        assert len(cal.hour) == ROWS
    assert np.array_equal(np.unique(calendar(0).month), np.arange(12))


def test_streams_of_different_names_or_years_are_independent() -> None:
    draws = [stream(*key).random() for key in ((1, "load"), (1, "wind"), (2, "load"), (1, "load", "day"))]
    assert len(set(draws)) == len(draws)
    assert stream(1, "load").random() == draws[0]


def test_an_autoregressive_series_has_its_correlation_and_unit_variance() -> None:
    series = autoregressive(np.random.default_rng(0), 50_000, 0.6)
    assert series.std() == pytest.approx(1.0, abs=0.02)
    assert np.corrcoef(series[1:], series[:-1])[0, 1] == pytest.approx(0.6, abs=0.02)


def test_daily_values_cover_all_rows_and_the_first_covers_the_last() -> None:
    spread = by_day(np.arange(DAYS))
    assert len(spread) == ROWS
    assert spread[23:25].tolist() == [0, 1]
    assert spread[-1] == 0


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


@lru_cache
def all_sessions(name: str) -> dict[tuple[SocketType, int], list[Session]]:
    """Sessions of each socket of a site in one year, by its kind and number."""
    site = SITES[name]
    return {(kind, n): sessions(site, kind, n, 1) for kind in site.sockets for n in range(kind.count)}


@pytest.mark.parametrize(
    ("name", "per_day", "kwh"), [("iquitos", (350, 370), (850, 1000)), ("iquitos-38", (125, 145), (340, 400))]
)
def test_sessions_and_energy_a_day(name: str, per_day: tuple[float, float], kwh: tuple[float, float]) -> None:
    visits = all_sessions(name)
    count = sum(map(len, visits.values())) / 365
    energy = sum((v.target_soc - v.arrival_soc) * kind.battery_kwh for (kind, _), some in visits.items() for v in some) / 365
    assert per_day[0] < count < per_day[1]
    assert kwh[0] < energy < kwh[1]


@pytest.mark.parametrize("name", SITES)
def test_sessions_of_a_socket_leave_a_row_between_them_and_end_by_closing(name: str) -> None:
    for visits in all_sessions(name).values():
        for before, after in itertools.pairwise(visits):
            assert after.start > before.end
        for visit in visits:
            assert visit.start < visit.end <= visit.start // 24 * 24 + CLOSING_HOUR
            assert 0.0 <= visit.arrival_soc < visit.target_soc <= 1.0


def test_stays_are_short_at_the_38_sockets_and_four_in_ten_long_at_the_128() -> None:
    lengths = {
        name: np.array([v.end - v.start for visits in all_sessions(name).values() for v in visits if v.start % 24 <= 14])
        for name in SITES
    }
    assert set(lengths["iquitos-38"]) == {1, 2}
    assert np.mean(lengths["iquitos"] >= 4) == pytest.approx(0.4, abs=0.02)
    assert lengths["iquitos"].max() == 8
