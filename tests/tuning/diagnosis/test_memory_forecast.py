"""A forecast is the planner's prediction on this machine, and nothing is trained for it."""

from pathlib import Path
from typing import Any

import pytest

from common.errors import UsageError
from common.units import GIB
from tuning.algorithms.memory import Term
from tuning.diagnosis import memory_forecast
from tuning.diagnosis.memory_forecast import predict_memory
from tuning.diagnosis.settings import MemorySettings
from tuning.memory.allocation import Budget, grant, room


@pytest.fixture
def given(small_schema: Path) -> MemorySettings:
    return MemorySettings(scenario=str(small_schema), device="cpu")


def test_what_fits_is_granted_and_counted(given: MemorySettings) -> None:
    forecast = predict_memory(given)
    assert forecast.algo == "ppo"
    assert forecast.grant == grant(forecast.prediction, forecast.budget)
    assert forecast.at_once == room(forecast.prediction, forecast.budget) >= 1
    assert forecast.prediction.vram == 0


def test_a_card_that_is_not_there_is_assumed_with_the_memory_that_is_given(small_schema: Path) -> None:
    forecast = predict_memory(MemorySettings(scenario=str(small_schema), device="gpu", gpu_memory=8.0))
    assert forecast.prediction.vram > 0
    assert forecast.grant is not None
    assert 0.0 < forecast.grant.gpu_share < 1.0


def test_stated_splits_count_their_buildings_and_their_ranges(four_buildings: Path) -> None:
    def terms(ranges: tuple[str, ...], *buildings: str) -> dict[str, Term]:
        forecast = predict_memory(
            MemorySettings(
                scenario=str(four_buildings), device="cpu", train=ranges, validation=("30-34",), test=("35-38",),
                train_buildings=buildings, set=(("shared_policy=true",),),
            )
        )  # fmt: skip
        return {term.name: term for term in forecast.prediction.terms}

    two, four = terms(("0-19",), "one", "two"), terms(("0-19",))
    assert two["rollout as collected"].nbytes < four["rollout as collected"].nbytes
    assert two["scenario years"].formula.startswith("1 for training")
    assert terms(("0-9", "20-29"), "one", "two")["scenario years"].formula.startswith("2 for training")


def test_a_teacher_takes_memory(four_buildings: Path) -> None:
    def of(**more: Any) -> dict[str, Term]:
        forecast = predict_memory(MemorySettings(scenario=str(four_buildings), algo="sac", device="cpu", **more))
        return {term.name: term for term in forecast.prediction.terms}

    plain, taught = of(), of(teacher="mpc")
    assert "lessons of the teacher" in set(taught) - set(plain)
    assert taught["replay buffer"].nbytes > plain["replay buffer"].nbytes
    with pytest.raises(UsageError, match="--teacher mpc: "):
        of(teacher="mpc", backend="citylearn")


def test_a_larger_buffer_takes_more_and_may_not_fit(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_machine = Budget(gpus=0, card_bytes=0, ram_bytes=4 * GIB, cores=2)
    monkeypatch.setattr(memory_forecast, "this_machine", lambda device, gpu_memory: (small_machine, "cpu"))

    def of(size: int) -> MemorySettings:
        pairs = (f"buffer_size={size}",)
        return MemorySettings(algo="sac", scenario=str(small_schema), device="cpu", steps=2_000_000_000, set=(pairs,))

    small, large = predict_memory(of(10_000)), predict_memory(of(100_000_000))
    assert small.grant is not None
    assert large.prediction.ram > small.prediction.ram
    assert (large.grant, large.at_once) == (None, 0)


def test_a_trial_in_an_environment_takes_what_its_process_does() -> None:
    forecast = predict_memory(MemorySettings(algo="sac", env="examples.pump:make", device="cpu", num_envs=4))
    terms = {term.name: term for term in forecast.prediction.terms}
    assert terms["environment"].nbytes > 0
    assert terms["copies"].formula.startswith("4 copies")
    assert "scenario years" not in terms
    with pytest.raises(UsageError, match="sac does not learn actions that are choices"):
        predict_memory(MemorySettings(algo="sac", env="CartPole-v1", device="cpu"))
