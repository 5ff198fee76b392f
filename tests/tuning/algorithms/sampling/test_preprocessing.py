"""Rewards and observations between environment and learner."""

import numpy as np
import pytest

from tuning.algorithms.sampling.preprocessing import RewardNormalizer


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
