"""PPO's epochs and minibatches, its clipped objective and its penalty."""

import pytest
import torch

from tests.tuning.algorithms.on_policy.small import built, gradient, made_up, watched

pytestmark = pytest.mark.usefixtures("small_ray")


@pytest.mark.parametrize(("batch_size", "n_epochs", "steps"), [(32, 2, 8), (64, 2, 4), (32, 5, 20), (128, 1, 1)])
def test_ppo_takes_a_gradient_step_for_each_minibatch_of_each_epoch(batch_size: int, n_epochs: int, steps: int) -> None:
    with built("ppo", batch_size=batch_size, n_epochs=n_epochs) as trained:
        seen = watched(trained)
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
        with_penalty = trained.learner.loss(batch, inputs, batch.values)
        trained.learner.kl_coefficient = 0.0
        without = trained.learner.loss(batch, inputs, batch.values)
        assert float(with_penalty.total - without.total) == pytest.approx(2.0 * before * float(without.terms["kl"]), rel=1e-4)
    with built("ppo", kl_target=1e9) as trained:
        before = trained.learner.kl_coefficient
        trained.algorithm.train()
        assert trained.learner.kl_coefficient == before / 2.0
    with built("ppo") as trained:
        trained.algorithm.train()
        assert trained.learner.kl_coefficient == 0.0
