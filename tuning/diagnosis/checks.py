"""Is this machine able to run searches? Facts, asked once, and checks that are functions of them."""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from common.paths import FOLDER_VARIABLE, cache_folder, user_path
from common.units import GIB
from envs.scenarios.scenario import INSTALL
from tuning.memory.allocation import card_budget
from tuning.memory.gpus import Card, DriverError, cards, driver, loads
from tuning.memory.prediction import size
from tuning.trial.provenance import installed_version

PACKAGES = ("ray", "torch", "citylearn", "gymnasium", "optuna", "pandas", "pyarrow", "numba")


@dataclass(frozen=True)
class Torch:
    """What torch says of itself."""

    cuda: tuple[int, int] | None  # version that it was built with; None for a build without
    sees_card: bool  # whether it can use a card
    capability: tuple[int, int] | None = None  # of the first card that it sees, as (major, minor)


@dataclass(frozen=True)
class Facts:
    """What a machine has."""

    python: tuple[int, int]
    system: str  # name of the operating system
    packages: dict[str, str | None]  # versions of those that are needed, None where one is missing
    cards: tuple[Card, ...]
    free_bytes: tuple[int, ...]  # of the memory of each of them
    driver: tuple[str, tuple[int, int]] | None  # its version and the newest CUDA that it runs; None without one
    driver_error: str  # what is wrong with it; empty if nothing
    torch: Torch | None  # what it says; None where it is not installed
    available_bytes: int
    total_bytes: int
    cores: int
    disk_bytes: int  # free where experiments go
    folder: Path
    folder_writable: bool  # whether files can be made there, or in the folder above that there is
    cache: Path
    cache_writable: bool  # whether files can be made there


def gather(folder: Path) -> Facts:
    """Facts of this machine."""
    gpus: tuple[Card, ...] = ()
    free: tuple[int, ...] = ()
    known, error = None, ""
    try:
        gpus, known = cards(), driver()
        free = tuple(card.total_bytes - load.used_bytes for card, load in zip(gpus, loads(), strict=True))
    except DriverError as failure:
        error = str(failure)
    memory = psutil.virtual_memory()
    major, minor, _ = platform.python_version_tuple()
    packages = {name: installed_version(name) for name in PACKAGES}
    return Facts(
        python=(int(major), int(minor)),
        system=platform.platform(),
        packages=packages,
        cards=gpus,
        free_bytes=free,
        driver=known,
        driver_error=error,
        torch=_torch() if packages["torch"] else None,
        available_bytes=int(memory.available),
        total_bytes=int(memory.total),
        cores=os.cpu_count() or 1,
        disk_bytes=shutil.disk_usage(_existing(folder)).free,
        folder=folder,
        folder_writable=_writable(_existing(folder)),
        cache=cache_folder(),
        cache_writable=_writable(cache_folder()),
    )


def _torch() -> Torch:
    import torch

    cuda = torch.version.cuda
    built = None if cuda is None else (int(cuda.split(".")[0]), int(cuda.split(".")[1]))
    sees = torch.cuda.is_available()
    return Torch(built, sees, torch.cuda.get_device_capability(0) if sees else None)


def _existing(folder: Path) -> Path:
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


Status = Literal["ok", "note", "wrong"]

PYTHONS = (3, 11), (3, 13)
LEAST_DISK_BYTES = 2 * GIB
# CUDA versions that torch's makers build wheels for, and where they offer them.
WHEELS = ((12, 6), (12, 8), (13, 0))  # those that PyTorch 2.9 came with; newer releases add newer ones
WHEEL_INDEX = "https://download.pytorch.org/whl"
TF32_CAPABILITY = (8, 0)  # of cards since Ampere


@dataclass(frozen=True)
class Finding:
    """What a check found."""

    name: str
    status: Status  # ok; a note, which is worth knowing; or wrong, which has to be mended
    text: str
    remedy: str = ""  # what to do; empty where nothing is to be done


def check(facts: Facts, trial_bytes: int, gpu_memory_gib: float) -> list[Finding]:
    """All findings."""
    return [
        _python(facts), _packages(facts), _card(facts), _free_vram(facts, gpu_memory_gib), _tf32(facts),
        _memory(facts, trial_bytes), _cores(facts), _disk(facts), _cache(facts),
    ]  # fmt: skip


def _found(name: str, is_well: bool, text: str, remedy: str, else_: Status = "wrong") -> Finding:
    return Finding(name, "ok", text) if is_well else Finding(name, else_, text, remedy)


def _python(facts: Facts) -> Finding:
    text = f"{facts.python[0]}.{facts.python[1]} on {facts.system}"
    remedy = "install Python 3.11, 3.12 or 3.13, and this project with it"
    return _found("Python", PYTHONS[0] <= facts.python <= PYTHONS[1], text, remedy)


def _packages(facts: Facts) -> Finding:
    missing = [name for name, version in facts.packages.items() if version is None]
    if missing:
        remedy = INSTALL if missing == ["citylearn"] else "pip install --no-deps -r requirements.txt"
        return Finding("packages", "wrong", f"missing: {', '.join(missing)}", f"uv sync, or {remedy}")
    return Finding("packages", "ok", ", ".join(f"{name} {version}" for name, version in facts.packages.items()))


def _card(facts: Facts) -> Finding:
    if facts.driver_error:
        return Finding("card", "wrong", facts.driver_error, "install NVIDIA's driver anew, restart, and run this again")
    if not facts.cards:
        return Finding("card", "note", "none: trials learn on the CPU")
    assert facts.driver is not None
    name, (version, newest) = facts.cards[0].name, facts.driver
    text = f"{', '.join(card.name for card in facts.cards)}, driver {version} for CUDA up to {newest[0]}.{newest[1]}"
    if facts.torch and facts.torch.sees_card and facts.torch.cuda:
        return Finding("card", "ok", f"{text}, torch with CUDA {facts.torch.cuda[0]}.{facts.torch.cuda[1]}")
    fitting = [wheel for wheel in WHEELS if wheel <= newest]
    if not fitting:
        remedy = f"update NVIDIA's driver to one that runs CUDA {WHEELS[0][0]}.{WHEELS[0][1]} or newer"
        return Finding("card", "wrong", f"{text}, too old for torch's wheels", remedy)
    tag = f"cu{fitting[-1][0]}{fitting[-1][1]}"
    wheels = f"torch --index-url {WHEEL_INDEX}/{tag}"
    # An environment that uv made has no pip.
    remedy = f"uv pip install --reinstall {wheels}, or without uv: python -m pip install --force-reinstall {wheels}"
    if facts.torch is None or facts.torch.cuda is None:
        return Finding("card", "wrong", f"{text}; torch was built without CUDA, so it cannot use the {name}", remedy)
    built = f"{facts.torch.cuda[0]}.{facts.torch.cuda[1]}"
    if facts.torch.cuda > newest:
        return Finding("card", "wrong", f"{text}; torch was built for CUDA {built}, which this driver cannot run", remedy)
    return Finding(
        "card", "wrong", f"{text}; torch with CUDA {built} does not see it",
        "look at the environment variable CUDA_VISIBLE_DEVICES; if it is not set, restart the machine",
    )  # fmt: skip


def _free_vram(facts: Facts, gpu_memory_gib: float) -> Finding:
    if not facts.cards:
        return Finding("GPU memory", "note", "none")
    budget, free = card_budget(facts.cards[0].total_bytes, gpu_memory_gib), facts.free_bytes[0]
    text = f"{size(free)} of {size(facts.cards[0].total_bytes)} are free; trials may take {size(budget)}"
    remedy = f"close what uses the card, or leave it room: --gpu-memory {int(free / GIB * 10) / 10}"
    return _found("GPU memory", free >= budget, text, remedy, "note")


def _tf32(facts: Facts) -> Finding:
    if not (facts.torch and facts.torch.capability):
        return Finding("TF32", "note", "there is no card that could do it")
    able = facts.torch.capability >= TF32_CAPABILITY
    return Finding("TF32", "ok" if able else "note", "the card can (--set tf32=true)" if able else "the card cannot")


def _memory(facts: Facts, trial_bytes: int) -> Finding:
    text = f"{size(facts.available_bytes)} of {size(facts.total_bytes)} are free; a trial takes {size(trial_bytes)}"
    remedy = "close other programs; fewer --num-envs and a smaller buffer_size take less"
    return _found("host memory", facts.available_bytes >= trial_bytes, text, remedy)


def _cores(facts: Facts) -> Finding:
    return Finding("cores", "ok" if facts.cores > 1 else "note", f"{facts.cores}: a trial keeps one busy")


def _disk(facts: Facts) -> Finding:
    if not facts.folder_writable:
        return Finding("disk", "wrong", f"{facts.folder} cannot be written to", "make it writable, or choose another --dir")
    text = f"{size(facts.disk_bytes)} free for {facts.folder}"
    remedy = f"free {size(LEAST_DISK_BYTES)}, or choose another --dir; --keep-checkpoints bounds what is kept"
    return _found("disk", facts.disk_bytes >= LEAST_DISK_BYTES, text, remedy)


def _cache(facts: Facts) -> Finding:
    if facts.cache_writable:
        return Finding("cache", "ok", str(facts.cache))
    return Finding("cache", "wrong", f"{facts.cache} cannot be written to", f"set {FOLDER_VARIABLE} to a folder that can")
