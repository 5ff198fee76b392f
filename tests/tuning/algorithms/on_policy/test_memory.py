"""The predicted memory of PPO and A2C against what they take."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.tuning.algorithms.memory_checks import (
    TOLERANCE,
    assignment,
    check_learner,
    keeping,
    living,
    nbytes,
    predicted,
    term,
    trainer,
)
from tests.tuning.algorithms.on_policy.small import built
from tuning.algorithms.memory_terms import Workload
from tuning.algorithms.networks.sizes import Problem
from tuning.algorithms.on_policy.batch import Batch
from tuning.algorithms.on_policy.memory import VALUE_ROWS, a2c_step, ppo_step

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "ppo": ("ppo", {}),
    "ppo, wide": ("ppo", {"hidden_sizes": "256,128,64", "activation": "silu", "state_dependent_std": True}),
    "ppo, shared": ("ppo", {"shared_layers": True, "clip_range_vf": 0.2, "target_kl": 0.02, "activation": "relu"}),
    "ppo, chargers": ("ppo", {"learn_charging": True}),
    "ppo, bf16": ("ppo", {"bf16": True}),
    "ppo, chargers, bf16": ("ppo", {"learn_charging": True, "bf16": True}),
    "a2c": ("a2c", {"n_steps": 1024}),
    "a2c, adam, chunks": ("a2c", {"n_steps": 1024, "batch_size": 256, "optimizer": "adam"}),
    "a2c, chargers": ("a2c", {"n_steps": 1024, "learn_charging": True, "shared_layers": True, "hidden_sizes": "64,64"}),
}


@pytest.mark.usefixtures("small_ray")
@pytest.mark.parametrize("case", CASES)
def test_what_a_learner_holds_and_what_its_gradients_keep(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    algo, given = CASES[case]
    check_learner(algo, monkeypatch, **given)


@pytest.mark.usefixtures("small_ray")
@pytest.mark.parametrize("algo", ["ppo", "a2c"])
def test_pieces_keep_a_piece_and_give_the_same_gradient(algo: str) -> None:
    h = assignment(algo)
    weights, kept = [], []
    for parts in (1, 2):
        trained: Any = trainer(algo, h, parts)
        try:
            with pytest.MonkeyPatch.context() as patched:
                kept.append(keeping(trained, algo, patched)["kept"])
            weights.append(torch.cat([p.detach().flatten() for p in trained.learner.network.parameters()]))
        finally:
            trained.stop()
        expected = term(predicted(algo, h, gpu=False, parts=parts), "activations")
        assert kept[-1] == pytest.approx(expected, rel=TOLERANCE)
    assert not torch.equal(*weights)
    torch.testing.assert_close(*weights, rtol=0.0, atol=2e-4)


@pytest.mark.usefixtures("small_ray")
@pytest.mark.parametrize("algo", ["ppo", "a2c"])
def test_a_rollout(algo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    h = assignment(algo)
    trained: Any = trainer(algo, h)
    try:
        learner, made = trained.learner, []
        inner = learner.make_batch
        monkeypatch.setattr(learner, "make_batch", lambda episodes: made.append(inner(episodes)) or made[-1])
        trained.algorithm.train()
        (batch,) = made
        assert isinstance(batch, Batch)
        held = nbytes(vars(batch).values())
        assert held == pytest.approx(term(predicted(algo, h), "rollout to learn from"), rel=TOLERANCE)
    finally:
        trained.stop()


PROBLEM = Problem(28, 1, 28)
RUN = Workload(num_envs=8, steps=4096, reports=2, windows=4, gpu=False)


def test_ppo_copies_minibatches_of_nearly_equal_size_and_a2c_cuts_without_a_copy() -> None:
    # 1,008 transitions at most: four minibatches of 252 are nearer to 300 than three of 336.
    ppo = ppo_step({"n_steps": 1000, "batch_size": 300, "clip_range_vf": None}, RUN, PROBLEM)
    assert (ppo.minibatch, ppo.copied, ppo.slots) == (336, True, 2)
    a2c = a2c_step({"n_steps": 1000, "batch_size": 300, "optimizer": "rmsprop"}, RUN, PROBLEM)
    assert (a2c.minibatch, a2c.copied, a2c.slots) == (300, False, 1)
    whole = a2c_step({"n_steps": 1000, "batch_size": None, "optimizer": "adam"}, RUN, PROBLEM)
    assert (whole.minibatch, whole.slots) == (1008, 2)


def test_a_clipped_value_loss_keeps_one_array_more() -> None:
    h = {"n_steps": 1000, "batch_size": 300, "clip_range_vf": None}
    plain, clipped = ppo_step(h, RUN, PROBLEM), ppo_step({**h, "clip_range_vf": 0.2}, RUN, PROBLEM)
    assert clipped == replace(plain, of_rows=plain.of_rows + 1)


@pytest.mark.usefixtures("small_ray")
def test_values_are_computed_over_no_more_rows_than_the_prediction_says(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: Any = trainer("ppo", assignment("ppo", n_steps=1024))
    try:
        learner, rows = trained.learner, []
        inner = learner.network.compute_values
        monkeypatch.setattr(learner.network, "compute_values", lambda batch: rows.append(len(batch["obs"])) or inner(batch))
        learner._values(torch.zeros((2 * VALUE_ROWS + 1, trained.runner.env.single_observation_space.shape[0])))
        assert rows == [VALUE_ROWS, VALUE_ROWS, 1]
    finally:
        trained.stop()


@pytest.mark.usefixtures("small_ray")
def test_an_update_keeps_nothing_of_its_single_steps() -> None:
    with built("ppo", batch_size=32, n_epochs=5, clip_range_vf=0.2, target_kl=1e9) as trained:
        optimizer, counts = trained.learner.optimizer, list[int]()
        step = optimizer.step

        def watch() -> None:
            step()
            counts.append(living())

        optimizer.step = watch
        trained.algorithm.train()
        assert len(counts) == 20
        assert len(set(counts[2:])) == 1  # the first two begin the sums
