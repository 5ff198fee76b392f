"""A perceptron whose gradient is written out: autograd takes as long for its records of small layers as for their products."""

from collections.abc import Callable, Sequence

import torch
from torch import nn

_MINUS_ONE = torch.tensor(-1.0)


def _tanh(bias: torch.Tensor, inputs: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    # By the logistic function, 2 / (1 + exp(-2 x)) - 1, as torch's own takes more than twice as long on a CPU.
    logistic = torch.addmm(bias, inputs, weight.T, beta=2, alpha=2).sigmoid_()
    return torch.add(_MINUS_ONE, logistic, alpha=2.0, out=logistic)


def _relu(bias: torch.Tensor, inputs: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.addmm(bias, inputs, weight.T).relu_()


# Outputs of a layer, and what the activation's derivative, by its output, makes of a slope, in place.
_ACTIVATIONS: dict[type[nn.Module], tuple[Callable[..., torch.Tensor], Callable[..., torch.Tensor]]] = {
    nn.Tanh: (_tanh, lambda slope, output: torch.ops.aten.tanh_backward.grad_input(slope, output, grad_input=slope)),
    nn.ReLU: (
        _relu, lambda slope, output: torch.ops.aten.threshold_backward.grad_input(slope, output, 0.0, grad_input=slope),
    ),
}  # fmt: skip


class WrittenOut:
    """Hidden layers of one activation and a linear layer behind them, which it shares with their modules.

    It is called where autograd is off.
    """

    def __init__(self, layers: nn.Sequential, head: nn.Linear) -> None:
        self._layers = [*layers[::2], head]
        self._layer, self._derive_ = _ACTIVATIONS[type(layers[1])]

    @staticmethod
    def can(layers: nn.Module, head: nn.Module) -> bool:
        """Whether it computes what these do."""
        return isinstance(layers, nn.Sequential) and isinstance(head, nn.Linear) and type(layers[1]) in _ACTIVATIONS

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        """Outputs, shape (rows, outputs)."""
        return self.run(inputs)[-1]

    def run(self, inputs: torch.Tensor) -> list[torch.Tensor]:
        """What each layer gets, each of shape (rows, units), and the outputs."""
        *hidden, head = self._layers
        activations = [inputs]
        for layer in hidden:
            activations.append(self._layer(layer.bias, activations[-1], layer.weight))
        return [*activations, torch.addmm(head.bias, activations[-1], head.weight.T)]

    def add_gradient(self, run: Sequence[torch.Tensor], slope: torch.Tensor) -> None:
        """Add to the parameters' gradients, by the slope of what is minimised in the outputs of a `run`, of their shape."""
        for number in reversed(range(len(self._layers))):
            layer, inputs = self._layers[number], run[number]
            layer.weight.grad.addmm_(slope.T, inputs)
            layer.bias.grad.add_(slope.sum(dim=0))
            if number:
                slope = self._derive_(slope @ layer.weight, inputs)
