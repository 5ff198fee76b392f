"""A2C's hyperparameters and how they are searched."""

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
    PREPROCESSING,
    VF_COEF,
    learning_rate,
    n_steps,
    networks,
)
from search_spaces.space import AtMost, Kind, Parameter, SearchSpace

A2C = SearchSpace(
    (
        # Nothing holds the policy but the rate: above, it jumps to where it learns nothing more.
        learning_rate(7e-4, 3e-5, 3e-3),
        *LEARNING_RATE_SCHEDULE,
        Parameter(
            "optimizer", Kind.TEXT, "adam", "what takes the gradient step", choices=("rmsprop", "adam"),
            search=CategoricalDistribution(("rmsprop", "adam")),
        ),
        # Each update is one gradient step, so rollouts are short: from 64 hours over all copies to half a year.
        n_steps(1024, 6, 12),
        Parameter(
            "batch_size", Kind.INTEGER, None, "transitions whose gradient is reckoned at once, which bounds memory and nothing "
            "else; none for all", low=1, high=10_000_000, optional=True, at_most=AtMost("n_steps"),
            # Not searched: no result depends on it.
        ),
        GAMMA,
        GAE_LAMBDA,
        *ENTROPY,
        VF_COEF,
        MAX_GRAD_NORM,
        NORMALIZE_ADVANTAGE,
        *PREPROCESSING,
        *networks("128,128", "tanh"),
        *ACTOR_CRITIC,
        *HARDWARE,
    )
)  # fmt: skip
