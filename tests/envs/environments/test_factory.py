"""Environments by scenario, backend and purpose."""

from pathlib import Path

import numpy as np
import pytest

from envs.environments.factory import evaluation_env, training_env, windows_env
from envs.environments.site_env import SiteEnv
from envs.environments.site_envs import SiteEnvs
from envs.environments.vector_env import SiteVectorEnv, WindowsEnv
from envs.objective.episodes import TRAINING_HOURS
from envs.scenarios.scenario import Window, scenario


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
