"""What learners of all algorithms do: schedules, cut gradients, precision, sums of gradient steps; no folder for logs."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ray.tune.trainable import trainable

from tests.tuning.algorithms.match import built, watched
from tests.tuning.algorithms.memory_checks import living, new_alone
from tuning.algorithms.rllib_base import SHAPES, DivergedError, Recipe, Sums, check_finite, pieces
from tuning.algorithms.vectors import FlatParameters

pytestmark = pytest.mark.usefixtures("small_ray")

ALGOS = ("ppo", "a2c", "sac")


def test_building_makes_no_folder_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainable, "DEFAULT_STORAGE_PATH", str(tmp_path))
    with built("ppo"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("algo", ALGOS)
def test_all_optimizers_have_the_scheduled_learning_rate_at_each_step(algo: str) -> None:
    """SAC's are of critics, policy and entropy coefficient, which have that of the first where they have none of their own."""
    own = {"steps": 160, "train_freq": 40, "actor_learning_rate": 0.02} if algo == "sac" else {"steps": 512}
    with built(algo, learning_rate=0.01, learning_rate_schedule="linear", learning_rate_final=0.1, **own) as trained:
        seen = [watched(each) for each in trained.learner._named_optimizers.values()]
        for _ in range(5):
            before = len(seen[0])
            result = trained.algorithm.train()
            expected = trained.learner.recipe.value("learning_rate", result["num_env_steps_sampled_lifetime"])
            for steps, factor in zip(seen, (1, 2, 1), strict=False):
                rates = [step["lr"] for step in steps[before:]]
                assert rates == pytest.approx([factor * expected] * len(rates))
                assert rates
            assert trained.losses(result)["learning_rate"] == pytest.approx(expected)
        assert expected == pytest.approx(0.001)


@pytest.mark.parametrize("limit", [None, 1e-3])
@pytest.mark.parametrize("algo", ALGOS)
def test_gradients_are_cut_to_a_norm_and_the_one_before_is_reported(algo: str, limit: float | None) -> None:
    with built(algo, max_grad_norm=limit) as trained:
        # Not that of an entropy coefficient.
        seen = [watched(each) for each in list(trained.learner._named_optimizers.values())[:2]]
        reported = trained.losses(trained.algorithm.train())["gradient_norm"]
        norms = [[float(step["gradient"].norm()) for step in steps] for steps in seen]
        if limit:
            assert np.allclose(np.concatenate(norms), limit, rtol=1e-3)
        else:
            assert reported == pytest.approx(np.mean(norms[0]), rel=1e-4)
        assert reported > 0.01


@pytest.mark.parametrize(("on", "expected"), [(True, torch.bfloat16), (False, torch.float32)])
@pytest.mark.parametrize("algo", ALGOS)
def test_bf16_is_the_precision_of_networks_while_they_learn_and_not_while_they_act(
    algo: str, on: bool, expected: torch.dtype
) -> None:
    with built(algo, bf16=on) as trained:
        network, runner, types = trained.learner.network, trained.runner, list[torch.dtype]()
        for layer in network.modules():
            if isinstance(layer, torch.nn.Tanh | torch.nn.ReLU):
                layer.register_forward_hook(lambda module, inputs, output: types.append(output.dtype))
        collected: Any = runner.collect(64)
        assert set(types) <= {torch.float32}
        types.clear()
        trained.learner.learn(runner if algo == "sac" else collected, 64)
        assert set(types) == {expected}
        assert {parameter.dtype for parameter in network.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("algo", "each", "given"),
    [
        ("ppo", 1, {"batch_size": 32, "n_epochs": 5, "clip_range_vf": 0.2, "target_kl": 1e9}),
        ("sac", 2, {"train_freq": 40, "gradient_steps": 20}),  # of critics, then of the policy
    ],
)
def test_an_update_keeps_nothing_of_its_single_steps(
    algo: str, each: int, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cut, counts = FlatParameters.cut, list[int]()

    def watch(flat: FlatParameters, most: float | None) -> torch.Tensor:
        counts.append(living())
        return cut(flat, most)

    with built(algo, **given) as trained:
        trained.algorithm.train()  # optimizers make their state
        monkeypatch.setattr(FlatParameters, "cut", watch)
        with new_alone():
            trained.algorithm.train()
    assert len(counts) == 20 * each
    assert len(set(counts[2 * each :: each])) == 1  # the first two begin the sums


def recipe(shape: str, final: float, steps: int) -> Recipe:
    return Recipe({"rate": 2.0, "rate_schedule": shape, "rate_final": final}, steps)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_schedule_begins_at_its_initial_value_and_stays_at_its_final_one(shape: str) -> None:
    falling = recipe(shape, 0.1, 100)
    final = 2.0 if shape == "constant" else 0.2
    assert [falling.value("rate", step) for step in (0, 100, 500)] == pytest.approx([2.0, final, final])
    values = [falling.value("rate", step) for step in range(0, 101, 10)]
    assert values == sorted(values, reverse=True)
    assert falling.value("rate", 500, 10.0) == pytest.approx(5.0 * final)


def test_shapes_at_a_quarter() -> None:
    found = {shape: recipe(shape, 0.2, 400).value("rate", 100) / 2.0 for shape in SHAPES}
    assert found == pytest.approx(
        {"constant": 1.0, "linear": 0.8, "exponential": 0.2**0.25, "cosine": 0.2 + 0.8 * (1 + math.cos(math.pi / 4)) / 2}
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_named_with_when_and_a_remedy(value: float) -> None:
    with pytest.raises(DivergedError, match=r"^policy_loss, kl not finite after 512 steps: lower learning_rate"):
        check_finite({"policy_loss": value, "value_loss": 1.0, "kl": value}, 512)
    # Where no target varies, there is nothing to explain.
    check_finite({"explained_variance": math.nan, "policy_loss": 0.0}, 1)


def test_pieces_cover_all_rows() -> None:
    assert pieces(7, 3) == [slice(0, 3), slice(3, 6), slice(6, 7)]


def terms(first: float, second: float) -> dict[str, torch.Tensor]:
    return {"first": torch.tensor(first), "second": torch.tensor(second)}


def test_sums_and_means_are_over_all_steps() -> None:
    sums = Sums()
    for step in range(4):
        sums.add(terms(float(step), -1.0))
    assert Sums().totals() == Sums().means() == {}
    assert (sums.steps, sums.totals(), sums.means()) == (4, {"first": 6.0, "second": -4.0}, {"first": 1.5, "second": -1.0})


def test_many_steps_lose_no_digits() -> None:
    sums = Sums()
    for _ in range(3):
        sums.add(terms(2.0**24, 0.0))
        sums.add(terms(1.0, 0.0))
    assert sums.totals()["first"] == 3.0 * 2.0**24 + 3.0


def test_a_sum_that_is_not_finite_stays_so() -> None:
    sums = Sums()
    for value in (math.inf, -math.inf, 1.0):
        sums.add(terms(value, 1.0))
    assert math.isnan(sums.means()["first"])
    assert sums.means()["second"] == 1.0


def test_on_the_cpu_an_array_is_not_copied() -> None:
    array = np.zeros(3, np.float32)
    with built("ppo") as trained:
        tensor = trained.learner.on_device(array)
    tensor += 1.0
    assert (array == 1.0).all()
