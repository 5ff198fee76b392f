"""The doctor trains for real, and its exit status says what it found."""

from pathlib import Path
from typing import Any

import pytest

from tuning import doctor


def failing(*arguments: Any) -> dict[str, Any]:
    raise RuntimeError("CUDA error: no kernel image is available")


def test_a_real_update_is_made_and_measured(small_schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main(["--algo", "a2c", "--scenario", str(small_schema), "--dir", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "a2c: 4," in said
    assert "host memory" in said
    assert "predicted" in said
    assert said.strip().endswith("ready")


def test_an_update_that_fails_is_wrong_and_the_status_says_so(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tuning.diagnosis.examination.run_train", failing)
    assert doctor.main(["--algo", "ppo", "--scenario", str(small_schema), "--dir", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "no kernel image" in said
    assert "not ready, mend first: ppo" in said
