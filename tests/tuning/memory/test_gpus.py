"""What the driver says is taken over, and what it does not say is not made up."""

from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from tuning.memory.gpus import Card, DriverError, Load, cards, driver, loads


def answer(patch: pytest.MonkeyPatch, **answers: Any) -> None:
    """Let the library answer for one card."""
    usual = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(total=8000, used=3000),
        "nvmlDeviceGetName": lambda handle: "RTX 4060",
        "nvmlSystemGetCudaDriverVersion_v2": lambda: 12080,
        "nvmlSystemGetDriverVersion": lambda: "570.1",
        "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=40),
        "nvmlDeviceGetPowerUsage": lambda handle: 55_000,
        "nvmlDeviceGetTemperature": lambda handle, kind: 61,
        "nvmlDeviceGetComputeRunningProcesses": lambda handle: [
            SimpleNamespace(pid=7, usedGpuMemory=900), SimpleNamespace(pid=8, usedGpuMemory=100)
        ],
    }  # fmt: skip
    patch.setattr("os.getpid", lambda: 7)
    for name, own in (usual | answers).items():
        patch.setattr(pynvml, name, own)


def raising(error: type[Exception]) -> Any:
    def failing(*arguments: Any) -> Any:
        raise error

    return failing


def test_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch)
    assert cards() == (Card(0, "RTX 4060", 8000),)
    assert driver() == ("570.1", (12, 8))
    assert loads() == (Load(3000, 0.4, 61.0, 55.0, 900),)
    monkeypatch.setattr("os.getpid", lambda: 9)
    assert loads()[0].own_bytes is None


@pytest.mark.parametrize("error", [pynvml.NVMLError_LibraryNotFound, pynvml.NVMLError_DriverNotLoaded])
def test_no_driver_is_no_card(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    answer(monkeypatch, nvmlInit=raising(error))
    assert cards() == ()
    assert loads() == ()
    assert driver() is None


@pytest.mark.parametrize("call", ["nvmlInit", "nvmlDeviceGetCount"])
def test_a_driver_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    answer(monkeypatch, **{call: raising(pynvml.NVMLError_Unknown)})
    with pytest.raises(DriverError, match="driver"):
        cards()


def test_what_a_card_does_not_tell_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = dict.fromkeys(
        (
            "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTemperature",
            "nvmlDeviceGetComputeRunningProcesses",
        ),
        raising(pynvml.NVMLError_NotSupported),
    )  # fmt: skip
    answer(monkeypatch, **silent)
    assert loads() == (Load(3000, None, None, None, None),)


def test_windows_hides_the_memory_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = [SimpleNamespace(pid=7, usedGpuMemory=None)]
    answer(monkeypatch, nvmlDeviceGetComputeRunningProcesses=lambda handle: hidden)
    assert loads()[0].own_bytes is None
