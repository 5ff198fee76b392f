import numpy as np
import pytest

from tuning.search.models.gain import expected_improvement


def test_expected_improvement_is_the_mean_of_what_draws_exceed_the_best_by() -> None:
    mean, deviation = np.array([-1.0, 0.0, 2.0]), np.array([0.5, 1.0, 0.3])
    draws = np.random.default_rng(0).normal(mean, deviation, size=(400_000, 3))
    expected = np.maximum(draws - 0.5, 0.0).mean(axis=0)
    assert expected_improvement(mean, deviation, 0.5) == pytest.approx(expected, abs=0.004)


def test_what_is_certain_improves_by_its_distance_and_never_below_0() -> None:
    assert expected_improvement(np.array([1.0, -9.0]), np.full(2, 1e-6), 0.25) == pytest.approx([0.75, 0.0])
