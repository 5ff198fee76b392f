"""SAC as a whole: what it collects, that it learns, and that a checkpoint holds all of it."""

import math
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode

from tests.tuning.algorithms.match import MatchVectorEnv, mean_return
from tests.tuning.algorithms.sac.sac_small import built, learn, vector_env
from tuning.algorithms.sac.action_range import ActionRange
from tuning.algorithms.sac.algorithm import SACConfig
from tuning.algorithms.sac.module import LOG_STD_MAX, LOG_STD_MIN
from tuning.algorithms.sac.replay_buffer import GOING, NO_TRANSITION, TRUNCATED
from tuning.algorithms.sac.trainer import SACTrainer
from tuning.runtime.stopwatch import Stopwatch
from tuning.trial.checkpoint import Checkpoints, TrialState

pytestmark = pytest.mark.usefixtures("small_ray")

EVERYTHING = {"normalize_rewards": True, "n_step": 3, "learning_rate_schedule": "linear", "max_grad_norm": 1.0}


class SeenVectorEnv(MatchVectorEnv):
    """The task with actions of another range, and with a record of what went in and out."""

    def __init__(self, num_envs: int) -> None:
        super().__init__(num_envs)
        self.single_action_space = gym.spaces.Box(np.float32([-3.0]), np.float32([1.0]))
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, num_envs)
        self.record: list[tuple[np.ndarray, ...]] = []

    def step(self, actions: Any) -> Any:
        before = self.seen.copy()
        observations, rewards, terminated, truncated, infos = super().step(actions)
        self.record.append((before, np.array(actions), rewards, truncated, observations))
        return observations, rewards, terminated, truncated, infos


def state(trainer: SACTrainer) -> dict[str, np.ndarray]:
    """Everything that the learner trains, by name."""
    learner = trainer.algorithm.learner
    found = {name: value.numpy().copy() for name, value in learner.network.state_dict().items()}
    for name, optimizer in learner._named_optimizers.items():
        for entry, value in optimizer.state_dict()["state"][0].items():
            found[f"{name}/{entry}"] = value.numpy().copy()
    return found


def assert_equal(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> None:
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


def test_it_learns_a_simple_task() -> None:
    with built(steps=600, gradient_steps=8) as trainer:
        before = mean_return(trainer)
        while trainer.algorithm.train()["num_env_steps_sampled_lifetime"] < 600:
            pass
        after = mean_return(trainer)
    assert before < 0.9 < 0.97 < after


@pytest.mark.parametrize("extra", [{"prioritized_replay": True}, {"ent_coef": 0.1}, {"activation": "silu", "bf16": True}])
def test_it_learns_with_what_is_off_by_default(extra: dict[str, Any]) -> None:
    with built(steps=600, gradient_steps=8, **EVERYTHING, **extra) as trainer:
        while trainer.algorithm.train()["num_env_steps_sampled_lifetime"] < 600:
            pass
        assert mean_return(trainer) > 0.87


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


def test_the_policys_mode_lies_in_the_environments_range() -> None:
    with built(make_envs=SeenVectorEnv) as trainer:
        trainer.algorithm.train()
        observations = np.random.default_rng(0).normal(0.0, 100.0, (500, 3)).astype(np.float32)
        actions, space = trainer.policy()(observations), vector_env(trainer).single_action_space
        assert actions.shape == (500, 1)
        assert all(space.contains(action) for action in actions)
        with torch.no_grad():
            seen = torch.from_numpy(trainer.algorithm.runner.preprocess()(observations))
            mean, _ = trainer.algorithm.learner.network.parameters_of_distribution(seen)
        np.testing.assert_allclose(actions, -3.0 + 2.0 * (mean.tanh().numpy() + 1.0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "space", [gym.spaces.Discrete(2), gym.spaces.Box(-1.0, np.inf, (2,)), gym.spaces.Box(-1.0, 1.0, (2, 2))]
)
def test_action_spaces_that_nothing_can_be_squashed_into_are_refused(space: Any) -> None:
    with pytest.raises(ValueError, match="finite bounds"):
        ActionRange.of(space)


def test_log_probabilities_are_those_of_the_squashed_distribution() -> None:
    with built() as trainer:
        network = trainer.algorithm.learner.network
        observations, noise = torch.randn(200, 3), torch.randn(200, 1)
        with torch.no_grad():
            actions, logp = network.draw_actions(observations, noise)
            mean, log_std = network.parameters_of_distribution(observations)
            normal = torch.distributions.Normal(mean.double(), log_std.double().exp())
            squashed = torch.distributions.TransformedDistribution(normal, torch.distributions.TanhTransform())
            expected = squashed.log_prob(actions.double()).sum(dim=-1)
            inner = actions.abs().squeeze() < 0.99
            torch.testing.assert_close(logp[inner].double(), expected[inner], rtol=1e-3, atol=1e-3)
            torch.testing.assert_close(actions, network.act(observations, noise))
            # Where the tangent is 1 to all digits, too.
            network.policy_head.bias.fill_(40.0)
            actions, logp = network.draw_actions(observations, noise)
            assert (actions == 1.0).all()
            assert logp.isfinite().all()
            network.policy_head.bias.fill_(-1e4)
            _, lowest = network.parameters_of_distribution(observations)
            network.policy_head.bias.fill_(1e4)
            _, highest = network.parameters_of_distribution(observations)
    assert (lowest == LOG_STD_MIN).all()
    assert (highest == LOG_STD_MAX).all()


def test_rllibs_forward_passes_give_the_same_policy() -> None:
    with built() as trainer:
        network, observations = trainer.algorithm.learner.network, torch.randn(20, 3)
        with torch.no_grad():
            mean, log_std = network.parameters_of_distribution(observations)
        torch.testing.assert_close(network.forward_inference({"obs": observations})["actions"], mean.tanh())
        inputs = network.forward_exploration({"obs": observations})["action_dist_inputs"]
        torch.testing.assert_close(inputs, torch.cat((mean, log_std), dim=1))


def test_the_runner_acts_by_the_learners_networks() -> None:
    with built() as trainer:
        assert trainer.algorithm.runner.module is trainer.algorithm.learner.network


@pytest.mark.parametrize("extra", [{}, {"prioritized_replay": True}, {"ent_coef": 0.1}])
def test_a_restored_trial_learns_on_bit_by_bit(extra: dict[str, Any], tmp_path: Path) -> None:
    with built(**EVERYTHING, **extra) as first:
        for _ in range(4):
            first.algorithm.train()
        Checkpoints(tmp_path).save(first, TrialState(steps=1))
        saved = state(first)
        learn(first, gradient_steps=5, steps=200)
        after, counted = state(first), first.algorithm.learner.gradient_steps
        statistics = first.algorithm.runner.get_state()
        lifetime = int(first.algorithm.train()["num_env_steps_sampled_lifetime"])
    with built(seed=99, **EVERYTHING, **extra) as second:
        checkpoint, _ = Checkpoints(tmp_path).newest()
        assert checkpoint
        checkpoint.restore(second)
        assert_equal(state(second), saved)
        learn(second, gradient_steps=5, steps=200)
        assert_equal(state(second), after)
        assert second.algorithm.learner.gradient_steps == counted
        for name in ("observation_normalizer", "reward_normalizer"):
            for entry, value in statistics[name].items():
                np.testing.assert_array_equal(second.algorithm.runner.get_state()[name][entry], value)
        np.testing.assert_array_equal(second.algorithm.runner.get_state()["generator"], statistics["generator"])
        # It goes on counting from where it was, in new episodes, as this environment's state cannot be saved.
        assert second.algorithm.train()["num_env_steps_sampled_lifetime"] == lifetime
        assert second.algorithm.runner.buffer.transitions == lifetime
    assert any((saved[name] != after[name]).any() for name in saved)


def test_an_earlier_state_replaces_a_later_one() -> None:
    with built() as trainer:
        for _ in range(2):
            trainer.algorithm.train()
        saved, held = state(trainer), trainer.algorithm.learner_group.get_state()
        learn(trainer, gradient_steps=3)
        trainer.algorithm.learner_group.set_state(held)
        assert_equal(state(trainer), saved)


def test_losses_are_missing_until_learning_starts() -> None:
    with built(learning_starts=80) as trainer:
        losses = trainer.losses(trainer.algorithm.train())
        assert losses["gradient_steps"] == 0
        assert all(losses[name] is None for name in ("policy_loss", "value_loss", "entropy", "ent_coef", "learning_rate"))
        trainer.algorithm.train()
        losses = trainer.losses(trainer.algorithm.train())
        assert {name for name, value in losses.items() if value is None} == {"kl", "explained_variance"}
        assert all(math.isfinite(value) for value in losses.values() if value is not None)


def test_stopwatches_see_environment_and_learner() -> None:
    with built() as trainer:
        environment, learner = Stopwatch(), Stopwatch()
        trainer.watch(environment, learner)
        for _ in range(3):
            result = trainer.algorithm.train()
            assert environment.take() > 0.0
            assert learner.take() > 0.0
            assert all(value >= 0.0 for name, value in result["env_runners"].items() if name.endswith("timer"))


def test_a_configuration_that_would_part_runner_and_learner_is_refused() -> None:
    for setting in ("num_env_runners", "num_learners"):
        config = SACConfig()
        setattr(config, setting, 1)
        with pytest.raises(ValueError, match="share one process"):
            config.validate()


def test_an_environment_that_resets_in_the_same_step_is_refused() -> None:
    class SameStep(MatchVectorEnv):
        def __init__(self, num_envs: int) -> None:
            super().__init__(num_envs)
            self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}

    with pytest.raises(ValueError, match="autoreset"), built(make_envs=SameStep):
        pass
