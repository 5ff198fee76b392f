"""Schedules, sums of gradient steps, numbers that are not finite, algorithms without a folder for logs."""

import math
from pathlib import Path

import pytest
import torch
from ray.tune.trainable import trainable

from tests.tuning.algorithms.match import built
from tuning.algorithms.rllib_base import SHAPES, DivergedError, Recipe, Sums, check_finite, pieces


@pytest.mark.usefixtures("small_ray")
def test_building_makes_no_folder_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainable, "DEFAULT_STORAGE_PATH", str(tmp_path))
    with built("ppo"):
        pass
    assert list(tmp_path.iterdir()) == []


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
