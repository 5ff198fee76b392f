"""From hyperparameters to PPO and A2C and back: each is read back, acts, and learns."""

from typing import Any

import numpy as np
import pytest
import torch

from envs.seen import HYPERPARAMETERS
from search_spaces import Kind
from tests.tuning.algorithms.match import FEATURES, mean_return
from tests.tuning.algorithms.on_policy.small import ALGOS, built, watched
from tuning.algorithms.precision import NEED_GPU
from tuning.algorithms.registry import algorithm

pytestmark = pytest.mark.usefixtures("small_ray")
OTHERS: dict[Kind, Any] = {Kind.NUMBER: 0.37, Kind.INTEGER: 64, Kind.SIZES: "8,24", Kind.FLAG: None}
NEEDED = {"learning_rate_final": {"learning_rate_schedule": "linear"}, "ent_coef_final": {"ent_coef_schedule": "cosine"}}


@pytest.mark.parametrize("algo", ALGOS)
def test_what_is_read_back_is_what_was_given(algo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Compiling takes a minute; that it is asked for shows below.
    monkeypatch.setattr(torch, "compile", lambda function, mode: function)
    for parameter in algorithm(algo).space.parameters:
        if parameter.name in (*NEED_GPU, *HYPERPARAMETERS, "shared_policy"):
            # Refused here, see test_precision; or needs several buildings, see test_building_view.
            continue
        other = OTHERS.get(parameter.kind, next((choice for choice in parameter.choices if choice != parameter.default), None))
        if parameter.kind is Kind.FLAG:
            other = not parameter.default
        with built(algo, chargers=2, **{**NEEDED.get(parameter.name, {}), parameter.name: other}) as trained:
            used = trained.used()
        assert used[parameter.name] == pytest.approx(other), parameter.name
        assert used.keys() == {each.name for each in algorithm(algo).space.parameters}
    torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("algo", ALGOS)
def test_n_steps_is_what_is_collected_between_two_updates(algo: str) -> None:
    for n_steps in (64, 128):
        with built(algo, n_steps=n_steps, batch_size=32) as trained:
            seen = watched(trained)
            steps = [trained.algorithm.train()["num_env_steps_sampled_lifetime"] for _ in range(2)]
            assert n_steps <= steps[0] < n_steps + trained.num_envs
            assert 2 * n_steps <= steps[1] < 2 * (n_steps + trained.num_envs)
            assert len(seen) == 2 * (1 if algo == "a2c" else 2 * n_steps // 32)


@pytest.mark.parametrize("algo", ALGOS)
def test_a_site_with_chargers_is_learned(algo: str) -> None:
    fast: dict[str, Any] = {"learning_rate": 0.01, "gamma": 0.5, "steps": 8192, "initial_charging": 0.0}
    fast |= {"n_steps": 256, "batch_size": 64, "n_epochs": 5} if algo == "ppo" else {"n_steps": 64, "optimizer": "adam"}
    with built(algo, chargers=3, **fast) as trained:
        steps = 0
        while steps < 8192:
            steps = trained.algorithm.train()["num_env_steps_sampled_lifetime"]
        # Actions of 0 would have 0.67.
        assert mean_return(trained, chargers=3) > (0.93 if algo == "ppo" else 0.8)


@pytest.mark.parametrize("algo", ALGOS)
def test_features_of_chargers_keep_their_common_scale(algo: str) -> None:
    with built(algo, chargers=2) as trained:
        trained.algorithm.train()
        normalizer = trained.runner.normalizer
        observations = np.random.default_rng(0).uniform(-1.0, 1.0, (20, FEATURES + 2)).astype(np.float32)
        seen = normalizer.normalize(observations)
        np.testing.assert_array_equal(seen[:, FEATURES:], observations[:, FEATURES:])
        assert (seen[:, :FEATURES] != observations[:, :FEATURES]).all()


@pytest.mark.parametrize("algo", ALGOS)
def test_rewards_and_observations_reach_the_learner_preprocessed(algo: str) -> None:
    batches = {}
    for name, changes in {
        "plain": {"normalize_observations": False, "clip_obs": None},
        "clipped": {"normalize_observations": False, "clip_obs": 0.5},
        "normalised": {"normalize_observations": True},
        "scaled": {"reward_scale": 10.0, "gae_lambda": 1.0, "gamma": 0.0},
        "unscaled": {"gae_lambda": 1.0, "gamma": 0.0},
        "deviations": {"normalize_rewards": True, "gae_lambda": 1.0, "gamma": 0.0},
    }.items():
        with built(algo, **changes) as trained:
            batches[name] = trained.learner.make_batch(trained.runner.sample())
    assert float(batches["plain"].observations.max()) == 50.0
    assert float(batches["clipped"].observations.abs().max()) == 0.5
    assert float(batches["normalised"].observations.abs().max()) < 5.0
    # Without a look ahead the targets are the rewards.
    np.testing.assert_allclose(batches["scaled"].targets, 10.0 * batches["unscaled"].targets, rtol=1e-3, atol=1e-5)
    assert float(batches["deviations"].targets.std()) == pytest.approx(1.0, abs=0.1)
    assert float(batches["unscaled"].targets.std()) != pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("algo", ALGOS)
def test_tf32_and_compiling_are_switched_on(algo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []

    def recorded(function: Any, mode: str | None) -> Any:
        def call(*args: Any) -> Any:
            compiled.append(function.__name__)
            return function(*args)

        return call

    monkeypatch.setattr(torch, "compile", recorded)
    for on in (True, False):
        with built(algo, tf32=on, torch_compile=on) as trained:
            assert (torch.get_float32_matmul_precision() == "high") is on
            compiled.clear()
            trained.algorithm.train()
            assert bool(compiled) is on


@pytest.mark.parametrize("algo", ALGOS)
def test_a_seed_repeats_an_update(algo: str) -> None:
    states = []
    for seed in (3, 3, 4):
        with built(algo, seed=seed) as trained:
            trained.algorithm.train()
            states.append(trained.learner.network.policy_head.weight.detach().clone())
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])


@pytest.mark.parametrize(("algo", "discrete"), [("ppo", False), ("ppo", True), ("a2c", False), ("a2c", True)])
def test_it_learns(algo: str, discrete: bool) -> None:
    fast = {"learning_rate": 0.01, "gamma": 0.5, "steps": 6144}
    fast |= {"n_steps": 256, "batch_size": 64, "n_epochs": 5} if algo == "ppo" else {"n_steps": 64, "optimizer": "adam"}
    with built(algo, discrete=discrete, **fast) as trained:
        before = mean_return(trained, discrete)
        steps = 0
        while steps < 6144:
            steps = trained.algorithm.train()["num_env_steps_sampled_lifetime"]
        assert before < 0.75
        assert mean_return(trained, discrete) > 0.93
