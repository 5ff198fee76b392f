"""Policy, critics and target critics of SAC (Haarnoja et al. 2018)."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchSquashedGaussian
from ray.rllib.core.rl_module.torch import TorchRLModule
from torch import nn

from tuning.algorithms.networks import ACTIVATIONS, perceptron

LOG_STD_MIN, LOG_STD_MAX = -20.0, 2.0  # as in the authors' code


@dataclass(frozen=True)
class SACShape:
    """What a `SACModule` looks like.

    Attributes:
        hidden_sizes: units of the hidden layers of each network.
        activation: of the hidden layers.
        ent_coef_initial: entropy coefficient at the start, where it is learned; None where it is fixed.
        compiled: whether what the learner computes goes through `torch.compile`.
        charger_actions: indices of the chargers' actions.
        initial_charging: mode of these at the start, within (-1, 1); see `ActorCriticShape`.
    """

    hidden_sizes: tuple[int, ...]
    activation: str
    ent_coef_initial: float | None = 1.0
    compiled: bool = False
    charger_actions: tuple[int, ...] = ()
    initial_charging: float = 0.0


class TwinCritics(nn.Module):
    """Two action value functions with the same layers, computed side by side by products of stacked matrices.

    Half as many operations as with one after the other, which is what takes the time on a GPU.
    """

    def __init__(self, inputs: int, sizes: Sequence[int], activation: str) -> None:
        """Start each as torch starts linear layers.

        Args:
            inputs: features and actions together.
            sizes: units of the hidden layers.
            activation: a name of `ACTIVATIONS`.
        """
        super().__init__()
        layers = [[nn.Linear(*pair) for _ in range(2)] for pair in zip((inputs, *sizes), (*sizes, 1), strict=True)]
        self.weights = nn.ParameterList(torch.stack([each.weight.detach().T for each in pair]) for pair in layers)
        self.biases = nn.ParameterList(torch.stack([each.bias.detach()[None] for each in pair]) for pair in layers)
        self.activation = ACTIVATIONS[activation]()
        overwrite_inputs(self)

    def forward(self, observations: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Values of actions.

        Args:
            observations: shape (rows, features).
            actions: within [-1, 1], shape (rows, actions).

        Returns:
            Shape (2, rows), float32.
        """
        inputs = torch.cat((observations, actions), dim=-1)
        hidden = inputs.expand(2, *inputs.shape)
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            # Not `baddbmm`: it first writes the biases to all rows.
            hidden = torch.bmm(hidden, weight).add_(bias)
            if i < last:
                hidden = self.activation(hidden)
        return hidden.squeeze(-1).float()


class SACModule(TorchRLModule):
    """Squashed Gaussian policy, twin critics and their targets, and the logarithm of the entropy coefficient.

    In place of RLlib's default SAC module, which encodes observation and action by networks of their own before it joins them,
    and computes each of its critics by itself.

    The module's `model_config` is `{"shape": SACShape}`.

    Attributes:
        policy: from observations to means and logarithms of deviations, before the squashing.
        critics: values of actions.
        targets: of the critics: follow them slowly, and are not trained.
        log_ent_coef: shape (); None where the entropy coefficient is fixed.
    """

    model_config: Any
    observation_space: gym.spaces.Box
    action_space: Any

    def setup(self) -> None:
        """Build the networks; called by RLlib."""
        shape: SACShape = self.model_config["shape"]
        self.shape = shape
        features, actions = self.observation_space.shape[0], self.action_space.shape[0]
        layers = perceptron(features, shape.hidden_sizes, shape.activation)
        output = nn.Linear(shape.hidden_sizes[-1], 2 * actions)
        with torch.no_grad():
            output.bias[list(shape.charger_actions)] += math.atanh(shape.initial_charging)
        self.policy = nn.Sequential(*layers, output)
        overwrite_inputs(self.policy)
        self.critics = TwinCritics(features + actions, shape.hidden_sizes, shape.activation)
        self.targets = copy.deepcopy(self.critics).requires_grad_(False)
        self.log_ent_coef: nn.Parameter | None = None
        if shape.ent_coef_initial is not None:
            self.log_ent_coef = nn.Parameter(torch.tensor(math.log(shape.ent_coef_initial)))
        self.action_dist_cls = TorchSquashedGaussian
        # Not by `Module.compile`, which would also compile what acts, with as many rows as there are environments.
        self.draw = torch.compile(self.draw_actions) if shape.compiled else self.draw_actions
        self.values = torch.compile(self.critics.__call__) if shape.compiled else self.critics.__call__
        self.target_values = torch.compile(self.targets.__call__) if shape.compiled else self.targets.__call__

    def parameters_of_distribution(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Means and logarithms of deviations of observations, each of shape (rows, actions), float32."""
        mean, log_std = self.policy(observations).float().chunk(2, dim=-1)
        return mean, log_std.clamp(LOG_STD_MIN, LOG_STD_MAX)

    def draw_actions(self, observations: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions as a differentiable function of the policy, and their log-probabilities (appendix C of the paper).

        Args:
            observations: shape (rows, features).
            noise: standard normal, shape (rows, actions).

        Returns:
            Actions within [-1, 1], shape (rows, actions), and log-probabilities, shape (rows,).
        """
        mean, log_std = self.parameters_of_distribution(observations)
        drawn = mean + log_std.exp() * noise
        # log(1 - tanh(u)^2), in a form that stays finite where the tangent is 1.
        squashing = 2.0 * (math.log(2.0) - drawn - nn.functional.softplus(-2.0 * drawn))
        logp = -0.5 * noise.square() - log_std - 0.5 * math.log(2.0 * math.pi) - squashing
        return drawn.tanh(), logp.sum(dim=-1)

    def act(self, observations: torch.Tensor, noise: torch.Tensor | None = None) -> torch.Tensor:
        """Actions within [-1, 1] for the environment, shape (rows, actions).

        Args:
            observations: shape (rows, features).
            noise: standard normal, shape (rows, actions); None for the mode.
        """
        mean, log_std = self.parameters_of_distribution(observations)
        return (mean if noise is None else mean + log_std.exp() * noise).tanh()

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Parameters of RLlib's squashed Gaussian."""
        return {Columns.ACTION_DIST_INPUTS: torch.cat(self.parameters_of_distribution(batch[Columns.OBS]), dim=-1)}

    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """The mode's actions, within [-1, 1]. RLlib's own mode of a squashed Gaussian is the mean before the squashing."""
        with torch.no_grad():
            return {Columns.ACTIONS: self.act(batch[Columns.OBS])}


def overwrite_inputs(layers: nn.Module) -> None:
    """Let rectifiers write over what they get, which no gradient needs; saves writing each activation to new memory."""
    for layer in layers.modules():
        if isinstance(layer, nn.ReLU):
            layer.inplace = True
