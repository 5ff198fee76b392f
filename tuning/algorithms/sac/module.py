"""Policy, critics and target critics of SAC (Haarnoja et al. 2018)."""

import copy
import math
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import torch
from ray.rllib.core.rl_module.torch import TorchRLModule
from torch import nn

from envs.observation import ChargerGroups
from search_spaces import Assignment
from tuning.algorithms.memory import hidden_sizes
from tuning.algorithms.networks.layers import (
    ACTIVATIONS,
    ChargerNetwork,
    SiteInputs,
    UncontrolledCharging,
    add_deviations,
    fix_deviations,
    other_actions,
    perceptron,
    policy_head,
)
from tuning.algorithms.precision import compiled

# The squashing never reaches the ends of the range, and its slope is all but gone where it comes near.
MOST_CHARGING = 0.99
LOG_STD_MIN, LOG_STD_MAX = -20.0, 2.0  # as in the authors' code


class TwinCritics(nn.Module):
    """Two action value functions with the same layers, computed side by side by products of stacked matrices.

    Half as many operations as with one after the other, which is what takes the time on a GPU.
    """

    def __init__(self, inputs: int, sizes: Sequence[int], activation: str) -> None:
        super().__init__()
        layers = [[nn.Linear(*pair) for _ in range(2)] for pair in zip((inputs, *sizes), (*sizes, 1), strict=True)]
        self.weights = nn.ParameterList(torch.stack([each.weight.detach().T for each in pair]) for pair in layers)
        self.biases = nn.ParameterList(torch.stack([each.bias.detach()[None] for each in pair]) for pair in layers)
        self._layers = list(zip(self.weights, self.biases, strict=True))  # to index the lists takes as long as a small layer
        self.activation = ACTIVATIONS[activation]()
        overwrite_inputs(self)

    def forward(self, observations: torch.Tensor, actions: torch.Tensor, least: bool = False) -> torch.Tensor:
        """Values of actions within [-1, 1], shape (2, rows), or (rows,) of the smaller with `least`; float32."""
        inputs = torch.cat((observations, actions), dim=-1)
        hidden = inputs.expand(2, *inputs.shape)
        *layers, (output, bias) = self._layers
        for weights, biases in layers:
            # Not `baddbmm`: it first writes the biases to all rows.
            hidden = self.activation(torch.bmm(hidden, weights).add_(biases))
        # One product with both output columns: two stacked ones of a single column take ten times as long on a CPU.
        both = (hidden.flatten(0, 1) @ output.squeeze(-1).T).unflatten(0, hidden.shape[:2])
        values = (both.diagonal(dim1=0, dim2=2).T + bias.squeeze(-1)).float()
        return values.amin(dim=0) if least else values


class SiteCritics(nn.Module):
    """Two action value functions of a site with chargers: of the site `TwinCritics`, of the chargers the mean over them.

    What a charger does hardly depends on its neighbours, so a `ChargerNetwork` sees each one's features, its action, and what
    the uncontrolled site would do. A charger that does less will lack something; without that, critics long see only the costs.
    """

    def __init__(self, inputs: int, actions: int, h: Assignment, chargers: ChargerGroups) -> None:
        super().__init__()
        others = other_actions(actions, chargers)
        self.others = nn.Buffer(torch.tensor(others, dtype=torch.int64), persistent=False)
        self.actions = nn.Buffer(torch.tensor(chargers.actions), persistent=False)
        self.inputs = SiteInputs(inputs, chargers)
        self.site = TwinCritics(self.inputs.size + len(others) + 1, hidden_sizes(h), str(h["activation"]))
        self.charging = UncontrolledCharging(actions, 1.0, chargers)
        features = len(chargers.observations[0]) + 2
        self.chargers = nn.ModuleList(
            ChargerNetwork(self.inputs.size, features, len(chargers.actions), outputs=1) for _ in range(2)
        )

    def forward(self, observations: torch.Tensor, actions: torch.Tensor, least: bool = False) -> torch.Tensor:
        """Values of actions; see `TwinCritics`. The smaller is that of each charger by itself.

        With the smaller of both sums a policy would find, for each of a hundred chargers, where one critic is too hopeful.
        """
        site, each = self.inputs(observations)
        charging = actions.index_select(1, self.actions)
        uncontrolled = self.charging(each).index_select(1, self.actions)
        each = torch.cat((each, uncontrolled[:, None], charging[:, None]), dim=1)
        site_actions = torch.cat((actions.index_select(1, self.others), charging.mean(dim=1, keepdim=True)), dim=1)
        values: torch.Tensor = self.site(site, site_actions, least)
        of_chargers = torch.stack([network(site, each).squeeze(1).float() for network in self.chargers])
        return values + (of_chargers.amin(dim=0) if least else of_chargers).mean(dim=-1)


class SACModule(TorchRLModule):
    """Squashed Gaussian policy, twin critics and their targets, and the logarithm of the entropy coefficient.

    RLlib's own module encodes observation and action by networks of their own, and computes each critic by itself.
    `model_config` has hyperparameters as `h`, and `chargers` that share networks or None. `log_ent_coef` is None where the
    coefficient is fixed.
    """

    model_config: Any
    observation_space: gym.spaces.Box
    action_space: Any

    def setup(self) -> None:
        """Build the networks; called by RLlib."""
        h, chargers = self.model_config["h"], self.model_config["chargers"]
        sizes, features, actions = hidden_sizes(h), self.observation_space.shape[0], self.action_space.shape[0]
        self.site = SiteInputs(features, chargers) if chargers else None
        inputs = self.site.size if self.site else features
        self.policy_layers = perceptron(inputs, sizes, h["activation"])
        self.policy_head = policy_head(inputs, sizes[-1], actions, 2, chargers)
        if chargers:
            self.charging = UncontrolledCharging(actions, h["initial_charging"], chargers, MOST_CHARGING)
            self.critics: nn.Module = SiteCritics(features, actions, h, chargers)
        else:
            self.critics = TwinCritics(features + actions, sizes, h["activation"])
        add_deviations(self.policy_head, h["log_std_init"])
        overwrite_inputs(self.policy_layers)
        self.targets = copy.deepcopy(self.critics).requires_grad_(False)
        self.log_ent_coef: nn.Parameter | None = None
        if h["ent_coef"] is None:
            self.log_ent_coef = nn.Parameter(torch.tensor(math.log(h["ent_coef_initial"])))
        # Not by `Module.compile`, which would also compile what acts, with as many rows as there are environments.
        self.draw = compiled(self.draw_actions, h)
        self.values, self.target_values = (compiled(network.__call__, h) for network in (self.critics, self.targets))

    def policy_parameters(self) -> list[nn.Parameter]:
        """What the policy's gradient moves."""
        return [*self.policy_layers.parameters(), *self.policy_head.parameters()]

    def set_deviations(self, log_std: float) -> None:
        """Give all actions one deviation before the squashing, whatever is observed; it is trained from there."""
        fix_deviations(self.policy_head, log_std)

    def parameters_of_distribution(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Means and logarithms of deviations of observations, each of shape (rows, actions), float32."""
        if self.site is None:
            mean, log_std = self.policy_head(self.policy_layers(observations)).float().chunk(2, dim=-1)
        else:
            site, each = self.site(observations)
            mean, log_std = self.policy_head(self.policy_layers(site), site, each).float().chunk(2, dim=-1)
            mean = mean + self.charging(each).atanh()
        return mean, log_std.clamp(LOG_STD_MIN, LOG_STD_MAX)

    def draw_actions(self, observations: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions within [-1, 1] of normal noise, shape (rows, actions), and log-probabilities (appendix C), shape (rows,)."""
        mean, log_std = self.parameters_of_distribution(observations)
        drawn = mean + log_std.exp() * noise
        # log(1 - tanh(u)^2), in a form that stays finite where the tangent is 1.
        squashing = 2.0 * (math.log(2.0) - drawn - nn.functional.softplus(-2.0 * drawn))
        logp = -0.5 * noise.square() - log_std - 0.5 * math.log(2.0 * math.pi) - squashing
        return drawn.tanh(), logp.sum(dim=-1)

    def act(self, observations: torch.Tensor, noise: torch.Tensor | None = None) -> torch.Tensor:
        """Actions within [-1, 1], shape (rows, actions), by standard normal noise of that shape; without noise the mode."""
        mean, log_std = self.parameters_of_distribution(observations)
        return (mean if noise is None else mean + log_std.exp() * noise).tanh()


def overwrite_inputs(layers: nn.Module) -> None:
    """Let rectifiers write over what they get, which no gradient needs; saves writing each activation to new memory."""
    for layer in layers.modules():
        if isinstance(layer, nn.ReLU):
            layer.inplace = True
