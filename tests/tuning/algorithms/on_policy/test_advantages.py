"""Advantages against their definition."""

import numpy as np
import pytest

from tuning.algorithms.on_policy.advantages import advantages


def test_gamma_and_lambda_are_those_of_the_advantages() -> None:
    rng = np.random.default_rng(0)
    rewards, values, last = rng.standard_normal(7), rng.standard_normal(7), np.array([0.7, 0.0])
    found = advantages(rewards, values, last, np.array([4, 7]), 0.9, 0.6)
    for start, end, beyond in ((0, 4, 0.7), (4, 7, 0.0)):
        following = np.append(values[start + 1 : end], beyond)
        deltas = rewards[start:end] + 0.9 * following - values[start:end]
        for t in range(end - start):
            expected = sum((0.9 * 0.6) ** i * delta for i, delta in enumerate(deltas[t:]))
            assert found[start + t] == pytest.approx(expected)
