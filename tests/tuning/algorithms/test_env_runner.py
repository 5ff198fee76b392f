"""What all env runners do at a step: statistics, metrics, state."""

import gc
from typing import Any

import numpy as np
import pytest

from tests.tuning.algorithms.match import MatchVectorEnv, built

pytestmark = pytest.mark.usefixtures("small_ray")
ALGOS = ("ppo", "sac")


class RawVectorEnv(MatchVectorEnv):
    """The task with all that it showed and gave. The reward of a step that resets means nothing."""

    def __init__(self, num_envs: int) -> None:
        super().__init__(num_envs)
        self.raw: list[np.ndarray] = []
        self.given: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # rewards, which steps reset, which end

    def _observe(self) -> np.ndarray:
        self.raw.append(super()._observe())
        return self.raw[-1]

    def step(self, actions: Any) -> Any:
        resets = self.steps == 10
        observations, rewards, none, ends, infos = super().step(actions)
        self.given.append((rewards, resets, ends))
        return observations, np.where(resets, 1e6, rewards), none, ends, infos


def runner_of(trained: Any) -> Any:
    trained.runner.collect(80)
    return trained.runner


@pytest.mark.parametrize("algo", ALGOS)
def test_statistics_are_those_of_all_observations_each_once(algo: str) -> None:
    with built(algo, make_envs=RawVectorEnv) as trained:
        runner = runner_of(trained)
        raw = np.concatenate(runner.env.raw).astype(float)
        assert runner.normalizer.count == len(raw)
        np.testing.assert_allclose(runner.normalizer.mean, raw.mean(axis=0), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(runner.normalizer.variance, raw.var(axis=0), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("algo", ALGOS)
def test_metrics_are_of_the_environments_own_episodes(algo: str) -> None:
    with built(algo, make_envs=RawVectorEnv, reward_scale=5.0) as trained:
        runner, returns, totals = runner_of(trained), [], np.zeros(4)
        metrics = runner.get_metrics()
        for rewards, resets, ends in runner.env.given:
            totals += np.where(resets, 0.0, rewards)
            returns += totals[ends].tolist()
            totals[ends] = 0.0
        assert metrics["num_env_steps_sampled"].peek() == sum((~resets).sum() for _, resets, _ in runner.env.given)
        assert metrics["num_episodes"].peek() == len(returns) > 4
        assert metrics["episode_return_mean"].peek() == pytest.approx(np.mean(returns))


@pytest.mark.parametrize("algo", ALGOS)
def test_observations_are_clipped_without_being_normalised_too(algo: str) -> None:
    with built(algo, normalize_observations=False, clip_obs=2.0) as trained:
        seen = trained.runner.preprocess()(np.float32([[0.5, -3.0, 50.0]]))
        assert seen.tolist() == [[0.5, -2.0, 2.0]]


class Seeded(MatchVectorEnv):
    """The task with all seeds that it was begun with."""

    def __init__(self, num_envs: int) -> None:
        super().__init__(num_envs)
        self.seeds: list[int] = []

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.seeds.append(seed)
        return super().reset(seed=seed, options=options)


@pytest.mark.parametrize("algo", ALGOS)
def test_episodes_that_are_begun_anew_have_seeds_of_their_own_and_leave_nothing_of_the_old_ones(algo: str) -> None:
    with built(algo, make_envs=Seeded, normalize_rewards=True) as trained:
        runner = runner_of(trained)
        before = runner.reward_normalizer.std
        for number in (1, 2, 1):
            trained.begin_episodes(number)
            assert "sampling" not in runner.get_state(), "what the environment holds is not asked for"
            runner.reset()
            assert not runner._returns.any()
            assert not runner.reward_normalizer._returns.any()
        assert runner.reward_normalizer.std == before, "what was measured stays"
        seeds = runner.env.seeds
        assert seeds[1] == seeds[3]
        assert len(set(seeds)) == 3
        trained.begin_episodes(2)
        state = runner.get_state()
    with built(algo, make_envs=Seeded, normalize_rewards=True) as other:
        other.runner.set_state(state)
        other.runner.reset()
        assert other.runner.env.seeds == [seeds[2]]


class Closing(MatchVectorEnv):
    """The task, which cannot be stepped any more once it is closed."""

    def close_extras(self, **kwargs: Any) -> None:
        self.is_closed = True

    def step(self, actions: Any) -> Any:
        assert not hasattr(self, "is_closed")
        return super().step(actions)


@pytest.mark.parametrize("algo", ALGOS)
def test_an_environment_is_open_as_long_as_it_is_stepped(algo: str) -> None:
    with built(algo, make_envs=Closing) as trained:
        gc.collect()
        env = runner_of(trained).env
        assert not hasattr(env, "is_closed")
    assert env.is_closed


def test_a_second_trainer_of_a_process_warns_of_nothing(recwarn: pytest.WarningsRecorder) -> None:
    for _ in range(2):
        with built("ppo"):
            pass
    assert not [warning for warning in recwarn if "Overriding environment" in str(warning.message)]
