"""Days of a synthetic year come from the train split, of their kind and season; energies stay plausible."""

import numpy as np
import pandas as pd
import pytest

from envs.scenarios.recombination import (
    FOLLOWS,
    LOAD_SIGMA,
    Calendar,
    Recombination,
    _hours_ahead,
    draw_donors,
    factors,
)  # fmt: skip

DAYS, DAY = 365, 24
ROWS = DAYS * DAY
BUILDINGS = 3


def hours() -> pd.DataFrame:
    """A calendar of a year that begins on a Monday, with two holidays; row 0 is the first hour of a day."""
    day = np.arange(ROWS) // DAY
    kind = day % 7 + 1
    kind[np.isin(day, (100, 250))] = 8
    return pd.DataFrame({"month": np.minimum(day // 30 + 1, 12), "day_type": kind, "hour": np.arange(ROWS) % DAY + 1})


def weeks() -> np.ndarray:
    """Rows of three weeks of every five."""
    return np.isin(np.arange(ROWS) // (7 * DAY) % 5, (0, 1, 3))


def calendar(trains: np.ndarray) -> Calendar:
    own = hours()
    return Calendar.of(own["day_type"].to_numpy(), own["hour"].to_numpy(), trains)


def weather() -> pd.DataFrame:
    """Weather with exact forecasts, noisy ones, and a tariff of evening and weekend."""
    own, random = hours(), np.random.default_rng(1)
    sun = np.clip(np.sin((own["hour"].to_numpy() - 6.5) / 12.0 * np.pi), 0.0, None) * random.uniform(0.2, 1.0, DAYS).repeat(DAY)
    dear = (own["hour"] > 18).to_numpy() & (own["day_type"] < 6).to_numpy()
    return pd.DataFrame({
        "direct_solar_irradiance": 900.0 * sun,
        "direct_solar_irradiance_predicted_1": np.roll(900.0 * sun, -6),
        "direct_solar_irradiance_predicted_2": np.clip(np.roll(900.0 * sun, -24) + random.normal(0.0, 20.0, ROWS), 0.0, None),
        "electricity_pricing": np.where(dear, 0.5, 0.2),
    })  # fmt: skip


def homes() -> list[pd.DataFrame]:
    own, random, sun = hours(), np.random.default_rng(2), weather()["direct_solar_irradiance"].to_numpy()
    return [
        own.assign(
            non_shiftable_load=(i + 1) * random.lognormal(-0.02, 0.2, ROWS),
            solar_generation=sun,
            dhw_demand=random.random(ROWS),
        )
        for i in range(BUILDINGS)
    ]


def made(trains: np.ndarray, tables: list[pd.DataFrame], sky: pd.DataFrame, seed: int = 0) -> list[pd.DataFrame]:
    year = Recombination(calendar(trains), 0, ROWS, (seed, 0))
    lenders = year.lenders(["home"] * len(tables))
    return [year.weather(sky, hours()), *(year.building(tables, own, lender) for own, lender in enumerate(lenders))]


def test_donors_train_and_are_of_the_kind_and_season_of_their_day() -> None:
    own = calendar(weeks())
    donors = draw_donors(own, range(DAYS), np.random.default_rng(0))
    assert set(donors) <= set(own.donors)
    # No holiday trains near the two of them.
    usual = ~np.isin(np.arange(DAYS), (100, 250))
    assert (own.kind[donors] == own.kind)[usual].all()
    apart = np.abs(donors - np.arange(DAYS))
    assert np.minimum(apart, DAYS - apart).max() <= 21
    # The year has no ends: its first days have donors among its last.
    assert set(own.candidates(0)) & set(range(350, DAYS))


def test_runs_of_donors_follow_one_another_as_days_do() -> None:
    donors = draw_donors(calendar(np.ones(ROWS, dtype=bool)), range(DAYS), np.random.default_rng(0))
    followed = (np.diff(donors) == 1).mean()
    # Less than the probability: after a shift by other than whole weeks, a weekend breaks a run.
    assert 0.4 < followed < FOLLOWS + 0.1


def test_the_hour_of_summer_time_is_part_of_a_kind() -> None:
    own = hours()
    summer = np.arange(ROWS) // DAY >= 90
    shifted = Calendar.of(own["day_type"].to_numpy(), np.where(summer, own["hour"] % DAY + 1, own["hour"]), weeks())
    assert all((donor >= 90) == (day >= 90) for day in (85, 95) for donor in shifted.candidates(day))


def test_a_day_without_its_like_in_the_season_has_the_nearest_donors() -> None:
    own = calendar(np.arange(ROWS) < 10 * DAY)
    assert own.candidates(200).tolist() == [0]
    assert set(own.candidates(100)) == {9}


def test_what_does_not_train_does_not_matter() -> None:
    trains, before = weeks(), made(weeks(), homes(), weather())
    tables, sky, random = homes(), weather(), np.random.default_rng(5)
    for table in (*tables, sky):
        for name in set(table) - set(hours()):
            values = table[name].to_numpy().copy()
            values[~trains] = 2000.0 * random.random((~trains).sum())
            table[name] = values
    for one, other in zip(before, made(trains, tables, sky), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_all_follows_from_the_seed() -> None:
    first, again, other = (made(weeks(), homes(), weather(), seed) for seed in (0, 0, 1))
    for one, two, three in zip(first, again, other, strict=True):
        pd.testing.assert_frame_equal(one, two, check_exact=True)
        assert not one.equals(three)


def test_energies_stay_plausible() -> None:
    tables, trains = homes(), weeks()
    ratios = []
    for seed in range(12):
        sky, *buildings = made(trains, tables, weather(), seed)
        for table, own in zip(tables, buildings, strict=True):
            for name in ("non_shiftable_load", "solar_generation"):
                real, values = table[name].to_numpy(), own[name].to_numpy()
                assert values.min() >= 0.0
                assert values.max() <= real[trains].max()
                ratios.append(values.mean() / real.mean())
            assert not own["solar_generation"].to_numpy()[sky["direct_solar_irradiance"].to_numpy() == 0.0].any()
            assert np.array_equal(own[["month", "day_type", "hour"]], hours())
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.06)
    assert np.ptp(ratios) > 0.1


def test_homes_recombine_with_one_another_and_keep_their_energy() -> None:
    year = Recombination(calendar(weeks()), 0, ROWS, (0, 0))
    groups = ["small", "large", "small", "small", "large", "other"]
    lenders = year.lenders(groups)
    assert sorted(lenders) == list(range(6))
    assert [groups[lender] for lender in lenders] == groups
    tables = homes()
    shapes = np.where(np.arange(ROWS) % DAY < 12, 1.0, 3.0)
    tables[1]["non_shiftable_load"] = shapes
    lent = year.building(tables, 0, 1)["non_shiftable_load"].to_numpy()
    assert lent[shapes > 1.0].mean() / lent[shapes == 1.0].mean() == pytest.approx(3.0, rel=0.2)
    assert lent.mean() == pytest.approx(tables[0]["non_shiftable_load"].mean(), rel=0.5)


def test_forecasts_tell_of_the_new_hours_and_miss_them_as_before() -> None:
    sky = made(weeks(), homes(), weather())[0]
    sun = sky["direct_solar_irradiance"].to_numpy()
    assert np.array_equal(sky["direct_solar_irradiance_predicted_1"].to_numpy()[:-6], sun[6:])
    missed = sky["direct_solar_irradiance_predicted_2"].to_numpy()[:-24] - sun[24:]
    assert 5.0 < np.abs(missed).mean() < 20.0
    assert (
        _hours_ahead(
            weather()["direct_solar_irradiance_predicted_2"].to_numpy(),
            weather()["direct_solar_irradiance"].to_numpy(),
            weeks(),
        )
        == 24
    )


def test_a_published_tariff_stays_with_the_calendar_and_a_market_price_goes_with_its_donor() -> None:
    sky = weather()
    # No holiday of that month trains, so nothing says what it costs.
    usual = np.arange(ROWS) // DAY != 100
    new = Recombination(calendar(weeks()), 0, ROWS, (0, 0)).weather(sky, hours())
    assert np.array_equal(new["electricity_pricing"][usual], sky["electricity_pricing"][usual])
    market = sky.assign(electricity_pricing=np.arange(ROWS, dtype=float))
    year = Recombination(calendar(weeks()), 0, ROWS, (0, 0))
    assert np.array_equal(year.weather(market, hours())["electricity_pricing"], year.weather_rows.astype(float))


def test_factors_have_the_mean_one_and_their_deviations() -> None:
    drawn = np.stack([factors(np.random.default_rng(seed), 10 * DAY, LOAD_SIGMA) for seed in range(400)])
    assert drawn.mean() == pytest.approx(1.0, abs=0.03)
    logs = np.log(drawn).reshape(400, 10, DAY)
    assert (logs - logs.mean(axis=2, keepdims=True)).std() == pytest.approx(LOAD_SIGMA[2], rel=0.1)
    assert logs.mean(axis=(1, 2)).std() == pytest.approx(np.hypot(LOAD_SIGMA[0], LOAD_SIGMA[1] / 10**0.5), rel=0.15)
