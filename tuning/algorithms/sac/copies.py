"""How many copies of the site SAC steps at once."""

from __future__ import annotations

from typing import Any

from search_spaces import Assignment


def copies(hyperparameters: Assignment, most: int) -> int:
    """Copies that collect `train_freq` transitions together; each collects equally many.

    Args:
        hyperparameters: full assignment.
        most: upper bound.
    """
    h: Any = hyperparameters
    train_freq: int = h["train_freq"]
    return max(n for n in range(1, max(1, min(most, train_freq)) + 1) if train_freq % n == 0)
