"""From an assignment of hyperparameters to PPO or A2C, and back."""

from typing import ClassVar

import numpy as np
import torch
from torch import nn

from search_spaces import Assignment
from tuning.algorithms.imitation import LOG_STD, Demonstrated, fit, off_range
from tuning.algorithms.networks.layers import ModeNetwork
from tuning.algorithms.on_policy.env_runner import RolloutRunner
from tuning.algorithms.on_policy.learner import OPTIMIZERS, A2CLearner, OnPolicy, OnPolicyLearner, PPOLearner
from tuning.algorithms.on_policy.module import ActorCriticModule
from tuning.algorithms.rllib_trainer import RLlibTrainer

ROUNDS = 2  # of the values of a copy: returns end at the values of the round before


class OnPolicyTrainer(RLlibTrainer):
    """PPO or A2C, with environments and the learner in this process."""

    algorithm_class, runner_class, module_class = OnPolicy, RolloutRunner, ActorCriticModule
    read: ClassVar[tuple[str, ...]] = (
        "n_steps", "batch_size", "gamma", "gae_lambda", "vf_coef", "max_grad_norm", "normalize_advantage", "orthogonal_init",
        "learning_rate_schedule", "learning_rate_final", "ent_coef", "ent_coef_schedule", "ent_coef_final",
    )  # fmt: skip
    learner: OnPolicyLearner
    runner: RolloutRunner

    def held(self) -> Assignment:
        """See `RLlibTrainer`."""
        network = self.learner.network
        return {
            "learning_rate": float(self.learner.optimizer.param_groups[0]["lr"]),
            "shared_layers": network.policy_layers is network.value_layers,
            "state_dependent_std": network.log_std is None,
        }

    def learn_from(self, shown: Demonstrated) -> None:
        """Fit means to a teacher's labels and values to its returns."""
        network, seed, gamma = self.learner.network, self.setup.seed, self.h["gamma"]

        def off(index: torch.Tensor) -> torch.Tensor:
            error = network.mode(shown.observations[index]) - shown.labels[index]
            return (off_range(error, shown.low[index], shown.high[index]).square() * shown.weights[index]).sum(dim=1)

        fit(network.policy_parameters(), off, shown.held_out, seed)
        network.set_deviations(min(self.h["log_std_init"], LOG_STD))
        last: list[np.ndarray] | None = None
        for _ in range(ROUNDS):
            wanted = shown.returns(gamma, last)

            def miss(index: torch.Tensor, wanted: torch.Tensor = wanted) -> torch.Tensor:
                return (network.plain_values(shown.observations[index]) - wanted[index]).square()

            fit(network.value_parameters(), miss, shown.held_out, seed)
            with torch.no_grad():
                last = [network.plain_values(end).cpu().numpy() for end in shown.ends]
        self.runner.module.load_state_dict(network.state_dict())

    def mode_network(self) -> nn.Module:
        """See `Trainer`."""
        network = self.learner.network
        return ModeNetwork(self.runner.preprocess(), network, network.mode)


class PPOTrainer(OnPolicyTrainer):
    """PPO by its hyperparameters."""

    name, learner_class = "ppo", PPOLearner
    read = (*OnPolicyTrainer.read, "n_epochs", "clip_range", "clip_range_vf", "target_kl", "kl_target")


class A2CTrainer(OnPolicyTrainer):
    """A2C by its hyperparameters."""

    name, learner_class = "a2c", A2CLearner

    def held(self) -> Assignment:
        """See `RLlibTrainer`."""
        kind = type(self.learner.optimizer)
        return {**super().held(), "optimizer": next(name for name, optimizer in OPTIMIZERS.items() if optimizer is kind)}
