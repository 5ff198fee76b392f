"""From an assignment of hyperparameters to SAC, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from search_spaces import Assignment
from tuning.algorithms.rllib_trainer import RLlibTrainer, preprocessing
from tuning.algorithms.sac.costs import copies
from tuning.algorithms.trainer import Setup

if TYPE_CHECKING:
    from torch import nn

    from tuning.algorithms.imitation.demonstration import Demonstration
    from tuning.algorithms.sac.algorithm import SAC, SACConfig
    from tuning.algorithms.sac.env_runner import ReplayEnvRunner
    from tuning.algorithms.sac.learner import SACLearner
    from tuning.algorithms.sac.replay_buffer import ReplayBuffer

MOST_PER_ITERATION = 1000  # transitions of one `train()`, unless a round is longer
# Steps of the site that critics of a copy learn from before its policy does, a quarter of the budget at most: until they have
# seen what the copy itself does, they lead it astray.
VALUES_FIRST = 25_000
LEAST_ITERATIONS = 20  # of a budget, however small: between two of them the policy can be evaluated


class SACTrainer(RLlibTrainer):
    """SAC by its hyperparameters, with environments, buffer and learner in this process."""

    algorithm: SAC

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, copies)

    def configuration(self) -> SACConfig:
        """See `RLlibTrainer`."""
        return configuration(self.setup)

    @property
    def learner(self) -> SACLearner:
        """See `RLlibTrainer`."""
        return self.algorithm.learner

    @property
    def runner(self) -> ReplayEnvRunner:
        """See `RLlibTrainer`."""
        return self.algorithm.runner

    def used(self) -> Assignment:
        """See `Trainer`."""
        from tuning.algorithms.sac.learner import ACTOR, CRITIC, ENT_COEF

        learner, buffer, settings = self.learner, self.runner.buffer, self.algorithm.config
        network, config = learner.network, learner.config
        schedule = config.learning_rate
        automatic = network.log_ent_coef is not None

        def rate(name: str) -> float:
            # Not what it was told, but what the optimizer has.
            return float(learner.optimizer(name).param_groups[0]["lr"])

        return {
            "learning_rate": rate(CRITIC),
            "learning_rate_schedule": schedule.shape,
            "learning_rate_final": schedule.final,
            "actor_learning_rate": rate(ACTOR),
            "alpha_learning_rate": rate(ENT_COEF) if automatic else None,
            "buffer_size": buffer.size,
            "batch_size": config.batch_size,
            "learning_starts": settings.learning_starts // self.setup.agents,
            "train_freq": settings.train_freq // self.setup.agents,
            "gradient_steps": settings.gradient_steps,
            "gamma": buffer.gamma,
            "tau": config.tau,
            "ent_coef": None if automatic else float(learner.ent_coef),
            "ent_coef_initial": network.shape.ent_coef_initial,
            "target_entropy": learner.target_entropy if automatic else None,
            "n_step": buffer.n_step,
            "max_grad_norm": config.max_grad_norm,
            **self.used_by_all(network.policy_layers, network.charging.initial_charging if network.site else None),
        }

    def learn_from(self, parts: list[Demonstration]) -> None:
        """See `RLlibTrainer`."""
        from tuning.algorithms.sac.imitation import copy_policy, copy_values, keep

        learner, runner = self.learner, self.runner
        keep(runner, parts)
        copy_policy(learner.network, runner, parts, self.setup.seed)
        copy_values(learner, runner, parts, self.setup.seed, self.algorithm.replay())

    @property
    def replay(self) -> ReplayBuffer:
        """See `Trainer`."""
        return self.runner.buffer

    def mode(self) -> Callable[[np.ndarray], np.ndarray]:
        """See `Trainer`."""
        import torch

        network, runner = self.learner.network, self.runner
        preprocess, actions, device = runner.preprocess(), runner.actions, self.learner.device

        def act(observations: np.ndarray) -> np.ndarray:
            with torch.inference_mode():
                seen = torch.as_tensor(preprocess(observations), dtype=torch.float32, device=device)
                return actions.to_environment(network.act(seen).cpu().numpy())

        return act

    def mode_network(self) -> nn.Module:
        """See `Trainer`."""
        import torch

        from tuning.algorithms.networks.layers import ModeNetwork

        network, runner = self.learner.network, self.runner
        low, high = (torch.tensor(bound) for bound in (runner.actions.low, runner.actions.high))

        def act(seen: torch.Tensor) -> torch.Tensor:
            return torch.clamp(low + (network.act(seen) + 1.0) * (0.5 * (high - low)), low, high)

        return ModeNetwork(runner.preprocess(), network, act)


def configuration(setup: Setup) -> SACConfig:
    """Configuration of the algorithm, without environment."""
    from tuning.algorithms.sac.algorithm import SACConfig
    from tuning.algorithms.sac.module import SACShape
    from tuning.algorithms.schedule import Schedule

    h: dict[str, Any] = dict(setup.hyperparameters)

    def schedule(initial: float) -> Schedule:
        return Schedule(initial, h["learning_rate_schedule"], h["learning_rate_final"], setup.steps)

    config = SACConfig()
    config.preprocessing = preprocessing(setup)
    config.gamma = h["gamma"]
    config.learning_rate = schedule(h["learning_rate"])
    config.actor_learning_rate = None if h["actor_learning_rate"] is None else schedule(h["actor_learning_rate"])
    config.alpha_learning_rate = None if h["alpha_learning_rate"] is None else schedule(h["alpha_learning_rate"])
    for name in (
        "buffer_size", "batch_size", "gradient_steps", "tau", "ent_coef", "target_entropy", "n_step", "max_grad_norm", "bf16",
        "pin_memory",
    ):  # fmt: skip
        setattr(config, name, h[name])
    # Counted in steps of the site.
    config.train_freq = h["train_freq"] * setup.agents
    # A copy has lessons to learn from at once, and random actions would be a step back.
    config.actor_starts = min(VALUES_FIRST * setup.agents, setup.steps // 4) if setup.taught else 0
    config.learning_starts = 0 if setup.taught else h["learning_starts"] * setup.agents
    config.parts = setup.parts
    config.transitions_per_iteration = max(1, min(MOST_PER_ITERATION * setup.agents, setup.steps // LEAST_ITERATIONS))
    config.shape = SACShape(
        hidden_sizes=tuple(int(size) for size in h["hidden_sizes"].split(",")),
        activation=h["activation"],
        ent_coef_initial=h["ent_coef_initial"] if h["ent_coef"] is None else None,
        compiled=h["torch_compile"],
        cuda_graphs=bool(h["cuda_graphs"]),
        chargers=setup.chargers,
        initial_charging=h["initial_charging"],
        log_std_init=h["log_std_init"],
    )
    return config
