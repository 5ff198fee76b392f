"""What to look at a small PPO or A2C on the task of `match` with."""

from typing import Any

import numpy as np
import torch

from tests.tuning.algorithms.match import FEATURES
from tuning.algorithms.on_policy.learner import Batch

ALGOS = ("ppo", "a2c")


def made_up(rows: int = 64, ratio: float = 1.0, moved: float = 0.0) -> Any:
    """A batch of actions that were drawn with the policy's probabilities over `ratio`; since then its values have moved."""

    def make(trained: Any) -> Batch:
        rng = torch.Generator().manual_seed(0)
        observations = torch.randn(rows, FEATURES, generator=rng)
        actions = torch.randn(rows, 1, generator=rng)
        with torch.no_grad():
            inputs = trained.learner.network._forward({"obs": observations})["action_dist_inputs"]
            values = trained.learner.network.compute_values({"obs": observations})
        logp = trained.learner.distribution(inputs).logp(actions) - np.log(ratio)
        ones = torch.ones(rows)
        return Batch(observations, actions, logp, inputs, values - moved, values + 1.0, ones)

    return make


def gradient(trained: Any, batch: Batch) -> dict[str, float]:
    """Norm of a batch's gradient, of the policy's parameters and of the value function's."""
    trained.learner.optimizer.zero_grad(set_to_none=False)
    trained.learner.gradient(batch)
    network = trained.learner.network
    norms = {}
    for name, layers in (("policy", network.policy_head), ("value", network.value_head)):
        norms[name] = sum(float(p.grad.norm()) for p in layers.parameters() if p.grad is not None)
    return norms
