"""The algorithms that trials train, each as a `Trainer`."""

from __future__ import annotations

from typing import Any

from search_spaces import Assignment
from tuning.algorithms.on_policy import trainer as on_policy_trainer
from tuning.algorithms.sac import trainer as sac_trainer
from tuning.algorithms.trainer import Setup, Trainer


def build(algo: str, setup: Setup) -> Trainer:
    """Build an algorithm.

    Args:
        algo: `ppo`, `a2c` or `sac`.
        setup: what it is built from.

    Raises:
        ValueError: for another name, or for hyperparameters that cannot be trained together.
    """
    # Each brings RLlib and torch with it.
    if algo == "ppo":
        from tuning.algorithms.on_policy.ppo import PPOTrainer

        return PPOTrainer(setup)
    if algo == "a2c":
        from tuning.algorithms.on_policy.a2c import A2CTrainer

        return A2CTrainer(setup)
    if algo == "sac":
        return sac_trainer.SACTrainer(setup)
    raise ValueError(f"there is no algorithm {algo}")


def copies(algo: str, hyperparameters: Assignment, most: int) -> int:
    """Copies of the site that an algorithm steps at once.

    Args:
        algo: `ppo`, `a2c` or `sac`.
        hyperparameters: full assignment.
        most: upper bound.
    """
    h: Any = hyperparameters
    return sac_trainer.copies(h["train_freq"], most) if algo == "sac" else on_policy_trainer.copies(h["n_steps"], most)


__all__ = ["Setup", "Trainer", "build", "copies"]
