"""Each check is shown to fail."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.units import GIB
from tuning.diagnosis.checks import PACKAGES, WHEEL_INDEX, Facts, Finding, Torch, check, gather
from tuning.memory.gpus import Card, DriverError


def test_this_machine_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuning.diagnosis.checks.cards", lambda: ())
    monkeypatch.setattr("tuning.diagnosis.checks.driver", lambda: None)
    facts = gather(tmp_path / "not" / "there")
    assert facts.torch is not None
    assert None not in facts.packages.values()
    assert facts.cache_writable
    assert facts.disk_bytes > 0
    assert 0 < facts.available_bytes <= facts.total_bytes


def test_a_driver_that_fails_is_a_fact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        raise DriverError("it does not answer")

    monkeypatch.setattr("tuning.diagnosis.checks.cards", fail)
    assert gather(tmp_path).driver_error == "it does not answer"


def test_a_folder_below_a_file_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path / "file" / "cache"))
    assert not gather(tmp_path).cache_writable
    assert not gather(tmp_path / "file" / "experiments").folder_writable
    assert gather(tmp_path / "experiments").folder_writable
    assert [path.name for path in tmp_path.iterdir()] == ["file"]  # nothing is left


CARD = Card(0, "RTX 4060", 8 * GIB)
SOUND = Facts(
    python=(3, 12), system="Windows-11", packages=dict.fromkeys(PACKAGES, "1.0"), cards=(CARD,), free_bytes=(8 * GIB,),
    driver=("580.1", (13, 0)), driver_error="", torch=Torch((12, 8), True, (8, 9)),
    available_bytes=12 * GIB, total_bytes=16 * GIB, cores=8,
    disk_bytes=100 * GIB, folder=Path("experiments"), folder_writable=True, cache=Path("cache"), cache_writable=True,
)  # fmt: skip
WITHOUT_CARD = replace(SOUND, cards=(), free_bytes=(), driver=None, torch=Torch((12, 8), False))


def findings(facts: Facts, gpu_memory_gib: float = 0.0) -> dict[str, Finding]:
    return {finding.name: finding for finding in check(facts, 2 * GIB, gpu_memory_gib)}


def test_a_sound_machine_has_nothing_wrong() -> None:
    assert {finding.status for finding in findings(SOUND).values()} == {"ok"}


def test_a_machine_without_a_card_can_do_the_work() -> None:
    found = findings(WITHOUT_CARD)
    assert found["card"].status == "note"
    assert "wrong" not in {finding.status for finding in found.values()}


BROKEN: dict[str, tuple[str, dict[str, Any], str]] = {
    "an old Python": ("Python", {"python": (3, 9)}, "install Python 3.11"),
    "a Python that is too new": ("Python", {"python": (3, 15)}, "install Python 3.11"),
    "a missing package": ("packages", {"packages": {**SOUND.packages, "ray": None}}, "requirements.txt"),
    "a driver that fails": ("card", {"driver_error": "no answer"}, "driver anew"),
    "torch without CUDA": ("card", {"torch": Torch(None, False)}, f"--index-url {WHEEL_INDEX}/cu130"),
    "torch without CUDA, a middling driver": (
        "card", {"torch": Torch(None, False), "driver": ("560.1", (12, 7))}, f"--index-url {WHEEL_INDEX}/cu126"
    ),
    "torch for a newer CUDA than the driver's": (
        "card", {"torch": Torch((13, 2), False), "driver": ("570.1", (12, 8))}, f"--index-url {WHEEL_INDEX}/cu128"
    ),
    "a driver too old for any wheel": (
        "card", {"torch": Torch((12, 8), False), "driver": ("470.1", (11, 4))}, "update NVIDIA's driver"
    ),
    "a card that is hidden": ("card", {"torch": Torch((12, 8), False)}, "CUDA_VISIBLE_DEVICES"),
    "no memory": ("host memory", {"available_bytes": GIB}, "close other programs"),
    "a full disk": ("disk", {"disk_bytes": GIB}, "--dir"),
    "a folder that cannot be written": ("disk", {"folder_writable": False}, "--dir"),
    "a cache that cannot be written": ("cache", {"cache_writable": False}, "BUILDING_TUNER_CACHE"),
}  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_broken_is_found_with_its_remedy(broken: str) -> None:
    name, facts, remedy = BROKEN[broken]
    found = findings(replace(SOUND, **facts))
    assert found[name].status == "wrong"
    assert remedy in found[name].remedy
    assert [other.name for other in found.values() if other.status == "wrong"] == [name]


def test_a_card_that_others_use_is_worth_a_note() -> None:
    found = findings(replace(SOUND, free_bytes=(int(5.75 * GIB),)))["GPU memory"]
    assert found.status == "note"
    assert "--gpu-memory 5.7" in found.remedy
    assert findings(replace(SOUND, free_bytes=(int(5.75 * GIB),)), 4.0)["GPU memory"].status == "ok"


def test_an_old_card_has_no_tf32() -> None:
    assert findings(replace(SOUND, torch=Torch((12, 8), True, (7, 5))))["TF32"].status == "note"
