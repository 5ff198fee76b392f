"""Layers that the algorithms' networks are made of."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from envs.observation import ChargerGroups

CHARGER_UNITS = 32  # of the network that reads one charger: it has some four features
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


class ChargerLayers(nn.Module):
    """Hidden layers that read every charger with the same weights.

    A perceptron would have to learn anew for each of a hundred chargers what a full battery or a departure in an hour mean.
    Here a small network reads each charger's features, and the hidden layers read what belongs to no charger beside the mean
    of what it says (Zaheer et al. 2017, "Deep Sets"). A vector of its own for each charger lets kinds of chargers differ.
    """

    features: torch.Tensor
    others: torch.Tensor

    def __init__(self, inputs: int, sizes: Sequence[int], activation: str, groups: ChargerGroups) -> None:
        """Make the layers.

        Args:
            inputs: features of the observation.
            sizes: units of the hidden layers.
            activation: a name of `ACTIVATIONS`.
            groups: S chargers with F features each.
        """
        super().__init__()
        features = torch.tensor(groups.observations)
        others = sorted(set(range(inputs)) - set(features.flatten().tolist()))
        self.register_buffer("features", features, persistent=False)
        self.register_buffer("others", torch.tensor(others, dtype=torch.int64), persistent=False)
        self.own = nn.Parameter(torch.zeros(len(features), CHARGER_UNITS))
        self.read = nn.Linear(features.shape[1], CHARGER_UNITS)
        self.again = nn.Linear(CHARGER_UNITS, CHARGER_UNITS)
        self.hidden = perceptron(len(others) + CHARGER_UNITS, sizes, activation)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Last hidden layer, shape (rows, units), and what was read of each charger, shape (rows, S, CHARGER_UNITS)."""
        each = torch.relu(self.read(observations[:, self.features]) + self.own)
        each = torch.relu(self.again(each))
        hidden: torch.Tensor = self.hidden(torch.cat((observations[:, self.others], each.mean(dim=1)), dim=1))
        return hidden, each


class ChargerHead(nn.Module):
    """Output layer for `ChargerLayers`: a few outputs for each action, the chargers' from shared weights."""

    order: torch.Tensor

    def __init__(self, units: int, actions: int, outputs: int, groups: ChargerGroups) -> None:
        """Make the layers.

        Args:
            units: of the last hidden layer.
            actions: altogether.
            outputs: for each action.
            groups: S chargers.
        """
        super().__init__()
        others = sorted(set(range(actions)) - set(groups.actions))
        order = torch.tensor([*others, *groups.actions]).argsort()
        self.register_buffer("order", order, persistent=False)
        self.outputs = outputs
        self.site_actions = nn.Linear(units, len(others) * outputs)
        self.site = nn.Linear(units, CHARGER_UNITS)
        self.charger = nn.Linear(CHARGER_UNITS, CHARGER_UNITS)
        self.last = nn.Linear(CHARGER_UNITS, outputs)

    def forward(self, hidden: torch.Tensor, each: torch.Tensor) -> torch.Tensor:
        """Outputs, shape (rows, outputs * actions): those of one kind for all actions, then those of the next."""
        chargers = self.last(torch.relu(self.site(hidden)[:, None] + self.charger(each)))
        others = self.site_actions(hidden).reshape(len(hidden), -1, self.outputs)
        both: torch.Tensor = torch.cat((others, chargers), dim=1)[:, self.order]
        return both.transpose(1, 2).reshape(len(hidden), -1)


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
