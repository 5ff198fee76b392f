"""What trials took corrects what is predicted for the next."""

from pathlib import Path

import pytest

from envs.cache import CacheError
from tuning.memory.calibration import HIGHEST, KEPT, LEAST, LOWEST, Calibration


@pytest.fixture
def calibration(tmp_path: Path) -> Calibration:
    return Calibration(tmp_path / "cache" / "calibration.json")


def test_a_few_trials_correct_nothing(calibration: Calibration) -> None:
    for _ in range(LEAST - 1):
        calibration.add("card", "ppo", "vram", 100, 130)
    assert calibration.correction("card", "ppo", "vram").factor == 1.0
    assert calibration.correction("card", "ppo", "vram").trials == 0


def test_the_correction_is_a_high_quantile_of_the_ratios(calibration: Calibration) -> None:
    for percent in range(91, 111):
        calibration.add("card", "ppo", "ram", 100, percent)
    found = calibration.correction("card", "ppo", "ram")
    assert found.factor == pytest.approx(1.08)  # 18 of 20 took no more
    assert found.trials == 20
    assert found.device == "card"


def test_cards_algorithms_and_places_are_kept_apart(calibration: Calibration) -> None:
    for _ in range(LEAST):
        calibration.add("card", "ppo", "vram", 100, 150)
    for other in (("card", "ppo", "ram"), ("card", "sac", "vram"), ("other card", "ppo", "vram")):
        assert calibration.correction(*other).factor == 1.0  # type: ignore[arg-type]


def test_only_the_newest_count(calibration: Calibration) -> None:
    for _ in range(30):
        calibration.add("cpu", "a2c", "ram", 100, 190)
    for _ in range(KEPT):
        calibration.add("cpu", "a2c", "ram", 100, 100)
    assert calibration.correction("cpu", "a2c", "ram").factor == 1.0


@pytest.mark.parametrize(("measured", "factor"), [(1, LOWEST), (100_000, HIGHEST)])
def test_a_correction_has_bounds(calibration: Calibration, measured: int, factor: float) -> None:
    for _ in range(LEAST):
        calibration.add("cpu", "a2c", "ram", 100, measured)
    assert calibration.correction("cpu", "a2c", "ram").factor == factor


def test_what_was_not_measured_teaches_nothing(calibration: Calibration) -> None:
    for _ in range(LEAST):
        calibration.add("cpu", "ppo", "vram", 0, 0)
        calibration.add("cpu", "ppo", "vram", 100, 0)
    assert calibration.correction("cpu", "ppo", "vram").trials == 0


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"5", b"\xff", b'{"cpu/ppo/ram": 1}', b'{"cpu/ppo/ram": ["x"]}', b'{"a": [NaN]}', b'{"a": [true]}'],
)
def test_a_damaged_file_is_named_and_begun_anew(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "calibration.json"
    path.write_bytes(content)
    calibration = Calibration(path)
    assert calibration.correction("cpu", "ppo", "ram").trials == 0
    assert "calibration.json is damaged" in capsys.readouterr().err
    for _ in range(LEAST):
        calibration.add("cpu", "ppo", "ram", 100, 150)
    assert calibration.correction("cpu", "ppo", "ram").trials == LEAST


@pytest.mark.parametrize("place", ["calibration.json", "calibration.json/below/calibration.json"])
def test_a_cache_that_cannot_be_used_is_one_line(tmp_path: Path, place: str) -> None:
    in_the_way = tmp_path / "calibration.json"
    if place == in_the_way.name:
        in_the_way.mkdir()
    else:
        in_the_way.write_bytes(b"")
    with pytest.raises(CacheError, match="cannot be used"):
        Calibration(tmp_path / place).add("cpu", "ppo", "ram", 100, 150)
