"""What proposes hyperparameters and what stops trials, by the names of `--sampler` and `--scheduler`.

An entry is all that a sampler or a scheduler needs. Optuna is imported where one is built.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler

MOST_STARTUP, LEAST_STARTUP = 10, 2  # Optuna's default; below, a model has nothing to compare
STARTUP_PART = 0.25  # of the trials


@dataclass(frozen=True)
class Sampler:
    """How Optuna proposes hyperparameters.

    Attributes:
        build: from a seed, and how many trials come before its model. It is built anew for each draw, with another seed,
            and sees the trials before it in a study of its own. What it keeps itself is lost.
        most_shown: trials that it is shown, of more those that tell most. What a draw costs grows with their number.
        attempts: draws of one trial, until one costs no more than it may.
        draws_alone: whether nothing is drawn but from the whole space, so neither around what is known to work, nor from what
            other experiments found good.
        of_one_objective: whether it searches for one objective only.
        by_number: whether it goes by the numbers of trials, and so has to be shown all.
    """

    build: Callable[[int, int], BaseSampler]
    most_shown: float = 2000
    attempts: int = 8
    draws_alone: bool = False
    of_one_objective: bool = False
    by_number: bool = False


@dataclass(frozen=True)
class Scheduler:
    """Which trials go on.

    Attributes:
        build: from the steps of a trial and its number of evaluations; Optuna's pruner ends trials that do badly.
        freezes: whether `tuning.search.promotion.thawing` decides which trial goes on.
        by_one_number: whether it stops trials by one number, and so both ends of a front.
        by_number: whether it goes by the numbers of trials, and so has to be shown all.
    """

    build: Callable[[int, int], BasePruner]
    freezes: bool = False
    by_one_number: bool = False
    by_number: bool = False


def _optuna() -> Any:
    import optuna

    return optuna


SAMPLERS: Mapping[str, Sampler] = {
    # One model of all hyperparameters, with running trials as bad ones; both are what Optuna 5 does by itself for one aim.
    "tpe": Sampler(
        lambda seed, startup: _optuna().samplers.TPESampler(
            seed=seed, n_startup_trials=startup, multivariate=True, constant_liar=True
        )
    ),
    "random": Sampler(
        lambda seed, startup: _optuna().samplers.RandomSampler(seed=seed), most_shown=0, attempts=1, draws_alone=True
    ),
    # It and the next sample some parameters independently, and would warn of each. Its time grows with the cube of what it is
    # shown, and an attempt takes seconds.
    "gp": Sampler(
        lambda seed, startup: _optuna().samplers.GPSampler(
            seed=seed, n_startup_trials=startup, warn_independent_sampling=False
        ),
        most_shown=300,
        attempts=2,
    ),
    # It begins with the middle of the space, and needs no trials before.
    "cmaes": Sampler(
        lambda seed, startup: _optuna().samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False),
        most_shown=math.inf,
        of_one_objective=True,
        by_number=True,
    ),
}
SCHEDULERS: Mapping[str, Scheduler] = {
    "freeze-thaw": Scheduler(lambda steps, reports: _optuna().pruners.NopPruner(), freezes=True),
    # The factor of Ray's ASHA, as replayed.
    "asha": Scheduler(
        lambda steps, reports: _optuna().pruners.SuccessiveHalvingPruner(
            min_resource=max(1, steps // reports), reduction_factor=4
        ),
        by_one_number=True,
    ),
    # A trial gets at least its first evaluation.
    "hyperband": Scheduler(
        lambda steps, reports: _optuna().pruners.HyperbandPruner(min_resource=max(1, steps // reports), max_resource=steps),
        by_one_number=True,
        by_number=True,
    ),
    # Before half of a trial ratings say little of its end: on `iquitos` their rank correlation is -.17 after a quarter, .79
    # after half (eight recorded trials). The default begins low there, and would have been stopped.
    "median": Scheduler(
        lambda steps, reports: _optuna().pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=steps // 2), by_one_number=True
    ),
    "none": Scheduler(lambda steps, reports: _optuna().pruners.NopPruner()),
}


def startup_trials(trials: int) -> int:
    """How many trials come before the sampler's model: a quarter of all, within bounds.

    Args:
        trials: that the budget allows; 0 if that is not known.
    """
    return min(MOST_STARTUP, max(LEAST_STARTUP, int(trials * STARTUP_PART))) if trials else MOST_STARTUP
