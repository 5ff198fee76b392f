"""An episode's end and the next one's begin come in one step, with the numbers of our own environment."""

from pathlib import Path

import numpy as np

from benchmarks.real_searches.same_step import SameStepEnv, same_step_env
from envs.environments.vector_env import SiteVectorEnv
from envs.scenarios.scenario import Window, scenario

WINDOWS = (Window(0, 0, 30), Window(0, 300, 30))


def test_hours_are_those_of_our_environment_without_its_step_between_two_episodes(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    ours, theirs = (kind(site, WINDOWS, 1) for kind in (SiteVectorEnv, SameStepEnv))
    np.testing.assert_array_equal(ours.reset(seed=4)[0], theirs.set_seed(4))
    actions = np.random.default_rng(0).uniform(-1, 1, (100, 1, ours.single_action_space.shape[0])).astype(np.float32)
    for action in actions:
        expected, reward, _, truncated, _ = ours.step(action)
        observations, rewards, ended, last = theirs.advance(action)
        np.testing.assert_array_equal(rewards, reward)
        np.testing.assert_array_equal(ended, truncated)
        if ended[0]:
            np.testing.assert_array_equal(last[0], expected[0])
            expected, reward, *_ = ours.step(action)  # ignored: it begins the next episode
            assert reward[0] == 0.0
        else:
            assert last == {}
        np.testing.assert_array_equal(observations, expected)


def test_windows_are_those_that_our_trainers_draw(small_schema: Path) -> None:
    from envs.task import SiteTask

    ours = SiteTask(str(small_schema)).training_env(2)
    assert isinstance(ours, SiteVectorEnv)
    assert same_step_env(str(small_schema), 2).windows == ours.windows
    assert len(ours.windows) > 1
