"""Statistics of observations and returns begin with what a teacher demonstrated."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tuning.algorithms.imitation.demonstration import Demonstration
from tuning.algorithms.imitation.preparation import reward_factor, take_into_statistics
from tuning.algorithms.sampling.observation_statistics import ObservationNormalizer
from tuning.algorithms.sampling.preprocessing import Preprocessing, RewardNormalizer


def part(steps: int, runs: int, seed: int) -> Demonstration:
    random, shape = np.random.default_rng(seed), (steps, runs, 1)
    none = np.zeros(shape, np.float32)
    seen = random.standard_normal((steps + 1, runs, 2)).astype(np.float32)
    return Demonstration(
        seen, none, none, none, none, random.standard_normal((steps, runs)), np.full(runs, steps - 1), np.arange(runs)
    )


def runner(**parts: Any) -> Any:
    return SimpleNamespace(
        **{"normalizer": None, "reward_normalizer": None, "num_envs": 4, "preprocessing": Preprocessing(gamma=0.0), **parts}
    )


def test_they_are_those_of_all_hours_of_runs() -> None:
    parts = [part(6, 4, 0), part(5, 2, 1)]
    own = runner(normalizer=ObservationNormalizer(2), reward_normalizer=RewardNormalizer(4, 0.0))
    take_into_statistics(own, parts)
    seen = np.concatenate([each.observations[:-1][each.taken] for each in parts])
    np.testing.assert_allclose(own.normalizer.mean, seen.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(own.normalizer.variance, seen.var(axis=0), atol=1e-6)
    # Without discount a return is a reward.
    rewards = np.concatenate([each.rewards[each.taken] for each in parts])
    assert own.reward_normalizer.std == pytest.approx(rewards.std(), rel=0.2)
    assert own.reward_normalizer.get_state()["returns"].tolist() == [0.0] * 4
    assert reward_factor(own) == pytest.approx(1.0 / own.reward_normalizer.std)


def test_without_statistics_rewards_have_their_own_scale() -> None:
    own = runner(preprocessing=Preprocessing(reward_scale=3.0))
    take_into_statistics(own, [part(6, 4, 0)])
    assert reward_factor(own) == 3.0
