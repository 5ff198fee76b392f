"""One small network that reads many things of a kind; part of its hidden layer's input is common to all of them.

    out[r, :, i] = bias + output @ relu(weight @ x[r, :, i] + shift[:, i] + common[r])

As layers it goes through arrays of rows x things x units, which do not fit a processor's caches: 35 ms for 512 rows, 128 things
and 32 units, forward and backward. One unit of a row at a time, for all things side by side, takes 7 ms.
"""

from typing import Any

import numpy as np
import torch
from numba import njit

_SUMS = {"reassoc", "contract"}  # sums in any order, so that they are vectorised; what is not finite stays so


def shared_network(*arrays: torch.Tensor) -> torch.Tensor:
    """The network's outputs for N things in each row, shape (rows, outputs, N).

    The arrays are `x`, features of each thing, shape (rows, F, N); `weight` of the features, (units, F); `shift` of each thing,
    (units, N); `common` to all things of a row, (rows, units); `output` and `bias`, the output layer, (outputs, units) and
    (outputs,).
    """
    on_cpu = arrays[0].device.type == "cpu" and not torch.is_autocast_enabled("cpu") and not torch.compiler.is_compiling()
    if on_cpu and all(array.dtype == torch.float32 for array in arrays):
        return _Compiled.apply(*arrays)
    return as_layers(*arrays)


def as_layers(*arrays: torch.Tensor) -> torch.Tensor:
    """`shared_network` by torch's operations."""
    x, weight, shift, common, output, bias = arrays
    return output @ torch.relu(weight @ x + shift + common[:, :, None]) + bias[:, None]


class _Compiled(torch.autograd.Function):
    """`shared_network` by the functions below."""

    @staticmethod
    def forward(context: Any, *arrays: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(*arrays)
        return torch.from_numpy(_outputs(tuple(_numpy(array) for array in arrays)))

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        arrays, needed = tuple(_numpy(array) for array in context.saved_tensors), context.needs_input_grad
        slopes = _gradients(arrays, _numpy(gradients[0]), needed[0], any(needed[1:]))
        return tuple(torch.from_numpy(each) if wanted else None for each, wanted in zip(slopes, needed, strict=True))


def _numpy(array: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray(array.detach().numpy())


@njit(cache=True, fastmath=_SUMS, inline="always")
def _unit(sums: np.ndarray, x: np.ndarray, weight: np.ndarray, shift: np.ndarray, common: np.ndarray, r: int, u: int) -> None:
    """Write one unit of a row for all things, before it is rectified."""
    for i in range(sums.size):
        sums[i] = shift[u, i] + common[r, u]
    for f in range(x.shape[1]):
        for i in range(sums.size):
            sums[i] += weight[u, f] * x[r, f, i]


@njit(cache=True, fastmath=_SUMS)
def _outputs(arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    x, weight, shift, common, output, bias = arrays
    rows, _, things = x.shape
    outputs = np.empty((rows, bias.size, things), dtype=np.float32)
    sums = np.empty(things, dtype=np.float32)
    for r in range(rows):
        for o in range(bias.size):
            outputs[r, o] = bias[o]
        for u in range(weight.shape[0]):
            _unit(sums, x, weight, shift, common, r, u)
            for o in range(bias.size):
                for i in range(things):
                    # Compared so that what is not a number stays that.
                    outputs[r, o, i] += output[o, u] * (np.float32(0.0) if sums[i] < 0.0 else sums[i])
    return outputs


@njit(cache=True, fastmath=_SUMS)
def _gradients(arrays: tuple[np.ndarray, ...], given: np.ndarray, of_x: bool, of_others: bool) -> tuple[np.ndarray, ...]:
    """Gradients of all arrays, in their order, from that of what `_outputs` returns.

    Those of x are 0 without `of_x`, those of the others without `of_others`.
    """
    x, weight, shift, common, output, bias = arrays
    rows, features, things = x.shape
    to_x = np.zeros(x.shape if of_x else (0, 0, 0), dtype=np.float32)
    to_weight, to_shift, to_common = np.zeros_like(weight), np.zeros_like(shift), np.zeros_like(common)
    to_output, to_bias = np.zeros_like(output), np.zeros_like(bias)
    sums, back = np.empty(things, dtype=np.float32), np.empty(things, dtype=np.float32)
    zero = np.float32(0.0)
    for r in range(rows):
        if of_others:
            for o in range(bias.size):
                total = zero
                for i in range(things):
                    total += given[r, o, i]
                to_bias[o] += total
        for u in range(weight.shape[0]):
            _unit(sums, x, weight, shift, common, r, u)
            for i in range(things):
                back[i] = zero
            for o in range(bias.size):
                for i in range(things):
                    back[i] += output[o, u] * given[r, o, i]
            for i in range(things):
                back[i] = zero if sums[i] <= 0.0 else back[i]
            if of_x:
                for f in range(features):
                    for i in range(things):
                        to_x[r, f, i] += weight[u, f] * back[i]
            if not of_others:
                continue
            for o in range(bias.size):
                total = zero
                for i in range(things):
                    total += given[r, o, i] * (zero if sums[i] < 0.0 else sums[i])
                to_output[o, u] += total
            total = zero
            for i in range(things):
                to_shift[u, i] += back[i]
                total += back[i]
            to_common[r, u] = total
            for f in range(features):
                total = zero
                for i in range(things):
                    total += x[r, f, i] * back[i]
                to_weight[u, f] += total
    return to_x, to_weight, to_shift, to_common, to_output, to_bias
