"""What to look at a small PPO or A2C on the task of `match` with."""

from typing import Any

import numpy as np
import torch

from tests.tuning.algorithms.match import FEATURES
from tuning.algorithms.on_policy.learner import Batch

ALGOS = ("ppo", "a2c")


def watched(trained: Any) -> list[dict[str, Any]]:
    """What the optimizer finds at each of its steps from now on."""
    optimizer, seen = trained.learner.optimizer, []
    step = optimizer.step

    def watch(*args: Any, **kwargs: Any) -> Any:
        gradients = [parameter.grad.clone() for parameter in optimizer.param_groups[0]["params"]]
        norm = float(torch.cat([gradient.flatten() for gradient in gradients]).norm())
        seen.append({"lr": optimizer.param_groups[0]["lr"], "norm": norm, "gradients": gradients})
        return step(*args, **kwargs)

    optimizer.step = watch
    return seen


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
