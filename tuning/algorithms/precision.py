"""Arithmetic that is faster and less exact: TF32, bfloat16, compiled networks."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def set_tf32(on: bool) -> None:
    """Let float32 products of matrices have TF32's ten bits of mantissa on cards that can; for the whole process."""
    import torch

    torch.set_float32_matmul_precision("high" if on else "highest")


def has_tf32() -> bool:
    """Whether products of matrices may use TF32."""
    import torch

    return torch.get_float32_matmul_precision() != "highest"


def autocast(device: torch.device, bf16: bool) -> AbstractContextManager[Any]:
    """Context in which networks reckon in bfloat16, if asked for; weights and losses stay float32.

    bfloat16 has float32's range, so no gradient has to be scaled.
    """
    import torch

    return torch.autocast(device.type, dtype=torch.bfloat16) if bf16 else nullcontext()
