"""Batches as gradient steps see them."""

import numpy as np
import pytest

from tests.tuning.algorithms.sac.sac_small import batches, built, learn

pytestmark = pytest.mark.usefixtures("small_ray")


def test_batches_are_scaled_by_todays_statistics() -> None:
    with built(clip_obs=1.5, normalize_rewards=True, reward_scale=3.0) as trainer:
        for _ in range(3):
            trainer.algorithm.train()
        runner, seen = trainer.algorithm.runner, batches(trainer)
        assert runner.normalizer is not None
        assert runner.reward_normalizer is not None
        drawn = runner.buffer._random.bit_generator.state
        learn(trainer)
        runner.buffer._random.bit_generator.state = drawn
        raw = runner.buffer.sample(32)
        for observations, batch in (
            (raw.observations, seen[0].observations),
            (raw.next_observations, seen[0].next_observations),
        ):
            scaled = (observations - runner.normalizer.mean) / np.sqrt(runner.normalizer.variance + 1e-8)
            np.testing.assert_allclose(batch, np.clip(scaled, -1.5, 1.5), rtol=1e-4, atol=1e-5)
            assert np.abs(scaled).max() > 1.5
        np.testing.assert_allclose(seen[0].rewards, raw.rewards * 3.0 / runner.reward_normalizer.std, rtol=1e-5)
        # What acts sees the same.
        acted = runner.preprocess()(raw.observations)
        np.testing.assert_array_equal(acted, seen[0].observations)


def test_without_normalisation_batches_are_what_was_observed() -> None:
    with built(normalize_observations=False, clip_obs=None) as trainer:
        seen = batches(trainer)
        trainer.algorithm.train()
        assert (seen[0].observations[:, -1] == 50.0).all()
        assert float(seen[0].rewards.max()) <= 1.0
