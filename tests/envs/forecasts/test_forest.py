"""Trees as arrays predict as scikit-learn's."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from envs.forecasts.forest import Forest, _as_arrays, train_forest


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
