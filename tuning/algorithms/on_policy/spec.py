"""PPO and A2C, as the registry lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search_spaces import on_policy as spaces
from tuning.algorithms.on_policy.costs import a2c_memory, a2c_seconds, copies, ppo_memory, ppo_seconds
from tuning.algorithms.spec import AlgorithmSpec

if TYPE_CHECKING:
    from tuning.algorithms.trainer import Setup, Trainer


def _ppo(setup: Setup) -> Trainer:
    from tuning.algorithms.on_policy.ppo import PPOTrainer

    return PPOTrainer(setup)


def _a2c(setup: Setup) -> Trainer:
    from tuning.algorithms.on_policy.a2c import A2CTrainer

    return A2CTrainer(setup)


PPO = AlgorithmSpec("ppo", spaces.PPO, spaces.PPO_PRESETS, _ppo, copies, ppo_memory, ppo_seconds, can_be_taught=True)
A2C = AlgorithmSpec("a2c", spaces.A2C, spaces.A2C_PRESETS, _a2c, copies, a2c_memory, a2c_seconds, can_be_taught=True)
