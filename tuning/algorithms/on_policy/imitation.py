"""PPO and A2C as copies of a teacher: means from its labels, values from its returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from tuning.algorithms.imitation.demonstration import Demonstration, returns, reward_factor, rows_of
from tuning.algorithms.imitation.regression import fit, off_range

if TYPE_CHECKING:
    from tuning.algorithms.on_policy.module import ActorCriticModule
    from tuning.algorithms.sampling.env_runner import BatchEnvRunner

LOG_STD = -2.0  # greatest logarithm of a copy's deviations
ROUNDS = 2  # of the values: returns end at the values of the round before


def copy_policy(network: ActorCriticModule, runner: BatchEnvRunner, parts: list[Demonstration], seed: int) -> None:
    """Fit the means of a policy to a teacher's labels, and let it deviate little."""
    preprocess, device = runner.preprocess(), next(network.parameters()).device
    rows = rows_of(parts, [preprocess(part.observations[:-1]) for part in parts])
    seen, labels, weights, low, high = (
        torch.as_tensor(array, device=device) for array in (rows.observations, rows.labels, rows.weights, rows.low, rows.high)
    )

    def loss(index: torch.Tensor) -> torch.Tensor:
        off = off_range(network.means(seen[index]) - labels[index], low[index], high[index])
        return (off.square() * weights[index]).sum(dim=1)

    held_out = torch.as_tensor(rows.held_out, device=device)
    fit(network.mean_parameters(), loss, held_out, seed)
    network.set_deviations(min(network.shape.log_std_init, LOG_STD))


def copy_values(
    network: ActorCriticModule, runner: BatchEnvRunner, parts: list[Demonstration], seed: int, gamma: float
) -> None:
    """Fit the value function to the returns of what a teacher demonstrated."""
    preprocess, device, factor = runner.preprocess(), next(network.parameters()).device, reward_factor(runner)
    rows = rows_of(parts, [preprocess(part.observations[:-1]) for part in parts])
    seen, held_out = (torch.as_tensor(array, device=device) for array in (rows.observations, rows.held_out))
    ends = [preprocess(part.observations[part.hours, np.arange(len(part.hours))]) for part in parts]
    mean = factor * np.concatenate([part.rewards[part.taken] for part in parts]).mean()
    last = [np.full(len(end), mean / max(1.0 - gamma, 1e-3)) for end in ends]
    for _ in range(ROUNDS):
        targets = np.concatenate(
            [returns(factor * part.rewards, end, part.hours, gamma)[part.taken] for part, end in zip(parts, last, strict=True)]
        )
        wanted = torch.as_tensor(targets.astype(np.float32), device=device)

        def loss(index: torch.Tensor, wanted: torch.Tensor = wanted) -> torch.Tensor:
            return (network.plain_values(seen[index]) - wanted[index]).square()

        fit(network.value_parameters(), loss, held_out, seed)
        with torch.no_grad():
            last = [network.plain_values(torch.as_tensor(end, device=device)).cpu().numpy() for end in ends]
