"""Sums of gradient steps, and algorithms without a folder for logs."""

import math
from pathlib import Path

import pytest
import torch
from ray.tune import Trainable
from ray.tune.trainable import trainable

from tuning.algorithms.on_policy.learner import OnPolicy
from tuning.algorithms.rllib_learner import NoLogFolder, Sums
from tuning.algorithms.sac.algorithm import SAC


class Nothing(NoLogFolder, Trainable):
    def setup(self, config: object) -> None:
        pass


@pytest.mark.usefixtures("small_ray")
def test_building_makes_no_folder_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainable, "DEFAULT_STORAGE_PATH", str(tmp_path))
    Nothing({})
    assert list(tmp_path.iterdir()) == []


def test_all_algorithms_are_built_so() -> None:
    assert issubclass(OnPolicy, NoLogFolder)
    assert issubclass(SAC, NoLogFolder)


def terms(first: float, second: float) -> dict[str, torch.Tensor]:
    return {"first": torch.tensor(first), "second": torch.tensor(second)}


def test_sums_and_means_are_over_all_steps() -> None:
    sums = Sums()
    for step in range(4):
        sums.add(terms(float(step), -1.0))
    assert (sums.steps, sums.totals(), sums.means()) == (4, {"first": 6.0, "second": -4.0}, {"first": 1.5, "second": -1.0})


def test_without_a_step_there_is_nothing() -> None:
    assert Sums().totals() == Sums().means() == {}


def test_many_steps_lose_no_digits() -> None:
    sums = Sums()
    for _ in range(3):
        sums.add(terms(2.0**24, 0.0))
        sums.add(terms(1.0, 0.0))
    assert sums.totals()["first"] == 3.0 * 2.0**24 + 3.0


def test_a_number_that_is_not_finite_stays() -> None:
    sums = Sums()
    for value in (math.inf, -math.inf, 1.0):
        sums.add(terms(value, 1.0))
    assert math.isnan(sums.means()["first"])
    assert sums.means()["second"] == 1.0


def test_what_is_added_is_not_changed() -> None:
    sums, first = Sums(), terms(1.0, 2.0)
    sums.add(first)
    sums.add(first)
    assert [float(value) for value in first.values()] == [1.0, 2.0]


def test_steps_of_other_terms_are_refused() -> None:
    sums = Sums()
    sums.add(terms(1.0, 2.0))
    with pytest.raises(RuntimeError):
        sums.add({"first": torch.tensor(1.0), "second": torch.tensor(1.0), "third": torch.tensor(1.0)})
