"""What PPO and A2C have in common: learning from whole rollouts, as arrays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.utils.metrics import (
    MODULE_TRAIN_BATCH_SIZE_MEAN,
    NUM_MODULE_STEPS_TRAINED,
    WEIGHTS_SEQ_NO,
)

from tuning.algorithms.errors import check_finite
from tuning.algorithms.networks.layers import gradient_norm
from tuning.algorithms.on_policy.batch import Batch, advantages, explained_variance, transitions
from tuning.algorithms.on_policy.module import ActorCriticModule
from tuning.algorithms.precision import autocast, begin_step, to_device
from tuning.algorithms.rllib_learner import MODULE, ArrayLearner, NoLogFolder, Sums
from tuning.algorithms.sampling.preprocessing import PreprocessingConfig
from tuning.algorithms.schedule import Schedule

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode


class OnPolicyConfig(PreprocessingConfig, PPOConfig):
    """RLlib's PPO configuration, with what it has no setting for.

    Attributes:
        learning_rate: over the budget; instead of RLlib's `lr`, which has only piecewise linear schedules.
        normalize_advantage: whether advantages are brought to mean 0 and deviation 1 before they weigh the policy's gradient.
        bf16: whether networks compute in bfloat16 while they learn.
        parts: pieces that a minibatch's gradient is summed up from.
    """

    learning_rate = Schedule(3e-4, "constant", 1.0, 1)
    ent_coef = Schedule(0.0, "constant", 1.0, 1)
    normalize_advantage = True
    bf16 = False
    parts = 1
    pin_memory = False


# Observations of which values are computed at once: the activations of a whole rollout may not fit on a card.
VALUE_ROWS = 2048


@dataclass
class Loss:
    """A loss and its terms."""

    total: torch.Tensor  # what is differentiated, shape ()
    terms: dict[str, torch.Tensor]  # its parts and further measures, each a detached mean over the batch, shape ()


class OnPolicyLearner(ArrayLearner[ActorCriticModule]):
    """Learns from the transitions of one rollout, and forgets them.

    What it replaces of RLlib:

    - `update`: RLlib lengthens each chunk of an episode by a made-up step, masks it, and cuts minibatches that wrap around.
      Here arrays are joined, and each epoch sees each transition once.
    - `configure_optimizers_for_module`: one fused optimizer; learning rates follow a `Schedule` of the steps taken.
    - Numbers that are not finite: an update's means are checked once, and such a number is an error.
    - `get_state`, `set_state`: with what RLlib forgets, the adaptive coefficient of the divergence.
    """

    config: OnPolicyConfig
    kl_coefficient: float = 0.0

    def build(self) -> None:
        """See `Learner`."""
        super().build()
        self.kl_coefficient = float(self.config.kl_coeff) if self.config.use_kl_loss else 0.0
        self.entropy_coefficient = self.config.ent_coef.initial

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The one optimizer."""
        (optimizer,) = self._named_optimizers.values()
        return optimizer

    def configure_optimizers_for_module(self, module_id: str, config: AlgorithmConfig | None = None) -> None:
        """Register the module's optimizer."""
        parameters = list(self.module[module_id].parameters())
        self.register_optimizer(module_id=module_id, optimizer=self.make_optimizer(parameters), params=parameters)

    @abstractmethod
    def make_optimizer(self, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """Optimizer of all parameters, at the schedule's initial learning rate."""

    @abstractmethod
    def loss(self, batch: Batch, inputs: torch.Tensor, values: torch.Tensor) -> Loss:
        """Loss of T transitions, with advantages as they weigh the gradient, and what the networks give for them now."""

    @abstractmethod
    def learn(self, batch: Batch) -> Sums:
        """Take the gradient steps of one update."""

    def learn_from(self, data: Any, steps: int, **kwargs: Any) -> Any:
        """Learn from chunks of episodes, as the env runner cuts them, and return means; see `ArrayLearner`."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate.value(steps)
        self.entropy_coefficient = self.config.ent_coef.value(steps)
        rollout = self.make_batch(data.episodes)
        sums = self.learn(rollout)
        means = sums.means()
        means["explained_variance"] = explained_variance(rollout)
        check_finite(means, steps)
        self.after_learning(means)
        self._report(means, sums.steps, len(rollout))
        return self.metrics.reduce()

    def after_learning(self, means: dict[str, float]) -> None:
        """Do what follows from an update's means; nothing by default."""

    def make_batch(self, episodes: Sequence[SingleAgentEpisode]) -> Batch:
        """Transitions of episodes, one after another, with advantages and targets."""
        lengths = np.array([len(episode) for episode in episodes])
        parts = [transitions(episode) for episode in episodes]
        observations, actions, rewards, logp, inputs = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        pinned = self.config.pin_memory
        on_device = [to_device(array, self.device, pinned) for array in (observations, actions, logp, inputs)]
        following = np.stack([np.asarray(episode.observations.data[-1]) for episode in episodes])
        values = self._values(on_device[0])
        last_values = self._values(to_device(following, self.device, pinned)).cpu().double().numpy()
        last_values[[episode.is_terminated for episode in episodes]] = 0.0
        known = values.cpu().double().numpy()
        found = advantages(rewards, known, last_values, lengths.cumsum(), self.config.gamma, self.config.lambda_)
        targets, weights = (to_device(each.astype(np.float32), self.device, pinned) for each in (found + known, found))
        if self.config.bf16:
            # In another precision the policy's outputs differ, and over many actions the ratio would not begin at 1.
            on_device[2], on_device[3] = self._behaviour(on_device[0], on_device[1])
        observed, acted, behaviour, parameters = on_device
        return Batch(observed, acted, behaviour, parameters, values, targets, weights)

    def _values(self, observations: torch.Tensor) -> torch.Tensor:
        with torch.no_grad(), autocast(self.device, self.config.bf16):
            return torch.cat([self.network.compute_values({Columns.OBS: block}) for block in observations.split(VALUE_ROWS)])

    def _behaviour(self, observations: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad(), autocast(self.device, self.config.bf16):
            blocks = [self.network._forward({Columns.OBS: block}) for block in observations.split(VALUE_ROWS)]
        inputs = torch.cat([block[Columns.ACTION_DIST_INPUTS] for block in blocks])
        return self.distribution(inputs).logp(actions), inputs

    def distribution(self, inputs: torch.Tensor) -> Any:
        """Distribution of actions, of its parameters, shape (T, parameters)."""
        return self.network.get_train_action_dist_cls().from_logits(inputs)

    def gradient(self, batch: Batch, rows: int | None = None) -> dict[str, torch.Tensor]:
        """Add the gradient of a minibatch's loss to the parameters', summed up from pieces of it."""
        # Over the whole minibatch: the gradient must not depend on how it is cut.
        batch = replace(batch, advantages=self.weights(batch))
        size = -(-min(rows or len(batch), len(batch)) // self.config.parts)
        sums: dict[str, torch.Tensor] = {}
        for start in range(0, len(batch), size):
            piece = batch.part(slice(start, start + size))
            part = len(piece) / len(batch)
            for name, term in self._gradient(piece, part).items():
                sums[name] = sums[name] + part * term if name in sums else part * term
        return sums

    def _gradient(self, batch: Batch, part: float) -> dict[str, torch.Tensor]:
        """Add the gradient of a piece's loss to the parameters'."""
        begin_step(self.network.shape.cuda_graphs)
        with autocast(self.device, self.config.bf16):
            columns = {Columns.OBS: batch.observations}
            inputs = self.network._forward(columns)[Columns.ACTION_DIST_INPUTS]
            values = self.network.compute_values(columns)
        loss = self.loss(batch, inputs, values)
        (loss.total * part).backward()
        return loss.terms

    def step(self) -> torch.Tensor:
        """Let the optimizer step, with the gradients' norm cut if it is too great. Returns norm before it was cut, shape ()."""
        parameters = self.optimizer.param_groups[0]["params"]
        norm = gradient_norm(parameters)
        if self.config.grad_clip is not None:
            torch.nn.utils.clip_grads_with_norm_(parameters, self.config.grad_clip, norm)
        self.optimizer.step()
        return norm

    def weights(self, batch: Batch) -> torch.Tensor:
        """Advantages as they weigh the gradient: normalised, if so configured, over this batch."""
        if not self.config.normalize_advantage or len(batch) < 2:
            return batch.advantages
        return (batch.advantages - batch.advantages.mean()) / (batch.advantages.std() + 1e-8)

    def get_state(self, components: Any = None, *, not_components: Any = None, **kwargs: Any) -> dict[str, Any]:
        """See `Learner`; with the coefficient of the divergence."""
        state: dict[str, Any] = super().get_state(components, not_components=not_components, **kwargs)
        state["kl_coefficient"] = self.kl_coefficient
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """See `Learner`."""
        super().set_state(state)
        if "kl_coefficient" in state:
            self.kl_coefficient = state["kl_coefficient"]

    def _report(self, means: dict[str, float], gradient_steps: int, transitions: int) -> None:
        """Log an update's means, and what RLlib's algorithm looks for in a learner's metrics."""
        values = {
            **means,
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "ent_coef": self.entropy_coefficient,
            "gradient_steps": gradient_steps,
            WEIGHTS_SEQ_NO: self._weights_seq_no,
            MODULE_TRAIN_BATCH_SIZE_MEAN: transitions / max(gradient_steps, 1),
        }
        for name, value in values.items():
            self.metrics.log_value((MODULE, name), value, window=1)
        self.metrics.log_value((MODULE, NUM_MODULE_STEPS_TRAINED), transitions, reduce="sum")


class OnPolicy(NoLogFolder, PPO):
    """RLlib's PPO: sample a rollout, update, hand the weights to the env runner."""
