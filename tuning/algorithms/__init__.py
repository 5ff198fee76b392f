"""The algorithms that trials train, each as a `Trainer`."""

from __future__ import annotations

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
        from tuning.algorithms.ppo import PPOTrainer

        return PPOTrainer(setup)
    if algo == "a2c":
        from tuning.algorithms.a2c import A2CTrainer

        return A2CTrainer(setup)
    if algo == "sac":
        from tuning.algorithms.sac.trainer import SACTrainer

        return SACTrainer(setup)
    raise ValueError(f"there is no algorithm {algo}")


__all__ = ["Setup", "Trainer", "build"]
