"""How Optuna proposes hyperparameters, by the names of `--sampler`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from optuna.samplers import BaseSampler, CmaEsSampler, GPSampler, RandomSampler, TPESampler

MOST_STARTUP, LEAST_STARTUP = 10, 2  # Optuna's default; below, a model has nothing to compare
STARTUP_PART = 0.25  # of the trials

SAMPLERS: Mapping[str, Callable[[int, int], BaseSampler]] = {  # each takes a seed, and how many trials come before its model
    # One model of all hyperparameters, with running trials as bad ones; both are what Optuna 5 does by itself for one aim.
    "tpe": lambda seed, startup: TPESampler(seed=seed, n_startup_trials=startup, multivariate=True, constant_liar=True),
    "random": lambda seed, startup: RandomSampler(seed=seed),
    # Both sample some parameters independently, and would warn of each.
    "gp": lambda seed, startup: GPSampler(seed=seed, n_startup_trials=startup, warn_independent_sampling=False),
    # It begins with the middle of the space, and needs no trials before.
    "cmaes": lambda seed, startup: CmaEsSampler(seed=seed, warn_independent_sampling=False),
}

# Trials that each is shown, of more those that tell most. What a draw costs grows with their number, of `gp` with its cube.
MOST_SHOWN: Mapping[str, float] = {"tpe": 2000, "random": 0, "gp": 300, "cmaes": math.inf}


def startup_trials(trials: int) -> int:
    """How many trials come before the sampler's model: a quarter of all, within bounds.

    Args:
        trials: that the budget allows; 0 if that is not known.
    """
    return min(MOST_STARTUP, max(LEAST_STARTUP, int(trials * STARTUP_PART))) if trials else MOST_STARTUP
