"""A rollout against lists of single steps: what the learner gets is what happened, as the policy saw it."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, VectorEnv

from tests.tuning.algorithms.match import setup
from tuning.algorithms.on_policy.env_runner import Rollout, RolloutRunner
from tuning.algorithms.on_policy.trainer import PPOTrainer

pytestmark = pytest.mark.usefixtures("small_ray")
FEATURES, ACTIONS, STEPS = 3, 2, 96
SPREAD = np.array([1.0, 100.0, 0.0], np.float32)  # of the features; the last one never changes
CENTRE = np.array([0.0, 5000.0, 3.0], np.float32)


class EpisodesVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Episodes of drawn lengths, some of one step and some of several rollouts; those of odd lengths are truncated.

    Observations are drawn, moved by the actions; a reward depends on the action, the step and the sub-environment. A step that
    resets says that it ends, which means nothing. It records what goes in and out.
    """

    def __init__(self, num_envs: int) -> None:
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.num_envs, self.longest = num_envs, 3 * STEPS // num_envs
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (FEATURES,), np.float32)
        self.single_action_space = gym.spaces.Box(-1.0, 1.0, (ACTIONS,), np.float32)
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, num_envs)
        self.raw: list[np.ndarray] = []
        self.record: list[tuple[np.ndarray, ...]] = []

    def _observations(self, moved: np.ndarray | float = 0.0) -> np.ndarray:
        drawn = self.np_random.standard_normal((self.num_envs, FEATURES)) + moved
        self.raw.append((CENTRE + SPREAD * drawn).astype(np.float32))
        return self.raw[-1]

    def _lengths(self) -> np.ndarray:
        return self.np_random.integers(1, self.longest + 1, self.num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps, self.lengths = np.zeros(self.num_envs, int), self._lengths()
        return self._observations(), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        new = self.steps == self.lengths
        self.lengths = np.where(new, self._lengths(), self.lengths)
        self.steps = np.where(new, 0, self.steps + 1)
        ended = self.steps == self.lengths
        rewards = np.where(new, 1e6, actions.sum(axis=1, dtype=float) + 0.1 * self.steps + np.arange(self.num_envs))
        observations = self._observations(np.where(new[:, None], 0.0, actions[:, :1]))
        odd = self.lengths % 2 == 1
        self.record.append((self.raw[-2], actions.copy(), rewards, new, ended, ended & ~odd, observations))
        return observations, rewards, ended & ~odd | new, ended & odd | new, {}


def runner_of(**given: Any) -> Any:
    """A runner of four copies, of a trainer that is never stopped: nothing of it outlives its test."""
    plain = {"normalize_observations": False, "clip_obs": None, "normalize_rewards": False, "reward_scale": 1.0}
    return PPOTrainer(setup("ppo", make_envs=EpisodesVectorEnv, **{**plain, **given})).runner


def chunks_of(record: list[tuple[np.ndarray, ...]], envs: int) -> list[list[tuple[Any, ...]]]:
    """The chunks that steps of all sub-environments fall into, each a list of its transitions."""
    ended: list[list[tuple[Any, ...]]] = []
    going: list[list[tuple[Any, ...]]] = [[] for _ in range(envs)]
    for before, actions, rewards, new, ends, terminated, after in record:
        for i in range(envs):
            if not new[i]:
                going[i].append((before[i], actions[i], rewards[i], terminated[i], after[i]))
            if ends[i]:
                ended.append(going[i])
                going[i] = []
    return ended + [chunk for chunk in going if chunk]


def check(rollout: Rollout, record: list[tuple[np.ndarray, ...]], envs: int) -> None:
    chunks = chunks_of(record, envs)
    steps = [step for chunk in chunks for step in chunk]
    for name, column in (("observations", 0), ("actions", 1), ("rewards", 2)):
        np.testing.assert_array_equal(getattr(rollout, name), [step[column] for step in steps], err_msg=name)
    assert rollout.ends.tolist() == np.cumsum([len(chunk) for chunk in chunks]).tolist()
    assert rollout.terminated.tolist() == [chunk[-1][3] for chunk in chunks]
    np.testing.assert_array_equal(rollout.following, [chunk[-1][4] for chunk in chunks])


@pytest.mark.parametrize("calls", [[1], [STEPS], [STEPS, 7, STEPS]])
def test_a_rollout_holds_each_transition_once_and_no_step_of_a_reset(calls: list[int]) -> None:
    runner: RolloutRunner = runner_of()
    for transitions in calls:
        before = len(runner.env.record)
        rollout = runner.collect(transitions)
        check(rollout, runner.env.record[before:], 4)
        assert transitions <= len(rollout.rewards) < transitions + 4
    if STEPS in calls:
        assert {True, False} == set(rollout.terminated.tolist())


def test_the_policy_acts_on_the_normalised_observations_that_the_learner_gets() -> None:
    runner = runner_of(normalize_observations=True, clip_obs=10.0)
    first, second = runner.collect(STEPS), runner.collect(STEPS)
    with torch.inference_mode():
        inputs = runner.module._forward({"obs": torch.from_numpy(second.observations)})["action_dist_inputs"].numpy()
    np.testing.assert_allclose(second.inputs, inputs, rtol=1e-5, atol=1e-6)
    assert np.abs(second.observations[:, :2].mean(axis=0)).max() < 1.0
    assert second.observations[:, :2].std(axis=0).min() > 0.3
    assert (second.observations[:, 2] == 0.0).all()
    # An observation at the end of a rollout is the same at the next one's beginning.
    assert any((first.following[:, None] == second.observations[None]).all(axis=2).any(axis=1))


def test_rewards_are_scaled_by_a_positive_factor_of_each_step() -> None:
    plain, scaled = (
        runner_of(**given).collect(STEPS).rewards for given in ({}, {"reward_scale": 0.5, "normalize_rewards": True})
    )
    assert (np.sign(plain) == np.sign(scaled)).all()
    assert not np.allclose(plain, scaled)
    np.testing.assert_allclose(runner_of(reward_scale=10.0).collect(STEPS).rewards, 10.0 * plain, rtol=1e-6)
    normal = runner_of(normalize_rewards=True)
    assert not np.allclose(normal.collect(STEPS).rewards, plain)


def test_later_rollouts_leave_earlier_ones_as_they_are() -> None:
    runner = runner_of()
    first = runner.collect(STEPS)
    before = {name: array.copy() for name, array in vars(first).items()}
    runner.collect(STEPS)
    for name, array in vars(first).items():
        np.testing.assert_array_equal(array, before[name])


def test_discrete_actions_are_drawn_from_their_probabilities() -> None:
    runner: Any = PPOTrainer(setup("ppo", discrete=True, n_steps=2048)).runner
    rollout = runner.collect(2048)
    expected = torch.softmax(torch.from_numpy(rollout.inputs), dim=1)[:, 1].mean()
    assert rollout.actions.mean() == pytest.approx(float(expected), abs=0.05)
