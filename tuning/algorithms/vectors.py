"""All parameters of a network as one vector, and optimizers."""

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

_ALIGNED = 16  # numbers: a cache line, which products of matrices want to begin at


class FlatParameters:
    """All parameters of a network as one vector, which the network's own are views of, and their gradients likewise.

    Optimizer, norm, cut and the step of targets are then one operation each, which with small networks take longer to start
    than to run. `vector` has gaps that align the parameters, and its `grad` is always there if they are trained.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
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

    def cut(self, most: float | None) -> torch.Tensor:
        """Cut the gradients to a norm, None for none. Returns their norm before that, shape ()."""
        norm = self.gradient.norm()
        if most is not None:
            self.gradient.mul_((most / (norm + 1e-6)).clamp(max=1.0))
        return norm


# Torch's optimizers import its compiler, which takes 1.4 s of each process, only to tell it to leave them alone. Nothing here
# compiles them, so they are what they would be then.
for _name in ("add_param_group", "zero_grad", "state_dict", "load_state_dict"):
    _plain = inspect.unwrap(getattr(torch.optim.Optimizer, _name))
    _plain.__dict__["__dynamo_disable"] = _plain


def _plain_step(optimizer: type[torch.optim.Optimizer]) -> Any:
    """Torch's own step, which does not import the compiler either, and is not wrapped once more for hooks that nobody sets."""
    step = torch.no_grad()(inspect.unwrap(optimizer.step))
    step.__dict__["hooked"] = True
    return step


class Adam(torch.optim.Adam):
    """See `_plain_step`."""

    # The first step is taken before one is recorded, see `precision.Replayed`; torch would warn that it was not recorded.
    _warned_capturable_if_run_uncaptured = True

    step = _plain_step(torch.optim.Adam)


class RMSprop(torch.optim.RMSprop):
    """See `_plain_step`."""

    step = _plain_step(torch.optim.RMSprop)
