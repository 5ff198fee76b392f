"""Hyperparameters of PPO and A2C, and how they are searched."""

from dataclasses import replace

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces import common
from search_spaces.parameter import Assignment, AtMost, Kind, Parameter, PartOf, Scale, SearchedFrom
from search_spaces.space import SearchSpace


def _n_steps(default: int, low: int, high: int) -> Parameter:
    """Transitions between two updates, searched between two powers of two.

    At least four updates in a trial are valid. Fewer than eight are not searched: most policies do not move in so few.
    """
    return Parameter(
        "n_steps", Kind.INTEGER, default, "transitions collected between two updates", low=2, high=10_000_000,
        search=IntDistribution(low, high), scale=Scale.POWER_OF_TWO, at_most=AtMost("steps", 0.25),
        searched_to=AtMost("steps", 1 / 8),
    )  # fmt: skip


_RETURNS = (
    common.GAMMA,
    Parameter(
        "gae_lambda", Kind.NUMBER, 0.95, "bias against variance of the advantage", low=0.0, high=1.0,
        # From 0.8, a few hours of rewards, to 0.995, a week of them.
        search=FloatDistribution(5e-3, 2e-1, log=True), scale=Scale.ONE_MINUS,
    ),
)  # fmt: skip

_LOSS = (
    Parameter(
        "ent_coef", Kind.NUMBER, 0.0, "weight of the entropy bonus", low=0.0, high=10.0,
        # The mean reward is a few hundredths: a larger bonus drowns it.
        search=FloatDistribution(1e-7, 3e-3, log=True),
    ),
    *common.schedule("ent_coef"),
    # Not searched: with layers of their own, policy and value hardly compete for it; only the gradient's norm is shared.
    Parameter("vf_coef", Kind.NUMBER, 0.5, "weight of the value loss", low=0.0, high=100.0),
    common.max_grad_norm(0.5, 5.0),
)  # fmt: skip

_POLICY = (
    Parameter(
        "normalize_advantage", Kind.FLAG, True, "bring advantages to mean 0 and deviation 1 before they weigh the gradient"
    ),
    # Not searched: of nine draws of PPO seven learned better with it, and policies without it did nothing more often.
    replace(common.NORMALIZE_OBSERVATIONS, search=None),
    *common.PREPROCESSING,
    # Not searched: outputs of relu are never below zero, so with it the actions of all hours first fall together. Policies
    # that only discharge, and so do nothing, all had it.
    *common.networks("tanh"),
    common.PLAN,
    *common.CHARGING,
    Parameter("shared_layers", Kind.FLAG, False, "policy and value function have their hidden layers in common"),
    Parameter(
        "log_std_init", Kind.NUMBER, -1.5, "logarithm of the actions' deviations at the start", low=-10.0, high=2.0,
        # From 0.05 to 1, of an action's range of 2. With a deviation of 1 a third of the actions are cut off at its ends.
        search=FloatDistribution(-3.0, 0.0),
        # Changes of a plan count from 0.3 on. Of 147 trials that had a plan and began with less than 0.4, none changed it for
        # the better, and two thirds kept it in all hours. See the page search.
        searched_from=SearchedFrom(-1.0, "plan", common.PLAN.choices[1:]),
    ),
    Parameter("state_dependent_std", Kind.FLAG, False, "the actions' deviations follow from the observation"),
    Parameter("orthogonal_init", Kind.FLAG, True, "layers start orthogonal, and actions near the middle of their range"),
    common.SHARED_POLICY,
    *common.HARDWARE,
)  # fmt: skip

PPO = SearchSpace(
    (
        # Below, policies do not move within a search's budget; above, the ratio's clip is left in one step.
        common.learning_rate(5e-4),
        *common.LEARNING_RATE_SCHEDULE,
        # From three weeks to two years of hours. An update costs time beside what it learns, so below it is the updates that
        # take most of it.
        _n_steps(4096, 9, 14),
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
        *_RETURNS,
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
        *_LOSS,
        Parameter(
            "target_kl", Kind.NUMBER, None, "an update ends where the divergence from the policy before it is 1.5 times this; "
            "none for no such end", low=1e-5, high=10.0, optional=True,
        ),
        Parameter(
            "kl_target", Kind.NUMBER, None, "divergence that an adaptive penalty aims at; none for no penalty",
            low=1e-5, high=10.0, optional=True,
        ),
        *_POLICY,
    )
)  # fmt: skip

A2C = SearchSpace(
    (
        # Nothing holds the policy but the rate: above, it jumps to where it learns nothing more.
        common.learning_rate(7e-4),
        *common.LEARNING_RATE_SCHEDULE,
        Parameter(
            "optimizer", Kind.TEXT, "adam", "what takes the gradient step", choices=("rmsprop", "adam"),
            search=CategoricalDistribution(("rmsprop", "adam")),
        ),
        # Each update is one gradient step, so rollouts are short: from 128 hours over all copies to half a year.
        _n_steps(1024, 7, 12),
        Parameter(
            "batch_size", Kind.INTEGER, None, "transitions of which the gradient is computed at once, which bounds memory "
            "alone; none for all", low=1, high=10_000_000, optional=True, at_most=AtMost("n_steps"),
            # Not searched: no result depends on it.
        ),
        *_RETURNS,
        *_LOSS,
        *_POLICY,
    )
)  # fmt: skip

_PPO_RTX4060: Assignment = {
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
    "rtx4060-before": {**_PPO_RTX4060, "n_steps": 4096, "n_epochs": 25},
    "rtx4060-after": {**_PPO_RTX4060, "n_steps": 8192, "n_epochs": 40},
    "script-before": {
        "learning_rate": 2e-4, "n_steps": 2048, "batch_size": 128, "n_epochs": 20, "hidden_sizes": "1024,1024",
    },
    "script-after": {
        "learning_rate": 3e-4, "n_steps": 1024, "batch_size": 64, "n_epochs": 10, "hidden_sizes": "512,512",
    },
    "oom-before": {"n_steps": 1024, "batch_size": 64, "n_epochs": 10},
    "oom-safe": {"n_steps": 1024, "batch_size": 32, "n_epochs": 5},
    "stable-baselines3": {
        **common.PLAIN, "learning_rate": 3e-4, "n_steps": 2048, "batch_size": 64, "n_epochs": 10, "gamma": 0.99,
        "gae_lambda": 0.95, "clip_range": 0.2, "ent_coef": 0.0, "vf_coef": 0.5,
        "max_grad_norm": 0.5, "hidden_sizes": "64,64", "activation": "tanh",
    },
    "rllib": {
        **common.PLAIN, "learning_rate": 5e-5, "n_steps": 4000, "batch_size": 128, "n_epochs": 30, "gamma": 0.99,
        "gae_lambda": 1.0, "clip_range": 0.3, "ent_coef": 0.0, "vf_coef": 1.0,
        "max_grad_norm": None, "kl_target": 0.01, "hidden_sizes": "256,256", "activation": "tanh",
        "state_dependent_std": True, "orthogonal_init": False,
    },
}  # fmt: skip

_A2C_RTX4060: Assignment = {
    "learning_rate_schedule": "exponential", "optimizer": "rmsprop", "gamma": 0.99, "gae_lambda": 0.9, "ent_coef": 0.02,
    "vf_coef": 0.5, "max_grad_norm": 1.0, "reward_scale": 1.2, "normalize_advantage": True,
}  # fmt: skip

A2C_PRESETS: dict[str, Assignment] = {
    "default": {},
    "several-buildings": {"shared_policy": True},
    "planned": {"shared_policy": True, "plan": "learned"},
    "rtx4060-before": {**_A2C_RTX4060, "learning_rate": 0.002, "n_steps": 16},
    "rtx4060-after": {**_A2C_RTX4060, "learning_rate": 0.001, "n_steps": 128},
    "script-before": {"learning_rate": 7e-4, "n_steps": 2048, "hidden_sizes": "1024,1024"},
    "script-after": {"n_steps": 512, "hidden_sizes": "512,512"},
    "oom-before": {"n_steps": 256},
    "oom-safe": {"n_steps": 128, "batch_size": 32},
    "stable-baselines3": {
        **common.PLAIN, "learning_rate": 7e-4, "optimizer": "rmsprop", "n_steps": 5, "gamma": 0.99, "gae_lambda": 1.0,
        "ent_coef": 0.0, "vf_coef": 0.5, "max_grad_norm": 0.5, "normalize_advantage": False,
        "hidden_sizes": "64,64", "activation": "tanh",
    },
}  # fmt: skip
