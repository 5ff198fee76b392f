"""The machine's budget for trials: cards that torch can use, memory and cores."""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil

from common.commands import python_command
from common.units import GIB
from tuning.memory.allocation import DEFAULT_CARD_BYTES, Budget, card_budget
from tuning.memory.gpus import cards
from tuning.memory.planner import CPU

PROBE_SHARE = 1e-4  # of a card: the least that Ray counts


@dataclass(frozen=True)
class VisibleCard:
    """A card as torch in a trial's process sees it.

    Attributes:
        name: of the card.
        total_bytes: of its memory.
        usable: whether torch can use it.
    """

    name: str
    total_bytes: int
    usable: bool


def probe() -> VisibleCard | None:
    """Look at the card that Ray gives to a process; None where there is none."""
    import ray

    @ray.remote(num_cpus=0, num_gpus=PROBE_SHARE, max_retries=0)
    def look() -> VisibleCard | None:
        import torch

        found = cards()
        return VisibleCard(found[0].name, found[0].total_bytes, torch.cuda.is_available()) if found else None

    seen: VisibleCard | None = ray.get(look.remote())
    return seen


def machine(gpu_memory_gib: float) -> tuple[Budget, str, str]:
    """Budget of a Ray that is started.

    Args:
        gpu_memory_gib: GPU memory for trials on a card, GiB; 0 for the default.

    Returns:
        The budget, the device's name (the card's, or `cpu`), and a line for the user where there is no card to use, else "".
    """
    import ray

    resources = ray.cluster_resources()
    nodes = [int(node["Resources"].get("memory", 0)) for node in ray.nodes() if node["Alive"]]
    # Ray counts all memory of a machine, also what other processes use.
    ram = min(nodes[0], int(psutil.virtual_memory().available)) if len(nodes) == 1 else max(nodes)
    found = probe() if resources.get("GPU", 0) else None
    if found and found.usable:
        return Budget.of(resources, card_budget(found.total_bytes, gpu_memory_gib), ram), found.name, ""
    without = {name: value for name, value in resources.items() if name != "GPU"}
    line = "no GPU: trials learn on the CPU"
    if found:
        line = (
            f"torch cannot use the {found.name}, so trials learn on the CPU: {python_command('tuning.doctor')} says what to do"
        )
    return Budget.of(without, 0, ram), CPU, line


def this_machine(device: str, gpu_memory_gib: float) -> tuple[Budget, str]:
    """Budget of this machine, without Ray, and the device's name.

    Args:
        device: `auto`, `cpu` or `gpu`.
        gpu_memory_gib: see `tuning.memory.allocation.card_budget`.

    Raises:
        DriverError: if there is a driver that does not answer.
    """
    available, cores = int(psutil.virtual_memory().available), os.cpu_count() or 1
    found = () if device == "cpu" else cards()
    if found:
        return Budget(len(found), card_budget(found[0].total_bytes, gpu_memory_gib), available, cores), found[0].name
    if device == "gpu":
        assumed = round(gpu_memory_gib * GIB) or DEFAULT_CARD_BYTES
        return Budget(1, assumed, available, cores), "a card that is not here"
    return Budget(0, 0, available, cores), CPU
