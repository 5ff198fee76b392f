"""The command prints a table for each kind of memory and what Ray reserves; its status says whether the trial fits."""

from collections.abc import Callable
from pathlib import Path

import pytest

from common.units import GIB
from tuning import doctor
from tuning.memory.allocation import Budget
from tuning.resources import main


def test_the_largest_term_is_shown_with_what_is_granted(small_schema: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--scenario", str(small_schema), "--device", "cpu"]) == 0
    said = capsys.readouterr().out
    assert "Host memory of a trial of ppo" in said
    assert "process" in said
    assert "Granted: " in said
    assert "At once: " in said


def test_a_trial_that_does_not_fit_has_another_status(
    small_schema: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small_machine = Budget(gpus=0, card_bytes=0, ram_bytes=4 * GIB, cores=2)
    monkeypatch.setattr("tuning.diagnosis.memory_forecast.this_machine", lambda device, gpu_memory: (small_machine, "cpu"))
    too_much = ["--algo", "sac", "--steps", "200000000", "--set", "buffer_size=100000000"]
    assert main(["--scenario", str(small_schema), "--device", "cpu", *too_much]) == 1
    said = capsys.readouterr().out
    assert "replay buffer" in said
    assert "Granted" not in said


@pytest.mark.parametrize("command", [main, doctor.main])
@pytest.mark.parametrize("text", ["nan", "inf", "-1"])
def test_gpu_memory_that_is_no_amount_is_refused(
    command: Callable[[list[str]], int], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["--gpu-memory", text]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: --gpu-memory ")
