"""Gradient steps of SAC (Haarnoja et al. 2018), straight from the arrays of a replay buffer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tuning.algorithms.rllib_base import MODULE, ArrayAlgorithm, ArrayLearner, Sums, Tensors, check_finite, pieces
from tuning.algorithms.sac.module import SACModule
from tuning.algorithms.sac.replay_buffer import Transitions, batches_at_once
from tuning.algorithms.vectors import Adam, FlatParameters

if TYPE_CHECKING:
    from tuning.algorithms.sac.env_runner import ReplayEnvRunner

MOST_PER_ITERATION = 1000  # steps of the site of one `train()`, unless a round is longer
LEAST_ITERATIONS = 20  # of a budget, however small: between two of them the policy can be evaluated
# Steps of the site that critics of a copy learn from before its policy does, a quarter of the budget at most: until they have
# seen what the copy itself does, they lead it astray.
VALUES_FIRST = 25_000


@dataclass
class Batch(Tensors):
    """Transitions as the learner sees them, on its device; see `Transitions`."""

    rewards: torch.Tensor
    next_observations: torch.Tensor
    discounts: torch.Tensor


class SAC(ArrayAlgorithm):
    """Rounds of collecting transitions into a buffer and of gradient steps on samples of it.

    `training_step` takes several rounds, because RLlib's bookkeeping around it takes milliseconds. The env runner acts by the
    learner's module, so weights are not copied. The buffer is not in its state, see `tuning.trial.checkpoint`.
    """

    def setup(self, config: Any) -> None:
        """See `Algorithm`."""
        super().setup(config)
        self.runner.share(self.learner.network, self.learner.device)

    @property
    def learning_starts(self) -> int:
        """Steps of the site before the first gradient step; a copy has lessons at once, random actions would be a step back."""
        recipe = self.config.recipe
        return 0 if recipe.taught else int(recipe.h["learning_starts"])

    def training_step(self) -> None:
        """See `Algorithm`. Where resets make a round collect more than it should, the next one collects less."""
        recipe, runner, learner = self.config.recipe, self.runner, self.learner
        train_freq = recipe.h["train_freq"] * recipe.agents
        learning_starts = self.learning_starts * recipe.agents
        most = max(1, min(MOST_PER_ITERATION * recipe.agents, recipe.steps // LEAST_ITERATIONS))
        before = steps = self.sampled
        while steps - before < most:
            steps += runner.collect(train_freq - steps % train_freq, steps < learning_starts)
            if steps >= learning_starts:
                learner.learn(runner, steps)
        self.report()
        learner.report()


ACTOR, CRITIC, ENT_COEF = "actor", "critic", "ent_coef"  # the optimizers' names
GENERATOR = "generator"  # name in a learner's state

TERMS = ("value_loss", "policy_loss", "entropy", "ent_coef", "ent_coef_loss", "gradient_norm", "actor_gradient_norm", "q_value")


class SACLearner(ArrayLearner[SACModule]):
    """Takes gradient steps on critics, policy and entropy coefficient."""

    def build(self) -> None:
        """See `Learner`."""
        super().build()
        network, h, recipe = self.network, self.h, self.recipe
        actions = float(network.action_space.shape[0])
        self.target_entropy = -actions if h["target_entropy"] is None else h["target_entropy"]
        self._generator = torch.Generator(self.device).manual_seed(self.config.seed + 2)
        self._targets = FlatParameters(list(network.targets.parameters()))
        self._fixed_ent_coef = torch.tensor(h["ent_coef"] or 0.0, device=self.device)
        # Transitions before policy and entropy coefficient learn too.
        self._actor_starts = min(VALUES_FIRST * recipe.agents, recipe.steps // 4) if recipe.taught else 0
        self._sums, self._summed = dict.fromkeys(TERMS, 0.0), 0
        # Whether the policy learns too.
        self._steps = {acts: self.replayed(partial(self._all_steps, acts)) for acts in (False, True)}

    @property
    def optimizers(self) -> dict[str, torch.optim.Optimizer]:
        """Optimizers by their names; none of an entropy coefficient that is fixed."""
        names = [name for name in (CRITIC, ACTOR, ENT_COEF) if name != ENT_COEF or self.network.log_ent_coef is not None]
        return {name: self.get_optimizer(MODULE, name) for name in names}

    @property
    def ent_coef(self) -> torch.Tensor:
        """Entropy coefficient now, shape ()."""
        log = self.network.log_ent_coef
        return self._fixed_ent_coef if log is None else log.detach().exp()

    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """See `Learner`."""
        network: SACModule = self.module[module_id]
        self._policy = network.policy_parameters()
        self._flat = {CRITIC: FlatParameters(list(network.critics.parameters())), ACTOR: FlatParameters(self._policy)}
        trained = {name: flat.vector for name, flat in self._flat.items()}
        if network.log_ent_coef is not None:
            trained[ENT_COEF] = network.log_ent_coef
        for name, parameter in trained.items():
            optimizer = Adam([parameter], lr=self._rate(name), fused=True, capturable=self.records)
            self.register_optimizer(module_id=module_id, optimizer_name=name, optimizer=optimizer, params=[parameter])

    def _rate(self, name: str, steps: int = 0) -> float:
        rates = {ACTOR: self.h["actor_learning_rate"], ENT_COEF: self.h["alpha_learning_rate"]}
        return self.recipe.value("learning_rate", steps, rates.get(name))

    def learn_from(self, data: ReplayEnvRunner, steps: int) -> None:
        """Take a round of gradient steps; see `ArrayLearner`."""
        for name, optimizer in self.optimizers.items():
            optimizer.param_groups[0]["lr"] = self.live(name, self._rate(name, steps))
        count, sums = self.h["gradient_steps"], Sums()
        for batch in self.batches(data, count):
            sums.add(self._gradient_step(batch, steps >= self._actor_starts))
        totals = sums.totals()  # the one time that the device is waited for
        self._sums = {name: total + totals[name] for name, total in self._sums.items()}
        self._summed += count
        check_finite(totals, steps)

    def report(self) -> None:
        """Make `means` those over the gradient steps since the last call; empty without any."""
        count, rate = self._summed, float(self.optimizers[CRITIC].param_groups[0]["lr"])
        means = {name: total / max(count, 1) for name, total in self._sums.items()}
        self.means = {**means, "learning_rate": rate, "gradient_steps": count} if count else {}
        self._sums, self._summed = dict.fromkeys(TERMS, 0.0), 0

    def batches(self, runner: ReplayEnvRunner, count: int) -> Iterator[Batch]:
        """Draw batches from a runner's buffer, several at once."""
        size = self.h["batch_size"]
        at_once = batches_at_once(size, runner.buffer.observations.shape[1])
        for first in range(0, count, at_once):
            number = min(at_once, count - first)
            sample = self._batch(runner.buffer.sample(number * size), runner)
            for rows in pieces(number * size, size):
                yield sample.at(rows)

    def _batch(self, sample: Transitions, runner: ReplayEnvRunner) -> Batch:
        """Move a sample to the device, and scale it by the statistics as they are now."""
        rewards, preprocess = sample.rewards * np.float32(runner.reward_factor), runner.preprocess()
        arrays = (sample.observations, sample.actions, rewards, sample.next_observations, sample.discounts)
        batch = Batch(*map(self.on_device, arrays))
        for observations in (batch.observations, batch.next_observations):
            if preprocess.mean.ndim:  # else there are no statistics
                observations -= torch.from_numpy(preprocess.mean).to(self.device)
                observations *= torch.from_numpy(preprocess.scale).to(self.device)
            if math.isfinite(preprocess.clip):
                observations.clamp_(-preprocess.clip, preprocess.clip)
        return batch

    def _gradient_step(self, batch: Batch, acts: bool = True) -> dict[str, torch.Tensor]:
        """One gradient step of critics, policy and entropy coefficient, one of the targets; `TERMS`, each of shape ()."""
        return self._steps[acts](batch, self._noise(batch), self._noise(batch))

    def _all_steps(self, acts: bool, batch: Batch, noise: torch.Tensor, actor_noise: torch.Tensor) -> dict[str, torch.Tensor]:
        ent_coef = self.ent_coef
        value_loss, value, norm = self._critic_step(batch, noise, ent_coef)
        policy_loss, logp, actor_norm = self._actor_step(batch, actor_noise, ent_coef, acts)
        ent_coef_loss = self._ent_coef_step(logp) if acts else torch.zeros((), device=self.device)
        self._targets.vector.data.lerp_(self._flat[CRITIC].vector.data, self.h["tau"])
        terms = (value_loss, policy_loss, -logp.mean(), ent_coef, ent_coef_loss, norm, actor_norm, value)
        return dict(zip(TERMS, terms, strict=True))

    def learn_values(self, runner: ReplayEnvRunner, gradient_steps: int) -> None:
        """Take gradient steps on the critics alone, with the policy as it is."""
        for batch in self.batches(runner, gradient_steps):
            self._critic_step(batch, self._noise(batch), self.ent_coef)
            self._targets.vector.data.lerp_(self._flat[CRITIC].vector.data, self.h["tau"])

    def follow_at_once(self) -> None:
        """Make the targets what the critics are."""
        self._targets.vector.data.copy_(self._flat[CRITIC].vector.data)

    def _pieces(self, batch: Batch) -> Iterator[tuple[Batch, slice, float]]:
        for rows in pieces(len(batch), -(-len(batch) // self.recipe.parts)):
            yield batch.at(rows), rows, (rows.stop - rows.start) / len(batch)

    def _critic_step(self, batch: Batch, noise: torch.Tensor, ent_coef: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Half the mean squared errors of both critics, each against the smaller of the targets' values (equations 5 and 6)."""
        network, losses, means = self.network, [], []
        self._flat[CRITIC].gradient.zero_()
        for piece, rows, part in self._pieces(batch):
            with self.precision():
                with torch.no_grad():
                    next_actions, next_logp = network.draw(piece.next_observations, noise[rows])
                    next_values = network.target_values(piece.next_observations, next_actions, least=True)
                    wanted = piece.rewards + piece.discounts * (next_values - ent_coef * next_logp)
                values = network.values(piece.observations, piece.actions)
            loss = 0.5 * (values - wanted).square().mean(dim=1).sum()
            (loss * part).backward()
            losses.append(loss.detach() * part)
            means.append(values.detach().mean() * part)
        norm = self._step(CRITIC)
        return torch.stack(losses).sum(), torch.stack(means).sum(), norm

    def _actor_step(
        self, batch: Batch, noise: torch.Tensor, ent_coef: torch.Tensor, moves: bool = True
    ) -> tuple[torch.Tensor, ...]:
        """The policy's loss (equation 9), log-probabilities, norm of the gradient before its cut; none reaches the critics."""
        network, losses, logps = self.network, [], []
        self._flat[ACTOR].gradient.zero_()
        for piece, rows, part in self._pieces(batch):
            with self.precision():
                actions, logp = network.draw(piece.observations, noise[rows])
                values = network.values(piece.observations, actions, least=True)
            loss = (ent_coef * logp - values).mean()
            (loss * part).backward(inputs=self._policy)  # the critics' gradients are not computed
            losses.append(loss.detach() * part)
            logps.append(logp.detach())
        norm = self._step(ACTOR) if moves else self._flat[ACTOR].gradient.norm()
        return torch.stack(losses).sum(), torch.cat(logps), norm

    def _ent_coef_step(self, logp: torch.Tensor) -> torch.Tensor:
        """Towards the target entropy (equation 18, by the coefficient's logarithm). Returns the loss."""
        log = self.network.log_ent_coef
        if log is None:
            return torch.zeros((), device=self.device)
        # The loss is linear in the logarithm, so this is its gradient.
        log.grad = -(logp + self.target_entropy).mean()
        loss = log.detach() * log.grad
        self.get_optimizer(MODULE, ENT_COEF).step()
        return loss

    def _step(self, name: str) -> torch.Tensor:
        """Let an optimizer step, with the gradients' norm cut if it is too great. Returns the norm before that."""
        norm = self._flat[name].cut(self.h["max_grad_norm"])
        self.get_optimizer(MODULE, name).step()
        return norm

    def _noise(self, batch: Batch) -> torch.Tensor:
        return torch.randn(batch.actions.shape, generator=self._generator, device=self.device)

    def get_state(self, components: Any = None, **given: Any) -> dict[str, Any]:
        """See `Learner`; with the state of the random numbers."""
        state: dict[str, Any] = super().get_state(components, **given)
        # RLlib asks for the weights alone, and hands what it gets to the env runner.
        return state if components else {**state, GENERATOR: self._generator.get_state().numpy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """See `Learner`."""
        super().set_state(state)
        if GENERATOR in state:
            generator = torch.from_numpy(state[GENERATOR].copy())
            # Those of a CPU and of a GPU have nothing in common: after a change of device others are drawn.
            if generator.shape == self._generator.get_state().shape:
                self._generator.set_state(generator)
