"""Learning of PPO and A2C: schedules, advantages, losses, gradients, numbers that are not finite."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.tuning.algorithms.match import FEATURES, built, watched
from tuning.algorithms.on_policy.learner import VALUE_ROWS, Batch, Drawn, advantages, explained_variance, minibatches

pytestmark = pytest.mark.usefixtures("small_ray")
ALGOS = ("ppo", "a2c")


def made_up(rows: int = 64, ratio: float = 1.0, moved: float = 0.0) -> Any:
    """A batch of actions that were drawn with the policy's probabilities over `ratio`; since then its values have moved."""

    def make(trained: Any) -> Drawn:
        rng = torch.Generator().manual_seed(0)
        observations = torch.randn(rows, FEATURES, generator=rng)
        actions = torch.randn(rows, 1, generator=rng)
        with torch.no_grad():
            inputs = trained.learner.network._forward({"obs": observations})["action_dist_inputs"]
            values = trained.learner.network.compute_values({"obs": observations})
        logp = trained.learner.distribution(inputs).logp(actions) - np.log(ratio)
        ones = torch.ones(rows)
        return Drawn(observations, actions, values - moved, values + 1.0, ones, logp, inputs)

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


@pytest.mark.parametrize("algo", ALGOS)
def test_a_larger_entropy_coefficient_weighs_the_entropy_more(algo: str) -> None:
    totals = {}
    for coefficient in (0.0, 0.5):
        with built(algo, ent_coef=coefficient) as trained:
            batch = made_up()(trained)
            inputs, values = trained.learner.network._forward({"obs": batch.observations})["action_dist_inputs"], batch.values
            total, terms = trained.learner.loss(batch, inputs, values)
            totals[coefficient] = float(total.detach())
            entropy = terms["entropy"].item()
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


def test_values_targets_and_probabilities_of_a_rollout() -> None:
    with built("ppo", gamma=0.9, gae_lambda=1.0, n_steps=96) as trained:
        rollout = trained.runner.collect(96)
        rollout.terminated[::2] = True
        network, batch = trained.learner.network, trained.learner.make_batch(rollout)
        with torch.no_grad():
            values = network.compute_values({"obs": torch.from_numpy(rollout.observations)})
            following = network.compute_values({"obs": torch.from_numpy(rollout.following)}).numpy()
        torch.testing.assert_close(batch.values, values)
        mean, log_std = torch.from_numpy(rollout.inputs).chunk(2, dim=1)
        expected = torch.distributions.Normal(mean, log_std.exp()).log_prob(torch.from_numpy(rollout.actions)).sum(dim=1)
        torch.testing.assert_close(batch.logp, expected)
        # With lambda 1 a target is the discounted return to the end of its chunk, and the value there unless it was terminated.
        start = 0
        for end, is_terminated, beyond in zip(rollout.ends, rollout.terminated, following, strict=True):
            target = 0.0 if is_terminated else float(beyond)
            for reward in rollout.rewards[start:end][::-1]:
                target = reward + 0.9 * target
            assert float(batch.targets[start]) == pytest.approx(target, rel=1e-4)
            start = end
        torch.testing.assert_close(batch.advantages, batch.targets - batch.values, rtol=1e-3, atol=1e-4)


def test_in_bf16_too_an_update_starts_from_a_ratio_of_one() -> None:
    with built("ppo", bf16=True, n_epochs=1, batch_size=128) as trained:
        trained.algorithm.train()
        assert trained.learner.means["ratio"] == pytest.approx(1.0, abs=1e-5)


def test_values_are_computed_over_no_more_rows_than_the_prediction_says(monkeypatch: pytest.MonkeyPatch) -> None:
    with built("ppo") as trained:
        learner, rows = trained.learner, []
        inner = learner.network.compute_values
        monkeypatch.setattr(learner.network, "compute_values", lambda batch: rows.append(len(batch["obs"])) or inner(batch))
        learner._in_blocks(learner.network.compute_values, torch.zeros((2 * VALUE_ROWS + 1, FEATURES)))
        assert rows == [VALUE_ROWS, VALUE_ROWS, 1]


@pytest.mark.parametrize(("batch_size", "n_epochs", "steps"), [(32, 2, 8), (64, 2, 4), (32, 5, 20), (128, 1, 1)])
def test_ppo_takes_a_gradient_step_for_each_minibatch_of_each_epoch(batch_size: int, n_epochs: int, steps: int) -> None:
    with built("ppo", batch_size=batch_size, n_epochs=n_epochs) as trained:
        seen = watched(trained.learner.optimizer)
        result = trained.algorithm.train()
        assert len(seen) == steps
        assert trained.losses(result)["gradient_steps"] == steps


def test_beyond_clip_range_a_ratio_is_not_rewarded() -> None:
    for clip_range, moves in ((0.2, False), (0.9, True)):
        with built("ppo", clip_range=clip_range, normalize_advantage=False) as trained:
            assert (gradient(trained, made_up(ratio=1.5)(trained))["policy"] > 0.0) is moves


def test_beyond_clip_range_vf_a_value_does_not_move() -> None:
    for limit, moves in ((None, True), (0.1, False), (1.0, True)):
        with built("ppo", clip_range_vf=limit) as trained:
            assert (gradient(trained, made_up(moved=0.5)(trained))["value"] > 0.0) is moves


def test_target_kl_ends_an_update_that_moved_too_far_and_none_does_not() -> None:
    taken = {}
    for target in (None, 1e9, 1e-5):
        with built("ppo", target_kl=target, n_epochs=4, learning_rate=1e-2) as trained:
            assert trained.used()["target_kl"] == target
            taken[target] = trained.losses(trained.algorithm.train())["gradient_steps"]
    assert taken[None] == taken[1e9] > taken[1e-5] >= 1


def test_kl_target_adapts_the_penalty_and_none_leaves_it_out() -> None:
    with built("ppo", kl_target=1e-9) as trained:
        before = trained.learner.kl_coefficient
        trained.algorithm.train()
        assert trained.learner.kl_coefficient == 2.0 * before > 0.0
        state = trained.learner.get_state()
        trained.learner.kl_coefficient = 77.0
        trained.learner.set_state(state)
        assert trained.learner.kl_coefficient == 2.0 * before
        batch = made_up()(trained)
        inputs = torch.cat((batch.inputs[:, :1] + 1.0, batch.inputs[:, 1:]), dim=1)
        with_penalty, _ = trained.learner.loss(batch, inputs, batch.values)
        trained.learner.kl_coefficient = 0.0
        without, terms = trained.learner.loss(batch, inputs, batch.values)
        assert float(with_penalty - without) == pytest.approx(2.0 * before * float(terms["kl"]), rel=1e-4)
    with built("ppo", kl_target=1e9) as trained:
        before = trained.learner.kl_coefficient
        trained.algorithm.train()
        assert trained.learner.kl_coefficient == before / 2.0
    with built("ppo") as trained:
        trained.algorithm.train()
        assert trained.learner.kl_coefficient == 0.0


@pytest.mark.parametrize("chunk", [1, 30, 128, 1000])
def test_a2cs_batch_size_does_not_change_the_gradient(chunk: int) -> None:
    gradients = []
    for batch_size in (chunk, 10_000):
        with built("a2c", batch_size=batch_size) as trained:
            sizes: list[int] = []
            take = trained.learner._gradient

            def noted(batch: Batch, part: float, take: Any = take, sizes: list[int] = sizes) -> Any:
                sizes.append(len(batch))
                return take(batch, part)

            trained.learner._gradient = noted
            seen = watched(trained.learner.optimizer)
            trained.algorithm.train()
            assert len(seen) == 1
            assert max(sizes) <= batch_size
            gradients.append(seen[0]["gradient"])
    np.testing.assert_allclose(*gradients, rtol=1e-3, atol=1e-6)


def test_an_update_of_a2c_runs_its_observations_through_the_value_function_once() -> None:
    gradients = []
    for batch_size, runs in ((None, 1), (10_000, 2)):
        with built("a2c", batch_size=batch_size) as trained:
            learner, _ = trained.learner, trained.algorithm.train()
            (_, value), rows = learner._written_out, []
            run, compute = value.run, learner.network.compute_values
            value.run = lambda inputs, run=run, rows=rows: rows.append(len(inputs)) or run(inputs)
            learner.network.compute_values = lambda of, was=compute, rows=rows: rows.append(len(of["obs"])) or was(of)
            seen = watched(learner.optimizer)
            trained.algorithm.train()
            assert rows.count(max(rows)) == runs, "the others are what follows each chunk"
            gradients.append(seen[0]["gradient"])
    np.testing.assert_allclose(*gradients, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    ("algo", "given"),
    [
        ("ppo", {"activation": "tanh"}),
        ("ppo", {"activation": "relu", "hidden_sizes": "16,16,16", "clip_range": 0.01, "clip_range_vf": 0.1, "ent_coef": 0.03}),
        ("ppo", {"kl_target": 0.01, "normalize_advantage": False, "vf_coef": 0.9}),
        ("a2c", {"activation": "relu", "ent_coef": 0.03}),
        ("a2c", {"activation": "tanh", "vf_coef": 0.9}),
    ],
)
def test_gradients_that_are_written_out_are_those_of_autograd(algo: str, given: dict[str, Any]) -> None:
    with built(algo, **given) as trained:
        learner = trained.learner
        batch = made_up(rows=200, ratio=1.05, moved=0.2)(trained)
        random = torch.Generator().manual_seed(1)
        batch.advantages.copy_(torch.randn(200, generator=random))
        # As it was before the policy moved, so that divergence and ratios are not those of no change.
        means, log_std = batch.inputs.chunk(2, dim=-1)
        means.add_(0.3 * torch.randn(means.shape, generator=random))
        log_std.add_(0.3 * torch.randn(log_std.shape[1:], generator=random))  # of one policy
        batch.logp.add_(0.2 * torch.randn(200, generator=random))
        batch.values.add_(0.3 * torch.randn(200, generator=random))
        found, written_out = [], learner._written_out
        assert written_out
        for way in (written_out, None):
            learner._written_out = way
            learner.flat.gradient.zero_()
            terms = learner.gradient(batch, 70)
            found.append((learner.flat.gradient.clone(), {name: float(term) for name, term in terms.items()}))
        (ours, told), (exact, expected) = found
        assert exact.abs().max() > 0.01
        torch.testing.assert_close(ours, exact, rtol=3e-5, atol=1e-6)
        assert told == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    "given",
    [{"shared_layers": True}, {"state_dependent_std": True}, {"activation": "silu"}, {"bf16": True}, {"torch_compile": True}],
)
def test_other_networks_learn_by_autograd(given: dict[str, Any]) -> None:
    with built("ppo", **given) as trained:
        assert trained.learner._written_out is None is trained.runner.module.written_out


def batch(rows: int) -> Batch:
    ones = torch.ones(rows)
    return Batch(torch.arange(rows)[:, None].float(), torch.zeros(rows, 2), ones, ones, ones)


@pytest.mark.parametrize(("count", "size", "sizes"), [(100, 30, {33, 34}), (100, 25, {25}), (10, 64, {10}), (7, 2, {1, 2})])
def test_minibatches_hold_each_transition_once_and_are_nearly_equal(count: int, size: int, sizes: set[int]) -> None:
    torch.manual_seed(0)
    pieces = list(minibatches(count, size))
    assert sorted(torch.cat(list(pieces)).tolist()) == list(range(count))
    assert {len(piece) for piece in pieces} == sizes
    assert torch.cat(list(minibatches(count, size))).tolist() != torch.cat(pieces).tolist(), "drawn anew"


def test_an_index_takes_rows_of_everything() -> None:
    whole = batch(10)
    taken = whole.at(torch.tensor([7, 2]))
    assert len(taken) == 2
    assert taken.observations.flatten().tolist() == [7.0, 2.0]
    assert taken.actions.shape == (2, 2)
    # A slice is a view.
    whole.at(slice(2, 4)).observations.fill_(-1.0)
    assert whole.observations.flatten().tolist()[:5] == [0.0, 1.0, -1.0, -1.0, 4.0]


def test_the_explained_variance_is_1_for_the_targets_and_0_for_their_mean() -> None:
    targets = torch.tensor([1.0, 2.0, 4.0])
    rollout = replace(batch(3), targets=targets)
    assert explained_variance(replace(rollout, values=targets.clone())) == pytest.approx(1.0)
    assert explained_variance(replace(rollout, values=targets.mean().expand(3))) == pytest.approx(0.0)
    assert math.isnan(explained_variance(replace(rollout, targets=torch.ones(3))))


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
