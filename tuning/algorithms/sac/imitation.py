"""SAC as a copy of a teacher: modes from its labels, critics from its returns, a replay buffer that begins with its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from tuning.algorithms.imitation.demonstration import Demonstration, returns, reward_factor, rows_of
from tuning.algorithms.imitation.regression import fit

if TYPE_CHECKING:
    from tuning.algorithms.sac.batch import Replay
    from tuning.algorithms.sac.env_runner import ReplayEnvRunner
    from tuning.algorithms.sac.learner import SACLearner
    from tuning.algorithms.sac.module import SACModule

LOG_STD = -2.0  # greatest logarithm of a copy's deviations, before they are squashed
WITHIN = 0.97  # ends of the range that labels are drawn into: the squashing never reaches them
STEPS = 8000  # gradient steps of the critics alone


def keep(runner: ReplayEnvRunner, parts: list[Demonstration]) -> None:
    """Begin the replay buffer with what a teacher demonstrated."""
    for part in parts:
        actions = runner.actions.from_environment(part.executed)
        runner.buffer.add_run(part.observations, actions, part.rewards, part.hours)


def copy_policy(network: SACModule, runner: ReplayEnvRunner, parts: list[Demonstration], seed: int) -> None:
    """Fit the modes of a policy to a teacher's labels, and let it deviate little."""
    preprocess, device = runner.preprocess(), next(network.parameters()).device
    rows = rows_of(parts, [preprocess(part.observations[:-1]) for part in parts])
    within = runner.actions.from_environment(rows.labels) * np.float32(WITHIN)
    seen, labels, weights = (torch.as_tensor(array, device=device) for array in (rows.observations, within, rows.weights))

    def loss(index: torch.Tensor) -> torch.Tensor:
        mean, _ = network.parameters_of_distribution(seen[index])
        return ((mean.tanh() - labels[index]).square() * weights[index]).sum(dim=1)

    held_out = torch.as_tensor(rows.held_out, device=device)
    fit(network.policy_parameters(), loss, held_out, seed)
    network.set_deviations(min(network.shape.log_std_init, LOG_STD))


def copy_values(learner: SACLearner, runner: ReplayEnvRunner, parts: list[Demonstration], seed: int, replay: Replay) -> None:
    """Fit the critics to the returns of what a teacher demonstrated, then let them learn from its transitions."""
    network, gamma, factor = learner.network, runner.preprocessing.gamma, reward_factor(runner)
    preprocess, device = runner.preprocess(), learner.device
    rows = rows_of(parts, [preprocess(part.observations[:-1]) for part in parts])
    mean = factor * np.concatenate([part.rewards[part.taken] for part in parts]).mean()
    targets = np.concatenate(
        [
            returns(factor * part.rewards, np.full(len(part.hours), mean / max(1.0 - gamma, 1e-3)), part.hours, gamma)[
                part.taken
            ]
            for part in parts
        ]
    )
    executed = np.concatenate([runner.actions.from_environment(part.executed)[part.taken] for part in parts])
    seen, actions, wanted, held_out = (
        torch.as_tensor(array, device=device)
        for array in (rows.observations, executed, targets.astype(np.float32), rows.held_out)
    )

    def loss(index: torch.Tensor) -> torch.Tensor:
        return (network.critics(seen[index], actions[index]) - wanted[index]).square().sum(dim=0)

    fit(list(network.critics.parameters()), loss, held_out, seed, epochs=15)
    learner.follow_at_once()
    learner.learn_values(replay, STEPS)
