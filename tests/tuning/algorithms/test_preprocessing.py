"""Normalised and clipped observations, normalised rewards."""

import numpy as np
import pytest

from tuning.algorithms.preprocessing import ObservationNormalizer, RewardNormalizer


def test_a_reward_normaliser_measures_the_deviation_of_discounted_returns() -> None:
    normalizer, rng, gamma = RewardNormalizer(2, 0.9), np.random.default_rng(0), 0.9
    returns, all_returns = np.zeros(2), []
    for step in range(300):
        rewards, ended = rng.standard_normal(2), np.array([step % 7 == 6, step % 11 == 10])
        acted = np.array([step % 7 != 0, True])
        normalizer.update(rewards, acted, ended)
        returns = np.where(acted, gamma * returns + rewards, returns)
        all_returns += returns[acted].tolist()
        returns[ended] = 0.0
    assert normalizer.std == pytest.approx(np.std(all_returns), rel=1e-6)
    other = RewardNormalizer(2, 0.9)
    other.set_state(normalizer.get_state())
    for one in (normalizer, other):
        one.update(np.array([5.0, -3.0]), np.array([True, True]), np.array([False, False]))
    assert other.std == normalizer.std


def test_normalised_observations_are_clipped() -> None:
    normalizer = ObservationNormalizer(2, 1.5)
    normalizer.update(np.array([[0.0, 0.0], [2.0, 4.0]], np.float32))
    given = np.array([[1e9, 3.0], [-1e9, 2.0]], np.float32)
    np.testing.assert_allclose(normalizer.frozen(given), [[1.5, 0.5], [-1.5, 0.0]])
    keeping = ObservationNormalizer(2, 1e12, keep=(0,))
    keeping.update(np.array([[0.0, 0.0], [2.0, 4.0]], np.float32))
    np.testing.assert_allclose(keeping.frozen(np.float32([[9.0, 3.0]])), [[9.0, 0.5]])


@pytest.mark.parametrize("batches", [1, 3, 250])
def test_statistics_do_not_depend_on_how_data_were_cut(batches: int) -> None:
    rng = np.random.default_rng(1)
    data = (rng.standard_normal((500, 3)) * [1.0, 1e-3, 1e4] + [1e4, 1.0, -1e6]).astype(np.float32)
    normalizer = ObservationNormalizer(3, 10.0)
    for batch in np.array_split(data, batches):
        normalizer.update(batch)
    np.testing.assert_allclose(normalizer.mean, data.astype(float).mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(normalizer.variance, data.astype(float).var(axis=0), rtol=1e-5)
