"""What trainers on RLlib share: views, state of random numbers, sums of gradient steps."""

import math
import random
from typing import Any

import numpy as np
import pytest
import torch

from search_spaces import Assignment
from tests.tuning.algorithms.match import FEATURES, MatchVectorEnv, groups, trainer
from tuning.algorithms.networks.views import SiteView, ViewEnv
from tuning.algorithms.preprocessing import Preprocessing
from tuning.algorithms.rllib_trainer import (
    preprocessing,
    random_state,
    seen_by_the_policy,
    set_random_state,
)
from tuning.algorithms.trainer import Setup
from tuning.runtime.stopwatch import Stopwatch


def drawn() -> tuple[float, float, float]:
    return random.random(), float(np.random.random()), float(torch.rand(1))


def test_all_three_sources_go_on_from_a_state() -> None:
    state = random_state()
    first = drawn()
    assert drawn() != first
    set_random_state(state)
    assert drawn() == first


GIVEN: Assignment = {
    "normalize_observations": True, "clip_obs": 5.0, "normalize_rewards": False, "reward_scale": 2.0, "gamma": 0.9,
    "initial_charging": 0.5, "learn_charging": False,
}  # fmt: skip


def setup(chargers: int) -> Setup:
    return Setup(
        GIVEN, lambda number: MatchVectorEnv(number, chargers=chargers), 4, 1024, 3, gpu=False, chargers=groups(chargers)
    )


def test_chargers_features_are_not_normalised() -> None:
    assert preprocessing(setup(2)) == Preprocessing(True, 5.0, False, 2.0, 0.9, (FEATURES, FEATURES + 1))
    assert preprocessing(setup(0)).keep == ()


def test_without_chargers_only_the_other_actions_are_learned() -> None:
    own = seen_by_the_policy(setup(2))
    env = own.make_envs(3)
    assert own.chargers is None
    assert isinstance(env, ViewEnv)
    assert isinstance(env.view, SiteView)
    assert env.single_action_space.shape == (1,)
    assert env.view.initial_charging == 0.5
    without = setup(0)
    assert seen_by_the_policy(without) is without


@pytest.mark.usefixtures("small_ray")
def test_an_update_reports_its_steps_and_what_was_measured() -> None:
    trained: Any = trainer("ppo")
    try:
        first, second = trained.update(), trained.update()
        assert 0 < first.steps < second.steps
        assert second.losses["gradient_steps"] == 8
        assert all(value is None or math.isfinite(value) for value in second.losses.values())
        trained.learner.means = {"kl": float("nan")}
        nothing = trained.losses({"env_runners": {}})
        assert nothing["kl"] is None
        assert nothing["policy_loss"] is None
        assert nothing["gradient_steps"] == 0
    finally:
        trained.stop()


@pytest.mark.usefixtures("small_ray")
def test_stopwatches_time_the_environment_and_the_learner_from_when_they_watch() -> None:
    trained: Any = trainer("ppo")
    try:
        trained.update()
        environment, learner = Stopwatch(), Stopwatch()
        step = trained.runner.env.step
        trained.watch(environment, learner)
        # Nothing of the environment is replaced.
        assert trained.runner.env.step == step
        assert (environment.seconds, learner.seconds) == (0.0, 0.0)
        trained.update()
        assert environment.take() > 0.0
        assert learner.take() > 0.0
    finally:
        trained.stop()
