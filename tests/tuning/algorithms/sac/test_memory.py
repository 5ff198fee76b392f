"""The predicted memory of SAC against what it takes."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.tuning.algorithms.match import FEATURES
from tests.tuning.algorithms.memory_checks import assignment, check_learner, living, predicted, term, trainer
from tests.tuning.algorithms.sac.sac_small import built, learn
from tuning.algorithms.memory_terms import Workload
from tuning.algorithms.networks.sizes import Problem
from tuning.algorithms.registry import algorithm
from tuning.algorithms.sac.memory import lesson_places, replay_bytes
from tuning.algorithms.sac.replay_buffer import ReplayBuffer

CASES: dict[str, dict[str, Any]] = {
    "default": {},
    "wide": {"hidden_sizes": "256,128,64", "activation": "silu", "ent_coef": 0.01},
    "chargers": {"learn_charging": True},
    "chargers, bf16": {"learn_charging": True, "bf16": True},
    "bf16": {"bf16": True, "batch_size": 512},
    "tanh": {"activation": "tanh", "n_step": 3},
}


@pytest.mark.usefixtures("small_ray")
@pytest.mark.parametrize("case", CASES)
def test_what_a_learner_holds_and_what_its_gradients_keep(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_learner("sac", monkeypatch, **CASES[case])


@pytest.mark.usefixtures("small_ray")
def test_pieces_give_the_same_gradient() -> None:
    weights = []
    for parts in (1, 2):
        trained: Any = trainer("sac", assignment("sac"), parts)
        try:
            trained.algorithm.train()
            weights.append(torch.cat([p.detach().flatten() for p in trained.learner.network.parameters()]))
        finally:
            trained.stop()
    torch.testing.assert_close(*weights, rtol=0.0, atol=2e-4)


def test_a_buffer_takes_no_more_than_the_budget_fills() -> None:
    small, large = (predicted("sac", assignment("sac", buffer_size=size)) for size in (5000, 1_000_000))
    assert term(small, "replay buffer") <= term(large, "replay buffer") < 1.1 * term(small, "replay buffer")


def test_a_buffer_takes_the_rows_of_a_teacher_too() -> None:
    hours, copies, agents = (30, 30, 24, 24, 7, 7, 12), 3, 2
    buffer = ReplayBuffer(10_000, copies * agents, 17, 5, 0.99)
    for first in range(0, len(hours), copies):
        own = np.repeat(hours[first : first + copies], agents)
        steps, runs = own.max(), len(own)
        buffer.add_run(np.zeros((steps + 1, runs, 17)), np.zeros((steps, runs, 5)), np.zeros((steps, runs)), own)
    buffer.begin(np.zeros((copies * agents, 17)))
    assert lesson_places(hours, copies, agents) == buffer.rows * copies * agents
    assert lesson_places((), copies, agents) == 0


def test_a_teacher_fills_a_buffer_beyond_the_budget() -> None:
    h, problem = assignment("sac", buffer_size=1_000_000), Problem(17, 5, 17, agents=2)

    def of(*lessons: int) -> dict[str, int]:
        run = Workload(4, 1000, 2, 1, False, lessons=lessons)
        return {term.name: term.nbytes for term in algorithm("sac").memory(h, run, problem)}

    plain, taught = of(), of(*(168,) * 40)
    more = lesson_places((168,) * 40, 4, 2) * (4 * (17 + 5 + 1) + 1)
    assert taught["replay buffer"] - plain["replay buffer"] == more
    assert taught["checkpoint"] > plain["checkpoint"]
    # A buffer that is full anyway takes no more.
    h = assignment("sac", buffer_size=1000)
    assert of()["replay buffer"] == of(*(168,) * 40)["replay buffer"]


def test_a_replay_buffer_is_never_on_the_card() -> None:
    found = predicted("sac", assignment("sac"))
    assert term(found, "replay buffer") > 0
    assert all(t.place == "ram" for t in found.terms if t.name == "replay buffer")


@pytest.mark.usefixtures("small_ray")
@pytest.mark.parametrize("buffer_size", [400, 4000])
def test_the_buffer_has_the_predicted_bytes(buffer_size: int) -> None:
    with built(buffer_size=buffer_size) as trainer:
        assert trainer.algorithm.runner.buffer.nbytes == replay_bytes(buffer_size, 4, FEATURES, 1)


@pytest.mark.parametrize(("size", "copies"), [(1000, 1), (1001, 8), (1000, 64), (4096, 64), (1, 1)])
def test_the_memory_is_known_without_building_it(size: int, copies: int) -> None:
    buffer = ReplayBuffer(size, copies, 50, 5, 0.9)
    assert buffer.nbytes == replay_bytes(size, copies, 50, 5)
    assert size <= buffer.size < size + copies
    # Observations once, not twice: less than a third above 56 numbers of four bytes each.
    if size >= 1000:
        assert buffer.nbytes < 1.07 * 57 * 4 * buffer.size


@pytest.mark.usefixtures("small_ray")
def test_a_round_keeps_nothing_of_its_single_steps() -> None:
    with built() as trainer:
        trainer.algorithm.train()
        learner, counts = trainer.algorithm.learner, list[int]()
        step = learner._gradient_step

        def watch(*args: Any) -> Any:
            counts.append(living())
            return step(*args)

        learner._gradient_step = watch  # type: ignore[method-assign]
        learn(trainer, gradient_steps=12)
        assert len(counts) == 12
        assert len(set(counts[2:])) == 1  # the first two begin the sums
