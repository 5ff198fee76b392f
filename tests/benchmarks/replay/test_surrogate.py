"""Tests of landscapes that answer any proposal."""

import numpy as np
import pytest

from benchmarks.replay.landscape import made
from benchmarks.replay.surrogate import Surrogate

LAND = made(0, assignments=40, columns=3)


def test_a_training_is_what_is_expected_and_what_its_seed_adds() -> None:
    surrogate = Surrogate.of(LAND)
    best = LAND.encoded[int(surrogate.ends.argmax())]
    trainings = np.array([surrogate.training(best, np.random.default_rng(seed)) for seed in range(200)])
    scaled = surrogate.scale.scaled(trainings)
    apart = scaled.std(axis=0, ddof=1)
    expected = surrogate.scale.scaled(surrogate.expected(best[None, :])[0])
    assert np.abs(scaled.mean(axis=0) - expected).max() < 4 * apart.max() / np.sqrt(200)
    model = np.diag(surrogate.curves.seeds_covariance(np.log(LAND.steps))) + surrogate.curves.noise
    assert apart == pytest.approx(np.sqrt(model), rel=0.2)
    # It is small beside what hyperparameters decide: the formula adds .002 for a seed, and .002 for an evaluation.
    assert trainings[:, -1].std() < 0.3 * surrogate.ends.std()
    # What a seed adds stays along the steps.
    assert np.corrcoef(trainings[:, -1], trainings[:, -2])[0, 1] > 0.3
