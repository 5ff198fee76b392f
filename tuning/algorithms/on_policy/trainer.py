"""From an assignment of hyperparameters to PPO or A2C, and back."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np

from search_spaces import Assignment
from tuning.algorithms.trainer import ENVIRONMENT, MODULE, Setup, Trainer

if TYPE_CHECKING:
    from torch import nn

    from tuning.algorithms.on_policy.learner import OnPolicyConfig, OnPolicyLearner
    from tuning.algorithms.sampling.env_runner import BatchEnvRunner

LEAST_ROLLOUT = 16  # hours of each copy between two updates: less, and the value function has to say all the rest


def copies(n_steps: int, most: int) -> int:
    """Copies that collect `n_steps` transitions together, of which each collects equally many and at least `LEAST_ROLLOUT`.

    Args:
        n_steps: transitions between two updates.
        most: upper bound.
    """
    return max(n for n in range(1, max(1, min(most, n_steps // LEAST_ROLLOUT)) + 1) if n_steps % n == 0)


class OnPolicyTrainer(Trainer):
    """PPO or A2C, with environments and the learner in this process."""

    losses_of: ClassVar[tuple[str, ...]] = (
        "policy_loss", "value_loss", "entropy", "ent_coef", "kl", "explained_variance", "gradient_norm", "learning_rate",
    )  # fmt: skip

    def __init__(self, setup: Setup) -> None:
        """See `Trainer`."""
        from ray.rllib.core.rl_module.rl_module import RLModuleSpec
        from ray.tune import register_env

        from tuning.algorithms.on_policy.module import ActorCriticModule, ActorCriticShape
        from tuning.algorithms.precision import set_tf32
        from tuning.algorithms.sampling.env_runner import BatchEnvRunner
        from tuning.algorithms.schedule import Schedule

        super().__init__(setup)
        setup = self.setup
        h: dict[str, Any] = dict(setup.hyperparameters)
        self.num_envs = copies(h["n_steps"], setup.most_envs)
        set_tf32(h["tf32"])
        register_env(ENVIRONMENT, lambda context: setup.make_envs(context["num_envs"]))
        config = self.configuration(h)
        config.preprocessing = setup.preprocessing
        config.learning_rate = Schedule(h["learning_rate"], h["learning_rate_schedule"], h["learning_rate_final"], setup.steps)
        config.ent_coef = Schedule(h["ent_coef"], h["ent_coef_schedule"], h["ent_coef_final"], setup.steps)
        config.normalize_advantage = h["normalize_advantage"]
        config.bf16, config.parts, config.pin_memory = h["bf16"], setup.parts, h["pin_memory"]
        # The environment clips actions itself; RLlib doing so once more costs as much as its sampling.
        config.environment(ENVIRONMENT, disable_env_checking=True, normalize_actions=False, clip_actions=False)
        config.env_runners(
            env_runner_cls=BatchEnvRunner,
            gym_env_vectorize_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT,
            num_env_runners=0,
            num_envs_per_env_runner=self.num_envs,
            rollout_fragment_length=h["n_steps"] // self.num_envs,
            batch_mode="truncate_episodes",
            # The learner takes the observation after a chunk from its end, and needs nothing from before its beginning.
            episode_lookback_horizon=1,
        )
        config.learners(
            num_learners=0, num_gpus_per_learner=1 if setup.gpu else 0, add_default_connectors_to_learner_pipeline=False
        )
        config.training(
            train_batch_size_per_learner=h["n_steps"],
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
        # A thread for each algorithm would measure the whole machine.
        config.debugging(seed=setup.seed, log_level="ERROR", log_sys_usage=False)
        self.algorithm = config.build_algo()

    @abstractmethod
    def configuration(self, h: dict[str, Any]) -> OnPolicyConfig:
        """The algorithm's configuration, with what is its own.

        Args:
            h: full assignment.
        """

    @property
    def learner(self) -> OnPolicyLearner:
        """The one learner."""
        group: Any = self.algorithm.learner_group
        learner: OnPolicyLearner = group._learner
        return learner

    @property
    def runner(self) -> BatchEnvRunner:
        """The one env runner."""
        runner: Any = self.algorithm.env_runner
        return runner

    def used(self) -> Assignment:
        """See `Trainer`."""
        from tuning.algorithms.networks.layers import activation_of, layer_sizes
        from tuning.algorithms.precision import has_tf32

        learner, runner = self.learner, self.runner
        config, network = learner.config, learner.network
        schedules = {"learning_rate": config.learning_rate, "ent_coef": config.ent_coef}
        return {
            "n_steps": runner.num_envs * int(runner.config.get_rollout_fragment_length()),
            "gamma": config.gamma,
            "gae_lambda": config.lambda_,
            "vf_coef": config.vf_loss_coeff,
            "max_grad_norm": config.grad_clip,
            "normalize_advantage": config.normalize_advantage,
            "hidden_sizes": ",".join(str(size) for size in layer_sizes(network.policy_layers)),
            "activation": activation_of(network.policy_layers),
            **self.used_for_charging(network.charging.initial_charging if network.site else None),
            "shared_layers": network.policy_layers is network.value_layers,
            "state_dependent_std": network.log_std is None,
            "log_std_init": network.shape.log_std_init,
            "orthogonal_init": network.shape.orthogonal,
            "normalize_observations": runner.normalizer is not None,
            "clip_obs": runner.preprocessing.clip_obs,
            "normalize_rewards": runner.reward_normalizer is not None,
            "reward_scale": runner.preprocessing.reward_scale,
            "bf16": config.bf16,
            "tf32": has_tf32(),
            "torch_compile": network.shape.compiled,
            "cuda_graphs": network.shape.cuda_graphs,
            "pin_memory": config.pin_memory,
            **{name: schedule.initial for name, schedule in schedules.items()},
            **{f"{name}_schedule": schedule.shape for name, schedule in schedules.items()},
            **{f"{name}_final": schedule.final for name, schedule in schedules.items()},
            # Not what it was told, but what the optimizer has.
            "learning_rate": float(learner.optimizer.param_groups[0]["lr"]),
        }

    def losses(self, result: dict[str, Any]) -> dict[str, float | int | None]:
        """See `Trainer`."""
        learner = result["learners"][MODULE]
        losses: dict[str, float | int | None] = {column: _finite(learner.get(column)) for column in self.losses_of}
        losses["gradient_steps"] = int(learner["gradient_steps"])
        losses["episode_return"] = _finite(result["env_runners"].get("episode_return_mean"))
        return losses

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
        from tuning.algorithms.networks.deterministic_policy import ModeNetwork

        network = self.learner.network
        return ModeNetwork(self.runner.preprocess(), network, network.means)


def _finite(value: Any) -> float | None:
    """The number, or None where a metric is missing or NaN: nothing was measured."""
    return None if value is None or not math.isfinite(value) else float(value)
