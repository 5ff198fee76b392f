"""From an assignment of hyperparameters to PPO or A2C, and back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from search_spaces import Assignment
from tuning.algorithms.on_policy.costs import copies
from tuning.algorithms.rllib_trainer import RLlibTrainer, preprocessing
from tuning.algorithms.trainer import Setup

if TYPE_CHECKING:
    from torch import nn

    from tuning.algorithms.imitation.demonstration import Demonstration
    from tuning.algorithms.on_policy.learner import OnPolicyConfig, OnPolicyLearner


class OnPolicyTrainer(RLlibTrainer):
    """PPO or A2C, with environments and the learner in this process."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, copies)

    @abstractmethod
    def own_configuration(self, h: dict[str, Any]) -> OnPolicyConfig:
        """A configuration with what PPO and A2C do not share."""

    def configuration(self) -> OnPolicyConfig:
        """See `RLlibTrainer`."""
        from ray.rllib.core.rl_module.rl_module import RLModuleSpec

        from tuning.algorithms.on_policy.module import ActorCriticModule, ActorCriticShape
        from tuning.algorithms.sampling.env_runner import BatchEnvRunner
        from tuning.algorithms.schedule import Schedule

        setup = self.setup
        h: dict[str, Any] = dict(setup.hyperparameters)
        config = self.own_configuration(h)
        config.preprocessing = preprocessing(setup)
        config.learning_rate = Schedule(h["learning_rate"], h["learning_rate_schedule"], h["learning_rate_final"], setup.steps)
        config.ent_coef = Schedule(h["ent_coef"], h["ent_coef_schedule"], h["ent_coef_final"], setup.steps)
        config.normalize_advantage = h["normalize_advantage"]
        config.bf16, config.parts, config.pin_memory = h["bf16"], setup.parts, h["pin_memory"]
        config.env_runners(
            env_runner_cls=BatchEnvRunner,
            rollout_fragment_length=h["n_steps"] // self.num_envs,
            # The learner takes the observation after a chunk from its end, and needs nothing from before its beginning.
            episode_lookback_horizon=1,
        )
        config.learners(add_default_connectors_to_learner_pipeline=False)
        config.training(
            train_batch_size_per_learner=h["n_steps"] * setup.agents,
            gamma=h["gamma"],
            lambda_=h["gae_lambda"],
            vf_loss_coeff=h["vf_coef"],
            grad_clip=h["max_grad_norm"],
            grad_clip_by="global_norm",
        )
        shape = ActorCriticShape(
            hidden_sizes=tuple(int(size) for size in h["hidden_sizes"].split(",")),
            activation=h["activation"],
            shared=h["shared_layers"],
            state_dependent_std=h["state_dependent_std"],
            log_std_init=h["log_std_init"],
            orthogonal=h["orthogonal_init"],
            compiled=h["torch_compile"],
            cuda_graphs=bool(h["cuda_graphs"]),
            chargers=setup.chargers,
            initial_charging=h["initial_charging"],
        )
        config.rl_module(rl_module_spec=RLModuleSpec(module_class=ActorCriticModule, model_config={"shape": shape}))
        return config

    @property
    def learner(self) -> OnPolicyLearner:
        """See `RLlibTrainer`."""
        learner: OnPolicyLearner = super().learner
        return learner

    def used(self) -> Assignment:
        """See `Trainer`."""
        learner, runner = self.learner, self.runner
        config, network = learner.config, learner.network
        schedules = {"learning_rate": config.learning_rate, "ent_coef": config.ent_coef}
        return {
            "n_steps": self.num_envs * int(runner.config.get_rollout_fragment_length()),
            "gamma": config.gamma,
            "gae_lambda": config.lambda_,
            "vf_coef": config.vf_loss_coeff,
            "max_grad_norm": config.grad_clip,
            "normalize_advantage": config.normalize_advantage,
            **self.used_by_all(network.policy_layers, network.charging.initial_charging if network.site else None),
            "shared_layers": network.policy_layers is network.value_layers,
            "state_dependent_std": network.log_std is None,
            "orthogonal_init": network.shape.orthogonal,
            **{name: schedule.initial for name, schedule in schedules.items()},
            **{f"{name}_schedule": schedule.shape for name, schedule in schedules.items()},
            **{f"{name}_final": schedule.final for name, schedule in schedules.items()},
            # Not what it was told, but what the optimizer has.
            "learning_rate": float(learner.optimizer.param_groups[0]["lr"]),
        }

    def learn_from(self, parts: list[Demonstration]) -> None:
        """See `RLlibTrainer`."""
        from tuning.algorithms.on_policy.imitation import copy_policy, copy_values

        network, runner = self.learner.network, self.runner
        copy_policy(network, runner, parts, self.setup.seed)
        copy_values(network, runner, parts, self.setup.seed, float(self.setup.hyperparameters["gamma"]))  # type: ignore[arg-type]
        runner.module.load_state_dict(network.state_dict())

    def mode(self) -> Callable[[np.ndarray], np.ndarray]:
        """See `Trainer`."""
        import torch

        network, preprocess = self.learner.network, self.runner.preprocess()
        distribution: Any = network.get_inference_action_dist_cls()
        device = next(network.parameters()).device

        def act(observations: np.ndarray) -> np.ndarray:
            with torch.inference_mode():
                batch = {"obs": torch.as_tensor(preprocess(observations), device=device)}
                inputs = network.forward_inference(batch)["action_dist_inputs"]
                actions: np.ndarray = distribution.from_logits(inputs).to_deterministic().sample().cpu().numpy()
            return actions

        return act

    def mode_network(self) -> nn.Module:
        """See `Trainer`."""
        from tuning.algorithms.networks.layers import ModeNetwork

        network = self.learner.network
        return ModeNetwork(self.runner.preprocess(), network, network.means)
