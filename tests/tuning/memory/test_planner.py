"""A trial's prediction, correction and grant, by its settings."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tuning.roomy import planner
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import Settings
from tuning.memory.calibration import LEAST
from tuning.memory.fallbacks import FALLBACKS
from tuning.memory.prediction import GIB

H = algorithm("ppo").space.complete({}, {"steps": 250_000.0})
SETTINGS = Settings(backend="batch")


def test_what_was_learned_corrects_the_next_prediction(tmp_path: Path) -> None:
    plan = planner(SETTINGS, tmp_path)
    before = plan.prediction(H)
    row = {
        "predicted_ram_bytes": before.uncorrected("ram"), "predicted_vram_bytes": 0,
        "peak_rss_bytes": round(1.2 * before.uncorrected("ram")), "peak_process_vram_bytes": 0,
    }  # fmt: skip
    for _ in range(LEAST):
        plan.learn(row)
    after = plan.prediction(H)
    assert after.ram == pytest.approx(1.2 * before.ram, rel=1e-3)
    assert after.uncorrected("ram") == before.ram
    assert plan.corrections()[1].trials == LEAST


def test_fallbacks_take_less_and_less(tmp_path: Path) -> None:
    plan = planner(SETTINGS, tmp_path, gpus=1, card_bytes=8 * GIB)
    large = algorithm("ppo").space.complete(
        {"n_steps": 32768, "batch_size": 16384, "hidden_sizes": "512,512"}, {"steps": 250_000.0}
    )
    needs = [plan.prediction(large, fallback).vram for fallback in FALLBACKS]
    assert needs[0] > needs[1] > needs[2]


def test_an_assignment_that_cannot_fit_has_an_excess_and_a_reason(tmp_path: Path) -> None:
    settings = replace(SETTINGS, algo="sac", steps=100_000_000)
    h = algorithm("sac").space.complete({"buffer_size": 50_000_000, "learn_charging": True}, {"steps": 1e8})
    excess, why = planner(settings, tmp_path, ram_bytes=8 * GIB).excess(h)
    assert excess > 0
    assert "lower buffer_size" in why
    room, nothing = planner(settings, tmp_path, ram_bytes=64 * GIB).excess(h)
    assert room <= 0
    assert nothing == ""


def test_what_ran_out_lacked_at_least_a_byte(tmp_path: Path) -> None:
    plan = planner(SETTINGS, tmp_path, ram_bytes=GIB)
    assert plan.missing({"peak_process_vram_bytes": 0, "peak_rss_bytes": 3 * GIB}) == 2 * GIB
    assert plan.missing({"peak_process_vram_bytes": None, "peak_rss_bytes": None}) == 1


@pytest.mark.parametrize("algo", ["ppo", "a2c", "sac"])
def test_a_cost_is_in_units_of_the_default_and_grows_with_what_is_computed(tmp_path: Path, algo: str) -> None:
    plan = planner(Settings(algo=algo, backend="batch"), tmp_path)  # type: ignore[arg-type]
    default = algorithm(algo).space.complete({})
    assert plan.cost(default) == 1.0
    assert plan.cost({**default, "hidden_sizes": "512,512"}) > 1.5
    # A plan adds to what a policy sees.
    wide = {**default, "hidden_sizes": "512,512"}
    assert plan.cost({**wide, "plan": "learned"}) >= plan.cost(wide)
    more = {"ppo": {"n_epochs": 40}, "a2c": {"n_steps": 16}, "sac": {"gradient_steps": 64, "train_freq": 64}}[algo]
    assert plan.cost({**default, **more}) > 1.2
