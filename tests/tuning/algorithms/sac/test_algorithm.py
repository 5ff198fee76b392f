"""Rounds of collecting and learning."""

import math

import pytest

from tests.tuning.algorithms.sac.sac_small import built, watched
from tuning.algorithms.sac.learner import CRITIC

pytestmark = pytest.mark.usefixtures("small_ray")


@pytest.mark.parametrize(
    ("train_freq", "gradient_steps", "learning_starts"), [(8, 2, 40), (4, 2, 40), (8, 5, 40), (8, 2, 200), (1, 1, 0)]
)
def test_rounds_of_gradient_steps_follow_the_transitions(train_freq: int, gradient_steps: int, learning_starts: int) -> None:
    with built(train_freq=train_freq, gradient_steps=gradient_steps, learning_starts=learning_starts) as trainer:
        seen, taken = watched(trainer, CRITIC), 0
        for _ in range(8):
            result = trainer.algorithm.train()
            steps = int(result["num_env_steps_sampled_lifetime"])
            assert steps == trainer.algorithm.runner.buffer.transitions
            # Copies that are reset shift single rounds, never their number.
            rounds = steps // train_freq - max(0, math.ceil(learning_starts / train_freq) - 1)
            assert len(seen) == max(0, rounds) * gradient_steps
            assert trainer.losses(result)["gradient_steps"] == len(seen) - taken
            taken = len(seen)
        assert 8 * 40 <= steps < 8 * (40 + train_freq)
