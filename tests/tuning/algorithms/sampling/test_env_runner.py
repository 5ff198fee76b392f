"""The env runner against RLlib's own: the learner must not see a difference."""

import math
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.tune import register_env

from tuning.algorithms.sampling.env_runner import BatchEnvRunner
from tuning.algorithms.sampling.preprocessing import Preprocessing, PreprocessingConfig
from tuning.runtime.stopwatch import Stopwatch

ENVS, FRAGMENT, FEATURES, ACTIONS = 5, 7, 3, 2
SPREAD = np.array([1.0, 100.0, 0.0], np.float32)  # of the features; the last one never changes
CENTRE = np.array([0.0, 5000.0, 3.0], np.float32)


class EpisodesVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Episodes of drawn lengths, some of one step and some of several fragments; those of odd lengths are truncated.

    Observations are drawn, moved by the actions; a reward depends on the action, the step and the sub-environment.
    """

    def __init__(self, num_envs: int, longest: int = 3 * FRAGMENT) -> None:
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.num_envs, self.longest = num_envs, longest
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (FEATURES,), np.float32)
        self.single_action_space = gym.spaces.Box(-1.0, 1.0, (ACTIONS,), np.float32)
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, num_envs)
        self.raw: list[np.ndarray] = []

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
        actions = np.asarray(actions)
        new = self.steps == self.lengths
        self.lengths = np.where(new, self._lengths(), self.lengths)
        self.steps = np.where(new, 0, self.steps + 1)
        ended = self.steps == self.lengths
        rewards = np.where(new, 1e6, actions.sum(axis=1, dtype=float) + 0.1 * self.steps + np.arange(self.num_envs))
        observations = self._observations(np.where(new[:, None], 0.0, actions[:, :1]))
        odd = self.lengths % 2 == 1
        # What comes with a first observation, beside it, means nothing.
        return observations, rewards, ended & ~odd | new, ended & odd | new, {}


class Preprocessed(PreprocessingConfig, PPOConfig):
    """RLlib's PPO with our preprocessing."""


NORMALIZED = Preprocessing(normalize_observations=True, clip_obs=10.0)


def configuration(
    runner: type,
    make_env: Callable[[int], VectorEnv[Any, Any, Any]] = EpisodesVectorEnv,
    preprocessing: Preprocessing | None = None,
    **env_runners: Any,
) -> PPOConfig:
    """PPO as the tuner builds it, with small networks."""
    register_env("vector", lambda context: make_env(context["num_envs"]))
    arguments: dict[str, Any] = {"num_envs_per_env_runner": ENVS, "rollout_fragment_length": FRAGMENT, **env_runners}
    config = PPOConfig()
    if preprocessing:
        config = Preprocessed()
        config.preprocessing = preprocessing
    config.environment("vector", disable_env_checking=True, normalize_actions=False, clip_actions=False)
    config.env_runners(
        env_runner_cls=runner,
        gym_env_vectorize_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT,
        num_env_runners=0,
        batch_mode="truncate_episodes",
        **arguments,
    )
    config.learners(num_learners=0)
    config.training(
        train_batch_size_per_learner=arguments["num_envs_per_env_runner"] * arguments["rollout_fragment_length"],
        minibatch_size=16,
        num_epochs=2,
        vf_clip_param=math.inf,
        grad_clip=0.5,
        grad_clip_by="global_norm",
    )
    config.rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[16, 16], vf_share_layers=False))
    config.debugging(seed=7, log_level="ERROR")
    return config


def built(runner: type, *args: Any, **kwargs: Any) -> Any:
    return runner(config=configuration(runner, *args, **kwargs))


def samples(runner: Any, calls: int) -> list[list[SingleAgentEpisode]]:
    """What several calls return, with other weights at each."""
    result = []
    for call in range(calls):
        rng = np.random.default_rng(call)
        weights = runner.get_state(components="rl_module")["rl_module"]
        changed = {name: (0.3 * rng.standard_normal(value.shape)).astype(np.float32) for name, value in weights.items()}
        runner.set_state({"rl_module": changed, "weights_seq_no": call + 1})
        result.append(runner.sample())
    return result


def learner_batch(config: PPOConfig, episodes: list[SingleAgentEpisode]) -> dict[str, np.ndarray]:
    """What PPO's learner makes of episodes, from observations to advantages."""
    learner = config.build_learner(
        spaces={
            DEFAULT_MODULE_ID: (
                EpisodesVectorEnv(1).single_observation_space,
                EpisodesVectorEnv(1).single_action_space,
            )
        }
    )
    for parameter in learner.module[DEFAULT_MODULE_ID].parameters():
        with torch.no_grad():
            parameter.copy_(torch.linspace(-0.5, 0.5, parameter.numel()).reshape(parameter.shape))
    batch = learner._learner_connector(
        rl_module=learner.module, batch={}, episodes=episodes, shared_data={}, metrics=learner.metrics
    )
    return {name: value.numpy() for name, value in batch[DEFAULT_MODULE_ID].items()}


def assert_equal(ours: Any, theirs: Any, what: str) -> None:
    assert ours.dtype == theirs.dtype, what
    np.testing.assert_array_equal(ours, theirs, err_msg=what)


@pytest.mark.parametrize("lookback", [0, 1, 3])
def test_episodes_are_those_of_rllibs_runner(lookback: int) -> None:
    calls = [samples(built(runner, episode_lookback_horizon=lookback), 5) for runner in (BatchEnvRunner, SingleAgentEnvRunner)]
    numbers: list[dict[str, int]] = [{}, {}]
    for ours, theirs in zip(*calls, strict=True):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            # Names are drawn; the same name has to mean the same episode.
            assert numbers[0].setdefault(a.id_, len(numbers[0])) == numbers[1].setdefault(b.id_, len(numbers[1]))
            assert (a.t_started, a.t, len(a)) == (b.t_started, b.t, len(b))
            assert (a.is_terminated, a.is_truncated, a.is_numpy) == (b.is_terminated, b.is_truncated, b.is_numpy)
            assert a.extra_model_outputs.keys() == b.extra_model_outputs.keys()
            buffers = [(a.observations, b.observations), (a.actions, b.actions), (a.rewards, b.rewards)]
            buffers += [(a.extra_model_outputs[name], b.extra_model_outputs[name]) for name in b.extra_model_outputs]
            for one, other in buffers:
                assert one.lookback == other.lookback
                assert_equal(one.data, other.data, "data")
    # The environment is one in which this proves something.
    episodes = [episode for call in calls[0] for episode in call]
    assert {(episode.is_terminated, episode.is_truncated) for episode in episodes} == {
        (True, False),
        (False, True),
        (False, False),
    }
    assert any(episode.t_started for episode in episodes)
    assert any(len(episode) == 1 and episode.is_done for episode in episodes)


# Torch draws sixteen normal numbers or more in another way than fewer.
@pytest.mark.parametrize("envs", [1, ENVS, 11])
def test_the_learner_gets_the_batches_of_rllibs_runner(envs: int) -> None:
    config = configuration(BatchEnvRunner)
    calls = [samples(built(runner, num_envs_per_env_runner=envs), 5) for runner in (BatchEnvRunner, SingleAgentEnvRunner)]
    for ours, theirs in zip(*calls, strict=True):
        a, b = learner_batch(config, ours), learner_batch(config, theirs)
        assert a.keys() == b.keys()
        assert {"obs", "actions", "action_logp", "rewards", "advantages", "value_targets", "loss_mask"} <= a.keys()
        for name in b:
            assert_equal(a[name], b[name], name)


@contextmanager
def algorithm(config: PPOConfig) -> Iterator[Any]:
    ppo = config.build_algo()
    try:
        yield ppo
    finally:
        ppo.stop()


@pytest.mark.usefixtures("small_ray")
def test_ppo_trains_and_reports_as_with_rllibs_runner() -> None:
    results: list[list[dict[str, Any]]] = []
    for runner in (BatchEnvRunner, SingleAgentEnvRunner):
        with algorithm(configuration(runner)) as ppo:
            results.append([ppo.train() for _ in range(4)])
    for ours, theirs in zip(*results, strict=True):
        assert ours["num_env_steps_sampled_lifetime"] == theirs["num_env_steps_sampled_lifetime"]
        learners = ours["learners"]["default_policy"], theirs["learners"]["default_policy"]
        for name in ("policy_loss", "vf_loss_unclipped", "entropy", "mean_kl_loss", "gradients_default_optimizer_global_norm"):
            assert learners[0][name] == learners[1][name], name
        a, b = ours["env_runners"], theirs["env_runners"]
        # What is missing is about RLlib's connectors, but for the time of the first reset.
        missing = {name for name in b.keys() - a.keys() if not name.startswith(("env_to_module", "module_to_env"))}
        assert missing <= {"connector_pipeline_timer", "env_reset_timer"}
        same = [name for name in b if name.startswith(("num_", "episode_return", "weights"))]
        assert {"num_episodes", "num_env_steps_sampled", "num_env_steps_sampled_lifetime"} <= set(same)
        for name in same:
            if "throughput" not in name:
                assert a[name] == pytest.approx(b[name], rel=1e-12), name
    # RLlib leaves them out until an episode has ended.
    last = results[0][-1]["env_runners"]
    assert {"episode_len_mean", "episode_len_max", "episode_return_mean", "episode_return_min"} <= last.keys()
    assert 0.0 < last["episode_duration_sec_mean"] < 60.0


def test_metrics_of_episodes_are_those_of_rllibs_runner() -> None:
    # Without a learner: it lengthens the chunks that RLlib's runner keeps for its metrics by one step each.
    metrics = []
    for cls in (BatchEnvRunner, SingleAgentEnvRunner):
        runner = built(cls)
        samples(runner, 6)
        metrics.append({name: value for name, value in runner.get_metrics().items() if name.startswith("episode_")})
    names = {f"episode_{what}_{how}" for what in ("len", "return") for how in ("mean", "min", "max")}
    for name in names:
        assert metrics[0][name].peek() == pytest.approx(metrics[1][name].peek(), rel=1e-12), name
    assert metrics[0].keys() == metrics[1].keys() == names | {"episode_duration_sec_mean"}


def test_a_seed_repeats_what_is_sampled() -> None:
    first, second = ([episode for call in samples(built(BatchEnvRunner), 2) for episode in call] for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert_equal(a.observations.data, b.observations.data, "observations")
        assert_equal(a.actions.data, b.actions.data, "actions")


def test_torchs_random_numbers_are_used_as_by_rllibs_runner() -> None:
    after = []
    for runner in (BatchEnvRunner, SingleAgentEnvRunner):
        samples(built(runner), 2)
        after.append(torch.rand(1).item())
    assert after[0] == after[1]


def test_later_calls_leave_earlier_episodes_as_they_are() -> None:
    runner = built(BatchEnvRunner)
    (episodes,) = samples(runner, 1)
    before = [(episode.observations.data.copy(), episode.actions.data.copy()) for episode in episodes]
    runner.sample()
    for episode, (observations, actions) in zip(episodes, before, strict=True):
        assert_equal(episode.observations.data, observations, "observations")
        assert_equal(episode.actions.data, actions, "actions")


def test_a_forced_reset_starts_all_episodes_anew() -> None:
    runner = built(BatchEnvRunner)
    runner.sample()
    before = len(runner.env.raw)
    episodes = runner.sample(force_reset=True)
    assert not any(episode.t_started for episode in episodes)
    # With new random numbers: the seed is for the first reset.
    assert (runner.env.raw[before] != runner.env.raw[0])[:, :2].all()


def transitions(episodes: list[SingleAgentEpisode], name: str) -> np.ndarray:
    """Values of all transitions, in the episodes' order."""
    return np.concatenate([getattr(episode, f"get_{name}")(slice(0, len(episode))) for episode in episodes])


def test_statistics_are_those_of_all_observations_each_once() -> None:
    runner = built(BatchEnvRunner, preprocessing=NORMALIZED)
    samples(runner, 4)
    raw = np.concatenate(runner.env.raw).astype(float)
    assert runner.normalizer.count == len(raw)
    np.testing.assert_allclose(runner.normalizer.mean, raw.mean(axis=0), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(runner.normalizer.variance, raw.var(axis=0), rtol=1e-5, atol=1e-9)


def test_the_policy_acts_on_the_normalised_observations_that_the_episodes_hold() -> None:
    runner = built(BatchEnvRunner, preprocessing=NORMALIZED)
    episodes = samples(runner, 3)[-1]
    observations = transitions(episodes, "observations")
    with torch.inference_mode():
        inputs = runner.module.forward_inference({"obs": torch.from_numpy(observations)})["action_dist_inputs"].numpy()
    held = np.concatenate(
        [episode.get_extra_model_outputs("action_dist_inputs", slice(0, len(episode))) for episode in episodes]
    )
    np.testing.assert_allclose(held, inputs, rtol=1e-5, atol=1e-6)
    assert np.abs(observations[:, :2].mean(axis=0)).max() < 1.0
    assert observations[:, :2].std(axis=0).min() > 0.3
    assert (observations[:, 2] == 0.0).all()


def test_an_observation_at_a_fragments_end_is_the_same_at_the_next_ones_beginning() -> None:
    runner = built(BatchEnvRunner, preprocessing=NORMALIZED)
    first, second = samples(runner, 2)
    ends = {episode.id_: episode.observations.data[-1] for episode in first if not episode.is_done}
    going_on = [episode for episode in second if episode.t_started]
    assert going_on
    for episode in going_on:
        assert_equal(episode.get_observations(0), ends[episode.id_], "observation")


@pytest.mark.usefixtures("small_ray")
def test_a_checkpoint_carries_the_statistics(tmp_path: Path) -> None:
    with algorithm(configuration(BatchEnvRunner, preprocessing=NORMALIZED)) as ppo:
        for _ in range(3):
            ppo.train()
        ppo.save_to_path(str(tmp_path))
        saved = ppo.env_runner.normalizer
        continued = []
        for _ in range(2):
            with algorithm(configuration(BatchEnvRunner, preprocessing=NORMALIZED)) as other:
                other.restore_from_path(str(tmp_path))
                runner = other.env_runner
                assert runner.normalizer.count == saved.count
                assert_equal(runner.normalizer.mean, saved.mean, "mean")
                assert_equal(runner.normalizer.variance, saved.variance, "variance")
                continued.append((runner.sample(), runner))
    # The next rollout is normalised by them, and alike: its first observations by what was saved and the reset.
    for (a, _), (b, _) in zip(*[[(episode, 0) for episode in episodes] for episodes, _ in continued], strict=True):
        assert_equal(a.observations.data, b.observations.data, "observations")
    episodes, runner = continued[0]
    saved.update(runner.env.raw[0])
    first = saved.normalize(runner.env.raw[0])
    starts = np.array([episode.get_observations(0) for episode in episodes if not episode.t_started])
    assert all((starts == row).all(axis=1).any() for row in first)


def test_frozen_statistics_do_not_change_and_can_be_pickled() -> None:
    runner = built(BatchEnvRunner, preprocessing=NORMALIZED)
    runner.sample()
    frozen = pickle.loads(pickle.dumps(runner.normalizer.frozen()))
    observation = runner.env.raw[3][0]
    before, count = frozen(observation), runner.normalizer.count
    assert_equal(before, runner.normalizer.normalize(observation[None])[0], "normalised")
    assert runner.normalizer.count == count
    runner.sample()
    assert_equal(frozen(observation), before, "normalised")
    assert (runner.normalizer.frozen()(observation) != before).any()


def test_observations_are_clipped_without_being_normalised_too() -> None:
    runner = built(BatchEnvRunner, preprocessing=Preprocessing(clip_obs=2.0))
    episodes = samples(runner, 1)[0]
    raw = np.concatenate(runner.env.raw)
    assert np.abs(raw).max() > 2.0
    held = np.concatenate([episode.observations.data for episode in episodes])
    assert np.abs(held).max() == 2.0
    assert_equal(runner.preprocess()(raw), np.clip(raw, -2.0, 2.0), "clipped")


def test_rewards_are_scaled_for_the_learner_and_not_in_the_metrics() -> None:
    rewards, means = [], []
    for scale, normalize in ((1.0, False), (0.5, True)):
        runner = built(BatchEnvRunner, preprocessing=Preprocessing(reward_scale=scale, normalize_rewards=normalize))
        rewards.append(transitions([episode for call in samples(runner, 6) for episode in call], "rewards"))
        means.append(runner.get_metrics()["episode_return_mean"].peek())
    # A positive factor for each time step, the same for all sub-environments.
    assert (np.sign(rewards[0]) == np.sign(rewards[1])).all()
    assert not np.allclose(rewards[0], rewards[1])
    assert means[0] == means[1]


class SlowEnv(gym.Env[np.ndarray, np.ndarray]):
    """One environment with episodes of ten steps; each call takes some milliseconds."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (FEATURES,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (ACTIONS,), np.float32)
    seconds = 0.003

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        time.sleep(self.seconds)
        self.steps = 0
        return self.np_random.standard_normal(FEATURES).astype(np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        time.sleep(self.seconds)
        self.steps += 1
        observation = self.np_random.standard_normal(FEATURES).astype(np.float32)
        return observation, float(action[0]), False, self.steps == 10, {"step": self.steps}


def one_slow_env(num_envs: int) -> SyncVectorEnv:
    return SyncVectorEnv([SlowEnv] * num_envs, autoreset_mode=AutoresetMode.NEXT_STEP)


def test_one_ordinary_environment_gives_the_batches_of_rllibs_runner() -> None:
    arguments = {"num_envs_per_env_runner": 1, "rollout_fragment_length": 16}
    calls = [samples(built(runner, one_slow_env, **arguments), 3) for runner in (BatchEnvRunner, SingleAgentEnvRunner)]
    config = configuration(BatchEnvRunner, one_slow_env, **arguments)
    for ours, theirs in zip(*calls, strict=True):
        a, b = learner_batch(config, ours), learner_batch(config, theirs)
        assert a["loss_mask"].sum() == 16
        for name in b:
            assert_equal(a[name], b[name], name)


def test_the_stopwatch_times_the_environment_alone() -> None:
    runner = built(BatchEnvRunner, one_slow_env, num_envs_per_env_runner=1, rollout_fragment_length=30)
    forward = runner.module._forward_exploration

    def slow_forward(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.01)
        return forward(*args, **kwargs)

    runner.module._forward_exploration = slow_forward
    stopwatch = Stopwatch()
    runner.watch(stopwatch)
    start = time.perf_counter()
    runner.sample()
    seconds, taken = time.perf_counter() - start, stopwatch.take()
    # Thirty steps and, for the first three episodes, a reset; at least 0.3 s were slept elsewhere, however busy the machine.
    assert 33 * SlowEnv.seconds <= taken <= seconds - 0.3
    assert SlowEnv.seconds <= runner.get_metrics()["env_step_timer"].peek() <= taken


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda config: config.env_runners(batch_mode="complete_episodes"), "truncate_episodes"),
        (lambda config: config.environment(clip_actions=True), "clip_actions"),
        (lambda config: config.environment(normalize_actions=True), "normalize_actions"),
        (lambda config: config.env_runners(env_to_module_connector=lambda *_: []), "connectors"),
        (lambda config: config.env_runners(num_env_runners=2), "one runner"),
        (lambda config: config.fault_tolerance(restart_failed_sub_environments=True), "restart_failed_sub_environments"),
        (lambda config: config.rl_module(model_config=DefaultModelConfig(use_lstm=True)), "recurrent"),
    ],
)
def test_what_it_cannot_do_is_refused(change: Callable[[PPOConfig], Any], said: str) -> None:
    config = configuration(BatchEnvRunner, preprocessing=NORMALIZED)
    change(config)
    with pytest.raises(ValueError, match=said):
        BatchEnvRunner(config=config)


def test_an_environment_that_resets_at_once_is_refused() -> None:
    def make(num_envs: int) -> EpisodesVectorEnv:
        env = EpisodesVectorEnv(num_envs)
        env.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        return env

    with pytest.raises(ValueError, match="NEXT_STEP"):
        built(BatchEnvRunner, make)


@pytest.mark.parametrize("arguments", [{"num_episodes": 1}, {"random_actions": True}, {"explore": False}])
def test_other_ways_of_sampling_are_refused(arguments: dict[str, Any]) -> None:
    runner = built(BatchEnvRunner)
    with pytest.raises(ValueError, match="time steps"):
        runner.sample(**arguments)
