"""The expected time of a step of SAC follows its gradient steps."""

import pytest

from tuning.algorithms.networks.sizes import Problem
from tuning.algorithms.registry import algorithm

SITE = Problem(60, 5, 60)


def seconds(**values: int) -> float:
    spec = algorithm("sac")
    return spec.seconds(spec.space.complete(dict(values)), SITE)


def test_gradient_steps_for_each_transition_decide() -> None:
    few, same, many = (
        seconds(train_freq=64, gradient_steps=8),
        seconds(train_freq=128, gradient_steps=16),
        seconds(train_freq=64, gradient_steps=64),
    )
    assert few == pytest.approx(same)
    assert many > 4 * few


def test_batches_cost_by_their_rows() -> None:
    assert seconds(batch_size=1024) > seconds(batch_size=256)
