"""Both backends tell what buildings earn, and it is the same."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.environments.building_info import BUILDING_REWARDS
from envs.environments.site_envs import SiteEnvs
from envs.environments.vector_env import SiteVectorEnv
from envs.objective.reward import RewardName
from envs.scenarios.scenario import Window, scenario

HOURS = 30


@pytest.mark.parametrize("reward", ["improvement", "schema"])
@pytest.mark.parametrize("start", [0, 100])
def test_both_backends_split_a_reward_alike(four_buildings: Path, reward: RewardName, start: int) -> None:
    site, windows = scenario(str(four_buildings)), (Window(0, start, HOURS),)
    batch, single = SiteVectorEnv(site, windows, 1, reward), SiteEnvs(site, windows, 1, reward)
    for env in (batch, single):
        env.split_rewards()
        env.reset(seed=0)
    # Both from one charge, which each of them draws for itself.
    batch.simulator.begin(0, 0, start, HOURS, 1, 0.4)
    batch._left[:] = HOURS
    one: Any = single.envs[0]
    one._begin(1, 0.4)
    rng = np.random.default_rng(0)
    for _ in range(HOURS):
        actions = rng.uniform(-1.0, 1.0, (1, batch.simulator.actions))
        _, rewards, *_, infos = batch.step(actions)
        _, others, *_, info = single.step(actions)
        assert infos[BUILDING_REWARDS].shape == (1, 4)
        np.testing.assert_allclose(infos[BUILDING_REWARDS], info[BUILDING_REWARDS], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(rewards, others, rtol=1e-5, atol=1e-6)
        if reward == "schema":
            np.testing.assert_array_equal(infos[BUILDING_REWARDS], np.full((1, 4), rewards[0]))
    single.close()


def test_without_a_request_nothing_is_split(four_buildings: Path) -> None:
    site, windows = scenario(str(four_buildings)), (Window(0, 0, HOURS),)
    env = SiteVectorEnv(site, windows, 2)
    env.reset(seed=0)
    assert env.step(np.zeros((2, env.simulator.actions)))[-1] == {}
