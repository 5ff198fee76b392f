"""PPO and A2C as the registry lists them, and what they take: copies, time, memory."""

from typing import Any

import pytest

from tests.tuning.algorithms.memory_checks import assignment, nbytes, predicted, term, trainer
from tuning.algorithms.memory import Problem, Workload
from tuning.algorithms.on_policy.learner import Batch
from tuning.algorithms.on_policy.spec import LEAST_ROLLOUT, copies
from tuning.algorithms.registry import algorithm

SITE = Problem(60, 5, 60)
HOMES = Problem(30, 1, 30, agents=5)


@pytest.mark.parametrize(("n_steps", "most", "expected"), [
    (2048, 32, 32), (2048, 200, 128), (128, 32, 8), (16, 32, 1), (5, 32, 1), (96, 4, 4), (90, 4, 3), (97 * 16, 32, 16),
])  # fmt: skip
def test_copies_divide_the_rollout_and_each_collects_enough(n_steps: int, most: int, expected: int) -> None:
    found = copies({"n_steps": n_steps}, most)
    assert found == expected
    assert n_steps % found == 0
    assert found == 1 or n_steps // found >= LEAST_ROLLOUT


@pytest.mark.parametrize("name", ["ppo", "a2c"])
@pytest.mark.parametrize("change", [{"hidden_sizes": "512,512"}, {"n_steps": 64, "batch_size": 64}])
def test_larger_networks_and_shorter_rollouts_cost_more(name: str, change: dict[str, object]) -> None:
    spec = algorithm(name)
    default, changed = spec.space.complete({"n_steps": 256}), spec.space.complete({"n_steps": 256, **change})  # type: ignore[dict-item]
    assert spec.seconds(changed, SITE) > spec.seconds(default, SITE) > 0.0


@pytest.mark.parametrize("name", ["ppo", "a2c"])
def test_a_policy_for_each_building_learns_from_each(name: str) -> None:
    spec = algorithm(name)
    default = spec.space.complete({})
    assert spec.seconds(default, HOMES) > spec.seconds(default, Problem(30, 1, 30))


def test_epochs_multiply_the_learning() -> None:
    spec = algorithm("ppo")
    one, two, four = (spec.seconds(spec.space.complete({"n_epochs": n}), SITE) for n in (1, 2, 4))
    assert four - two == pytest.approx(2 * (two - one))


def rows(algo: str, name: str, **given: Any) -> int:
    """The first factor of a term of a rollout of 1,008 transitions at most."""
    terms = algorithm(algo).memory(assignment(algo, n_steps=1000, **given), Workload(8, 4096, 2, 4, False), Problem(28, 1, 28))
    words = next(each.formula for each in terms if each.name == name)
    return int(words.split()[0].replace(",", ""))


def test_ppo_copies_minibatches_of_nearly_equal_size_and_a2c_cuts_without_a_copy() -> None:
    # Four minibatches of 252 are nearer to 300 than three of 336.
    assert rows("ppo", "rollout to learn from", batch_size=300) == 1008 + 336
    assert rows("ppo", "activations", batch_size=300) == 336
    assert rows("a2c", "rollout to learn from", batch_size=300) == 1008
    assert rows("a2c", "activations", batch_size=300) == 300
    assert rows("a2c", "activations") == 1008


@pytest.mark.usefixtures("small_ray")
@pytest.mark.parametrize("algo", ["ppo", "a2c"])
def test_a_recorded_step_has_a_room_of_its_own(algo: str) -> None:
    plain, recorded = (
        term(predicted(algo, {**assignment(algo), "cuda_graphs": on}), "rollout to learn from") for on in (False, True)
    )
    assert 1.05 * plain < recorded < 2.2 * plain


@pytest.mark.parametrize(("algo", "kept"), [("ppo", 2), ("a2c", 1)])
def test_a_rollout(algo: str, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # One minibatch of PPO, so it is kept twice.
    h = assignment(algo)
    h = {**h, "cuda_graphs": False, "batch_size": h["n_steps"]}
    with trainer(algo, h) as trained:
        learner, made = trained.learner, []
        inner = learner.make_batch
        monkeypatch.setattr(learner, "make_batch", lambda episodes: made.append(inner(episodes)) or made[-1])
        trained.algorithm.train()
        (batch,) = made
        assert isinstance(batch, Batch)
        learned = term(predicted(algo, h), "rollout to learn from")
        assert kept * nbytes(vars(batch).values()) == pytest.approx(learned, rel=0.02)
