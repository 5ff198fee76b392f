"""PPO's hyperparameters and how they are searched."""

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
    PREPROCESSING,
    VF_COEF,
    learning_rate,
    n_steps,
    networks,
)
from search_spaces.space import AtMost, Kind, Parameter, Scale, SearchSpace

PPO = SearchSpace(
    (
        # Below, half a million steps do not get anywhere; above, the ratio's clip is left in one step.
        learning_rate(5e-4, 1e-5, 3e-3),
        *LEARNING_RATE_SCHEDULE,
        # From five days to two years of hours; above, half a million steps are few updates.
        n_steps(4096, 7, 14),
        Parameter(
            "batch_size", Kind.INTEGER, 512, "transitions in one gradient step", low=1, high=10_000_000,
            # Smaller ones leave the hardware idle, larger ones leave few gradient steps.
            search=IntDistribution(6, 11), scale=Scale.POWER_OF_TWO, at_most=AtMost("n_steps"),
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
            "target_kl", Kind.NUMBER, None, "divergence that an adaptive penalty aims at; none for no penalty",
            low=1e-5, high=10.0, optional=True,
        ),
        NORMALIZE_ADVANTAGE,
        *PREPROCESSING,
        *networks("128,128", "tanh"),
        *ACTOR_CRITIC,
        *HARDWARE,
    )
)  # fmt: skip
