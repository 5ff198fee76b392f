"""What a step of SAC takes of time on one core, to compare assignments with one another."""

from __future__ import annotations

from typing import Any, Final

from tuning.algorithms.networks.sizes import Problem
from tuning.algorithms.sac.memory import critic_parameters, policy_parameters

# See `tuning.algorithms.on_policy.cost`.
SAMPLING_SECONDS: Final = 1e-4  # of a step
GRADIENT_SECONDS: Final = 4e-3  # of a gradient step of critics and policy, however few its rows
NUMBER_SECONDS: Final = 2e-10  # of a number of the networks and a row
PASSES: Final = 2  # in which a gradient step goes through a network: to learn it, and to learn from it


def sac_seconds(h: Any, problem: Problem) -> float:
    """Expected seconds of a step of SAC; see `AlgorithmSpec.seconds`."""
    numbers = PASSES * (policy_parameters(h, problem) + critic_parameters(h, problem))
    gradients = h["gradient_steps"] / h["train_freq"]
    return SAMPLING_SECONDS + gradients * (GRADIENT_SECONDS + NUMBER_SECONDS * h["batch_size"] * numbers)
