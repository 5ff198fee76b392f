"""What PPO and A2C can be set to beside RLlib's own settings."""

from __future__ import annotations

from ray.rllib.algorithms.ppo import PPOConfig

from tuning.algorithms.sampling.preprocessing import PreprocessingConfig
from tuning.algorithms.schedule import Schedule


class OnPolicyConfig(PreprocessingConfig, PPOConfig):
    """RLlib's PPO configuration, with what it has no setting for.

    Attributes:
        learning_rate: over the budget; instead of RLlib's `lr`, which has only piecewise linear schedules.
        ent_coef: weight of the entropy bonus over the budget.
        normalize_advantage: whether advantages are brought to mean 0 and deviation 1 before they weigh the policy's gradient.
        bf16: whether networks compute in bfloat16 while they learn.
        parts: pieces that a minibatch's gradient is summed up from.
        pin_memory: see `tuning.algorithms.precision.to_device`.
    """

    learning_rate = Schedule(3e-4, "constant", 1.0, 1)
    ent_coef = Schedule(0.0, "constant", 1.0, 1)
    normalize_advantage = True
    bf16 = False
    parts = 1
    pin_memory = False
