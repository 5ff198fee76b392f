"""Policy and value function of PPO and A2C."""

import math
from typing import Any

import gymnasium as gym
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical, TorchDiagGaussian, TorchMultiCategorical
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule
from torch import nn

from search_spaces import Assignment
from tuning.algorithms.memory import hidden_sizes
from tuning.algorithms.networks.layers import (
    SiteInputs,
    UncontrolledCharging,
    add_deviations,
    fix_deviations,
    initialize_orthogonally,
    output_layers,
    perceptron,
    policy_head,
)
from tuning.algorithms.networks.written_out import WrittenOut
from tuning.algorithms.precision import compiled


class ActorCriticModule(TorchRLModule, ValueFunctionAPI):
    """Policy and value function as perceptrons, for boxes of one dimension, a choice, or several choices at once.

    RLlib's own module has neither another initial deviation than 1 nor an orthogonal start, and takes more time in Python than
    for its arithmetic. `model_config` has hyperparameters as `h`, and `chargers` that share a network or None.
    """

    model_config: Any
    observation_space: gym.spaces.Box
    action_space: Any

    def setup(self) -> None:
        """Build the networks; called by RLlib."""
        h, chargers = self.model_config["h"], self.model_config["chargers"]
        sizes, features = hidden_sizes(h), self.observation_space.shape[0]
        self.site = SiteInputs(features, chargers) if chargers else None
        inputs = self.site.size if self.site else features
        self.policy_layers = perceptron(inputs, sizes, h["activation"])
        self.value_layers = self.policy_layers if h["shared_layers"] else perceptron(inputs, sizes, h["activation"])
        self.value_head = nn.Linear(sizes[-1], 1)
        self.log_std: nn.Parameter | None = None
        self.choices = _choices(self.action_space)
        if self.choices:
            several = TorchMultiCategorical.get_partial_dist_cls(space=self.action_space, input_lens=self.choices)  # type: ignore[misc]
            self.action_dist_cls = TorchCategorical if isinstance(self.action_space, gym.spaces.Discrete) else several
            self.policy_head: nn.Module = nn.Linear(sizes[-1], sum(self.choices))
        else:
            self.action_dist_cls = TorchDiagGaussian
            actions, outputs = self.action_space.shape[0], 2 if h["state_dependent_std"] else 1
            if outputs == 1:
                self.log_std = nn.Parameter(torch.full((actions,), h["log_std_init"]))
            self.policy_head = policy_head(inputs, sizes[-1], actions, outputs, chargers)
        if h["orthogonal_init"]:
            for layers in (self.policy_layers,) if h["shared_layers"] else (self.policy_layers, self.value_layers):
                initialize_orthogonally(layers, math.sqrt(2.0))
            initialize_orthogonally(self.policy_head, math.sqrt(2.0))
            # Actions begin near the middle of their range, whatever is observed.
            for output in output_layers(self.policy_head):
                initialize_orthogonally(output, 0.01)
            initialize_orthogonally(self.value_head, 1.0)
        if self.action_dist_cls is TorchDiagGaussian and h["state_dependent_std"]:
            add_deviations(self.policy_head, h["log_std_init"])
        if chargers:
            self.charging = UncontrolledCharging(self.action_space.shape[0], h["initial_charging"], chargers)
        self.written_out = self._written_out(h)
        # Not by `Module.compile`, which would put other names into the state.
        self._policy, self._values = (compiled(function, h) for function in (self._policy_inputs, self._value))

    def _written_out(self, h: Assignment) -> tuple[WrittenOut, WrittenOut] | None:
        """Means of normal actions and values, with gradients written out; None for networks that are no two perceptrons."""
        parts = ((self.policy_layers, self.policy_head), (self.value_layers, self.value_head))
        if h["bf16"] or h["torch_compile"] or h["shared_layers"] or self.site or self.log_std is None:
            return None
        return tuple(WrittenOut(*part) for part in parts) if all(WrittenOut.can(*part) for part in parts) else None  # type: ignore

    def _policy_inputs(self, observations: torch.Tensor) -> torch.Tensor:
        if self.site is None:
            return self._with_deviations(self.policy_head(self.policy_layers(observations)))
        site, each = self.site(observations)
        outputs = self._with_deviations(self.policy_head(self.policy_layers(site), site, each))
        means, log_stds = outputs.chunk(2, dim=-1)
        return torch.cat((means + self.charging(each), log_stds), dim=-1)

    def mode(self, observations: torch.Tensor) -> torch.Tensor:
        """The most likely actions; not compiled."""
        inputs = self._policy_inputs(observations).float()
        if not self.choices:
            return inputs.chunk(2, dim=-1)[0]
        chosen = torch.stack([logits.argmax(dim=-1) for logits in inputs.split(self.choices, dim=-1)], dim=-1)
        return chosen.squeeze(-1) if self.action_dist_cls is TorchCategorical else chosen

    def set_deviations(self, log_std: float) -> None:
        """Give all actions one deviation, whatever is observed; it is trained from there."""
        if self.log_std is None:
            fix_deviations(self.policy_head, log_std)
        else:
            nn.init.constant_(self.log_std, log_std)

    def policy_parameters(self) -> list[nn.Parameter]:
        """What the policy's means depend on."""
        return [*self.policy_layers.parameters(), *self.policy_head.parameters()]

    def value_parameters(self) -> list[nn.Parameter]:
        """What the values depend on and the policy does not."""
        layers = [] if self.value_layers is self.policy_layers else [*self.value_layers.parameters()]
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


def _choices(space: Any) -> list[int]:
    """Number of options of each choice; none where actions are numbers."""
    if isinstance(space, gym.spaces.Discrete):
        return [int(space.n)]
    return [int(n) for n in space.nvec] if isinstance(space, gym.spaces.MultiDiscrete) else []
