"""SAC's rounds, batches and gradient steps: schedules, losses, targets, numbers that are not finite."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from tests.tuning.algorithms.match import FEATURES, watched
from tests.tuning.algorithms.sac.sac_small import built
from tuning.algorithms.sac.learner import ACTOR, CRITIC, Batch
from tuning.algorithms.sac.trainer import SACTrainer

pytestmark = pytest.mark.usefixtures("small_ray")


def batches(trainer: SACTrainer) -> list[Batch]:
    """Batches that gradient steps learn from, from now on."""
    learner, seen = trainer.learner, []
    step = learner._gradient_step

    def watch(batch: Batch, *args: Any) -> Any:
        seen.append(batch)
        return step(batch, *args)

    learner._gradient_step = watch  # type: ignore[method-assign]
    return seen


@pytest.mark.parametrize("batch_size", [16, 48])
def test_a_gradient_step_sees_batch_size_transitions(batch_size: int) -> None:
    with built(batch_size=batch_size) as trainer:
        seen = batches(trainer)
        trainer.algorithm.train()
        assert {len(batch.rewards) for batch in seen} == {batch_size}


def made_up(trainer: SACTrainer, rows: int = 64) -> Batch:
    rng = torch.Generator().manual_seed(0)
    observations, following = torch.randn(2, rows, FEATURES, generator=rng)
    actions, rewards = torch.rand(rows, 1, generator=rng) * 2.0 - 1.0, torch.randn(rows, generator=rng)
    discounts = torch.where(torch.rand(rows, generator=rng) < 0.3, 0.0, 0.9)
    return Batch(observations, actions, rewards, following, discounts)


@pytest.mark.parametrize("ent_coef", [0.0, 0.3])
def test_losses_are_those_of_the_paper(ent_coef: float) -> None:
    with built(ent_coef=ent_coef) as trainer:
        learner = trainer.learner
        network, batch = learner.network, made_up(trainer)
        noise = torch.randn(2, 64, 1)
        with torch.no_grad():
            following, logp = network.draw_actions(batch.next_observations, noise[0])
            first, second = network.targets(batch.next_observations, following)
            wanted = batch.rewards + batch.discounts * (torch.minimum(first, second) - ent_coef * logp)
            critics = network.critics(batch.observations, batch.actions)
            expected = sum(0.5 * ((values - wanted) ** 2).mean() for values in critics)
        loss, value, _ = learner._critic_step(batch, noise[0], learner.ent_coef)
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(value, critics.mean())
        with torch.no_grad():
            actions, logp = network.draw_actions(batch.observations, noise[1])
            expected = (ent_coef * logp - network.critics(batch.observations, actions).min(dim=0).values).mean()
        before = learner._flat[CRITIC].gradient.clone()
        loss, drawn, _ = learner._actor_step(batch, noise[1], learner.ent_coef)
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
            learner = trainer.learner
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
        network = trainer.learner.network
        before = [parameter.clone() for parameter in network.targets.parameters()]
        trainer.learner._gradient_step(made_up(trainer))
        for old, new, critic in zip(before, network.targets.parameters(), network.critics.parameters(), strict=True):
            torch.testing.assert_close(new.data, (1.0 - tau) * old + tau * critic.data)


def test_torch_compile_compiles_what_the_learner_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def compiled(function: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            called.append("compiled")
            return function(*args, **kwargs)

        return run

    monkeypatch.setattr(torch, "compile", compiled)
    for on in (True, False):
        called.clear()
        with built(torch_compile=on) as trainer:
            trainer.runner.collect(40)
            assert not called
            trainer.learner._gradient_step(made_up(trainer))
        # Next actions, targets' values, values; actions, values.
        assert len(called) == (5 if on else 0)


@pytest.mark.parametrize(
    ("train_freq", "gradient_steps", "learning_starts"), [(8, 2, 40), (4, 2, 40), (8, 5, 40), (8, 2, 200), (1, 1, 0)]
)
def test_rounds_of_gradient_steps_follow_the_transitions(train_freq: int, gradient_steps: int, learning_starts: int) -> None:
    with built(train_freq=train_freq, gradient_steps=gradient_steps, learning_starts=learning_starts) as trainer:
        seen, taken = watched(trainer.learner.optimizers[CRITIC]), 0
        for _ in range(8):
            result = trainer.algorithm.train()
            steps = int(result["num_env_steps_sampled_lifetime"])
            assert steps == trainer.runner.buffer.transitions
            # Copies that are reset shift single rounds, never their number.
            rounds = steps // train_freq - max(0, math.ceil(learning_starts / train_freq) - 1)
            assert len(seen) == max(0, rounds) * gradient_steps
            assert trainer.losses(result)["gradient_steps"] == len(seen) - taken
            taken = len(seen)
        assert 8 * 40 <= steps < 8 * (40 + train_freq)


def test_batches_are_scaled_by_todays_statistics() -> None:
    with built(clip_obs=1.5, normalize_rewards=True, reward_scale=3.0) as trainer:
        for _ in range(3):
            trainer.algorithm.train()
        runner, seen = trainer.runner, batches(trainer)
        assert runner.normalizer is not None
        assert runner.reward_normalizer is not None
        drawn = runner.buffer._random.bit_generator.state
        trainer.learner.learn(runner, 100)
        runner.buffer._random.bit_generator.state = drawn
        raw = runner.buffer.sample(64)
        for observations, batch in (
            (raw.observations[:32], seen[0].observations),
            (raw.next_observations[:32], seen[0].next_observations),
        ):
            scaled = (observations - runner.normalizer.mean) / np.sqrt(runner.normalizer.variance + 1e-8)
            np.testing.assert_allclose(batch, np.clip(scaled, -1.5, 1.5), rtol=1e-4, atol=1e-5)
            assert np.abs(scaled).max() > 1.5
        np.testing.assert_allclose(seen[0].rewards, raw.rewards[:32] * 3.0 / runner.reward_normalizer.std, rtol=1e-5)
        # What acts sees the same.
        acted = runner.preprocess()(raw.observations[:32])
        np.testing.assert_array_equal(acted, seen[0].observations)
