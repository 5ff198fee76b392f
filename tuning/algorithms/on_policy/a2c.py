"""Advantage actor-critic (Mnih et al. 2016), the synchronous one: one gradient step over each rollout."""

from __future__ import annotations

from typing import Any

import torch
from ray.rllib.algorithms.algorithm import Algorithm

from search_spaces import Assignment
from tuning.algorithms.on_policy.batch import Batch
from tuning.algorithms.on_policy.learner import Loss, OnPolicy, OnPolicyConfig, OnPolicyLearner
from tuning.algorithms.on_policy.trainer import OnPolicyTrainer
from tuning.algorithms.rllib_learner import Sums

OPTIMIZERS = {"rmsprop": torch.optim.RMSprop, "adam": torch.optim.Adam}


class A2CConfig(OnPolicyConfig):
    """Configuration of `A2CTrainer`'s algorithm. RLlib has had none since its new API stack."""

    optimizer_name = "rmsprop"
    chunk: int | None = None  # transitions of which activations are in memory at once; None for all of a rollout

    def __init__(self, algo_class: type[Algorithm] | None = None) -> None:
        super().__init__(algo_class=algo_class or OnPolicy)
        self.training(num_epochs=1, minibatch_size=None, use_kl_loss=False)

    def get_default_learner_class(self) -> type[A2CLearner]:
        """See `AlgorithmConfig`."""
        return A2CLearner


class A2CLearner(OnPolicyLearner):
    """One gradient step over a rollout, its gradient summed up over chunks."""

    config: A2CConfig

    def make_optimizer(self, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """See `OnPolicyLearner`."""
        rate = self.config.learning_rate.initial
        if self.config.optimizer_name == "adam":
            return torch.optim.Adam(parameters, lr=rate, eps=1e-5, fused=True)
        return torch.optim.RMSprop(parameters, lr=rate, alpha=0.99, eps=1e-5)

    def learn(self, batch: Batch) -> Sums:
        """See `OnPolicyLearner`."""
        sums = Sums()
        self.optimizer.zero_grad(set_to_none=True)
        found = self.gradient(batch, self.config.chunk)
        sums.add({**found, "gradient_norm": self.step()})
        return sums

    def loss(self, batch: Batch, inputs: torch.Tensor, values: torch.Tensor) -> Loss:
        """See `OnPolicyLearner`."""
        now = self.distribution(inputs)
        policy = -(batch.advantages * now.logp(batch.actions)).mean()
        value = (values - batch.targets).square().mean()
        entropy = now.entropy().mean()
        total = policy + self.config.vf_loss_coeff * value - self.entropy_coefficient * entropy
        terms = {"policy_loss": policy, "value_loss": value, "entropy": entropy}
        return Loss(total, {name: term.detach() for name, term in terms.items()})


class A2CTrainer(OnPolicyTrainer):
    """A2C by its hyperparameters."""

    def own_configuration(self, h: dict[str, Any]) -> A2CConfig:
        """See `OnPolicyTrainer`."""
        config = A2CConfig()
        config.optimizer_name, config.chunk = h["optimizer"], h["batch_size"]
        return config

    def used(self) -> Assignment:
        """See `Trainer`."""
        config: Any = self.learner.config
        kind = type(self.learner.optimizer)
        return {
            **super().used(),
            "batch_size": config.chunk,
            "optimizer": next(name for name, optimizer in OPTIMIZERS.items() if optimizer is kind),
        }
