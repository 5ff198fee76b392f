"""Gradient steps of SAC (Haarnoja et al. 2018), straight from the arrays of a replay buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from ray.rllib.utils.metrics import NUM_MODULE_STEPS_TRAINED, WEIGHTS_SEQ_NO
from torch import nn

from tuning.algorithms.errors import check_finite
from tuning.algorithms.precision import autocast, begin_step
from tuning.algorithms.rllib_learner import MODULE, ArrayLearner, Sums
from tuning.algorithms.sac.batch import Batch, Replay, draw_batches
from tuning.algorithms.sac.module import SACModule

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

    from tuning.algorithms.sac.config import SACSettings
    from tuning.algorithms.schedule import Schedule


_ALIGNED = 16  # numbers: a cache line, which products of matrices want to begin at


class FlatParameters:
    """All parameters of a network as one vector, which the network's own are views of, and their gradients likewise.

    Optimizer, norm, cut and the step of targets are then one operation each, which with small networks take longer to start
    than to run. `vector` has gaps that align the parameters, and its `grad` is always there if they are trained.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        sizes = [-(-parameter.numel() // _ALIGNED) * _ALIGNED for parameter in parameters]
        self.vector = nn.Parameter(torch.zeros(sum(sizes), device=parameters[0].device))
        gradient = torch.zeros_like(self.vector) if parameters[0].requires_grad else None
        self.vector.grad = gradient
        offset = 0
        for parameter, size in zip(parameters, sizes, strict=True):
            part = slice(offset, offset + parameter.numel())
            view = self.vector.detach()[part].view_as(parameter)
            view.copy_(parameter.detach())
            parameter.data = view
            if gradient is not None:
                # Backward passes add to a gradient that is there, in place.
                parameter.grad = gradient[part].view_as(parameter)
            offset += size

    @property
    def gradient(self) -> torch.Tensor:
        """Gradients of all parameters, shape (numbers,); 0 between them."""
        gradient = self.vector.grad
        assert gradient is not None
        return gradient


ACTOR, CRITIC, ENT_COEF = "actor", "critic", "ent_coef"  # the optimizers' names
GENERATOR, COUNT = "generator", "gradient_steps"  # names in a learner's state

TERMS = ("value_loss", "policy_loss", "entropy", "ent_coef", "ent_coef_loss", "gradient_norm", "actor_gradient_norm", "q_value")


class SACLearner(ArrayLearner[SACModule]):
    """Takes gradient steps on critics, policy and entropy coefficient.

    What it replaces of RLlib:

    - `update`: several gradient steps on batches of arrays. RLlib makes an object of slices for each, and four backward passes.
    - `configure_optimizers_for_module`: fused optimizers; their learning rates follow a `Schedule` of the steps taken.
    - `apply_gradients`: a round's means are checked once for numbers that are not finite, and such a number is an error.
    - `get_state`, `set_state`: with the random numbers; networks are restored even if the state is of an earlier update.
    """

    config: SACSettings

    def build(self) -> None:
        """See `Learner`."""
        super().build()
        network, config = self.network, self.config
        self.gradient_steps = 0
        self.target_entropy = -float(network.action_space.shape[0]) if config.target_entropy is None else config.target_entropy
        self._generator = torch.Generator(self.device)
        if config.seed is not None:
            self._generator.manual_seed(config.seed + 2)
        self._targets = FlatParameters(list(network.targets.parameters()))
        fixed = 0.0 if config.ent_coef is None else config.ent_coef
        self._fixed_ent_coef = torch.tensor(fixed, device=self.device)
        self._sums, self._summed = dict.fromkeys(TERMS, 0.0), 0

    @property
    def ent_coef(self) -> torch.Tensor:
        """Entropy coefficient now, shape ()."""
        log = self.network.log_ent_coef
        return self._fixed_ent_coef if log is None else log.detach().exp()

    def optimizer(self, name: str) -> torch.optim.Optimizer:
        """Optimizer of a name."""
        optimizer: torch.optim.Optimizer = self.get_optimizer(MODULE, name)
        return optimizer

    def configure_optimizers_for_module(self, module_id: str, config: AlgorithmConfig | None = None) -> None:
        """Register an optimizer for each of critics, policy and, where it is learned, entropy coefficient."""
        network: SACModule = self.module[module_id]
        self._flat = {
            CRITIC: FlatParameters(list(network.critics.parameters())),
            ACTOR: FlatParameters(network.policy_parameters()),
        }
        trained = {name: flat.vector for name, flat in self._flat.items()}
        if network.log_ent_coef is not None:
            trained[ENT_COEF] = network.log_ent_coef
        for name, parameter in trained.items():
            optimizer = torch.optim.Adam([parameter], lr=self._schedules()[name].initial, fused=True)
            self.register_optimizer(module_id=module_id, optimizer_name=name, optimizer=optimizer, params=[parameter])

    def _schedules(self) -> dict[str, Schedule]:
        config = self.config
        return {
            CRITIC: config.learning_rate,
            ACTOR: config.actor_learning_rate or config.learning_rate,
            ENT_COEF: config.alpha_learning_rate or config.learning_rate,
        }

    def learn_from(self, data: Any, steps: int, gradient_steps: int = 1, **kwargs: Any) -> Any:
        """Take a round of gradient steps from a `Replay`; `report` has the metrics. See `ArrayLearner`."""
        for name, schedule in self._schedules().items():
            if name != ENT_COEF or self.network.log_ent_coef is not None:
                for group in self.optimizer(name).param_groups:
                    group["lr"] = schedule.value(steps)
        config = self.config
        batches = draw_batches(data.batch, gradient_steps, config.batch_size, self.device, config.pin_memory)
        acts = steps >= config.actor_starts
        found = Sums()
        for batch in batches:
            found.add(self._gradient_step(batch, acts))
        sums = found.totals()  # the one time that the device is waited for
        self.gradient_steps += gradient_steps
        self._sums = {name: total + sums[name] for name, total in self._sums.items()}
        self._summed += gradient_steps
        check_finite(sums, steps)
        return {}

    def report(self) -> Any:
        """Means over the gradient steps since the last call, as `Learner.update` returns them."""
        count = max(self._summed, 1)
        values = {
            **{name: total / count for name, total in self._sums.items()},
            "learning_rate": self.optimizer(CRITIC).param_groups[0]["lr"],
            "gradient_steps": self._summed,
            WEIGHTS_SEQ_NO: self._weights_seq_no,
        }
        for name, value in values.items():
            self.metrics.log_value((MODULE, name), value, window=1)
        self.metrics.log_value((MODULE, NUM_MODULE_STEPS_TRAINED), self._summed * self.config.batch_size, reduce="sum")
        self._sums, self._summed = dict.fromkeys(TERMS, 0.0), 0
        return self.metrics.reduce()

    def _gradient_step(self, batch: Batch, acts: bool = True) -> dict[str, torch.Tensor]:
        """One gradient step of critics, policy and entropy coefficient, one of the targets; `TERMS`, each of shape ()."""
        ent_coef = self.ent_coef
        begin_step(self.network.shape.cuda_graphs)
        value_loss, value, norm = self._critic_step(batch, ent_coef)
        begin_step(self.network.shape.cuda_graphs)
        policy_loss, logp, actor_norm = self._actor_step(batch, ent_coef, acts)
        ent_coef_loss = self._ent_coef_step(logp) if acts else torch.zeros((), device=self.device)
        self._targets.vector.data.lerp_(self._flat[CRITIC].vector.data, self.config.tau)
        terms = (value_loss, policy_loss, -logp.mean(), ent_coef, ent_coef_loss, norm, actor_norm, value)
        return dict(zip(TERMS, terms, strict=True))

    def learn_values(self, replay: Replay, gradient_steps: int) -> None:
        """Take gradient steps on the critics alone, with the policy as it is."""
        config = self.config
        for batch in draw_batches(replay, gradient_steps, config.batch_size, self.device, config.pin_memory):
            begin_step(self.network.shape.cuda_graphs)
            self._critic_step(batch, self.ent_coef)
            self._targets.vector.data.lerp_(self._flat[CRITIC].vector.data, config.tau)

    def follow_at_once(self) -> None:
        """Make the targets what the critics are."""
        self._targets.vector.data.copy_(self._flat[CRITIC].vector.data)

    def _pieces(self, batch: Batch) -> Iterator[tuple[Batch, slice, float]]:
        """Pieces of a batch that gradients are summed up from."""
        count = len(batch.actions)
        size = -(-count // self.config.parts)
        for start in range(0, count, size):
            rows = slice(start, min(start + size, count))
            yield batch.part(rows), rows, (rows.stop - start) / count

    def _critic_step(self, batch: Batch, ent_coef: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Half the mean squared errors of both critics, each against the smaller of the targets' values (equations 5 and 6)."""
        network, noise = self.network, self._noise(batch)
        losses, means = [], []
        self._flat[CRITIC].gradient.zero_()
        for piece, rows, part in self._pieces(batch):
            with autocast(self.device, self.config.bf16):
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

    def _actor_step(self, batch: Batch, ent_coef: torch.Tensor, moves: bool = True) -> tuple[torch.Tensor, ...]:
        """The policy's loss (equation 9), log-probabilities, norm of the gradient before its cut; none reaches the critics."""
        network, noise = self.network, self._noise(batch)
        losses, logps = [], []
        network.critics.requires_grad_(False)
        self._flat[ACTOR].gradient.zero_()
        for piece, rows, part in self._pieces(batch):
            with autocast(self.device, self.config.bf16):
                actions, logp = network.draw(piece.observations, noise[rows])
                values = network.values(piece.observations, actions, least=True)
            loss = (ent_coef * logp - values).mean()
            (loss * part).backward()
            losses.append(loss.detach() * part)
            logps.append(logp.detach())
        norm = self._step(ACTOR) if moves else self._flat[ACTOR].gradient.norm()
        network.critics.requires_grad_(True)
        return torch.stack(losses).sum(), torch.cat(logps), norm

    def _ent_coef_step(self, logp: torch.Tensor) -> torch.Tensor:
        """Towards the target entropy (equation 18, by the coefficient's logarithm). Returns the loss."""
        log = self.network.log_ent_coef
        if log is None:
            return torch.zeros((), device=self.device)
        optimizer = self.optimizer(ENT_COEF)
        # The loss is linear in the logarithm, so this is its gradient.
        log.grad = -(logp + self.target_entropy).mean()
        loss = log.detach() * log.grad
        optimizer.step()
        return loss

    def _step(self, name: str) -> torch.Tensor:
        """Let an optimizer step, with the gradients' norm cut if it is too great. Returns the norm before that."""
        gradient = self._flat[name].gradient
        norm = gradient.norm()
        if self.config.max_grad_norm is not None:
            gradient *= (self.config.max_grad_norm / (norm + 1e-6)).clamp(max=1.0)
        self.optimizer(name).step()
        return norm

    def _noise(self, batch: Batch) -> torch.Tensor:
        return torch.randn(batch.actions.shape, generator=self._generator, device=self.device)

    def get_state(self, components: Any = None, *, not_components: Any = None, **kwargs: Any) -> dict[str, Any]:
        """See `Learner`; with the state of the random numbers."""
        state: dict[str, Any] = super().get_state(components, not_components=not_components, **kwargs)
        if self._check_component(GENERATOR, components, not_components):
            state[GENERATOR] = self._generator.get_state().numpy()
            state[COUNT] = self.gradient_steps
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """See `Learner`."""
        self._weights_seq_no = 0
        super().set_state(state)
        if GENERATOR in state:
            generator = torch.from_numpy(state[GENERATOR].copy())
            # Those of a CPU and of a GPU have nothing in common: after a change of device others are drawn.
            if generator.shape == self._generator.get_state().shape:
                self._generator.set_state(generator)
            self.gradient_steps = state[COUNT]
