"""Forecasts that repeat days, and the future."""

import numpy as np
import pytest

from envs.forecasts.daily import DailyForecast, ExactForecast, mean_of_days, mean_profile

HOUR = np.arange(240) % 24
VALUES = np.random.default_rng(0).uniform(size=(2, 240))
PROFILE = np.arange(48.0).reshape(2, 24)


def test_yesterday_is_the_day_before() -> None:
    found = DailyForecast(VALUES, HOUR, PROFILE, 1).ahead(100, 48)
    np.testing.assert_array_equal(found[:, 0], VALUES[:, 100])
    np.testing.assert_array_equal(found[:, 1:25], VALUES[:, 77:101])
    np.testing.assert_array_equal(found[:, 25:], VALUES[:, 77:100])


def test_seven_days_are_the_mean_of_as_many_as_there_are() -> None:
    found = DailyForecast(VALUES, HOUR, PROFILE, 7).ahead(200, 3)
    np.testing.assert_allclose(found[:, 1], VALUES[:, [201 - 24 * day for day in range(1, 8)]].mean(axis=1))
    found = DailyForecast(VALUES, HOUR, PROFILE, 7).ahead(50, 3)
    np.testing.assert_allclose(found[:, 2], VALUES[:, [28, 4]].mean(axis=1))


def test_before_the_first_day_the_profile_of_the_train_split_stands_in() -> None:
    found = DailyForecast(VALUES, HOUR, PROFILE, 7).ahead(3, 24)
    np.testing.assert_array_equal(found[:, 0], VALUES[:, 3])
    np.testing.assert_array_equal(found[:, 1:21], PROFILE[:, 4:24])
    np.testing.assert_array_equal(found[:, 21:], VALUES[:, :3])


def test_what_is_not_known_is_left_out_of_means() -> None:
    values = VALUES.copy()
    values[:, 100] = np.nan
    found = mean_of_days(values, 2)
    np.testing.assert_array_equal(found[:, 124], values[:, 124])
    assert np.isnan(mean_of_days(values, 1)[:, 100]).all()


def test_a_profile_has_a_value_for_every_hour() -> None:
    found = mean_profile([(np.array([0, 0, 1]), np.array([[1.0, 3.0, 7.0]]))])
    assert found[0, :2].tolist() == [2.0, 7.0]
    assert found[0, 2:].tolist() == pytest.approx([4.5] * 22)


FUTURE = np.arange(100.0)[np.newaxis]


def test_it_is_the_future() -> None:
    np.testing.assert_array_equal(ExactForecast(FUTURE).ahead(10, 24), FUTURE[:, 10:34])


def test_after_the_last_row_days_repeat() -> None:
    found = ExactForecast(FUTURE).ahead(98, 28)
    np.testing.assert_array_equal(found[0, :2], [98.0, 99.0])
    np.testing.assert_array_equal(found[0, 2:26], np.arange(76.0, 100.0))
    np.testing.assert_array_equal(found[0, 26:], [76.0, 77.0])
