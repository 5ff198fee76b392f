"""Proximal policy optimisation (Schulman et al. 2017)."""

from __future__ import annotations

from typing import Any

import torch
from ray.rllib.algorithms.algorithm import Algorithm

from search_spaces import Assignment
from tuning.algorithms.on_policy.batch import Batch, minibatches
from tuning.algorithms.on_policy.learner import Loss, OnPolicy, OnPolicyConfig, OnPolicyLearner
from tuning.algorithms.on_policy.trainer import OnPolicyTrainer
from tuning.algorithms.rllib_learner import Sums

MOST_DIVERGENCE = 1.5  # of an update, in parts of `target_kl`


class PPOConfig(OnPolicyConfig):
    """Configuration of `PPOTrainer`'s algorithm."""

    clip_range_vf: float | None = None  # furthest that a value is trained to move in one update; None for no limit
    target_kl: float | None = None  # an update ends where the divergence is `MOST_DIVERGENCE` times this; None for no such end

    def __init__(self, algo_class: type[Algorithm] | None = None) -> None:
        super().__init__(algo_class=algo_class or OnPolicy)

    def get_default_learner_class(self) -> type[PPOLearner]:
        """See `AlgorithmConfig`."""
        return PPOLearner


class PPOLearner(OnPolicyLearner):
    """Several epochs of minibatches over a rollout, with the clipped objective."""

    config: PPOConfig

    def make_optimizer(self, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """See `OnPolicyLearner`."""
        # Adam's epsilon as in the runs that PPO's defaults were tuned with.
        return torch.optim.Adam(parameters, lr=self.config.learning_rate.initial, eps=1e-5, fused=True)

    def learn(self, batch: Batch) -> Sums:
        """See `OnPolicyLearner`."""
        sums = Sums()
        most = None if self.config.target_kl is None else MOST_DIVERGENCE * self.config.target_kl
        for _ in range(self.config.num_epochs):
            for index in minibatches(len(batch), self.config.minibatch_size or len(batch)):
                self.optimizer.zero_grad(set_to_none=True)
                found = self.gradient(batch.take(index.to(self._device)))
                # As in Stable-Baselines3: the minibatch that is beyond it takes no step, and no other follows.
                if most is not None and sums.steps and found["kl"].item() > most:
                    return sums
                sums.add({**found, "gradient_norm": self.step()})
        return sums

    def loss(self, batch: Batch, inputs: torch.Tensor, values: torch.Tensor) -> Loss:
        """See `OnPolicyLearner`; equations 7 to 9 of the paper, with its adaptive penalty if there is a target divergence."""
        config = self.config
        now, weights = self.distribution(inputs), batch.advantages
        ratio = (now.logp(batch.actions) - batch.logp).exp()
        clipped = ratio.clamp(1.0 - config.clip_param, 1.0 + config.clip_param)
        policy = -torch.min(weights * ratio, weights * clipped).mean()
        if config.clip_range_vf is not None:
            values = batch.values + (values - batch.values).clamp(-config.clip_range_vf, config.clip_range_vf)
        value = (values - batch.targets).square().mean()
        entropy = now.entropy().mean()
        kl = self.distribution(batch.inputs).kl(now).mean()
        total = policy + config.vf_loss_coeff * value - self.entropy_coefficient * entropy
        if config.use_kl_loss:
            total = total + self.kl_coefficient * kl
        terms = {"policy_loss": policy, "value_loss": value, "entropy": entropy, "kl": kl, "ratio": ratio.mean()}
        return Loss(total, {name: term.detach() for name, term in terms.items()})

    def after_learning(self, means: dict[str, float]) -> None:
        """Raise or lower the coefficient of the divergence, so that it goes towards its target."""
        if not self.config.use_kl_loss:
            return
        if means["kl"] > 1.5 * self.config.kl_target:
            self.kl_coefficient *= 2.0
        elif means["kl"] < self.config.kl_target / 1.5:
            self.kl_coefficient /= 2.0


class PPOTrainer(OnPolicyTrainer):
    """PPO by its hyperparameters."""

    def own_configuration(self, h: dict[str, Any]) -> PPOConfig:
        """See `OnPolicyTrainer`."""
        config = PPOConfig()
        config.clip_range_vf = h["clip_range_vf"]
        config.target_kl = h["target_kl"]
        config.training(
            minibatch_size=h["batch_size"],
            num_epochs=h["n_epochs"],
            clip_param=h["clip_range"],
            use_kl_loss=h["kl_target"] is not None,
            **({} if h["kl_target"] is None else {"kl_target": h["kl_target"]}),
        )
        return config

    def used(self) -> Assignment:
        """See `Trainer`."""
        config: Any = self.learner.config
        return {
            **super().used(),
            "batch_size": config.minibatch_size,
            "n_epochs": config.num_epochs,
            "clip_range": config.clip_param,
            "clip_range_vf": config.clip_range_vf,
            "target_kl": config.target_kl,
            "kl_target": config.kl_target if config.use_kl_loss else None,
        }
