"""Forecasts by each method know the hours of the train split, and nothing of what follows the present hour unless exact."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from envs.forecasts import (
    KINDS,
    METHODS,
    Forest,
    Method,
    Past,
    SiteForecast,
    SiteSeries,
    TrainStatistics,
    _as_arrays,
    forecast_table,
    mean_of_days,
    mean_profile,
    same_hour_before,
    steps_of_day,
    train_forest,
    train_model,
)


def test_the_latest_known_row_with_the_same_hour_of_the_day() -> None:
    ahead = np.arange(60)
    found = same_hour_before(100, ahead, 24)
    assert (found <= 100).all()
    assert (found > 100 - 24).all()
    np.testing.assert_array_equal(found % 24, (100 + ahead) % 24)


def test_before_the_first_day_there_is_none() -> None:
    assert same_hour_before(3, np.array([0, 1, 21]), 24).tolist() == [3, -20, 0]


HOUR = np.arange(240) % 24
VALUES = np.random.default_rng(0).uniform(size=(2, 240))
PROFILE = np.arange(48.0).reshape(2, 24)


def forecast(method: Method, row: int, steps: int, values: np.ndarray = VALUES) -> np.ndarray:
    own = SiteSeries(HOUR[: values.shape[1]], {"load": values}, np.zeros((values.shape[1], 0), np.float32), ())
    return SiteForecast(own, method, TrainStatistics({"load": PROFILE}, np.zeros((2, 24, steps)), 0.1)).ahead(
        "load", row, steps
    )


def test_yesterday_is_the_day_before() -> None:
    found = forecast("yesterday", 100, 48)
    np.testing.assert_array_equal(found[:, 0], VALUES[:, 100])
    np.testing.assert_array_equal(found[:, 1:25], VALUES[:, 77:101])
    np.testing.assert_array_equal(found[:, 25:], VALUES[:, 77:100])


def test_seven_days_are_the_mean_of_as_many_as_there_are() -> None:
    found = forecast("seven-days", 200, 3)
    np.testing.assert_allclose(found[:, 1], VALUES[:, [201 - 24 * day for day in range(1, 8)]].mean(axis=1))
    found = forecast("seven-days", 50, 3)
    np.testing.assert_allclose(found[:, 2], VALUES[:, [28, 4]].mean(axis=1))


def test_before_the_first_day_the_profile_of_the_train_split_stands_in() -> None:
    found = forecast("seven-days", 3, 24)
    np.testing.assert_array_equal(found[:, 0], VALUES[:, 3])
    np.testing.assert_array_equal(found[:, 1:21], PROFILE[:, 4:24])
    np.testing.assert_array_equal(found[:, 21:], VALUES[:, :3])


def test_what_is_not_known_is_left_out_of_means() -> None:
    values = VALUES.copy()
    values[:, 100] = np.nan
    found = mean_of_days(values, 2, 24)
    np.testing.assert_array_equal(found[:, 124], values[:, 124])
    assert np.isnan(mean_of_days(values, 1, 24)[:, 100]).all()


def test_a_profile_has_a_value_for_every_hour() -> None:
    found = mean_profile([(np.array([0, 0, 1]), np.array([[1.0, 3.0, 7.0]]))], 24)
    assert found[0, :2].tolist() == [2.0, 7.0]
    assert found[0, 2:].tolist() == pytest.approx([4.5] * 22)


def test_after_the_last_row_days_repeat() -> None:
    found = forecast("exact", 98, 28, np.arange(100.0)[np.newaxis])
    np.testing.assert_array_equal(found[0, :2], [98.0, 99.0])  # the future, as far as there is one
    np.testing.assert_array_equal(found[0, 2:26], np.arange(76.0, 100.0))
    np.testing.assert_array_equal(found[0, 26:], [76.0, 77.0])


ROWS, HOURS = 40 * 24, 6


def series(seed: int = 0) -> SiteSeries:
    """Two buildings, one twice the other; each day has a level of its own, that its first hours show."""
    rng = np.random.default_rng(seed)
    level = np.repeat(rng.uniform(0.5, 1.5, ROWS // 24), 24)
    values = level * (1.0 + 0.5 * np.sin(np.arange(ROWS) * 2 * np.pi / 24))
    return SiteSeries(np.arange(ROWS) % 24, {"load": np.stack([values, 2.0 * values])}, np.zeros((ROWS, 1), np.float32), ("a",))


TRAIN = np.arange(ROWS) < 30 * 24


@pytest.fixture(scope="module")
def model() -> object:
    return train_model([(series(), TRAIN)], "load", HOURS)


def test_it_learns_what_the_present_hour_says_of_the_next(model) -> None:  # type: ignore[no-untyped-def]
    own = series(1)
    table = forecast_table(own, "load", model, HOURS)
    values = own.values["load"]
    row = np.flatnonzero((np.arange(ROWS) % 24 > 4) & (np.arange(ROWS) % 24 < 18) & (np.arange(ROWS) > 200))
    error = np.abs(table[:, row, 2] - values[:, row + 3]).mean()
    yesterday = np.abs(values[:, row - 21] - values[:, row + 3]).mean()
    assert error < 0.5 * yesterday


def test_hours_that_follow_change_no_forecast(model) -> None:  # type: ignore[no-untyped-def]
    own, now = series(1), 500
    shifted = own.values["load"].copy()
    shifted[:, now + 1 :] += 7.0
    observed = own.observed.copy()
    observed[now + 1 :] = 3.0
    other = replace(own, values={"load": shifted}, observed=observed)
    first, second = (forecast_table(each, "load", model, HOURS) for each in (own, other))
    np.testing.assert_array_equal(first[:, : now + 1], second[:, : now + 1])
    assert (first[:, now + 1 :] != second[:, now + 1 :]).any()


def test_hours_outside_the_train_split_change_no_model(model) -> None:  # type: ignore[no-untyped-def]
    values, observed = series().values["load"].copy(), series().observed.copy()
    values[:, ~TRAIN], observed[~TRAIN] = 99.0, 9.0
    other = train_model([(replace(series(), values={"load": values}, observed=observed), TRAIN)], "load", HOURS)
    assert other is not None
    for name, array in model.forest.arrays().items():
        np.testing.assert_array_equal(array, getattr(other.forest, name))


def test_a_constant_series_has_no_model() -> None:
    constant = replace(series(), values={"load": np.full((2, ROWS), 3.0)})
    assert train_model([(constant, TRAIN)], "load", HOURS) is None
    # The mean of so many equal numbers is not always that number.
    rounded = replace(constant, values={"load": np.full_like(constant.values["load"], 0.9)})
    assert train_model([(rounded, TRAIN)], "load", HOURS) is None


def test_a_table_shows_the_present_hour_and_looks_no_further_than_it_was_made_for() -> None:
    values, table = np.arange(20.0).reshape(2, 10), np.ones((2, 10, 3), np.float32)
    own = SiteSeries(HOUR[:10], {"load": values, "pv": values}, np.zeros((10, 0), np.float32), ())
    learned = SiteForecast(own, "learned", TrainStatistics({}, np.zeros((2, 24, 5)), 0.1), {"load": table, "pv": None})
    assert learned.ahead("load", 4, 3).tolist() == [[4.0, 1.0, 1.0], [14.0, 1.0, 1.0]]
    with pytest.raises(ValueError, match="has 4"):
        learned.ahead("load", 4, 5)


def samples(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(count, 4)).astype(np.float32)
    target = np.where(features[:, 0] > 0.3, features[:, 1], -features[:, 2]) + np.where(np.isnan(features[:, 3]), 1.0, 0.0)
    features[rng.random(features.shape) < 0.2] = np.nan
    return features, np.nan_to_num(target)


def test_arrays_predict_as_the_library_does() -> None:
    features, target = samples(2_000)
    model = HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(features, target)
    np.testing.assert_allclose(_as_arrays(model).predict(features), model.predict(features), atol=1e-9)


def test_training_repeats_and_learns() -> None:
    features, target = samples(4_000)
    forests = [train_forest(features, target) for _ in range(2)]
    found = [forest.predict(features) for forest in forests]
    np.testing.assert_array_equal(*found)
    assert np.abs(found[0] - target).mean() < 0.7 * np.abs(target - target.mean()).mean()
    np.testing.assert_array_equal(Forest(**forests[0].arrays()).predict(features), found[0])


def test_a_feature_that_no_sample_knows_changes_nothing() -> None:
    features, target = samples(1_000)
    unknown, constant = (train_forest(np.column_stack([features, np.full(1_000, value)]), target) for value in (np.nan, 1.0))
    np.testing.assert_array_equal(unknown.threshold, constant.threshold)


LENGTH, NOW, AHEAD = 300, 200, 30
RNG = np.random.default_rng(0)
SERIES = SiteSeries(
    np.arange(LENGTH) % 24, {kind: RNG.uniform(size=(2, LENGTH)) for kind in KINDS}, np.zeros((LENGTH, 0), np.float32), ()
)
STATISTICS = TrainStatistics({kind: np.ones((2, 24)) for kind in KINDS}, np.full((2, 24, AHEAD), 0.5), 0.3)


@pytest.mark.parametrize("method", METHODS)
def test_only_the_exact_forecast_changes_with_the_future(method: Method) -> None:
    shifted = {kind: np.where(np.arange(LENGTH) > NOW, values + 5.0, values) for kind, values in SERIES.values.items()}
    first, second = (SiteForecast(own, method, STATISTICS) for own in (SERIES, replace(SERIES, values=shifted)))
    for kind in KINDS:
        before, after = (own.ahead(kind, NOW, AHEAD) for own in (first, second))
        assert np.array_equal(before, after) == (method != "exact")
        np.testing.assert_array_equal(before[:, 0], SERIES.values[kind][:, NOW])
    assert first.foresees == (method == "exact")
    assert first.error == (0.0 if method == "exact" else 0.3)


def test_vehicles_to_come_take_their_part_of_the_charging() -> None:
    forecast = SiteForecast(SERIES, "yesterday", STATISTICS)
    np.testing.assert_allclose(forecast.arriving(NOW, 5), 0.5 * forecast.ahead("charging", NOW, 5))


def test_quarters_of_an_hour_count_from_midnight_also_where_the_first_hour_is_there_in_part() -> None:
    hour = np.repeat([22, 23, 0, 1, 2], 4)[2:]
    assert steps_of_day(hour, 4)[:8].tolist() == [90, 91, 92, 93, 94, 95, 0, 1]
    np.testing.assert_array_equal(steps_of_day(HOUR, 1), HOUR)


def test_at_quarters_of_an_hour_a_day_before_is_96_rows_before() -> None:
    rows = np.arange(4 * 96)
    series = SiteSeries(rows % 96, {"load": rows[np.newaxis].astype(float)}, np.zeros((len(rows), 0), np.float32), (), 96)
    statistics = TrainStatistics({"load": -np.arange(96.0)[np.newaxis]}, np.zeros((1, 96, 4)), 0.1)
    yesterday, exact = (SiteForecast(series, method, statistics) for method in ("yesterday", "exact"))
    assert yesterday.ahead("load", 200, 4).tolist() == [[200.0, 105.0, 106.0, 107.0]]
    assert yesterday.ahead("load", 10, 4).tolist() == [[10.0, -11.0, -12.0, -13.0]]
    assert exact.ahead("load", 382, 4).tolist() == [[382.0, 383.0, 288.0, 289.0]]
    known = Past.of(series, np.where(rows < 300, rows, np.nan)[np.newaxis])
    assert known.usual(np.array([0]), np.array([250]), 5).tolist() == [np.mean([255 - 96, 255 - 192])]
