"""Transitions go into the buffer, and actions into their range."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tests.tuning.algorithms.match import MatchVectorEnv
from tests.tuning.algorithms.sac.sac_small import SeenVectorEnv, built, vector_env
from tuning.algorithms.sac.env_runner import ActionRange
from tuning.algorithms.sac.replay_buffer import GOING, NO_TRANSITION, TRUNCATED


@pytest.mark.parametrize(
    "space", [gym.spaces.Discrete(2), gym.spaces.Box(-1.0, np.inf, (2,)), gym.spaces.Box(-1.0, 1.0, (2, 2))]
)
def test_action_spaces_that_nothing_can_be_squashed_into_are_refused(space: Any) -> None:
    with pytest.raises(ValueError, match="finite bounds"):
        ActionRange.of(space)


def test_actions_are_stretched_to_the_range_and_never_leave_it() -> None:
    low, high = np.float32([-3.0, 0.1]), np.float32([1.0, 0.7])
    found = ActionRange.of(gym.spaces.Box(low, high)).to_environment(np.float32([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]))
    np.testing.assert_allclose(found, [low, 0.5 * (low + high), high], rtol=1e-6)
    assert (found >= low).all()
    assert (found <= high).all()


pytestmark = pytest.mark.usefixtures("small_ray")


def test_before_learning_starts_actions_are_drawn_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    with built(learning_starts=80) as trainer:
        module, asked = trainer.algorithm.learner.network, []
        act = module.act
        monkeypatch.setattr(module, "act", lambda *args: asked.append(len(args[0])) or act(*args))
        for expected in (0, 0, 40):
            trainer.algorithm.train()
            assert expected <= sum(asked) <= 1.4 * expected  # a copy that is reset acts without a transition
            asked.clear()
        actions = trainer.algorithm.runner.buffer._actions[:80]
    assert np.abs(actions).max() <= 1.0
    # Of a uniform distribution.
    assert np.abs(actions).mean() == pytest.approx(0.5, abs=0.1)


def test_the_buffer_holds_what_the_environment_was_given_and_gave() -> None:
    with built(make_envs=SeenVectorEnv) as trainer:
        for _ in range(3):
            trainer.algorithm.train()
        env, buffer = vector_env(trainer), trainer.algorithm.runner.buffer
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


def test_the_environments_own_episodes_are_reported() -> None:
    with built(make_envs=SeenVectorEnv, reward_scale=5.0) as trainer:
        result: dict[str, Any] = {}
        for _ in range(3):
            before = len(vector_env(trainer).record) if result else 0
            result = trainer.algorithm.train()
        env = vector_env(trainer)
        assert isinstance(env, SeenVectorEnv)
        totals, returns, ends = np.zeros(4), [], 0
        for row, (_, _, rewards, truncated, _) in enumerate(env.record):
            totals += rewards
            returns += totals[truncated].tolist() if row >= before else []
            totals[truncated] = 0.0
            ends += int(truncated.sum())
        assert result["env_runners"]["num_episodes_lifetime"] == ends > 4
        assert trainer.losses(result)["episode_return"] == pytest.approx(np.mean(returns))
        assert result["env_runners"]["episode_len_max"] == 10


def test_the_runner_acts_by_the_learners_networks() -> None:
    with built() as trainer:
        assert trainer.algorithm.runner.module is trainer.algorithm.learner.network


def test_an_environment_that_resets_in_the_same_step_is_refused() -> None:
    class SameStep(MatchVectorEnv):
        def __init__(self, num_envs: int) -> None:
            super().__init__(num_envs)
            self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}

    with pytest.raises(ValueError, match="autoreset"), built(make_envs=SameStep):
        pass
