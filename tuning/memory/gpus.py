"""NVIDIA's cards as their driver sees them, through NVML (`nvidia-ml-py`). Without a driver there are no cards."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from common.errors import UserError

T = TypeVar("T")


class DriverError(UserError, RuntimeError):
    """NVIDIA's driver is installed and does not answer as it should."""


@dataclass(frozen=True)
class Card:
    """A GPU."""

    index: int
    name: str
    total_bytes: int


@dataclass(frozen=True)
class Load:
    """How busy a card is; None where it does not tell."""

    used_bytes: int  # of its memory, by all processes together
    utilization: float | None  # part of the last second or so in which it computed, 0 to 1
    temperature_c: float | None
    power_w: float | None
    own_bytes: int | None  # of its memory, by this process; None too in containers and on Windows


def _answer(ask: Callable[[Any], T], without: T) -> T:
    """What the library answers, or else where there is no driver. Raises `DriverError` if there is one and it fails."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except (pynvml.NVMLError_LibraryNotFound, pynvml.NVMLError_DriverNotLoaded):
        return without
    except pynvml.NVMLError as error:
        raise DriverError(f"NVIDIA's driver does not answer ({error}): install it anew, then restart the machine") from error
    try:
        return ask(pynvml)
    except pynvml.NVMLError as error:
        raise DriverError(f"NVIDIA's driver gave up ({error}): see what nvidia-smi says") from error
    finally:
        pynvml.nvmlShutdown()


def cards() -> tuple[Card, ...]:
    """All cards of the machine. Raises `DriverError` if their driver does not answer."""

    def ask(nvml: Any) -> tuple[Card, ...]:
        each = enumerate(_handles(nvml))
        return tuple(Card(n, nvml.nvmlDeviceGetName(card), int(nvml.nvmlDeviceGetMemoryInfo(card).total)) for n, card in each)

    return _answer(ask, ())


def driver() -> tuple[str, tuple[int, int]] | None:
    """Version of the driver, and the newest CUDA that it runs; None without one. Raises `DriverError` if it does not answer."""

    def ask(nvml: Any) -> tuple[str, tuple[int, int]]:
        cuda = int(nvml.nvmlSystemGetCudaDriverVersion_v2())
        return str(nvml.nvmlSystemGetDriverVersion()), (cuda // 1000, cuda % 1000 // 10)

    return _answer(ask, None)


def loads() -> tuple[Load, ...]:
    """How busy each card is. Raises `DriverError` if their driver does not answer."""
    return _answer(lambda nvml: tuple(_load(nvml, handle, os.getpid()) for handle in _handles(nvml)), ())


def _handles(nvml: Any) -> list[Any]:
    return [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]


def _load(nvml: Any, handle: Any, pid: int) -> Load:
    def known(ask: Callable[[], T]) -> T | None:
        # Cards differ in what they tell; laptops tell no power, for example.
        try:
            return ask()
        except (nvml.NVMLError_NotSupported, nvml.NVMLError_NoPermission):
            return None

    utilization = known(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
    power = known(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
    temperature = known(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
    processes = known(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle)) or []
    sizes = [process.usedGpuMemory for process in processes if process.pid == pid and process.usedGpuMemory is not None]
    return Load(
        used_bytes=int(nvml.nvmlDeviceGetMemoryInfo(handle).used),
        utilization=None if utilization is None else utilization / 100.0,
        temperature_c=None if temperature is None else float(temperature),
        power_w=None if power is None else power / 1000.0,
        own_bytes=sum(sizes) if sizes else None,
    )
