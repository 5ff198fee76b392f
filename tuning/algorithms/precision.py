"""What depends on the device and not on the site: TF32, bfloat16, compiled networks, memory that a card reads by itself."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from search_spaces import Assignment

if TYPE_CHECKING:
    import numpy as np

F = TypeVar("F")
NEED_GPU = ("cuda_graphs", "pin_memory")


def check_device(hyperparameters: Assignment, gpu: bool) -> None:
    """Raises `ValueError` with the hyperparameter that needs a GPU where there is none."""
    for name in NEED_GPU:
        if hyperparameters[name] and not gpu:
            raise ValueError(f"{name}=true: it needs a GPU, and this trial learns on the CPU")


def compiled(function: F, h: Assignment) -> F:
    """A function of tensors, compiled where hyperparameters say so."""
    found: Any = function
    if h["torch_compile"]:
        found = torch.compile(found, mode="reduce-overhead" if h["cuda_graphs"] else None)
    return found


def begin_step(cuda_graphs: bool | None) -> None:
    """Tell torch that earlier outputs of compiled functions are not needed any more, so that graphs may write over them."""
    if cuda_graphs:
        torch.compiler.cudagraph_mark_step_begin()


def to_device(array: np.ndarray, device: torch.device, pinned: bool) -> torch.Tensor:
    """An array as a tensor on a device; on the CPU without a copy."""
    tensor = torch.from_numpy(array)
    return (tensor.pin_memory() if pinned else tensor).to(device, non_blocking=pinned)


def autocast(device: torch.device, bf16: bool) -> AbstractContextManager[Any]:
    """Context in which networks compute in bfloat16. It has float32's range, so no gradient has to be scaled."""
    return torch.autocast(device.type, dtype=torch.bfloat16) if bf16 else nullcontext()
