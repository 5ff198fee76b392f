"""What the checks look at, asked once: each check is a function of these, so that each can be shown to fail."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from common.cache_folder import cache_folder
from common.paths import user_path
from tuning.memory.gpus import Card, DriverError, cards, driver, loads

PACKAGES = ("ray", "torch", "citylearn", "gymnasium", "optuna", "pandas", "pyarrow", "numba")


@dataclass(frozen=True)
class Torch:
    """What torch says of itself.

    Attributes:
        cuda: version that it was built with; None for a build without.
        sees_card: whether it can use a card.
        capability: of the first card that it sees, as (major, minor).
    """

    cuda: tuple[int, int] | None
    sees_card: bool
    capability: tuple[int, int] | None = None


@dataclass(frozen=True)
class Facts:
    """What a machine has.

    Attributes:
        python: version.
        system: name of the operating system.
        packages: versions of those that are needed, None where one is missing.
        cards: that the driver knows.
        free_bytes: of the memory of each of them.
        driver: its version and the newest CUDA that it runs; None without one.
        driver_error: what is wrong with it; empty if nothing.
        torch: what it says; None where it is not installed.
        available_bytes: host memory that is free.
        total_bytes: host memory.
        cores: of the machine.
        disk_bytes: free where experiments go.
        folder: where they go.
        cache: folder of the cache.
        cache_writable: whether files can be made there.
    """

    python: tuple[int, int]
    system: str
    packages: dict[str, str | None]
    cards: tuple[Card, ...]
    free_bytes: tuple[int, ...]
    driver: tuple[str, tuple[int, int]] | None
    driver_error: str
    torch: Torch | None
    available_bytes: int
    total_bytes: int
    cores: int
    disk_bytes: int
    folder: Path
    cache: Path
    cache_writable: bool


def gather(folder: Path) -> Facts:
    """Ask this machine.

    Args:
        folder: where experiments go; need not be there.
    """
    found: tuple[Card, ...] = ()
    free: tuple[int, ...] = ()
    known, error = None, ""
    try:
        found, known = cards(), driver()
        free = tuple(card.total_bytes - load.used_bytes for card, load in zip(found, loads(), strict=True))
    except DriverError as failure:
        error = str(failure)
    memory = psutil.virtual_memory()
    major, minor, _ = platform.python_version_tuple()
    packages = {name: _version(name) for name in PACKAGES}
    return Facts(
        python=(int(major), int(minor)),
        system=platform.platform(),
        packages=packages,
        cards=found,
        free_bytes=free,
        driver=known,
        driver_error=error,
        torch=_torch() if packages["torch"] else None,
        available_bytes=int(memory.available),
        total_bytes=int(memory.total),
        cores=os.cpu_count() or 1,
        disk_bytes=shutil.disk_usage(_existing(folder)).free,
        folder=folder,
        cache=cache_folder(),
        cache_writable=_writable(cache_folder()),
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _torch() -> Torch:
    import torch

    cuda = torch.version.cuda
    built = None if cuda is None else (int(cuda.split(".")[0]), int(cuda.split(".")[1]))
    sees = torch.cuda.is_available()
    return Torch(built, sees, torch.cuda.get_device_capability(0) if sees else None)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    folder = user_path(folder).resolve()
    return next(path for path in (folder, *folder.parents) if path.exists())


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".doctor"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError:
        return False
    return True
