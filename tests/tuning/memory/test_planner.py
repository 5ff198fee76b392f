"""Predictions, corrections and grants of an experiment's trials."""

from dataclasses import replace
from pathlib import Path

import pytest

from common.units import GIB, MIB
from envs.cache import CacheError
from tests.tuning.roomy import SMALL, planner
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import Settings
from tuning.memory.allocation import Node, kinds_of
from tuning.memory.placement import Placement
from tuning.memory.planner import FALLBACKS, HIGHEST, KEPT, LEAST, LOWEST, Calibration, Correction, Planner
from tuning.memory.prediction import CardBaseline


@pytest.fixture
def calibration(tmp_path: Path) -> Calibration:
    return Calibration(tmp_path / "cache" / "calibration.json")


def add(calibration: Calibration, measured: int, times: int = LEAST, predicted: int = 100) -> Correction:
    """Trials that took so much; the correction then."""
    for _ in range(times):
        calibration.add("card", "ppo", "vram", predicted, measured)
    return calibration.correction("card", "ppo", "vram")


def test_few_trials_and_those_without_a_measurement_correct_nothing(calibration: Calibration) -> None:
    none = Correction(1.0, 0, "card")
    assert add(calibration, 130, LEAST - 1) == none
    assert add(calibration, 0) == add(calibration, 0, predicted=0) == none


def test_the_correction_is_a_high_quantile_of_the_ratios(calibration: Calibration) -> None:
    for percent in range(91, 111):
        calibration.add("card", "ppo", "ram", 100, percent)
    found = calibration.correction("card", "ppo", "ram")
    assert found.factor == pytest.approx(1.08)  # 18 of 20 took no more
    assert found.trials == 20
    assert found.device == "card"


def test_cards_algorithms_and_places_are_kept_apart(calibration: Calibration) -> None:
    add(calibration, 150)
    for other in (("card", "ppo", "ram"), ("card", "sac", "vram"), ("other card", "ppo", "vram")):
        assert calibration.correction(*other).factor == 1.0  # type: ignore[arg-type]


def test_only_the_newest_count(calibration: Calibration) -> None:
    add(calibration, 190, 30)
    assert add(calibration, 100, KEPT).factor == 1.0


@pytest.mark.parametrize(("measured", "factor"), [(1, LOWEST), (100_000, HIGHEST)])
def test_a_correction_has_bounds(calibration: Calibration, measured: int, factor: float) -> None:
    assert add(calibration, measured).factor == factor


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"5", b"\xff", b'{"cpu/ppo/ram": 1}', b'{"cpu/ppo/ram": ["x"]}', b'{"a": [NaN]}', b'{"a": [true]}'],
)
def test_a_damaged_file_is_named_and_begun_anew(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "calibration.json"
    path.write_bytes(content)
    calibration = Calibration(path)
    assert calibration.correction("card", "ppo", "vram").trials == 0
    assert "calibration.json is damaged" in capsys.readouterr().err
    assert add(calibration, 150).trials == LEAST


@pytest.mark.parametrize("place", ["calibration.json", "calibration.json/below/calibration.json"])
def test_a_cache_that_cannot_be_used_is_one_line(tmp_path: Path, place: str) -> None:
    in_the_way = tmp_path / "calibration.json"
    if place == in_the_way.name:
        in_the_way.mkdir()
    else:
        in_the_way.write_bytes(b"")
    with pytest.raises(CacheError, match="cannot be used"):
        Calibration(tmp_path / place).add("cpu", "ppo", "ram", 100, 150)


H = algorithm("ppo").space.complete({}, {"steps": 250_000.0})


def test_only_the_last_fallback_changes_the_mathematics() -> None:
    assert [fallback.parts for fallback in FALLBACKS] == [1, 2, 2]
    assert [fallback.apply(H)["bf16"] for fallback in FALLBACKS] == [False, False, True]
    assert all(fallback.apply(H) | {"bf16": False} == H for fallback in FALLBACKS)


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
    assert plan.corrections()["ram"].trials == LEAST


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


def test_steps_that_are_recorded_have_a_workspace_of_their_own(calibration: Calibration) -> None:
    card = Node(1, 8 * GIB, 16 * GIB, 4, CardBaseline(500 * MIB, 10 * MIB, 500 * MIB, "measured"), id="a", device="CARD")
    own = Planner.of(Settings(), SMALL, kinds_of([card]), calibration)
    plain, recorded = (algorithm("ppo").space.complete({"cuda_graphs": on}) for on in (False, True))
    assert own.prediction(recorded).vram - own.prediction(plain).vram >= 10 * MIB


def test_all_kinds_of_cards_are_predicted_by_the_largest_baseline(calibration: Calibration) -> None:
    small, large = (CardBaseline(size * MIB, 10 * MIB, 500 * MIB, "measured on this card") for size in (300, 700))
    first = Node(1, 8 * GIB, 16 * GIB, 4, large, id="a", device="SMALL")
    nodes = [first, Node(1, 16 * GIB, 16 * GIB, 4, small, id="b", device="LARGE")]
    own = Planner.of(Settings(), SMALL, kinds_of(nodes), calibration)
    terms = {term.name: term.nbytes for term in own.prediction(algorithm("ppo").space.complete({})).terms}
    assert (terms["CUDA context"], terms["cuBLAS workspace"], terms["CUDA's libraries"]) == (700 * MIB, 20 * MIB, 500 * MIB)
    assert own.grant(algorithm("ppo").space.complete({})).context_bytes == 700 * MIB
    # Ratios of measured to predicted memory are of that prediction, wherever a trial ran.
    placement = Placement(own)
    assert {placement._of(kind).budget.baseline for kind in placement.kinds} == {large}
