"""What a step of PPO and A2C takes of time on one core, to compare assignments with one another."""

from __future__ import annotations

from typing import Any, Final

from search_spaces import Assignment
from tuning.algorithms.networks.sizes import Problem, hidden_sizes, perceptron

# Measured on one core over recorded trials; docs/search.md says how well the sums fit. Only their ratios matter.
SAMPLING_SECONDS: Final = 5e-5  # of a step: environments, forward pass, evaluations
UPDATE_SECONDS: Final = 2e-2  # of RLlib around an update
GRADIENT_SECONDS: Final = 1.5e-3  # of a gradient step, however few its rows
NUMBER_SECONDS: Final = 2e-10  # of a number of the networks and a row


def ppo_seconds(h: Any, problem: Problem) -> float:
    """Expected seconds of a step of PPO; see `AlgorithmSpec.seconds`."""
    return _seconds(h, problem, h["n_epochs"], min(h["batch_size"], h["n_steps"] * problem.agents))


def a2c_seconds(h: Any, problem: Problem) -> float:
    """Expected seconds of a step of A2C; see `AlgorithmSpec.seconds`."""
    rows = h["n_steps"] * problem.agents
    return _seconds(h, problem, 1, min(rows, h["batch_size"] or rows))


def _seconds(h: Assignment, problem: Problem, epochs: int, rows: int) -> float:
    n_steps: Any = h["n_steps"]
    numbers = perceptron(problem.inputs, hidden_sizes(h)) * (1 if h["shared_layers"] else 2)
    each = GRADIENT_SECONDS / rows + NUMBER_SECONDS * numbers
    return SAMPLING_SECONDS + UPDATE_SECONDS / n_steps + problem.agents * epochs * each
