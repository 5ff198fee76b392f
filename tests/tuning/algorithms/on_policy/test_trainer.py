"""Each hyperparameter of PPO and A2C acts where its name says."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from search_spaces import Kind
from tests.tuning.algorithms.match import FEATURES, mean_return, trainer
from tuning.algorithms.errors import DivergedError
from tuning.algorithms.on_policy.advantages import advantages
from tuning.algorithms.on_policy.batch import Batch
from tuning.algorithms.on_policy.module import ActorCriticModule
from tuning.algorithms.on_policy.trainer import OnPolicyTrainer
from tuning.algorithms.precision import NEED_GPU
from tuning.algorithms.registry import algorithm

pytestmark = pytest.mark.usefixtures("small_ray")
ALGOS = ("ppo", "a2c")


@contextmanager
def built(algo: str, **arguments: Any) -> Iterator[Any]:
    found = trainer(algo, **arguments)
    assert isinstance(found, OnPolicyTrainer)
    try:
        yield found
    finally:
        found.stop()


def watched(trained: Any) -> list[dict[str, Any]]:
    """What the optimizer finds at each of its steps from now on."""
    optimizer, seen = trained.learner.optimizer, []
    step = optimizer.step

    def watch(*args: Any, **kwargs: Any) -> Any:
        gradients = [parameter.grad.clone() for parameter in optimizer.param_groups[0]["params"]]
        norm = float(torch.cat([gradient.flatten() for gradient in gradients]).norm())
        seen.append({"lr": optimizer.param_groups[0]["lr"], "norm": norm, "gradients": gradients})
        return step(*args, **kwargs)

    optimizer.step = watch
    return seen


def made_up(rows: int = 64, ratio: float = 1.0, moved: float = 0.0, discrete: bool = False) -> Any:
    """A batch whose actions were drawn with the policy's probabilities over `ratio`, and whose values have since moved."""

    def make(trained: Any) -> Batch:
        rng = torch.Generator().manual_seed(0)
        observations = torch.randn(rows, FEATURES, generator=rng)
        actions = torch.randn(rows, 1, generator=rng)
        with torch.no_grad():
            inputs = trained.learner.network._forward({"obs": observations})["action_dist_inputs"]
            values = trained.learner.network.compute_values({"obs": observations})
        logp = trained.learner.distribution(inputs).logp(actions) - np.log(ratio)
        ones = torch.ones(rows)
        return Batch(observations, actions, logp, inputs, values - moved, values + 1.0, ones)

    return make


def gradient(trained: Any, batch: Batch) -> dict[str, float]:
    """Norm of a batch's gradient, of the policy's parameters and of the value function's."""
    trained.learner.optimizer.zero_grad(set_to_none=False)
    trained.learner.gradient(batch)
    network = trained.learner.network
    norms = {}
    for name, layers in (("policy", network.policy_head), ("value", network.value_head)):
        norms[name] = sum(float(p.grad.norm()) for p in layers.parameters() if p.grad is not None)
    return norms


OTHERS: dict[Kind, Any] = {Kind.NUMBER: 0.37, Kind.INTEGER: 64, Kind.SIZES: "8,24", Kind.FLAG: None}
NEEDED = {"learning_rate_final": {"learning_rate_schedule": "linear"}, "ent_coef_final": {"ent_coef_schedule": "cosine"}}


@pytest.mark.parametrize("algo", ALGOS)
def test_what_is_read_back_is_what_was_given(algo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Compiling takes a minute; that it is asked for shows below.
    monkeypatch.setattr(torch, "compile", lambda function, mode: function)
    for parameter in algorithm(algo).space.parameters:
        if parameter.name in NEED_GPU:
            # Refused here, see test_precision.
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


@pytest.mark.parametrize(("batch_size", "n_epochs", "steps"), [(32, 2, 8), (64, 2, 4), (32, 5, 20), (128, 1, 1)])
def test_ppo_takes_a_gradient_step_for_each_minibatch_of_each_epoch(batch_size: int, n_epochs: int, steps: int) -> None:
    with built("ppo", batch_size=batch_size, n_epochs=n_epochs) as trained:
        seen = watched(trained)
        result = trained.algorithm.train()
        assert len(seen) == steps
        assert trained.losses(result)["gradient_steps"] == steps


@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("shape", ["constant", "linear", "exponential", "cosine"])
def test_the_optimizer_has_the_scheduled_learning_rate_at_each_step(algo: str, shape: str) -> None:
    with built(algo, learning_rate=0.01, learning_rate_schedule=shape, learning_rate_final=0.1, steps=512) as trained:
        seen = watched(trained)
        for _ in range(5):
            before = len(seen)
            result = trained.algorithm.train()
            expected = trained.learner.config.learning_rate.value(result["num_env_steps_sampled_lifetime"])
            assert {step["lr"] for step in seen[before:]} == {expected}
            assert trained.losses(result)["learning_rate"] == pytest.approx(expected)
        assert seen[-1]["lr"] == pytest.approx(0.01 if shape == "constant" else 0.001)


@pytest.mark.parametrize("algo", ALGOS)
def test_a_larger_entropy_coefficient_weighs_the_entropy_more(algo: str) -> None:
    totals = {}
    for coefficient in (0.0, 0.5):
        with built(algo, ent_coef=coefficient) as trained:
            batch = made_up()(trained)
            inputs, values = trained.learner.network._forward({"obs": batch.observations})["action_dist_inputs"], batch.values
            loss = trained.learner.loss(batch, inputs, values)
            totals[coefficient] = float(loss.total.detach())
            entropy = float(loss.terms["entropy"])
    assert totals[0.0] - totals[0.5] == pytest.approx(0.5 * entropy, rel=1e-4)


@pytest.mark.parametrize("algo", ALGOS)
def test_the_entropy_coefficient_follows_its_schedule(algo: str) -> None:
    with built(algo, ent_coef=0.1, ent_coef_schedule="linear", ent_coef_final=0.5, steps=256) as trained:
        for _ in range(3):
            result = trained.algorithm.train()
            steps = min(result["num_env_steps_sampled_lifetime"], 256)
            assert trained.learner.entropy_coefficient == pytest.approx(0.1 * (1.0 - 0.5 * steps / 256))


@pytest.mark.parametrize("algo", ALGOS)
def test_vf_coef_weighs_the_value_loss(algo: str) -> None:
    norms = {}
    for coefficient in (0.0, 0.5, 1.0):
        with built(algo, vf_coef=coefficient) as trained:
            norms[coefficient] = gradient(trained, made_up()(trained))["value"]
    assert norms[0.0] == 0.0
    assert norms[1.0] == pytest.approx(2.0 * norms[0.5], rel=1e-4)


@pytest.mark.parametrize("algo", ALGOS)
def test_gradients_are_cut_to_max_grad_norm(algo: str) -> None:
    for cut in (None, 1e-3):
        with built(algo, max_grad_norm=cut) as trained:
            seen = watched(trained)
            losses = trained.losses(trained.algorithm.train())
            norm = max(step["norm"] for step in seen)
            assert norm <= cut * (1 + 1e-4) if cut else norm > 0.01
            # What is reported is the norm before the cut.
            assert losses["gradient_norm"] > 0.01


@pytest.mark.parametrize("algo", ALGOS)
def test_advantages_are_normalised_or_not(algo: str) -> None:
    for normalize in (True, False):
        with built(algo, normalize_advantage=normalize) as trained:
            batch = made_up()(trained)
            batch.advantages = torch.linspace(3.0, 5.0, len(batch))
            weights = trained.learner.weights(batch)
        if normalize:
            assert abs(float(weights.mean())) < 1e-5
            assert float(weights.std()) == pytest.approx(1.0, rel=1e-4)
        else:
            assert torch.equal(weights, batch.advantages)


def test_beyond_clip_range_a_ratio_is_not_rewarded() -> None:
    for clip_range, moves in ((0.2, False), (0.9, True)):
        with built("ppo", clip_range=clip_range, normalize_advantage=False) as trained:
            assert (gradient(trained, made_up(ratio=1.5)(trained))["policy"] > 0.0) is moves


def test_beyond_clip_range_vf_a_value_does_not_move() -> None:
    for limit, moves in ((None, True), (0.1, False), (1.0, True)):
        with built("ppo", clip_range_vf=limit) as trained:
            assert (gradient(trained, made_up(moved=0.5)(trained))["value"] > 0.0) is moves


def test_target_kl_adapts_the_penalty_and_none_leaves_it_out() -> None:
    with built("ppo", target_kl=1e-9) as trained:
        before = trained.learner.kl_coefficient
        trained.algorithm.train()
        assert trained.learner.kl_coefficient == 2.0 * before > 0.0
        state = trained.learner.get_state()
        trained.learner.kl_coefficient = 77.0
        trained.learner.set_state(state)
        assert trained.learner.kl_coefficient == 2.0 * before
        batch = made_up()(trained)
        inputs = torch.cat((batch.inputs[:, :1] + 1.0, batch.inputs[:, 1:]), dim=1)
        with_penalty = trained.learner.loss(batch, inputs, batch.values)
        trained.learner.kl_coefficient = 0.0
        without = trained.learner.loss(batch, inputs, batch.values)
        assert float(with_penalty.total - without.total) == pytest.approx(2.0 * before * float(without.terms["kl"]), rel=1e-4)
    with built("ppo", target_kl=1e9) as trained:
        before = trained.learner.kl_coefficient
        trained.algorithm.train()
        assert trained.learner.kl_coefficient == before / 2.0
    with built("ppo") as trained:
        trained.algorithm.train()
        assert trained.learner.kl_coefficient == 0.0


def test_gamma_and_lambda_are_those_of_the_advantages() -> None:
    rng = np.random.default_rng(0)
    rewards, values, last = rng.standard_normal(7), rng.standard_normal(7), np.array([0.7, 0.0])
    found = advantages(rewards, values, last, np.array([4, 7]), 0.9, 0.6)
    for start, end, beyond in ((0, 4, 0.7), (4, 7, 0.0)):
        following = np.append(values[start + 1 : end], beyond)
        deltas = rewards[start:end] + 0.9 * following - values[start:end]
        for t in range(end - start):
            expected = sum((0.9 * 0.6) ** i * delta for i, delta in enumerate(deltas[t:]))
            assert found[start + t] == pytest.approx(expected)


@pytest.mark.parametrize(("gamma", "gae_lambda"), [(0.99, 0.95), (0.8, 1.0), (0.9, 0.0)])
def test_a_rollout_is_what_rllibs_pipeline_makes_of_it(gamma: float, gae_lambda: float) -> None:
    with built("ppo", gamma=gamma, gae_lambda=gae_lambda, n_steps=96) as trained:
        theirs = PPOConfig().training(gamma=gamma, lambda_=gae_lambda).learners(num_learners=0)
        model = trained.learner.network.model_config
        theirs.rl_module(rl_module_spec=RLModuleSpec(module_class=ActorCriticModule, model_config=model))
        env = trained.runner.env
        learner = theirs.build_learner(spaces={DEFAULT_MODULE_ID: (env.single_observation_space, env.single_action_space)})
        learner.module[DEFAULT_MODULE_ID].set_state(trained.learner.network.get_state())
        for _ in range(3):
            episodes = trained.runner.sample()
            ours = trained.learner.make_batch(episodes)
            pipeline = learner._learner_connector(
                rl_module=learner.module, batch={}, episodes=episodes, shared_data={}, metrics=learner.metrics
            )[DEFAULT_MODULE_ID]
            # RLlib adds a step to each chunk, which it masks afterwards.
            real = pipeline["loss_mask"]
            names = {"observations": "obs", "actions": "actions", "logp": "action_logp", "inputs": "action_dist_inputs"}
            for mine, other in names.items():
                assert torch.equal(getattr(ours, mine), pipeline[other][real]), mine
            np.testing.assert_allclose(ours.targets, pipeline["value_targets"][real], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("chunk", [1, 30, 128, 1000])
def test_a2cs_batch_size_does_not_change_the_gradient(chunk: int) -> None:
    gradients = []
    for batch_size in (chunk, 10_000):
        with built("a2c", batch_size=batch_size) as trained:
            sizes: list[int] = []
            loss = trained.learner.loss

            def noted(batch: Batch, *args: Any, loss: Any = loss, sizes: list[int] = sizes) -> Any:
                sizes.append(len(batch))
                return loss(batch, *args)

            trained.learner.loss = noted
            seen = watched(trained)
            trained.algorithm.train()
            assert len(seen) == 1
            assert max(sizes) <= batch_size
            gradients.append(seen[0]["gradients"])
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-6)


def test_a2c_has_the_optimizer_of_its_name() -> None:
    for name, kind in (("rmsprop", torch.optim.RMSprop), ("adam", torch.optim.Adam)):
        with built("a2c", optimizer=name) as trained:
            assert type(trained.learner.optimizer) is kind


@pytest.mark.parametrize("algo", ALGOS)
def test_networks_are_as_described(algo: str) -> None:
    with built(algo, hidden_sizes="8,24", activation="silu", log_std_init=-1.5) as trained:
        network = trained.learner.network
        sizes = [layer.out_features for layer in network.value_layers if isinstance(layer, torch.nn.Linear)]
        assert sizes == [8, 24]
        assert sum(isinstance(layer, torch.nn.SiLU) for layer in network.policy_layers) == 2
        inputs = network._forward({"obs": torch.randn(5, FEATURES)})["action_dist_inputs"]
        assert (inputs[:, 1] == -1.5).all()
    for shared in (False, True):
        with built(algo, shared_layers=shared) as trained:
            gradients = gradient(trained, made_up()(trained))
            network = trained.learner.network
            assert (network.policy_layers[0].weight is network.value_layers[0].weight) is shared
            assert gradients["value"] > 0.0
    with built(algo, state_dependent_std=True, log_std_init=-1.0, orthogonal_init=False) as trained:
        stds = trained.learner.network._forward({"obs": torch.randn(5, FEATURES)})["action_dist_inputs"][:, 1]
        assert stds.unique().numel() > 1
        assert abs(float(stds.detach().mean()) + 1.0) < 0.5
    for orthogonal in (True, False):
        with built(algo, orthogonal_init=orthogonal, hidden_sizes="16") as trained:
            weight = trained.learner.network.policy_layers[0].weight.detach()
            product = weight.T @ weight
            assert torch.allclose(product, 2.0 * torch.eye(FEATURES), atol=1e-5) is orthogonal


@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("state_dependent_std", [False, True])
def test_chargers_share_a_network_that_does_not_mind_their_order(algo: str, state_dependent_std: bool) -> None:
    arguments: dict[str, Any] = {"chargers": 3, "state_dependent_std": state_dependent_std, "orthogonal_init": False}
    with built(algo, log_std_init=-1.0, **arguments) as trained:
        network = trained.learner.network
        observations = torch.randn(5, FEATURES + 3)
        order = [2, 0, 1]
        swapped = observations.clone()
        swapped[:, FEATURES:] = observations[:, [FEATURES + i for i in order]]
        one, other = (network._forward({"obs": given})["action_dist_inputs"].detach() for given in (observations, swapped))
        actions = [0, *[1 + i for i in order]]
        torch.testing.assert_close(other, one[:, [*actions, *[4 + i for i in actions]]])
        # They differ by their features, and every value hears of each of them.
        assert not torch.allclose(one[:, 1], one[:, 2])
        values = network.compute_values({"obs": observations}).detach()
        moved = observations.clone()
        moved[:, -1] += 1.0
        assert (network.compute_values({"obs": moved}).detach() != values).all()
        # Chargers of another kind can differ.
        with torch.no_grad():
            network.policy_head.chargers.own[:, 0] += 1.0
        assert not torch.allclose(network._forward({"obs": swapped})["action_dist_inputs"], other)


@pytest.mark.parametrize("algo", ALGOS)
def test_a_battery_hears_of_the_chargers_means_alone(algo: str) -> None:
    with built(algo, chargers=3) as trained:
        observations = torch.randn(5, FEATURES + 3)
        moved = observations.clone()
        moved[:, FEATURES:] = observations[:, FEATURES:].flip(1)
        moved[:, FEATURES] += 0.5
        moved[:, -1] -= 0.5
        one, other = (
            trained.learner.network._forward({"obs": given})["action_dist_inputs"].detach() for given in (observations, moved)
        )
        torch.testing.assert_close(one[:, 0], other[:, 0])
        assert not torch.allclose(one[:, 1:4], other[:, 1:4])


@pytest.mark.parametrize("algo", ALGOS)
def test_chargers_begin_with_initial_charging_and_storage_in_the_middle(algo: str) -> None:
    for charging in (0.8, -0.5):
        with built(algo, chargers=2, initial_charging=charging) as trained:
            observations = torch.randn(50, FEATURES + 2)
            means = trained.learner.network._forward({"obs": observations})["action_dist_inputs"][:, :3].detach().mean(dim=0)
        np.testing.assert_allclose(means, [0.0, charging, charging], atol=0.1)


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
def test_bf16_reckons_in_it_and_starts_from_a_ratio_of_one(algo: str) -> None:
    for bf16 in (False, True):
        with built(algo, bf16=bf16, **({"n_epochs": 1, "batch_size": 128} if algo == "ppo" else {})) as trained:
            kinds: list[Any] = []
            trained.learner.network.policy_layers[0].register_forward_hook(lambda *_, k=kinds: k.append(_[2].dtype))
            trained.runner.sample()
            acted = set(kinds)
            kinds.clear()
            result = trained.algorithm.train()
            # The env runner's own networks are another matter: they act in float32.
            assert (torch.bfloat16 in kinds) is bf16
            assert torch.bfloat16 not in acted
            weights = trained.learner.network.policy_layers[0].weight
            assert weights.dtype == weights.grad.dtype == torch.float32
            if algo == "ppo":
                assert result["learners"]["default_policy"]["ratio"] == pytest.approx(1.0, abs=1e-5)


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
def test_numbers_that_are_not_finite_end_the_trial_with_a_remedy(algo: str) -> None:
    with built(algo) as trained:
        with torch.no_grad():
            trained.learner.network.value_head.weight[:] = float("nan")
        with pytest.raises(DivergedError, match="lower learning_rate"):
            trained.algorithm.train()


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
