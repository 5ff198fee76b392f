"""How many copies of the site PPO and A2C step at once."""

from __future__ import annotations

from typing import Any, Final

from search_spaces import Assignment

LEAST_ROLLOUT: Final = 16  # hours of each copy between two updates; with fewer the value function has to predict all the rest


def copies(hyperparameters: Assignment, most: int) -> int:
    """Copies that collect `n_steps` transitions together; each collects equally many and at least `LEAST_ROLLOUT`.

    Args:
        hyperparameters: full assignment.
        most: upper bound.
    """
    h: Any = hyperparameters
    n_steps: int = h["n_steps"]
    return max(n for n in range(1, max(1, min(most, n_steps // LEAST_ROLLOUT)) + 1) if n_steps % n == 0)
