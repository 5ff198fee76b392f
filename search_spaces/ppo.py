"""PPO's hyperparameters and how they are searched."""

from dataclasses import replace

from optuna.distributions import FloatDistribution, IntDistribution

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
from search_spaces.parameter import Assignment, AtMost, Kind, Parameter, PartOf, Scale
from search_spaces.space import SearchSpace

PPO = SearchSpace(
    (
        # Below, policies do not move within a search's budget; above, the ratio's clip is left in one step.
        learning_rate(5e-4, 3e-5, 3e-3),
        *LEARNING_RATE_SCHEDULE,
        # From three weeks to two years of hours. An update costs time beside what it learns, so below it is the updates that
        # take most of it.
        n_steps(4096, 9, 14),
        Parameter(
            "batch_size", Kind.INTEGER, 512, "transitions in one gradient step", low=1, high=10_000_000,
            # From half of a rollout to a 32nd: more are slow, fewer leave few gradient steps.
            search=IntDistribution(1, 5), scale=Scale.POWER_OF_TWO, part_of=PartOf("n_steps", 64), at_most=AtMost("n_steps"),
        ),
        Parameter(
            "n_epochs", Kind.INTEGER, 5, "passes over the collected transitions", low=1, high=1000,
            # More passes over old data mostly hit the clip, and cost as much as new data.
            search=IntDistribution(1, 10, log=True),
        ),
        GAMMA,
        GAE_LAMBDA,
        Parameter(
            "clip_range", Kind.NUMBER, 0.2, "furthest that a probability ratio is rewarded to move from 1", low=1e-3, high=10.0,
            # Below, an update hardly moves; above, the clip does not bind before the epochs are over.
            search=FloatDistribution(0.1, 0.4),
        ),
        Parameter(
            "clip_range_vf", Kind.NUMBER, None, "furthest that a value is trained to move in one update; none for no limit",
            low=1e-3, high=1e6, optional=True,
            # Not searched: it depends on the scale of returns, and found no use in large comparisons of PPO's details.
        ),
        *ENTROPY,
        VF_COEF,
        MAX_GRAD_NORM,
        Parameter(
            "target_kl", Kind.NUMBER, None, "an update ends where the divergence from the policy before it is 1.5 times this; "
            "none for no such end", low=1e-5, high=10.0, optional=True,
        ),
        Parameter(
            "kl_target", Kind.NUMBER, None, "divergence that an adaptive penalty aims at; none for no penalty",
            low=1e-5, high=10.0, optional=True,
        ),
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
    "learning_rate": 3e-4, "learning_rate_schedule": "linear", "batch_size": 512, "gamma": 0.99, "gae_lambda": 0.95,
    "clip_range": 0.2, "ent_coef": 0.001, "max_grad_norm": 0.5, "target_kl": 0.02,
}  # fmt: skip

PPO_PRESETS: dict[str, Assignment] = {
    "default": {},
    "several-buildings": {"shared_policy": True, "learning_rate": 1e-3, "gamma": 0.95, "gae_lambda": 0.9},
    # Changes of a plan count from 0.3 on, so with the default's deviation of 0.22 PPO keeps it. A short view and small updates
    # keep what is worth it. What these values are from is on the page algorithms.
    "planned": {
        "shared_policy": True, "plan": "learned", "learning_rate": 3e-4, "gamma": 0.998, "gae_lambda": 0.82,
        "n_epochs": 6, "clip_range": 0.135, "max_grad_norm": 0.3, "log_std_init": -0.76,
    },
    "rtx4060-before": {**_RTX4060, "n_steps": 4096, "n_epochs": 25},
    "rtx4060-after": {**_RTX4060, "n_steps": 8192, "n_epochs": 40},
    "script-before": {
        "learning_rate": 2e-4, "n_steps": 2048, "batch_size": 128, "n_epochs": 20, "hidden_sizes": "1024,1024",
    },
    "script-after": {
        "learning_rate": 3e-4, "n_steps": 1024, "batch_size": 64, "n_epochs": 10, "hidden_sizes": "512,512",
    },
    "oom-before": {"n_steps": 1024, "batch_size": 64, "n_epochs": 10},
    "oom-safe": {"n_steps": 1024, "batch_size": 32, "n_epochs": 5},
    "stable-baselines3": {
        **PLAIN, "learning_rate": 3e-4, "n_steps": 2048, "batch_size": 64, "n_epochs": 10, "gamma": 0.99,
        "gae_lambda": 0.95, "clip_range": 0.2, "ent_coef": 0.0, "vf_coef": 0.5,
        "max_grad_norm": 0.5, "hidden_sizes": "64,64", "activation": "tanh",
    },
    "rllib": {
        **PLAIN, "learning_rate": 5e-5, "n_steps": 4000, "batch_size": 128, "n_epochs": 30, "gamma": 0.99,
        "gae_lambda": 1.0, "clip_range": 0.3, "ent_coef": 0.0, "vf_coef": 1.0,
        "max_grad_norm": None, "kl_target": 0.01, "hidden_sizes": "256,256", "activation": "tanh",
        "state_dependent_std": True, "orthogonal_init": False,
    },
}  # fmt: skip
