"""Layers that the algorithms' networks are made of, and a policy's mode as one network."""

from collections.abc import Callable, Sequence

import torch
from numpy.typing import ArrayLike
from torch import nn

from envs.observation import ChargerGroups, Charging
from tuning.algorithms.memory import CHARGER_UNITS
from tuning.algorithms.networks.shared_network import shared_network
from tuning.algorithms.preprocessing import FrozenNormalizer

# Factor of the means of chargers' actions. Adam moves all weights alike, however little they matter. Without the factor, noise
# would lead a hundred chargers astray long before a battery has learned.
CHARGER_PACE = 0.1
ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU, "silu": nn.SiLU}


def perceptron(inputs: int, sizes: Sequence[int], activation: str) -> nn.Sequential:
    """Linear layers, each followed by the activation."""
    layers: list[nn.Module] = []
    for before, size in zip((inputs, *sizes), sizes, strict=False):
        layers += [nn.Linear(before, size), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers)


def buffer(values: ArrayLike) -> nn.Buffer:
    """Numbers that belong to a site and not to what is learned, in single precision."""
    return nn.Buffer(torch.tensor(values, dtype=torch.float32), persistent=False)


class UncontrolledCharging(nn.Module):
    """What policies of a site with chargers start from: vehicles are charged while they lack something.

    `initial_charging` is the action while a vehicle lacks as much as an hour at full power gives; the less it lacks, the nearer
    to the one at which nothing flows. Where observations do not tell what it lacks, it is the action at all times. One charger
    barely moves the reward, so full-power charging is not learned within 500,000 steps.
    """

    def __init__(self, actions: int, initial_charging: float, groups: ChargerGroups, limit: float = 1.0) -> None:
        super().__init__()
        self.initial_charging, self.limit = initial_charging, limit
        charging = groups.uncontrolled or tuple(Charging(1.0, (0.0,) * len(places), 0.0) for places in groups.observations)
        self.order = _ActionOrder(actions, groups)
        self.weights = nn.Buffer(torch.tensor([each.weights for each in charging]).T.contiguous(), persistent=False)
        self.bias = nn.Buffer(torch.tensor([each.bias for each in charging]), persistent=False)
        self.idle = nn.Buffer(torch.tensor([each.idle for each in charging]), persistent=False)

    def forward(self, each: torch.Tensor) -> torch.Tensor:
        """Actions within [-limit, limit], 0 where not a charger's, shape (rows, actions), of features of shape (rows, F, S)."""
        with torch.no_grad():
            power = ((each * self.weights).sum(dim=1) + self.bias).clamp(0.0, 1.0)
            charging = (self.idle + power * (self.initial_charging - self.idle)).clamp(-self.limit, self.limit)
            return self.order(each.new_zeros((each.shape[0], self.order.others)), charging)


class SiteInputs(nn.Module):
    """The site's own features, and each kind of its chargers' features as the mean over all of them.

    With the features of single chargers a battery needs 500,000 steps to learn what it learns without them in 100,000.
    """

    def __init__(self, inputs: int, groups: ChargerGroups) -> None:
        super().__init__()
        kinds = torch.tensor(groups.observations).T
        others = sorted(set(range(inputs)) - set(kinds.flatten().tolist()))
        self.others, self.kinds = len(others), tuple(kinds.shape)
        self.order = nn.Buffer(torch.tensor([*others, *kinds.flatten().tolist()]), persistent=False)
        self.size = len(others) + len(kinds)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Of the site, shape (rows, size), and of the chargers, shape (rows, F, S)."""
        # One copy of all in order; an index for each would take ten times as long.
        ordered = observations.index_select(1, self.order)
        each = ordered[:, self.others :].unflatten(1, self.kinds)
        return torch.cat((ordered[:, : self.others], each.mean(dim=2)), dim=1), each


class ChargerNetwork(nn.Module):
    """One small network for each of the chargers, with the same weights, and a vector for each that lets kinds differ."""

    def __init__(self, site: int, features: int, chargers: int, outputs: int) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.zeros(CHARGER_UNITS, chargers))
        self.charger = nn.Linear(features, CHARGER_UNITS, bias=False)
        self.site = nn.Linear(site, CHARGER_UNITS)
        self.last = nn.Linear(CHARGER_UNITS, outputs)

    def forward(self, site: torch.Tensor, each: torch.Tensor) -> torch.Tensor:
        """Outputs of features of the site, shape (rows, site), and of S chargers, shape (rows, F, S): (rows, outputs, S)."""
        last = self.last
        return shared_network(each, self.charger.weight, self.own, self.site(site), last.weight, last.bias)


class ChargerHead(nn.Module):
    """Output layer behind a perceptron that sees the site, where a `ChargerNetwork` acts for the chargers.

    That has no layer in common with the site's other actions: what a hundred chargers want of it would only be noise to these.
    """

    def __init__(self, site: int, units: int, actions: int, outputs: int, groups: ChargerGroups) -> None:
        super().__init__()
        self.outputs, self.order = outputs, _ActionOrder(actions, groups)
        self.site_actions = nn.Linear(units, self.order.others * outputs)
        self.chargers = ChargerNetwork(site, len(groups.observations[0]), len(groups.actions), outputs)

    def forward(self, hidden: torch.Tensor, site: torch.Tensor, each: torch.Tensor) -> torch.Tensor:
        """Outputs for each action, shape (rows, outputs * actions): first the means of all, then those of the next kind."""
        others, chargers = self.site_actions(hidden).chunk(self.outputs, dim=1), self.chargers(site, each)
        means = self.order(others[0], CHARGER_PACE * chargers[:, 0])
        return torch.cat([means, *(self.order(others[i], chargers[:, i]) for i in range(1, self.outputs))], dim=1)


class _ActionOrder(nn.Module):
    """Puts the site's actions and the chargers' into the environment's order."""

    def __init__(self, actions: int, groups: ChargerGroups) -> None:
        super().__init__()
        given = [*other_actions(actions, groups), *groups.actions]
        self.others, self.sorted = actions - len(groups.actions), given == sorted(given)
        self.order = nn.Buffer(torch.tensor(given).argsort(), persistent=False)

    def forward(self, others: torch.Tensor, chargers: torch.Tensor) -> torch.Tensor:
        """Both together, shape (rows, actions)."""
        both = torch.cat((others, chargers), dim=1)
        # CityLearn lists a building's battery before its chargers.
        return both if self.sorted else both.index_select(1, self.order)


def policy_head(site: int, units: int, actions: int, outputs: int, groups: ChargerGroups | None) -> nn.Module:
    """Output layer of a policy, see `ChargerHead` for `groups` of chargers."""
    return ChargerHead(site, units, actions, outputs, groups) if groups else nn.Linear(units, outputs * actions)


def output_layers(head: nn.Module) -> tuple[nn.Linear, ...]:
    """The layers that give a policy's outputs: means, then logarithms of deviations."""
    if isinstance(head, ChargerHead):
        return head.site_actions, head.chargers.last
    assert isinstance(head, nn.Linear)
    return (head,)


def add_deviations(head: nn.Module, log_std: float) -> None:
    """Move the logarithms of the actions' deviations, which are the second half of a layer's outputs."""
    with torch.no_grad():
        for output in output_layers(head):
            output.bias[output.out_features // 2 :] += log_std


def fix_deviations(head: nn.Module, log_std: float) -> None:
    """Give all actions one deviation, by its logarithm, whatever is observed; it is trained from there."""
    with torch.no_grad():
        for output in output_layers(head):
            output.weight[output.out_features // 2 :] = 0.0
            output.bias[output.out_features // 2 :] = log_std


def other_actions(actions: int, groups: ChargerGroups) -> list[int]:
    """Indices of the actions that are no charger's, of so many."""
    return sorted(set(range(actions)) - set(groups.actions))


def layer_sizes(layers: nn.Module) -> tuple[int, ...]:
    """Units of the linear layers."""
    return tuple(layer.out_features for layer in layers.modules() if isinstance(layer, nn.Linear))


def activation_of(layers: nn.Module) -> str:
    """Name of the activation between layers."""
    return next(name for name, kind in ACTIVATIONS.items() if any(isinstance(layer, kind) for layer in layers.modules()))


def initialize_orthogonally(layers: nn.Module, gain: float) -> None:
    """Orthogonal weights and biases of 0 (Saxe et al. 2014)."""
    for layer in layers.modules():
        if isinstance(layer, nn.Linear):
            nn.init.orthogonal_(layer.weight, gain)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


class ModeNetwork(nn.Module):
    """From what an environment shows to what it takes, with the statistics as they were when it was made."""

    def __init__(self, preprocess: FrozenNormalizer, network: nn.Module, act: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.mean, self.scale = nn.Buffer(torch.tensor(preprocess.mean)), nn.Buffer(torch.tensor(preprocess.scale))
        self.limit, self.network, self._act = preprocess.clip, network, act

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Actions, shape (rows, actions). `observations` has shape (rows, features), float32."""
        return self._act(((observations - self.mean) * self.scale).clamp(-self.limit, self.limit))
