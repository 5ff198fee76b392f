"""Environments by scenario, backend and purpose."""

from pathlib import Path

import numpy as np
import pytest

from envs.environments.factory import evaluation_env, training_env, windows_env
from envs.environments.site_env import SiteEnv
from envs.environments.site_envs import SiteEnvs
from envs.environments.vector_env import SiteVectorEnv, WindowsEnv
from envs.objective.episodes import TRAINING_HOURS
from envs.scenarios.augmentation import NONE, Augmentation, training_windows
from envs.scenarios.scenario import Window, scenario
from envs.scenarios.synthetic_numbers import is_synthetic


def test_each_backend_trains_in_its_own_environment(small_schema: Path) -> None:
    for backend, kind in (("batch", SiteVectorEnv), ("citylearn", SiteEnvs)):
        env = training_env(str(small_schema), backend, 2)  # type: ignore[arg-type]
        assert isinstance(env, kind)
        observations, _ = env.reset(seed=0)
        assert observations.shape[0] == env.num_envs == 2
        env.close()


def test_training_sees_the_training_split_alone(small_schema: Path) -> None:
    env = training_env(str(small_schema), "batch", 1)
    assert isinstance(env, SiteVectorEnv)
    own = {hour for w in scenario(str(small_schema)).windows("train") for hour in range(w.start, w.start + w.hours)}
    assert all(w.hours <= TRAINING_HOURS and set(range(w.start, w.start + w.hours)) <= own for w in env.windows)


@pytest.mark.parametrize(("backend", "kind"), [("batch", WindowsEnv), ("citylearn", SiteEnv)])
def test_an_evaluation_runs_all_windows_of_its_split(small_schema: Path, backend: str, kind: type) -> None:
    env = evaluation_env(str(small_schema), backend, "validation", weeks=0)  # type: ignore[arg-type]
    assert isinstance(env, kind)
    assert env.windows == scenario(str(small_schema)).windows("validation")
    env.close()


def test_the_schemas_own_reward_goes_to_either_environment(small_schema: Path) -> None:
    site, rewards = scenario(str(small_schema)), []
    for backend in ("batch", "citylearn"):
        env = windows_env(site, backend, [Window(0, 0, 24)], "schema")  # type: ignore[arg-type]
        (episode,) = env.episodes(lambda observations: np.zeros((1, 5)))
        rewards.append(episode.reward)
        env.close()
    assert rewards[0] == pytest.approx(rewards[1], rel=1e-6)
    assert rewards[0] < -100.0


def steps(env: SiteVectorEnv, count: int) -> bytes:
    """Observations and rewards of some steps at random."""
    random, taken = np.random.default_rng(1), []
    for _ in range(count):
        observation, reward, *_ = env.step(random.uniform(-1.0, 1.0, env.action_space.shape or ()))
        taken += [observation.tobytes(), reward.tobytes()]
    return b"".join(taken)


def test_without_synthetic_years_training_is_what_it_was(small_schema: Path) -> None:
    found = []
    for given in ({}, {"augmentation": NONE}):
        env = training_env(str(small_schema), "batch", 2, **given)  # type: ignore[arg-type]
        assert isinstance(env, SiteVectorEnv)
        assert not any(is_synthetic(window.year) for window in env.windows)
        env.reset(seed=3)
        found.append(steps(env, 200))
    assert found[0] == found[1]


def test_training_goes_on_in_synthetic_years_as_if_it_had_not_stopped(small_schema: Path) -> None:
    def opened() -> SiteVectorEnv:
        env = training_env(str(small_schema), "batch", 2, augmentation=Augmentation(2, 1))
        assert isinstance(env, SiteVectorEnv)
        assert {window.year for window in env.windows} == {w.year for w in training_windows(env.scenario, Augmentation(2, 1))}
        env.reset(seed=3)
        return env

    first, second = opened(), opened()
    steps(first, 150)
    second.set_state(first.get_state())
    assert steps(first, 300) == steps(second, 300)


def test_validation_and_test_do_not_know_synthetic_years(small_schema: Path) -> None:
    for split in ("validation", "test"):
        env = evaluation_env(str(small_schema), "batch", split, 0)  # type: ignore[arg-type]
        before = [episode.run.net_kwh.tobytes() for episode in env.episodes(lambda seen: np.zeros((len(seen), 5)))]
        training_env(str(small_schema), "batch", 2, augmentation=Augmentation(2, 1)).reset(seed=0)
        env = evaluation_env(str(small_schema), "batch", split, 0)  # type: ignore[arg-type]
        assert before == [episode.run.net_kwh.tobytes() for episode in env.episodes(lambda seen: np.zeros((len(seen), 5)))]
        assert {window.year for window in env.windows} == {0}
