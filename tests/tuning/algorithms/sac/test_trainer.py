"""From hyperparameters to SAC and back: each is read back, acts, and learns."""

import json
import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from tests.tuning.algorithms.match import mean_return, train_to
from tests.tuning.algorithms.sac.sac_small import SeenVectorEnv, built
from tests.tuning.algorithms.shown import answers
from tuning.algorithms.sac.trainer import LOG_STD, WITHIN
from tuning.runtime.ray_session import ENVIRONMENT

pytestmark = pytest.mark.usefixtures("small_ray")


@pytest.mark.slow
def test_a_site_with_chargers_is_learned_and_all_its_parameters_move() -> None:
    # Actions of 0 would have 0.67.
    with built(chargers=3, steps=3000, gradient_steps=8, gamma=0.5, initial_charging=0.0, ent_coef_initial=0.01) as trainer:
        before = {name: value.detach().clone() for name, value in trainer.learner.network.named_parameters()}
        train_to(trainer, 3000)
        after = dict(trainer.learner.network.named_parameters())
        assert all((after[name] != value).any() for name, value in before.items())
        assert mean_return(trainer, chargers=3) > 0.87


EVERYTHING: dict[str, Any] = {
    "normalize_rewards": True, "n_step": 3, "learning_rate_schedule": "linear", "max_grad_norm": 1.0, "ent_coef": 0.1,
    "activation": "silu", "bf16": True,
}  # fmt: skip


@pytest.mark.parametrize(("given", "least"), [({}, 0.97), (EVERYTHING, 0.87)], ids=["default", "what is off by default"])
def test_it_learns_a_simple_task(given: dict[str, Any], least: float) -> None:
    with built(steps=600, gradient_steps=8, **given) as trainer:
        before = mean_return(trainer)
        train_to(trainer, 600)
        assert before < least < mean_return(trainer)


def test_the_policys_mode_lies_in_the_environments_range() -> None:
    with built(make_envs=SeenVectorEnv) as trainer:
        trainer.algorithm.train()
        observations = np.random.default_rng(0).normal(0.0, 100.0, (500, 3)).astype(np.float32)
        actions, space = trainer.policy()(observations), trainer.runner.env.single_action_space
        assert actions.shape == (500, 1)
        assert all(space.contains(action) for action in actions)
        with torch.no_grad():
            seen = torch.from_numpy(trainer.runner.preprocess()(observations))
            mean, _ = trainer.learner.network.parameters_of_distribution(seen)
        np.testing.assert_allclose(actions, -3.0 + 2.0 * (mean.tanh().numpy() + 1.0), rtol=1e-5, atol=1e-5)


def test_losses_are_missing_until_learning_starts() -> None:
    with built(learning_starts=80) as trainer:
        losses = trainer.losses(trainer.algorithm.train())
        assert losses["gradient_steps"] == 0
        assert all(losses[name] is None for name in ("policy_loss", "value_loss", "entropy", "ent_coef", "learning_rate"))
        trainer.algorithm.train()
        losses = trainer.losses(trainer.algorithm.train())
        assert {name for name, value in losses.items() if value is None} == {"kl", "explained_variance"}
        assert all(math.isfinite(value) for value in losses.values() if value is not None)


def test_a_copy_does_what_was_shown_and_tells_right_from_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuning.algorithms.sac.trainer.VALUE_STEPS", 1000)
    parts = [answers(runs=4, seed=seed) for seed in range(4)]
    shown = parts[0]
    with built(gamma=0.0, buffer_size=8000, taught=True) as trained:
        assert trained.used()["learning_starts"] == 0  # it has lessons to learn from
        assert mean_return(trained) < 0.8
        trained.begin_as(parts)
        assert mean_return(trained) > 0.9
        network = trained.learner.network
        seen = torch.from_numpy(trained.runner.preprocess()(shown.observations[:-1][shown.taken]))
        _, log_std = network.parameters_of_distribution(seen)
        assert (log_std == min(LOG_STD, 0.0)).all()
        right = torch.from_numpy(shown.labels[shown.taken])
        wrong = torch.where(right > 0.0, right - 0.8, right + 0.8)
        values = [network.values(seen, actions, least=True).mean() for actions in (right, wrong)]
        assert values[0] > values[1] + 0.2
        assert np.abs(right.numpy()).max() > WITHIN  # labels at the ends of the range are among them


def test_the_buffer_begins_with_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuning.algorithms.sac.trainer.VALUE_STEPS", 2)
    shown = answers(steps=12, runs=3)
    with built() as trained:
        trained.begin_as([shown])
        buffer = trained.runner.buffer
        assert buffer.transitions == int(shown.taken.sum())
        sample = buffer.sample(400)
        wanted = {tuple(row) for row in shown.observations[:-1][shown.taken].tolist()}
        assert {tuple(row) for row in sample.observations.tolist()} == wanted
        index = np.argmax((shown.observations[:-1][shown.taken][:, None] == sample.observations).all(axis=2), axis=0)
        np.testing.assert_allclose(sample.actions, shown.executed[shown.taken][index], atol=1e-6)
        np.testing.assert_allclose(sample.rewards, shown.rewards[shown.taken][index], atol=1e-6)
        following = shown.observations[1:][shown.taken][index]
        np.testing.assert_array_equal(sample.next_observations, following)
        # It goes on with its own transitions.
        before = buffer.transitions
        trained.update()
        assert buffer.transitions > before


FAULTS = """
import json, resource
import numpy as np
from tuning.algorithms.sac.trainer import keep_freed_blocks

def faults(size):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(size, np.uint8)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 20

found = [faults(2**19), faults(2**21)]
keep_freed_blocks()
print(json.dumps([*found, faults(2**21)]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the settings are of Linux's allocator")
def test_freed_arrays_are_reused_small_ones_by_all_and_larger_ones_by_sac() -> None:
    environment = {**os.environ, **ENVIRONMENT}
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True, env=environment)
    small, large, kept = json.loads(done.stdout)
    # An array of 2 MiB has 512 pages; the first one is taken from the system in any case.
    assert small < 20
    assert large > 400
    assert kept < 60
