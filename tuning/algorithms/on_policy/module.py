"""Policy and value function of PPO and A2C."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical, TorchDiagGaussian
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule
from torch import nn

from envs.observation import ChargerGroups
from tuning.algorithms.networks.layers import (
    ChargerHead,
    SiteInputs,
    UncontrolledCharging,
    fix_deviations,
    initialize_orthogonally,
    output_layers,
    perceptron,
)
from tuning.algorithms.precision import compiled


@dataclass(frozen=True)
class ActorCriticShape:
    """What an `ActorCriticModule` looks like.

    Attributes:
        chargers: of the site, for which a network acts that they share; None where there are fewer than two.
    """

    hidden_sizes: tuple[int, ...]  # units of the hidden layers
    activation: str
    shared: bool = False  # whether policy and value function have their hidden layers in common
    state_dependent_std: bool = False  # whether the actions' deviations follow from the observation; else they are parameters
    log_std_init: float = 0.0  # logarithm of the deviations at the start
    orthogonal: bool = True  # whether layers start orthogonal, those of the policy's output small; else as torch has them
    compiled: bool = False  # whether the forward passes go through `torch.compile`
    cuda_graphs: bool = False  # whether these are replayed as CUDA graphs
    chargers: ChargerGroups | None = None
    initial_charging: float = 0.0  # see `UncontrolledCharging`


class ActorCriticModule(TorchRLModule, ValueFunctionAPI):
    """Policy and value function as perceptrons, for boxes of one dimension or discrete actions.

    RLlib's own module has neither another initial deviation than 1 nor an orthogonal start, and takes more time in Python than
    for its arithmetic. `model_config` is `{"shape": ActorCriticShape}`.
    """

    model_config: Any
    observation_space: gym.spaces.Box
    action_space: Any

    def setup(self) -> None:
        """Build the networks; called by RLlib."""
        shape: ActorCriticShape = self.model_config["shape"]
        self.shape = shape
        features = self.observation_space.shape[0]
        self.site = SiteInputs(features, shape.chargers) if shape.chargers else None
        self._inputs = self.site.size if self.site else features
        self.policy_layers = perceptron(self._inputs, shape.hidden_sizes, shape.activation)
        self.value_layers = (
            self.policy_layers if shape.shared else perceptron(self._inputs, shape.hidden_sizes, shape.activation)
        )
        last = shape.hidden_sizes[-1]
        self.value_head = nn.Linear(last, 1)
        self.log_std: nn.Parameter | None = None
        if isinstance(self.action_space, gym.spaces.Discrete):
            self.action_dist_cls = TorchCategorical
            self.policy_head: nn.Module = nn.Linear(last, int(self.action_space.n))
        else:
            self.action_dist_cls = TorchDiagGaussian
            self.policy_head = self._gaussian_head(last)
        if shape.orthogonal:
            for layers in (self.policy_layers,) if shape.shared else (self.policy_layers, self.value_layers):
                initialize_orthogonally(layers, math.sqrt(2.0))
            initialize_orthogonally(self.policy_head, math.sqrt(2.0))
            # Actions begin near the middle of their range, whatever is observed.
            for output in output_layers(self.policy_head):
                initialize_orthogonally(output, 0.01)
            initialize_orthogonally(self.value_head, 1.0)
        if self.action_dist_cls is TorchDiagGaussian and shape.state_dependent_std:
            with torch.no_grad():
                for output in output_layers(self.policy_head):
                    # The deviations are the second half of a layer's outputs.
                    output.bias[output.out_features // 2 :] += shape.log_std_init
        if shape.chargers:
            self.charging = UncontrolledCharging(self.action_space.shape[0], shape.initial_charging, shape.chargers)
        # Not by `Module.compile`, which would put other names into the state.
        self._policy = compiled(self._policy_inputs, shape.cuda_graphs) if shape.compiled else self._policy_inputs
        self._values = compiled(self._value, shape.cuda_graphs) if shape.compiled else self._value

    def _gaussian_head(self, units: int) -> nn.Module:
        shape, actions = self.shape, self.action_space.shape[0]
        outputs = 2 if shape.state_dependent_std else 1
        if not shape.state_dependent_std:
            self.log_std = nn.Parameter(torch.full((actions,), shape.log_std_init))
        if shape.chargers:
            return ChargerHead(self._inputs, units, actions, outputs, shape.chargers)
        return nn.Linear(units, outputs * actions)

    def _policy_inputs(self, observations: torch.Tensor) -> torch.Tensor:
        if self.site is None:
            return self._with_deviations(self.policy_head(self.policy_layers(observations)))
        site, each = self.site(observations)
        outputs = self._with_deviations(self.policy_head(self.policy_layers(site), site, each))
        means, log_stds = outputs.chunk(2, dim=-1)
        return torch.cat((means + self.charging(each), log_stds), dim=-1)

    def means(self, observations: torch.Tensor) -> torch.Tensor:
        """Means of the actions' distribution, its mode, shape (rows, actions), float32; not compiled."""
        return self._policy_inputs(observations).float().chunk(2, dim=-1)[0]

    def set_deviations(self, log_std: float) -> None:
        """Give all actions one deviation, whatever is observed; it is trained from there."""
        if self.log_std is None:
            fix_deviations(self.policy_head, log_std)
        else:
            nn.init.constant_(self.log_std, log_std)

    def mean_parameters(self) -> list[nn.Parameter]:
        """What the policy's means depend on."""
        return [*self.policy_layers.parameters(), *self.policy_head.parameters()]

    def value_parameters(self) -> list[nn.Parameter]:
        """What the values depend on and the policy does not."""
        layers = [] if self.shape.shared else [*self.value_layers.parameters()]
        return [*layers, *self.value_head.parameters()]

    def plain_values(self, observations: torch.Tensor) -> torch.Tensor:
        """Values of observations, shape (rows,), float32; not compiled."""
        return self._value(observations).float()

    def _with_deviations(self, outputs: torch.Tensor) -> torch.Tensor:
        return outputs if self.log_std is None else torch.cat((outputs, self.log_std.expand_as(outputs)), dim=-1)

    def _value(self, observations: torch.Tensor) -> torch.Tensor:
        inputs = observations if self.site is None else self.site(observations)[0]
        values: torch.Tensor = self.value_head(self.value_layers(inputs))
        return values.squeeze(-1)

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Parameters of the actions' distribution, shape (rows, parameters), float32 whatever the precision of the layers."""
        return {Columns.ACTION_DIST_INPUTS: self._policy(batch[Columns.OBS]).float()}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Values of observations, shape (rows,), float32."""
        return self._values(batch[Columns.OBS]).float()
