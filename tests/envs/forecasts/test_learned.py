"""Learned forecasts know the hours of the train split alone, and nothing of what follows the present hour."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from envs.forecasts.learned import Forest, TableForecast, _as_arrays, forecast_table, train_forest, train_model
from envs.forecasts.series import SiteSeries

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
    found = TableForecast(values, table).ahead(4, 3)
    assert found.tolist() == [[4.0, 1.0, 1.0], [14.0, 1.0, 1.0]]
    with pytest.raises(ValueError, match="has 4"):
        TableForecast(values, table).ahead(4, 5)


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
