"""Layers that the algorithms' networks are made of."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU, "silu": nn.SiLU}


def perceptron(inputs: int, sizes: Sequence[int], activation: str) -> nn.Sequential:
    """Linear layers, each followed by the activation.

    Args:
        inputs: features of the input.
        sizes: units of the layers.
        activation: a name of `ACTIVATIONS`.
    """
    layers: list[nn.Module] = []
    for before, size in zip((inputs, *sizes), sizes, strict=False):
        layers += [nn.Linear(before, size), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers)


def layer_sizes(layers: nn.Module) -> tuple[int, ...]:
    """Units of the linear layers."""
    return tuple(layer.out_features for layer in layers.modules() if isinstance(layer, nn.Linear))


def activation_of(layers: nn.Module) -> str:
    """Name of the activation between layers."""
    return next(name for name, kind in ACTIVATIONS.items() if any(isinstance(layer, kind) for layer in layers.modules()))


def initialize_orthogonally(layers: nn.Module, gain: float) -> None:
    """Orthogonal weights and biases of 0 (Saxe et al. 2014).

    Args:
        layers: those that are linear get them.
        gain: norm of a row.
    """
    for layer in layers.modules():
        if isinstance(layer, nn.Linear):
            nn.init.orthogonal_(layer.weight, gain)
            nn.init.zeros_(layer.bias)


def gradient_norm(parameters: Sequence[torch.Tensor]) -> torch.Tensor:
    """Euclidean norm of all gradients together, shape ()."""
    return nn.utils.get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
