"""From an assignment of hyperparameters to SAC, and back."""

import ctypes
import sys
from typing import Final

import numpy as np
import torch
from torch import nn

from common.units import MIB
from search_spaces import Assignment
from tuning.algorithms.imitation import LOG_STD, Demonstrated, fit
from tuning.algorithms.networks.layers import ModeNetwork
from tuning.algorithms.rllib_trainer import RLlibTrainer
from tuning.algorithms.sac.env_runner import ReplayEnvRunner
from tuning.algorithms.sac.learner import ACTOR, CRITIC, ENT_COEF, SAC, SACLearner
from tuning.algorithms.sac.module import SACModule
from tuning.algorithms.sac.replay_buffer import ReplayBuffer
from tuning.algorithms.trainer import Setup

WITHIN = 0.97  # ends of the range that labels are drawn into: the squashing never reaches them
VALUE_STEPS, VALUE_EPOCHS = 8000, 15  # gradient steps of a copy's critics alone, after so many epochs on returns
M_MMAP_THRESHOLD: Final = -3  # of `malloc.h` in glibc
KEPT_BYTES: Final = 8 * MIB  # of a freed array that is kept, at most


class SACTrainer(RLlibTrainer):
    """SAC by its hyperparameters, with environments, buffer and learner in this process."""

    algorithm_class, learner_class, runner_class, module_class = SAC, SACLearner, ReplayEnvRunner, SACModule
    name = "sac"
    read = (
        "learning_rate_schedule", "learning_rate_final", "batch_size", "train_freq", "gradient_steps", "tau",
        "ent_coef_initial", "max_grad_norm",
    )  # fmt: skip
    learner: SACLearner
    runner: ReplayEnvRunner

    def __init__(self, setup: Setup) -> None:
        """See `RLlibTrainer`."""
        keep_freed_blocks()
        super().__init__(setup)

    def held(self) -> Assignment:
        """See `RLlibTrainer`."""
        learner, buffer = self.learner, self.runner.buffer
        rates = {name: float(optimizer.param_groups[0]["lr"]) for name, optimizer in learner.optimizers.items()}
        return {
            "learning_rate": rates[CRITIC],
            "learning_starts": self.algorithm.learning_starts,
            "actor_learning_rate": rates[ACTOR],
            "alpha_learning_rate": rates.get(ENT_COEF),
            "buffer_size": buffer.size,
            "gamma": buffer.gamma,
            "n_step": buffer.n_step,
            "ent_coef": None if ENT_COEF in rates else float(learner.ent_coef),
            "target_entropy": learner.target_entropy if ENT_COEF in rates else None,
        }

    def learn_from(self, shown: Demonstrated) -> None:
        """Begin the buffer with a teacher's runs; fit modes to its labels, critics to its returns and transitions."""
        learner, network, seed, stretched = self.learner, self.learner.network, self.setup.seed, self.runner.actions
        executed = [stretched.from_environment(part.executed) for part in shown.parts]
        for part, actions in zip(shown.parts, executed, strict=True):
            self.runner.buffer.add_run(part.observations, actions, part.rewards, part.hours)
        labels = stretched.from_environment(shown.labels.cpu().numpy()) * np.float32(WITHIN)
        within = torch.as_tensor(labels, device=learner.device)

        def off(index: torch.Tensor) -> torch.Tensor:
            mean, _ = network.parameters_of_distribution(shown.observations[index])
            return ((mean.tanh() - within[index]).square() * shown.weights[index]).sum(dim=1)

        fit(network.policy_parameters(), off, shown.held_out, seed)
        network.set_deviations(min(self.h["log_std_init"], LOG_STD))
        wanted, given = shown.returns(self.h["gamma"]), shown.rows(executed)

        def miss(index: torch.Tensor) -> torch.Tensor:
            return (network.critics(shown.observations[index], given[index]) - wanted[index]).square().sum(dim=0)

        fit(list(network.critics.parameters()), miss, shown.held_out, seed, VALUE_EPOCHS)
        learner.follow_at_once()
        learner.learn_values(self.runner, VALUE_STEPS)

    @property
    def replay(self) -> ReplayBuffer:
        """See `Trainer`."""
        return self.runner.buffer

    def mode_network(self) -> nn.Module:
        """See `Trainer`."""
        network, actions = self.learner.network, self.runner.actions
        low, high = (torch.tensor(bound, device=self.learner.device) for bound in (actions.low, actions.high))

        def act(seen: torch.Tensor) -> torch.Tensor:
            return torch.clamp(low + (network.act(seen) + 1.0) * (0.5 * (high - low)), low, high)

        return ModeNetwork(self.runner.preprocess(), network, act)


def keep_freed_blocks() -> None:
    """Let Linux's allocator reuse freed arrays of some MiB, which trials' processes otherwise give back to the system.

    Each gradient step of SAC takes and frees the same arrays, so the process does not grow by it. To have each page of them
    cleared anew takes a third of a step at a `batch_size` of 1,024.
    """
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(M_MMAP_THRESHOLD, KEPT_BYTES)
