"""What a process takes on a card before it has any data: it differs by card, driver and build of torch, so it is measured."""

import gc
import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from functools import cache

import psutil

from common.units import GIB, MIB
from tuning.memory.gpus import loads
from tuning.memory.prediction import ASSUMED, CardBaseline

LEAST_CONTEXT, MOST_CONTEXT = 64 * MIB, 2 * GIB  # what a context may take, where the whole card's use tells it


def measured(card: int) -> CardBaseline | None:
    """Take a gradient step of a small network on a card; None where torch cannot. Takes some seconds.

    CUDA's context stays until this process ends.

    Args:
        card: NVML's index. For torch it is the first card, as it sees no other.
    """
    import torch

    if not torch.cuda.is_available():
        return None
    _step("cpu")
    host, used = psutil.Process().memory_info().rss, loads()[card].used_bytes
    try:
        _step("cuda")
        torch.cuda.synchronize()
    except RuntimeError as error:
        # Torch's own class for the errors of CUDA is newer than the oldest torch that will do.
        if "out of memory" in str(error):
            return replace(ASSUMED, source="assumed, as the card is full")
        return None  # as where torch was built without kernels for it
    # Without the tensors of the step, what is allocated are cuBLAS's workspaces.
    gc.collect()
    load = loads()[card]
    # On Windows and in containers the driver does not tell what single processes take. Then others may have begun or ended.
    taken = load.used_bytes - used if load.own_bytes is None else load.own_bytes
    context, grown = taken - torch.cuda.memory_reserved(), psutil.Process().memory_info().rss - host
    source = "measured on this card"
    if load.own_bytes is None and not LEAST_CONTEXT < context < MOST_CONTEXT:
        context, source = ASSUMED.context, "measured on this card but for the context, as other programs began or ended"
    return CardBaseline(max(0, context), torch.cuda.memory_allocated(), max(0, grown), source)


@cache
def measured_apart() -> CardBaseline | None:
    """The same of the first card in NVML's order, in a process of its own; None where that fails too."""
    done = subprocess.run(
        [sys.executable, "-m", "tuning.memory.baseline"],
        stdout=subprocess.PIPE, text=True, check=False,
        env={**os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0"},
    )  # fmt: skip
    given = json.loads(done.stdout.strip().rpartition("\n")[2]) if not done.returncode else None
    return CardBaseline(**given) if given else None


def _step(device: str) -> None:
    import torch
    from torch.nn import Linear, ReLU, Sequential, Tanh

    from tuning.algorithms.vectors import Adam, FlatParameters

    network = Sequential(Linear(64, 64), Tanh(), Linear(64, 64), ReLU(), Linear(64, 1)).to(device)
    flat = FlatParameters(list(network.parameters()))
    network(torch.randn(256, 64, device=device)).square().mean().backward()
    flat.cut(1.0)
    Adam([flat.vector], fused=True).step()


if __name__ == "__main__":
    baseline = measured(0)
    print(json.dumps(asdict(baseline) if baseline else None))
