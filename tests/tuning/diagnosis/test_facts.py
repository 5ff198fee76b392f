"""Facts are read from this machine; a failure to read is a fact too."""

from pathlib import Path
from typing import Any

import pytest

from tuning.diagnosis.facts import gather
from tuning.memory.gpus import DriverError


def test_this_machine_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuning.diagnosis.facts.cards", lambda: ())
    monkeypatch.setattr("tuning.diagnosis.facts.driver", lambda: None)
    facts = gather(tmp_path / "not" / "there")
    assert facts.torch is not None
    assert None not in facts.packages.values()
    assert facts.cache_writable
    assert facts.disk_bytes > 0
    assert 0 < facts.available_bytes <= facts.total_bytes


def test_a_driver_that_fails_is_a_fact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        raise DriverError("it does not answer")

    monkeypatch.setattr("tuning.diagnosis.facts.cards", fail)
    assert gather(tmp_path).driver_error == "it does not answer"


def test_a_cache_below_a_file_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path / "file" / "cache"))
    assert not gather(tmp_path).cache_writable
