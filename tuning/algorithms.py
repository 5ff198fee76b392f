"""From an assignment of hyperparameters to an RLlib algorithm, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from search_spaces import Assignment

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm

ENVIRONMENT = "site"  # the environment's name in Ray's registry


def build_ppo(hyperparameters: Assignment, make_env: Callable[[], gym.Env[Any, Any]], seed: int, gpu: bool) -> Algorithm:
    """Build PPO with one environment and the learner in this process.

    Args:
        hyperparameters: full assignment of `search_spaces.ppo`.
        make_env: makes the training environment.
        seed: of networks, action sampling and environment.
        gpu: whether the learner uses the GPU.
    """
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
    from ray.tune import register_env

    h: dict[str, Any] = dict(hyperparameters)
    register_env(ENVIRONMENT, lambda _: make_env())
    config = PPOConfig()
    # The environment clips actions itself; RLlib doing so once more costs as much as its sampling.
    config.environment(ENVIRONMENT, disable_env_checking=True, normalize_actions=False, clip_actions=False)
    config.env_runners(
        num_env_runners=0, num_envs_per_env_runner=1, rollout_fragment_length=h["n_steps"], batch_mode="truncate_episodes"
    )
    config.learners(num_learners=0, num_gpus_per_learner=1 if gpu else 0)
    config.training(
        lr=h["learning_rate"],
        train_batch_size_per_learner=h["n_steps"],
        minibatch_size=h["batch_size"],
        num_epochs=h["n_epochs"],
        gamma=h["gamma"],
        lambda_=h["gae_lambda"],
        clip_param=h["clip_range"],
        entropy_coeff=h["ent_coef"],
        vf_loss_coeff=h["vf_coef"],
        # RLlib cuts the value loss where it is large, and with it the gradient; nobody asked for that.
        vf_clip_param=math.inf,
        use_kl_loss=h["target_kl"] is not None,
        **({} if h["target_kl"] is None else {"kl_target": h["target_kl"]}),
        grad_clip=h["max_grad_norm"],
        grad_clip_by="global_norm",
    )
    config.rl_module(
        model_config=DefaultModelConfig(
            fcnet_hiddens=[int(size) for size in str(h["hidden_sizes"]).split(",")],
            fcnet_activation=h["activation"],
            vf_share_layers=False,
        )
    )
    config.debugging(seed=seed, log_level="ERROR")
    return config.build_algo()


def training_envs(algorithm: Algorithm) -> list[gym.Env[Any, Any]]:
    """Training environments of a built algorithm, in their wrappers."""
    runner: Any = algorithm.env_runner
    return list(runner.env.unwrapped.envs)


def used_by_ppo(algorithm: Algorithm) -> Assignment:
    """Hyperparameters that a built PPO works with: from its optimizer and networks, the rest from its own configuration."""
    import torch

    config: Any = algorithm.config
    group: Any = algorithm.learner_group
    learner = group._learner
    (optimizer,) = learner._named_optimizers.values()
    encoder = next(iter(learner.module._rl_modules.values())).encoder.actor_encoder
    layers = [layer for layer in encoder.modules() if isinstance(layer, torch.nn.Linear)]
    activations = {type(layer).__name__.lower() for layer in encoder.modules() if type(layer).__module__.endswith("activation")}
    return {
        "learning_rate": float(optimizer.param_groups[0]["lr"]),
        "n_steps": config.total_train_batch_size,
        "batch_size": config.minibatch_size,
        "n_epochs": config.num_epochs,
        "gamma": config.gamma,
        "gae_lambda": config.lambda_,
        "clip_range": config.clip_param,
        "ent_coef": config.entropy_coeff,
        "vf_coef": config.vf_loss_coeff,
        "max_grad_norm": config.grad_clip,
        "target_kl": config.kl_target if config.use_kl_loss else None,
        "hidden_sizes": ",".join(str(layer.out_features) for layer in layers),
        "activation": ",".join(sorted(activations)),
    }


def ppo_losses(result: dict[str, Any]) -> dict[str, float | int | None]:
    """Columns of a report from the result of one `Algorithm.train()`."""
    learner = result["learners"]["default_policy"]
    names = {
        "policy_loss": "policy_loss",
        "value_loss": "vf_loss_unclipped",
        "entropy": "entropy",
        "kl": "mean_kl_loss",
        "explained_variance": "vf_explained_var",
        "gradient_norm": "gradients_default_optimizer_global_norm",
        "learning_rate": "default_optimizer_learning_rate",
    }
    losses: dict[str, float | int | None] = {column: _finite(learner.get(name)) for column, name in names.items()}
    losses["gradient_steps"] = int(learner["num_module_steps_trained"] / learner["module_train_batch_size_mean"])
    losses["episode_return"] = _finite(result["env_runners"].get("episode_return_mean"))
    return losses


def deterministic_policy(algorithm: Algorithm) -> Callable[[np.ndarray], np.ndarray]:
    """The mode of an algorithm's policy, as a function from one observation to one action."""
    import torch

    module: Any = algorithm.get_module()

    distribution = module.get_inference_action_dist_cls()
    device = next(module.parameters()).device

    def act(observation: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            batch = {"obs": torch.as_tensor(observation, device=device).unsqueeze(0)}
            inputs = module.forward_inference(batch)["action_dist_inputs"]
            action = distribution.from_logits(inputs).to_deterministic().sample()[0]
        return action.cpu().numpy()

    return act


def _finite(value: Any) -> float | None:
    """The number, or None where RLlib has none: it leaves a metric out, or gives NaN, where nothing was measured."""
    return None if value is None or not math.isfinite(value) else float(value)
