"""Each hyperparameter of SAC acts where its name says."""

import math
from typing import Any

import numpy as np
import optuna
import pytest
import torch

from search_spaces import Kind, SpaceError
from search_spaces.sac import SAC
from tests.tuning.algorithms.match import FEATURES, mean_return
from tests.tuning.algorithms.sac.sac_small import built, learn, setup
from tuning.algorithms.errors import DivergedError
from tuning.algorithms.networks.layers import ACTIVATIONS
from tuning.algorithms.precision import NEED_GPU
from tuning.algorithms.sac.batch import Batch
from tuning.algorithms.sac.copies import copies
from tuning.algorithms.sac.learner import ACTOR, CRITIC, ENT_COEF
from tuning.algorithms.sac.memory import replay_bytes
from tuning.algorithms.sac.trainer import SACTrainer

pytestmark = pytest.mark.usefixtures("small_ray")


def watched(trainer: SACTrainer, name: str) -> list[dict[str, Any]]:
    """What an optimizer finds at each of its steps from now on."""
    optimizer, seen = trainer.algorithm.learner.optimizer(name), []
    step = optimizer.step

    def watch(*args: Any, **kwargs: Any) -> Any:
        group = optimizer.param_groups[0]
        seen.append({"lr": group["lr"], "gradient": group["params"][0].grad.clone()})
        return step(*args, **kwargs)

    optimizer.step = watch  # type: ignore[method-assign]
    return seen


def batches(trainer: SACTrainer) -> list[Batch]:
    """Batches that gradient steps learn from, from now on."""
    learner, seen = trainer.algorithm.learner, []
    step = learner._gradient_step

    def watch(batch: Batch, *args: Any) -> Any:
        seen.append(batch)
        return step(batch, *args)

    learner._gradient_step = watch  # type: ignore[method-assign]
    return seen


OTHERS: dict[str, Any] = {"learning_rate_schedule": "linear", "activation": "silu", "hidden_sizes": "8,24", "gamma": 0.9}
OF_A_KIND: dict[Kind, Any] = {Kind.NUMBER: 0.37, Kind.INTEGER: 64}
NEEDED: dict[str, dict[str, Any]] = {
    "learning_rate_final": {"learning_rate_schedule": "linear"},
    "priority_alpha": {"prioritized_replay": True},
    "priority_beta": {"prioritized_replay": True},
    "initial_charging": {"chargers": 2},
    "learn_charging": {"chargers": 2},
}


@pytest.mark.parametrize("parameter", SAC.parameters, ids=lambda parameter: parameter.name)
def test_what_is_read_back_is_what_was_given(parameter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Compiling takes a minute; that it is asked for shows below.
    monkeypatch.setattr(torch, "compile", lambda function, mode: function)
    other = OTHERS.get(parameter.name, OF_A_KIND.get(parameter.kind))
    if parameter.kind is Kind.FLAG:
        other = not parameter.default
    if parameter.name in NEED_GPU:
        with pytest.raises(ValueError, match=f"{parameter.name}=true: it needs a GPU"), built(**{parameter.name: True}):
            pass
        return
    with built(**{**NEEDED.get(parameter.name, {}), parameter.name: other}) as trainer:
        used = trainer.used()
    assert used[parameter.name] == pytest.approx(other)
    assert used.keys() == {each.name for each in SAC.parameters}
    torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize(
    ("train_freq", "gradient_steps", "learning_starts"), [(8, 2, 40), (4, 2, 40), (8, 5, 40), (8, 2, 200), (1, 1, 0)]
)
def test_rounds_of_gradient_steps_follow_the_transitions(train_freq: int, gradient_steps: int, learning_starts: int) -> None:
    with built(train_freq=train_freq, gradient_steps=gradient_steps, learning_starts=learning_starts) as trainer:
        seen, taken = watched(trainer, CRITIC), 0
        for _ in range(8):
            result = trainer.algorithm.train()
            steps = int(result["num_env_steps_sampled_lifetime"])
            assert steps == trainer.algorithm.runner.buffer.transitions
            # Copies that are reset shift single rounds, never their number.
            rounds = steps // train_freq - max(0, math.ceil(learning_starts / train_freq) - 1)
            assert len(seen) == max(0, rounds) * gradient_steps
            assert trainer.losses(result)["gradient_steps"] == len(seen) - taken
            taken = len(seen)
        assert 8 * 40 <= steps < 8 * (40 + train_freq)


def test_before_learning_starts_actions_are_drawn_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    with built(learning_starts=80) as trainer:
        module, asked = trainer.algorithm.learner.network, []
        act = module.act
        monkeypatch.setattr(module, "act", lambda *args: asked.append(len(args[0])) or act(*args))
        for expected in (0, 0, 40):
            trainer.algorithm.train()
            assert expected <= sum(asked) <= 1.4 * expected  # a copy that is reset acts without a transition
            asked.clear()
        actions = trainer.algorithm.runner.buffer._actions[:80]
    assert np.abs(actions).max() <= 1.0
    # Of a uniform distribution.
    assert np.abs(actions).mean() == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("shape", ["constant", "linear", "exponential", "cosine"])
def test_all_optimizers_have_the_scheduled_learning_rate(shape: str) -> None:
    rates = {"learning_rate": 0.01, "actor_learning_rate": 0.02, "alpha_learning_rate": 0.04}
    factors = {CRITIC: 1, ACTOR: 2, ENT_COEF: 4}
    with built(**rates, learning_rate_schedule=shape, learning_rate_final=0.1, train_freq=40, steps=160) as trainer:
        seen = {name: watched(trainer, name) for name in factors}
        for _ in range(5):
            result = trainer.algorithm.train()
            expected = trainer.algorithm.config.learning_rate.value(int(result["num_env_steps_sampled_lifetime"]))
            for name, factor in factors.items():
                assert seen[name][-1]["lr"] == pytest.approx(factor * expected)
            assert trainer.losses(result)["learning_rate"] == pytest.approx(expected)
    assert seen[CRITIC][-1]["lr"] == pytest.approx(0.01 if shape == "constant" else 0.001)


def test_one_learning_rate_is_for_all_by_default() -> None:
    with built(learning_rate=0.02) as trainer:
        for name in (CRITIC, ACTOR, ENT_COEF):
            assert trainer.algorithm.learner.optimizer(name).param_groups[0]["lr"] == 0.02


@pytest.mark.parametrize("batch_size", [16, 48])
def test_a_gradient_step_sees_batch_size_transitions(batch_size: int) -> None:
    with built(batch_size=batch_size) as trainer:
        seen = batches(trainer)
        trainer.algorithm.train()
        assert {len(batch.rewards) for batch in seen} == {batch_size}


@pytest.mark.parametrize("buffer_size", [400, 4000])
@pytest.mark.parametrize("prioritized", [False, True])
def test_the_buffer_has_the_predicted_bytes(buffer_size: int, prioritized: bool) -> None:
    with built(buffer_size=buffer_size, prioritized_replay=prioritized) as trainer:
        assert trainer.algorithm.runner.buffer.nbytes == replay_bytes(buffer_size, 4, FEATURES, 1, prioritized)


def test_batches_are_scaled_by_todays_statistics() -> None:
    with built(clip_obs=1.5, normalize_rewards=True, reward_scale=3.0) as trainer:
        for _ in range(3):
            trainer.algorithm.train()
        runner, seen = trainer.algorithm.runner, batches(trainer)
        assert runner.normalizer is not None
        assert runner.reward_normalizer is not None
        drawn = runner.buffer._random.bit_generator.state
        learn(trainer)
        runner.buffer._random.bit_generator.state = drawn
        raw = runner.buffer.sample(32)
        for observations, batch in (
            (raw.observations, seen[0].observations),
            (raw.next_observations, seen[0].next_observations),
        ):
            scaled = (observations - runner.normalizer.mean) / np.sqrt(runner.normalizer.variance + 1e-8)
            np.testing.assert_allclose(batch, np.clip(scaled, -1.5, 1.5), rtol=1e-4, atol=1e-5)
            assert np.abs(scaled).max() > 1.5
        np.testing.assert_allclose(seen[0].rewards, raw.rewards * 3.0 / runner.reward_normalizer.std, rtol=1e-5)
        # What acts sees the same.
        acted = runner.preprocess()(raw.observations)
        np.testing.assert_array_equal(acted, seen[0].observations)


def test_without_normalisation_batches_are_what_was_observed() -> None:
    with built(normalize_observations=False, clip_obs=None) as trainer:
        seen = batches(trainer)
        trainer.algorithm.train()
        assert (seen[0].observations[:, -1] == 50.0).all()
        assert float(seen[0].rewards.max()) <= 1.0


def made_up(trainer: SACTrainer, rows: int = 64) -> Batch:
    rng = torch.Generator().manual_seed(0)
    observations, following = torch.randn(2, rows, FEATURES, generator=rng)
    actions, rewards = torch.rand(rows, 1, generator=rng) * 2.0 - 1.0, torch.randn(rows, generator=rng)
    discounts = torch.where(torch.rand(rows, generator=rng) < 0.3, 0.0, 0.9)
    return Batch(observations, actions, rewards, following, discounts, None)


@pytest.mark.parametrize("ent_coef", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_those_of_the_paper(ent_coef: float, weighted: bool) -> None:
    with built(ent_coef=ent_coef) as trainer:
        learner = trainer.algorithm.learner
        network, batch = learner.network, made_up(trainer)
        weights = torch.linspace(0.1, 1.0, 64) if weighted else torch.ones(64)
        batch.weights = weights if weighted else None
        noise = torch.randn(64, 1, generator=learner._generator.clone_state()), torch.zeros(0)
        with torch.no_grad():
            following, logp = network.draw_actions(batch.next_observations, noise[0])
            first, second = network.targets(batch.next_observations, following)
            wanted = batch.rewards + batch.discounts * (torch.minimum(first, second) - ent_coef * logp)
            critics = network.critics(batch.observations, batch.actions)
            expected = sum(0.5 * (weights * (values - wanted) ** 2).mean() for values in critics)
        loss, errors, value, _ = learner._critic_step(batch, learner.ent_coef)
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(errors, (critics - wanted).abs().mean(dim=0))
        torch.testing.assert_close(value, critics.mean())
        state = learner._generator.clone_state()
        with torch.no_grad():
            actions, logp = network.draw_actions(batch.observations, torch.randn(64, 1, generator=state))
            expected = (ent_coef * logp - network.critics(batch.observations, actions).min(dim=0).values).mean()
        before = learner._flat[CRITIC].gradient.clone()
        loss, drawn, _ = learner._actor_step(batch, learner.ent_coef)
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(drawn, logp)
        # The policy's loss leaves no gradient in the critics.
        torch.testing.assert_close(learner._flat[CRITIC].gradient, before, rtol=0.0, atol=0.0)
        assert float(learner._flat[ACTOR].gradient.norm()) > 0.0


def test_a_fixed_entropy_coefficient_stays_and_a_learned_one_goes_towards_its_target() -> None:
    with built(ent_coef=0.2) as trainer:
        result = trainer.algorithm.train()
        assert trainer.losses(result)["ent_coef"] == pytest.approx(0.2)
    for target, rises in ((5.0, True), (-50.0, False)):
        with built(ent_coef_initial=0.5, target_entropy=target) as trainer:
            learner = trainer.algorithm.learner
            assert float(learner.ent_coef) == pytest.approx(0.5)
            trainer.algorithm.train()
            assert (float(learner.ent_coef) > 0.5) == rises


def test_the_target_entropy_is_minus_the_number_of_actions_by_default() -> None:
    with built() as trainer:
        assert trainer.used()["target_entropy"] == -1.0


@pytest.mark.parametrize("tau", [0.005, 0.25, 1.0])
def test_targets_go_the_part_tau_towards_the_critics(tau: float) -> None:
    with built(tau=tau) as trainer:
        trainer.algorithm.train()
        network = trainer.algorithm.learner.network
        before = [parameter.clone() for parameter in network.targets.parameters()]
        learn(trainer)
        for old, new, critic in zip(before, network.targets.parameters(), network.critics.parameters(), strict=True):
            torch.testing.assert_close(new.data, (1.0 - tau) * old + tau * critic.data)


@pytest.mark.parametrize("limit", [None, 0.01, 1e4])
def test_gradients_are_cut_to_a_norm(limit: float | None) -> None:
    with built(max_grad_norm=limit) as trainer:
        seen = watched(trainer, CRITIC), watched(trainer, ACTOR)
        result = trainer.algorithm.train()
        norms = [[float(step["gradient"].norm()) for step in steps] for steps in seen]
        if limit == 0.01:
            assert np.allclose(norms, limit, rtol=1e-3)
        else:
            # The norm that is reported is the one before the cut.
            assert trainer.losses(result)["gradient_norm"] == pytest.approx(np.mean(norms[0]), rel=1e-4)
        assert trainer.losses(result)["gradient_norm"] > 0.01  # type: ignore[operator]


@pytest.mark.parametrize("activation", ["tanh", "relu", "silu"])
def test_networks_have_the_layers_that_were_asked_for(activation: str) -> None:
    with built(hidden_sizes="8,24,12", activation=activation) as trainer:
        network = trainer.algorithm.learner.network
        assert [tuple(weight.shape) for weight in network.critics.weights] == [(2, 4, 8), (2, 8, 24), (2, 24, 12), (2, 12, 1)]
        linear = [tuple(layer.weight.shape) for layer in network.policy_layers if hasattr(layer, "weight")]
        assert [*linear, tuple(network.policy_head.weight.shape)] == [(8, 3), (24, 8), (12, 24), (2, 12)]
        kinds = [type(layer) for layer in network.policy_layers if not hasattr(layer, "weight")]
        assert kinds == [ACTIVATIONS[activation]] * 3
        assert type(network.critics.activation) is ACTIVATIONS[activation]


@pytest.mark.parametrize(("on", "expected"), [(True, torch.bfloat16), (False, torch.float32)])
def test_bf16_is_what_networks_reckon_in_while_they_learn(on: bool, expected: torch.dtype) -> None:
    with built(bf16=on) as trainer:
        trainer.algorithm.train()
        network, types = trainer.algorithm.learner.network, []
        for layer in (network.policy_layers[0], network.critics.activation):
            layer.register_forward_hook(lambda module, inputs, output: types.append(output.dtype))
        learn(trainer)
        assert set(types) == {expected}
        assert {parameter.dtype for parameter in network.parameters()} == {torch.float32}
        types.clear()
        trainer.algorithm.runner.collect(1)
        assert set(types) == {torch.float32}


def test_tf32_is_set_for_products_of_matrices() -> None:
    for on in (True, False):
        with built(tf32=on):
            assert (torch.get_float32_matmul_precision() == "high") == on


def test_torch_compile_compiles_what_the_learner_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def compiled(function: Any, mode: str | None) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            called.append("compiled")
            return function(*args, **kwargs)

        return run

    monkeypatch.setattr(torch, "compile", compiled)
    for on in (True, False):
        called.clear()
        with built(torch_compile=on) as trainer:
            trainer.algorithm.runner.collect(40)
            assert not called
            learn(trainer)
        # Next actions, targets' values, values; actions, values.
        assert len(called) == (5 if on else 0)


def test_priorities_follow_the_errors_of_the_critics() -> None:
    for on in (True, False):
        with built(prioritized_replay=on, priority_alpha=1.0, priority_beta=0.5) as trainer:
            seen = batches(trainer)
            trainer.algorithm.train()
            buffer = trainer.algorithm.runner.buffer
            if on:
                assert buffer.priorities is not None
                assert all(batch.weights is not None and float(batch.weights.max()) == 1.0 for batch in seen)
                leaves = buffer.priorities.tree.leaves
                # Not all 1 any more, as new ones are.
                assert len(np.unique(leaves[leaves > 0.0])) > 10
            else:
                assert buffer.priorities is None
                assert all(batch.weights is None for batch in seen)


def test_a_seed_repeats_a_run_and_another_does_not() -> None:
    found = []
    for seed in (3, 3, 4):
        with built(seed=seed) as trainer:
            trainer.algorithm.train()
            found.append(trainer.algorithm.learner._flat[CRITIC].vector.detach().clone())
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_copies_divide_the_transitions_between_rounds() -> None:
    found = [
        copies({"train_freq": train_freq}, most)
        for train_freq, most in ((64, 64), (64, 100), (64, 48), (6, 4), (1, 64), (7, 4))
    ]
    assert found == [64, 64, 32, 3, 1, 1]
    for train_freq in (1, 6, 8):
        with built(train_freq=train_freq) as trainer:
            assert trainer.num_envs == trainer.algorithm.runner.num_envs == copies({"train_freq": train_freq}, 4)


@pytest.mark.parametrize(
    ("hyperparameters", "message"),
    [
        ({"buffer_size": 16, "batch_size": 32}, "batch_size=32.*buffer_size=16"),
        ({"buffer_size": 2, "batch_size": 1}, "buffer_size=2.*4 copies"),
        ({"n_step": 600, "buffer_size": 1000}, "n_step=600.*250"),
        ({"ent_coef": 0.1, "target_entropy": -3.0}, "ent_coef=0.1.*target_entropy"),
        ({"ent_coef": 0.1, "alpha_learning_rate": 0.1}, "ent_coef=0.1.*alpha_learning_rate"),
    ],
)
def test_what_cannot_be_trained_is_refused_by_name(hyperparameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SACTrainer(setup(**hyperparameters))


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ({"buffer_size": 100, "batch_size": 101}, "batch_size=101.*buffer_size=100"),
        ({"learning_starts": 501}, "learning_starts=501.*steps"),
        ({"train_freq": 251}, "train_freq=251.*steps"),
        ({"priority_alpha": 0.3}, "priority_alpha.*prioritized_replay true"),
        ({"ent_coef": 0.1, "target_entropy": -1.0}, "target_entropy.*ent_coef none"),
        ({"tau": 0.0}, "tau=0.0"),
    ],
)
def test_the_space_refuses_what_does_not_fit_together(assignment: dict[str, Any], message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        SAC.check(assignment, {"steps": 1000})


def test_whatever_is_drawn_fulfils_the_spaces_conditions() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(50):
        SAC.check(SAC.suggest(study.ask(), {}, {"steps": 20_000}), {"steps": 20_000})


def test_numbers_that_are_not_finite_are_an_error_that_says_what_to_do() -> None:
    with built() as trainer:
        trainer.algorithm.train()
        with torch.no_grad():
            trainer.algorithm.learner.network.policy_layers[0].weight.fill_(math.nan)
        with pytest.raises(DivergedError, match=r"policy_loss.*after 100 steps: lower learning_rate"):
            learn(trainer, steps=100)


def test_chargers_begin_with_initial_charging_and_storage_in_the_middle() -> None:
    for charging in (0.8, -0.5):
        with built(chargers=2, initial_charging=charging, normalize_observations=False) as trainer:
            observations = np.random.default_rng(0).standard_normal((200, FEATURES + 2)).astype(np.float32)
            modes = trainer.policy()(observations).mean(axis=0)
        np.testing.assert_allclose(modes, [0.0, charging, charging], atol=0.35)


def test_chargers_share_networks_that_do_not_mind_their_order() -> None:
    with built(chargers=3) as trainer:
        network = trainer.algorithm.learner.network
        observations, actions, order = torch.randn(5, FEATURES + 3), torch.rand(5, 4), [2, 0, 1]
        swapped, moved = observations.clone(), actions.clone()
        swapped[:, FEATURES:] = observations[:, [FEATURES + i for i in order]]
        moved[:, 1:] = actions[:, [1 + i for i in order]]
        with torch.no_grad():
            torch.testing.assert_close(network.critics(swapped, moved), network.critics(observations, actions))
            # But who does what counts.
            assert not torch.allclose(network.critics(observations, moved), network.critics(observations, actions))
            torch.testing.assert_close(network.act(swapped), network.act(observations)[:, [0, *[1 + i for i in order]]])


@pytest.mark.slow
def test_a_site_with_chargers_is_learned_and_all_its_parameters_move() -> None:
    # Actions of 0 would have 0.67.
    with built(chargers=3, steps=3000, gradient_steps=8, gamma=0.5, initial_charging=0.0, ent_coef_initial=0.01) as trainer:
        before = {name: value.detach().clone() for name, value in trainer.algorithm.learner.network.named_parameters()}
        steps = 0
        while steps < 3000:
            steps = trainer.algorithm.train()["num_env_steps_sampled_lifetime"]
        after = dict(trainer.algorithm.learner.network.named_parameters())
        assert all((after[name] != value).any() for name, value in before.items())
        assert mean_return(trainer, chargers=3) > 0.87


@pytest.mark.parametrize("chargers", [0, 2])
def test_log_std_init_is_the_deviation_that_actions_begin_with(chargers: int) -> None:
    for log_std in (0.0, -3.0):
        with built(chargers=chargers, log_std_init=log_std) as trainer:
            network = trainer.algorithm.learner.network
            with torch.no_grad():
                _, found = network.parameters_of_distribution(torch.rand(50, FEATURES + chargers) - 0.5)
        np.testing.assert_allclose(found.mean(dim=0), log_std, atol=0.8)
