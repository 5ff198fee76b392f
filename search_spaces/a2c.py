"""A2C's hyperparameters and how they are searched."""

from dataclasses import replace

from optuna.distributions import CategoricalDistribution

from search_spaces.common import (
    ACTOR_CRITIC,
    ENTROPY,
    GAE_LAMBDA,
    GAMMA,
    HARDWARE,
    LEARNING_RATE_SCHEDULE,
    MAX_GRAD_NORM,
    NORMALIZE_ADVANTAGE,
    NORMALIZE_OBSERVATIONS,
    PLAIN,
    PREPROCESSING,
    SEEN,
    SHARED_POLICY,
    VF_COEF,
    learning_rate,
    n_steps,
    networks,
)
from search_spaces.parameter import Assignment, AtMost, Kind, Parameter
from search_spaces.space import SearchSpace

A2C = SearchSpace(
    (
        # Nothing holds the policy but the rate: above, it jumps to where it learns nothing more.
        learning_rate(7e-4, 3e-5, 3e-3),
        *LEARNING_RATE_SCHEDULE,
        Parameter(
            "optimizer", Kind.TEXT, "adam", "what takes the gradient step", choices=("rmsprop", "adam"),
            search=CategoricalDistribution(("rmsprop", "adam")),
        ),
        # Each update is one gradient step, so rollouts are short: from 128 hours over all copies to half a year.
        n_steps(1024, 7, 12),
        Parameter(
            "batch_size", Kind.INTEGER, None, "transitions of which the gradient is computed at once, which bounds memory "
            "alone; none for all", low=1, high=10_000_000, optional=True, at_most=AtMost("n_steps"),
            # Not searched: no result depends on it.
        ),
        GAMMA,
        GAE_LAMBDA,
        *ENTROPY,
        VF_COEF,
        MAX_GRAD_NORM,
        NORMALIZE_ADVANTAGE,
        # Not searched: of nine draws of PPO seven learned better with it, and policies without it did nothing more often.
        replace(NORMALIZE_OBSERVATIONS, search=None),
        *PREPROCESSING,
        # Not searched: outputs of relu are never below zero, so with it the actions of all hours first fall together. Policies
        # that only discharge, and so do nothing, all had it.
        *networks("128,128", "tanh"),
        *SEEN,
        *ACTOR_CRITIC,
        SHARED_POLICY,
        *HARDWARE,
    )
)  # fmt: skip

_RTX4060: Assignment = {
    "learning_rate_schedule": "exponential", "optimizer": "rmsprop", "gamma": 0.99, "gae_lambda": 0.9, "ent_coef": 0.02,
    "vf_coef": 0.5, "max_grad_norm": 1.0, "reward_scale": 1.2, "normalize_advantage": True,
}  # fmt: skip

A2C_PRESETS: dict[str, Assignment] = {
    "default": {},
    "several-buildings": {"shared_policy": True},
    "planned": {"shared_policy": True, "plan": "learned"},
    "rtx4060-before": {**_RTX4060, "learning_rate": 0.002, "n_steps": 16},
    "rtx4060-after": {**_RTX4060, "learning_rate": 0.001, "n_steps": 128},
    "script-before": {"learning_rate": 7e-4, "n_steps": 2048, "hidden_sizes": "1024,1024"},
    "script-after": {"n_steps": 512, "hidden_sizes": "512,512"},
    "oom-before": {"n_steps": 256},
    "oom-safe": {"n_steps": 128, "batch_size": 32},
    "stable-baselines3": {
        **PLAIN, "learning_rate": 7e-4, "optimizer": "rmsprop", "n_steps": 5, "gamma": 0.99, "gae_lambda": 1.0,
        "ent_coef": 0.0, "vf_coef": 0.5, "max_grad_norm": 0.5, "normalize_advantage": False,
        "hidden_sizes": "64,64", "activation": "tanh",
    },
}  # fmt: skip
