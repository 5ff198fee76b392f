"""Transitions go into the buffer, and actions into their range."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.tuning.algorithms.sac.sac_small import SeenVectorEnv, built
from tuning.algorithms.sac.env_runner import ActionRange
from tuning.algorithms.sac.replay_buffer import GOING, NO_TRANSITION, TRUNCATED


def test_actions_are_stretched_to_the_range_and_never_leave_it() -> None:
    low, high = np.float32([-3.0, 0.1]), np.float32([1.0, 0.7])
    found = ActionRange(low, high).to_environment(np.float32([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]))
    np.testing.assert_allclose(found, [low, 0.5 * (low + high), high], rtol=1e-6)
    assert (found >= low).all()
    assert (found <= high).all()


pytestmark = pytest.mark.usefixtures("small_ray")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"buffer_size": 2, "batch_size": 1}, "buffer_size=2: 4 copies"),
        ({"n_step": 600, "buffer_size": 1000}, "n_step=600: a copy has 250"),
    ],
)
def test_a_buffer_that_is_too_small_is_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message), built(**given):
        pass


def test_before_learning_starts_actions_are_drawn_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    with built(learning_starts=80) as trainer:
        module, asked = trainer.learner.network, []
        act = module.act
        monkeypatch.setattr(module, "act", lambda *args: asked.append(len(args[0])) or act(*args))
        for expected in (0, 0, 40):
            trainer.algorithm.train()
            assert expected <= sum(asked) <= 1.4 * expected  # a copy that is reset acts without a transition
            asked.clear()
        actions = trainer.runner.buffer._actions[:80]
    assert np.abs(actions).max() <= 1.0
    # Of a uniform distribution.
    assert np.abs(actions).mean() == pytest.approx(0.5, abs=0.1)


def test_the_buffer_holds_what_the_environment_was_given_and_gave() -> None:
    with built(make_envs=SeenVectorEnv) as trainer:
        for _ in range(3):
            trainer.algorithm.train()
        env, buffer = trainer.runner.env, trainer.runner.buffer
        assert isinstance(env, SeenVectorEnv)
        fresh = np.zeros(4, bool)
        for row, (observations, actions, rewards, truncated, following) in enumerate(env.record):
            here, after = slice(row * 4, row * 4 + 4), slice(row * 4 + 4, row * 4 + 8)
            np.testing.assert_array_equal(buffer._observations[here], observations)
            np.testing.assert_array_equal(buffer._observations[after], following)
            # From [-1, 1] to the environment's range.
            np.testing.assert_allclose(actions, -3.0 + 2.0 * (buffer._actions[here] + 1.0), rtol=1e-5, atol=1e-6)
            expected = np.where(fresh, NO_TRANSITION, np.where(truncated, TRUNCATED, GOING))
            np.testing.assert_array_equal(buffer._kinds[here], expected)
            np.testing.assert_allclose(buffer._rewards[here][~fresh], rewards[~fresh], rtol=1e-6)
            fresh = truncated
        assert fresh.dtype == bool
        assert (buffer._kinds == NO_TRANSITION).any()


def test_the_runner_acts_by_the_learners_networks_and_draws_other_random_numbers() -> None:
    with built() as trainer:
        assert trainer.runner.module is trainer.learner.network
        assert not torch.equal(trainer.runner._generator.get_state(), trainer.learner._generator.get_state())
