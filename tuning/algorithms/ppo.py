"""From an assignment of hyperparameters to an RLlib algorithm, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from search_spaces import Assignment

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv
    from ray.rllib.algorithms.algorithm import Algorithm

ENVIRONMENT = "site"  # the environment's name in Ray's registry


LEAST_ROLLOUT = 16  # hours of each copy between two updates: less, and the value function has to say all the rest


def copies(n_steps: int, most: int) -> int:
    """Copies that collect `n_steps` transitions together, of which each collects equally many and at least `LEAST_ROLLOUT`.

    Args:
        n_steps: transitions between two updates.
        most: upper bound.
    """
    return max(n for n in range(1, max(1, min(most, n_steps // LEAST_ROLLOUT)) + 1) if n_steps % n == 0)


def build_ppo(
    hyperparameters: Assignment, make_envs: Callable[[int], VectorEnv[Any, Any, Any]], num_envs: int, seed: int, gpu: bool
) -> Algorithm:
    """Build PPO with environments and the learner in this process.

    Args:
        hyperparameters: full assignment of `search_spaces.ppo`.
        make_envs: makes the training environment with a number of copies.
        num_envs: how many; a divisor of `n_steps`.
        seed: of networks, action sampling and environment.
        gpu: whether the learner uses the GPU.
    """
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
    from ray.tune import register_env

    from tuning.env_runner import BatchEnvRunner, NormalizingBatchEnvRunner

    h: dict[str, Any] = dict(hyperparameters)
    register_env(ENVIRONMENT, lambda context: make_envs(context["num_envs"]))
    config = PPOConfig()
    # The environment clips actions itself; RLlib doing so once more costs as much as its sampling.
    config.environment(ENVIRONMENT, disable_env_checking=True, normalize_actions=False, clip_actions=False)
    config.env_runners(
        env_runner_cls=NormalizingBatchEnvRunner if h["normalize_observations"] else BatchEnvRunner,
        gym_env_vectorize_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT,
        num_env_runners=0,
        num_envs_per_env_runner=num_envs,
        rollout_fragment_length=h["n_steps"] // num_envs,
        batch_mode="truncate_episodes",
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


def used_by_ppo(algorithm: Algorithm) -> Assignment:
    """Hyperparameters that a built PPO works with: from its optimizer and networks, the rest from its own configuration."""
    import torch

    config: Any = algorithm.config
    runner: Any = algorithm.env_runner
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
        "normalize_observations": runner.normalizer is not None,
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
    """The mode of an algorithm's policy, as a function from observations to actions, each of shape (copies, ...).

    Observations are normalised as in training, with the statistics as they are now.
    """
    import torch

    module: Any = algorithm.get_module()
    runner: Any = algorithm.env_runner
    normalize = runner.normalizer.frozen() if runner.normalizer else None
    distribution = module.get_inference_action_dist_cls()
    device = next(module.parameters()).device

    def act(observations: np.ndarray) -> np.ndarray:
        if normalize:
            observations = normalize(observations)
        with torch.inference_mode():
            inputs = module.forward_inference({"obs": torch.as_tensor(observations, device=device)})["action_dist_inputs"]
            actions = distribution.from_logits(inputs).to_deterministic().sample()
        return actions.cpu().numpy()

    return act


def _finite(value: Any) -> float | None:
    """The number, or None where RLlib has none: it leaves a metric out, or gives NaN, where nothing was measured."""
    return None if value is None or not math.isfinite(value) else float(value)
