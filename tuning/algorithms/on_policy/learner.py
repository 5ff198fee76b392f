"""PPO and A2C, which learn from each rollout once."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import njit
from ray.rllib.core.columns import Columns

from tuning.algorithms.networks.written_out import WrittenOut
from tuning.algorithms.on_policy.env_runner import Rollout
from tuning.algorithms.on_policy.module import ActorCriticModule
from tuning.algorithms.rllib_base import ArrayAlgorithm, ArrayLearner, Sums, Tensors, check_finite, pieces
from tuning.algorithms.vectors import Adam, FlatParameters, RMSprop

VALUE_ROWS = 2048  # observations of which values are computed at once: activations of a whole rollout may not fit on a card
MOST_DIVERGENCE = 1.5  # of an update of PPO, in parts of `target_kl`
KL_COEFFICIENT = 0.2  # weight of the divergence at the start, where it has a target
OPTIMIZERS: dict[str, type[RMSprop | Adam]] = {"rmsprop": RMSprop, "adam": Adam}
EPSILON = 1e-5  # of both, as in the runs that the defaults were tuned with


class OnPolicy(ArrayAlgorithm):
    """Collects a rollout, learns from it, hands the weights to the env runner."""

    def training_step(self) -> None:
        """See `Algorithm`."""
        recipe, learner, runner = self.config.recipe, self.learner, self.runner
        rollout = runner.collect(recipe.h["n_steps"] * recipe.agents)
        self.report()
        learner.learn(rollout, self.sampled)
        runner.module.load_state_dict(learner.network.state_dict())


@dataclass
class Batch(Tensors):
    """Transitions as tensors on the learner's device; actions have shape (T,) if they are one choice."""

    values: torch.Tensor  # of the observations before the update, shape (T,)
    targets: torch.Tensor  # of the value function, shape (T,)
    advantages: torch.Tensor  # shape (T,)


@dataclass
class Drawn(Batch):
    """With the probabilities by which the actions were drawn."""

    logp: torch.Tensor  # shape (T,)
    inputs: torch.Tensor  # parameters of the distribution, shape (T, parameters)


class Slope(NamedTuple):
    """Slope of a sum over rows."""

    mean: torch.Tensor  # in each mean, shape (T, actions)
    log_std: torch.Tensor  # in the logarithms of the deviations, which all rows share, shape (actions,)


class Normal(NamedTuple):
    """Independent normal distributions of actions, and of some actions their log-probabilities."""

    mean: torch.Tensor  # shape (T, actions)
    log_std: torch.Tensor  # shape (actions,)
    deviation: torch.Tensor  # likewise
    distance: torch.Tensor  # of the actions from the means, in deviations, shape (T, actions)
    square: torch.Tensor  # of the distance, likewise
    logp: torch.Tensor  # shape (T,)

    @classmethod
    def of(cls, mean: torch.Tensor, log_std: torch.Tensor, actions: torch.Tensor) -> Normal:
        """Distributions, and some actions."""
        deviation = log_std.exp()
        distance = (actions - mean).div_(deviation)
        square, constant = distance.square(), log_std.sum() + 0.5 * math.log(2.0 * math.pi) * len(log_std)
        return cls(mean, log_std, deviation, distance, square, -0.5 * square.sum(dim=-1) - constant)

    def slope(self, of_logp: torch.Tensor) -> Slope:
        """Slope of a sum, by its slopes in the log-probabilities, shape (T,)."""
        return Slope((of_logp[:, None] * self.distance).div_(self.deviation), of_logp @ self.square - of_logp.sum())


class OnPolicyLearner(ArrayLearner[ActorCriticModule]):
    """Learns from the transitions of one rollout, and forgets them."""

    kl_coefficient: float = 0.0
    _run_of_values: Sequence[torch.Tensor] = ()  # of the gradient step's batch, if it is known already

    def build(self) -> None:
        """See `Learner`."""
        super().build()
        self.kl_coefficient = KL_COEFFICIENT if self.h.get("kl_target") is not None else 0.0
        self.entropy_coefficient = self.live("ent_coef", self.recipe.value("ent_coef"))
        self._written_out = self.network.written_out if self.device.type == "cpu" else None

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The one optimizer."""
        (optimizer,) = self._named_optimizers.values()
        return optimizer

    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """See `Learner`."""
        self.flat = FlatParameters(list(self.module[module_id].parameters()))
        parameters = [self.flat.vector]
        self.register_optimizer(module_id=module_id, optimizer=self.make_optimizer(parameters), params=parameters)

    @abstractmethod
    def make_optimizer(self, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """Optimizer of all parameters, at the initial learning rate."""

    @abstractmethod
    def learn_batch(self, batch: Batch) -> Sums:
        """Take the gradient steps of one update."""

    @abstractmethod
    def policy_loss(self, batch: Any, now: Any) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Loss of the policy by its distribution now, with advantages as they weigh the gradient; and further measures."""

    @abstractmethod
    def policy_slope(self, batch: Any, now: Normal) -> tuple[torch.Tensor, Slope, dict[str, torch.Tensor]]:
        """What `policy_loss` gives for normal actions, and the loss's slope, with the penalty of a divergence."""

    def learn_from(self, data: Rollout, steps: int) -> None:
        """See `ArrayLearner`."""
        rate, entropy = self.recipe.value("learning_rate", steps), self.recipe.value("ent_coef", steps)
        for group in self.optimizer.param_groups:
            group["lr"] = self.live("learning_rate", rate) if group["capturable"] else rate
        self.entropy_coefficient = self.live("ent_coef", entropy)
        self.live("kl_coefficient", self.kl_coefficient)
        batch = self.make_batch(data)
        sums = self.learn_batch(batch)
        means = {**sums.means(), "explained_variance": explained_variance(batch)}
        check_finite(means, steps)
        self._adapt_penalty(means)
        self.means = {**means, "learning_rate": rate, "ent_coef": entropy, "gradient_steps": sums.steps}

    def _adapt_penalty(self, means: dict[str, float]) -> None:
        """Raise or lower the coefficient of the divergence, so that it goes towards its target, where it has one."""
        target = self.h.get("kl_target")
        if target is None:
            return
        if means["kl"] > 1.5 * target:
            self.kl_coefficient *= 2.0
        elif means["kl"] < target / 1.5:
            self.kl_coefficient /= 2.0

    def make_batch(self, rollout: Rollout) -> Batch:
        """A rollout with advantages and targets."""
        observations, actions, following = map(self.on_device, (rollout.observations, rollout.actions, rollout.following))
        values, after = self.values(observations), self._in_blocks(self.network.compute_values, following)
        last_values = after.cpu().double().numpy()
        last_values[rollout.terminated] = 0.0
        known = values.cpu().double().numpy()
        estimates = advantages(rollout.rewards, known, last_values, rollout.ends, self.h["gamma"], self.h["gae_lambda"])
        targets, weights = (self.on_device(each.astype(np.float32)) for each in (estimates + known, estimates))
        return Batch(observations, actions, values, targets, weights)

    def values(self, observations: torch.Tensor) -> torch.Tensor:
        """Values before the update, shape (T,)."""
        return self._in_blocks(self.network.compute_values, observations)

    def _in_blocks(self, method: Callable[[dict[str, torch.Tensor]], torch.Tensor], observations: torch.Tensor) -> torch.Tensor:
        with torch.no_grad(), self.precision():
            return torch.cat([method({Columns.OBS: block}) for block in observations.split(VALUE_ROWS)])

    def _inputs(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.network._forward(batch)[Columns.ACTION_DIST_INPUTS]

    def distribution(self, inputs: torch.Tensor) -> Any:
        """Distribution of actions, of its parameters, shape (T, parameters)."""
        return self.network.get_train_action_dist_cls().from_logits(inputs)

    def loss(self, batch: Batch, inputs: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Loss of T transitions, with advantages as they weigh the gradient, and what the networks give for them now.

        What is differentiated, shape (); and its parts and further measures, each a mean over the batch, shape ().
        """
        now = self.distribution(inputs)
        policy, measures = self.policy_loss(batch, now)
        value = (self.bounded(values, batch) - batch.targets).square().mean()
        entropy = now.entropy().mean()
        total = policy + self.h["vf_coef"] * value - self.entropy_coefficient * entropy
        if self.kl_coefficient:
            total = total + self._live.get("kl_coefficient", self.kl_coefficient) * measures["kl"]
        return total, {"policy_loss": policy, "value_loss": value, "entropy": entropy, **measures}

    def bounded(self, values: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Values as they are trained: those that have moved no further than `clip_range_vf`, where there is one."""
        limit = self.h.get("clip_range_vf")
        return values if limit is None else batch.values + (values - batch.values).clamp(-limit, limit)

    def gradient(self, batch: Batch, rows: int | None = None) -> dict[str, torch.Tensor]:
        """Make the parameters' gradients that of a minibatch's loss, summed up from pieces of so many rows."""
        self.flat.gradient.zero_()
        # Over the whole minibatch: the gradient must not depend on how it is cut.
        batch = replace(batch, advantages=self.weights(batch))
        size = -(-min(rows or len(batch), len(batch)) // self.recipe.parts)
        sums: dict[str, torch.Tensor] = {}
        for piece in pieces(len(batch), size):
            part = (piece.stop - piece.start) / len(batch)
            for name, term in self._gradient(batch.at(piece), part).items():
                sums[name] = sums[name] + part * term if name in sums else part * term
        return sums

    def _gradient(self, batch: Batch, part: float) -> dict[str, torch.Tensor]:
        """Add the gradient of a piece's loss to the parameters'. Returns the terms."""
        if self._written_out:
            return self._written_out_gradient(batch, part, *self._written_out)
        with self.precision():
            columns = {Columns.OBS: batch.observations}
            inputs, values = self._inputs(columns), self.network.compute_values(columns)
        total, terms = self.loss(batch, inputs, values)
        (total * part).backward()
        return {name: term.detach() for name, term in terms.items()}

    @torch.no_grad()
    def _written_out_gradient(
        self, batch: Batch, part: float, policy: WrittenOut, value: WrittenOut
    ) -> dict[str, torch.Tensor]:
        """`_gradient` without autograd: of `loss`, by the chain rule."""
        log_std = self.network.log_std
        assert log_std is not None
        assert log_std.grad is not None
        rows, actions = batch.actions.shape
        of_means, of_values = policy.run(batch.observations), self._run_of_values or value.run(batch.observations)
        now = Normal.of(of_means[-1], log_std, batch.actions)
        of_policy, slope, measures = self.policy_slope(batch, now)
        policy.add_gradient(of_means, slope.mean.mul_(part / rows))
        log_std.grad.add_(slope.log_std.mul_(part / rows)).sub_(part * self.entropy_coefficient)
        values, limit = of_values[-1].squeeze(-1), self.h.get("clip_range_vf")
        missed = self.bounded(values, batch) - batch.targets
        moves = missed if limit is None else missed * ((values - batch.values).abs() <= limit)
        value.add_gradient(of_values, (2.0 * part * self.h["vf_coef"] / rows * moves)[:, None])
        entropy = log_std.sum() + actions * (0.5 + 0.5 * math.log(2.0 * math.pi))
        return {"policy_loss": of_policy, "value_loss": missed.square().mean(), "entropy": entropy, **measures}

    def step(self) -> torch.Tensor:
        """Let the optimizer step, with the gradients' norm cut if it is too great. Returns norm before it was cut, shape ()."""
        norm = self.flat.cut(self.h["max_grad_norm"])
        self.optimizer.step()
        return norm

    def weights(self, batch: Batch) -> torch.Tensor:
        """Advantages as they weigh the gradient: normalised, if so configured, over this batch."""
        if not self.h["normalize_advantage"] or len(batch) < 2:
            return batch.advantages
        return (batch.advantages - batch.advantages.mean()) / (batch.advantages.std() + 1e-8)

    def get_state(self, components: Any = None, **given: Any) -> dict[str, Any]:
        """See `Learner`; with the adaptive coefficient of the divergence, which RLlib forgets."""
        state: dict[str, Any] = super().get_state(components, **given)
        return state if components else {**state, "kl_coefficient": self.kl_coefficient}

    def set_state(self, state: dict[str, Any]) -> None:
        """See `Learner`."""
        super().set_state(state)
        self.kl_coefficient = state.get("kl_coefficient", self.kl_coefficient)


class PPOLearner(OnPolicyLearner):
    """Proximal policy optimisation (Schulman et al. 2017): epochs of minibatches over a rollout, with the clipped objective."""

    def build(self) -> None:
        """See `Learner`."""
        super().build()
        self._find_gradient, self._take_step = self.replayed(self.gradient), self.replayed(self.step)

    def make_optimizer(self, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """See `OnPolicyLearner`."""
        return Adam(parameters, lr=self.recipe.value("learning_rate"), eps=EPSILON, fused=True, capturable=self.records)

    def make_batch(self, rollout: Rollout) -> Drawn:
        """See `OnPolicyLearner`."""
        batch, inputs = super().make_batch(rollout), self.on_device(rollout.inputs)
        if self.h["bf16"]:
            # In another precision the policy's outputs differ, and over many actions the ratio would not begin at 1.
            inputs = self._in_blocks(self._inputs, batch.observations)
        logp = [self.distribution(inputs[rows]).logp(batch.actions[rows]) for rows in pieces(len(batch), VALUE_ROWS)]
        return Drawn(**vars(batch), logp=torch.cat(logp), inputs=inputs)

    def learn_batch(self, batch: Batch) -> Sums:
        """See `OnPolicyLearner`."""
        sums, target = Sums(), self.h["target_kl"]
        for _ in range(self.h["n_epochs"]):
            for index in minibatches(len(batch), self.h["batch_size"]):
                terms = self._find_gradient(batch.at(index.to(self.device)))
                # As in Stable-Baselines3: the minibatch that is beyond it takes no step, and no other follows.
                if target is not None and sums.steps and terms["kl"].item() > MOST_DIVERGENCE * target:
                    return sums
                sums.add({**terms, "gradient_norm": self._take_step()})
        return sums

    def policy_loss(self, batch: Drawn, now: Any) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Equation 7 of the paper; with the divergence of its adaptive penalty (equation 8)."""
        ratio, weights = (now.logp(batch.actions) - batch.logp).exp(), batch.advantages
        clipped = ratio.clamp(1.0 - self.h["clip_range"], 1.0 + self.h["clip_range"])
        policy = -torch.min(weights * ratio, weights * clipped).mean()
        return policy, {"kl": self.distribution(batch.inputs).kl(now).mean(), "ratio": ratio.mean()}

    def policy_slope(self, batch: Drawn, now: Normal) -> tuple[torch.Tensor, Slope, dict[str, torch.Tensor]]:
        """See `OnPolicyLearner`."""
        ratio, weights = (now.logp - batch.logp).exp_(), batch.advantages
        gain, bound = weights * ratio, weights * ratio.clamp(1.0 - self.h["clip_range"], 1.0 + self.h["clip_range"])
        slope = now.slope(-gain * (gain <= bound))
        # Divergence from what it was: log s - log s' + (s'^2 + (m - m')^2) / (2 s^2) - 1 / 2. All rows share s'.
        mean, log_std = batch.inputs.chunk(2, dim=-1)
        moved, narrowed = (now.mean - mean).div_(now.deviation), now.log_std - log_std[0]
        square, spread = moved.square(), (-2.0 * narrowed).exp_()
        kl = (narrowed + 0.5 * spread - 0.5).sum() + 0.5 * square.sum() / len(square)
        if self.kl_coefficient:
            slope.mean.add_(moved / now.deviation, alpha=self.kl_coefficient)
            slope.log_std.add_(len(square) * (1.0 - spread) - square.sum(dim=0), alpha=self.kl_coefficient)
        return -torch.min(gain, bound).mean(), slope, {"kl": kl, "ratio": ratio.mean()}


class A2CLearner(OnPolicyLearner):
    """Advantage actor-critic (Mnih et al. 2016), the synchronous one: one gradient step over each rollout."""

    def build(self) -> None:
        """See `Learner`."""
        super().build()
        self._find_gradient = self.replayed(partial(self.gradient, rows=self.h["batch_size"]))

    def make_optimizer(self, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """See `OnPolicyLearner`."""
        rate = self.recipe.value("learning_rate")
        if self.h["optimizer"] == "adam":
            return Adam(parameters, lr=rate, eps=EPSILON, fused=True)
        return RMSprop(parameters, lr=rate, alpha=0.99, eps=EPSILON)

    @torch.no_grad()
    def values(self, observations: torch.Tensor) -> torch.Tensor:
        """See `OnPolicyLearner`. The one gradient step begins with the same pass through the network, so it takes it over."""
        if self._written_out is None or self.h["batch_size"] or self.recipe.parts > 1:
            return super().values(observations)
        self._run_of_values = self._written_out[1].run(observations)
        return self._run_of_values[-1].squeeze(-1)

    def learn_batch(self, batch: Batch) -> Sums:
        """See `OnPolicyLearner`."""
        sums = Sums()
        sums.add({**self._find_gradient(batch), "gradient_norm": self.step()})
        self._run_of_values = ()
        return sums

    def policy_loss(self, batch: Batch, now: Any) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """See `OnPolicyLearner`."""
        return -(batch.advantages * now.logp(batch.actions)).mean(), {}

    def policy_slope(self, batch: Batch, now: Normal) -> tuple[torch.Tensor, Slope, dict[str, torch.Tensor]]:
        """See `OnPolicyLearner`."""
        return -(batch.advantages * now.logp).mean(), now.slope(-batch.advantages), {}


def minibatches(count: int, size: int) -> Iterable[torch.Tensor]:
    """Indices of all transitions in random order, in pieces of nearly equal size: a small last one would be mostly noise."""
    return torch.randperm(count).tensor_split(max(1, round(count / size)))


def explained_variance(batch: Batch) -> float:
    """Part of the targets' variance that the values before the update explain."""
    variance = batch.targets.var().item()
    return math.nan if variance == 0.0 else 1.0 - (batch.targets - batch.values).var().item() / variance


@njit(cache=True)
def advantages(
    rewards: np.ndarray, values: np.ndarray, last_values: np.ndarray, ends: np.ndarray, gamma: float, gae_lambda: float
) -> np.ndarray:
    """Advantages of the actions: sum over t of (gamma lambda)^t delta_t, delta = r + gamma V' - V.

    `values` are of the observations that were acted on, `last_values` of those after each chunk, 0 after a termination; see
    `Rollout`. Plus `values` the advantages, shape (T,), float64, are the targets of the value function.
    """
    estimates = np.empty(rewards.size)
    start = 0
    for chunk in range(ends.size):
        following, advantage = last_values[chunk], 0.0
        for t in range(ends[chunk] - 1, start - 1, -1):
            delta = rewards[t] + gamma * following - values[t]
            advantage = delta + gamma * gae_lambda * advantage
            estimates[t] = advantage
            following = values[t]
        start = ends[chunk]
    return estimates
