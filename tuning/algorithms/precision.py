"""What depends on the device and not on the site: TF32, bfloat16, compiled networks, memory that a card reads by itself."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from search_spaces import Assignment

if TYPE_CHECKING:
    import numpy as np
    import torch

F = TypeVar("F")
NEED_GPU = ("cuda_graphs", "pin_memory")


def check_device(hyperparameters: Assignment, gpu: bool) -> None:
    """Raises `ValueError` with the hyperparameter that needs a GPU where there is none."""
    for name in NEED_GPU:
        if hyperparameters[name] and not gpu:
            raise ValueError(f"{name}=true: it needs a GPU, and this trial learns on the CPU")


def compiled(function: F, cuda_graphs: bool) -> F:
    """A function of tensors, compiled."""
    import torch

    found: Any = torch.compile(function, mode="reduce-overhead" if cuda_graphs else None)  # type: ignore[call-overload]
    return found


def begin_step(cuda_graphs: bool) -> None:
    """Tell torch that earlier outputs of compiled functions are not needed any more, so that graphs may write over them."""
    if cuda_graphs:
        import torch

        torch.compiler.cudagraph_mark_step_begin()


def to_device(array: np.ndarray, device: torch.device, pinned: bool) -> torch.Tensor:
    """An array as a tensor on a device; on the CPU without a copy."""
    import torch

    tensor = torch.from_numpy(array)
    return (tensor.pin_memory() if pinned else tensor).to(device, non_blocking=pinned)


def set_tf32(on: bool) -> None:
    """Let float32 products of matrices have TF32's ten bits of mantissa on cards that can; for the whole process."""
    import torch

    torch.set_float32_matmul_precision("high" if on else "highest")


def has_tf32() -> bool:
    """Whether products of matrices may use TF32."""
    import torch

    return torch.get_float32_matmul_precision() != "highest"


def autocast(device: torch.device, bf16: bool) -> AbstractContextManager[Any]:
    """Context in which networks compute in bfloat16. It has float32's range, so no gradient has to be scaled."""
    import torch

    return torch.autocast(device.type, dtype=torch.bfloat16) if bf16 else nullcontext()
