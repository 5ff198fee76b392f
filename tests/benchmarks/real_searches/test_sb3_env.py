"""Stable-Baselines3 sees our copies as its own vector environments behave."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.real_searches.same_step import SameStepEnv
from envs.scenarios.scenario import Window, scenario


def test_ends_are_truncations_with_the_last_observation(small_schema: Path) -> None:
    pytest.importorskip("stable_baselines3")
    from benchmarks.real_searches.sb3_env import BatchVecEnv

    site, windows = scenario(str(small_schema)), (Window(0, 0, 30),)
    env, alike = BatchVecEnv(SameStepEnv(site, windows, 2)), SameStepEnv(site, windows, 2)
    env.seed(9)
    np.testing.assert_array_equal(env.reset(), alike.set_seed(9))
    ends: list[tuple[int, int]] = []
    for hour in range(31):
        actions = env.action_space.sample()[np.newaxis].repeat(2, axis=0)
        observations, rewards, ended, infos = env.step(actions)
        expected = alike.advance(actions)
        np.testing.assert_array_equal(observations, expected[0])
        np.testing.assert_array_equal(rewards, expected[1].astype(np.float32))
        for b in range(2):
            info: dict[str, Any] = infos[b]
            assert info["TimeLimit.truncated"] == ended[b] == (b in expected[3])
            if ended[b]:
                ends.append((hour, b))
                np.testing.assert_array_equal(info["terminal_observation"], expected[3][b])
                assert not np.array_equal(info["terminal_observation"], observations[b])
    assert ends == [(14, 1), (29, 0)]
