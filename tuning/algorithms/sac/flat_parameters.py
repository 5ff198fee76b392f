"""Parameters of a network in one piece of memory."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

_ALIGNED = 16  # numbers: a cache line, which products of matrices want to begin at


class FlatParameters:
    """All parameters of a network as one vector, which the network's own are views of, and their gradients likewise.

    Optimizer, norm, cut and the step of targets towards critics are then one operation each instead of one for each parameter.
    With networks of this size such operations take longer to start than to run.

    Attributes:
        vector: the parameters, with gaps that align them. If they are trained, its `grad` is always there.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        """Move parameters into a vector on their device. They must not be moved again.

        Args:
            parameters: of one network; all are trained, or none.
        """
        sizes = [-(-parameter.numel() // _ALIGNED) * _ALIGNED for parameter in parameters]
        self.vector = nn.Parameter(torch.zeros(sum(sizes), device=parameters[0].device))
        gradient = torch.zeros_like(self.vector) if parameters[0].requires_grad else None
        self.vector.grad = gradient
        offset = 0
        for parameter, size in zip(parameters, sizes, strict=True):
            part = slice(offset, offset + parameter.numel())
            view = self.vector.detach()[part].view_as(parameter)
            view.copy_(parameter.detach())
            parameter.data = view
            if gradient is not None:
                # Backward passes add to a gradient that is there, in place.
                parameter.grad = gradient[part].view_as(parameter)
            offset += size

    @property
    def gradient(self) -> torch.Tensor:
        """Gradients of all parameters, shape (numbers,); 0 between them."""
        gradient = self.vector.grad
        assert gradient is not None
        return gradient
