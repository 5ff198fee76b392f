"""Trials that do the same as an earlier one.

A policy that starts from a plan and keeps it is rated exactly as the plan is. Hundreds of assignments can do that. Where none
is better, all of them are the best, and a sampler would propose ever more of them. So only the first counts as good.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from optuna.trial import FrozenTrial

from tuning.search.two_aims import Gains, last_gains

SAME_AS = "same_as"  # user attribute of a trial: number of an earlier one with the same assignment; both have the same outcome


def alike(trials: Iterable[FrozenTrial]) -> frozenset[int]:
    """Numbers of trials that do the same as an earlier one: their last ratings, and both gains, are equal to the last bit.

    Policies that differ in any hour do not have equal ratings, as a rating sums thousands of hours. A trial that goes on and
    then differs is in it no longer. One that repeats an assignment, and so was not trained, is not in it.

    Args:
        trials: of a study, by number.
    """
    seen: set[tuple[float, Gains | None]] = set()
    found = set()
    for trial in trials:
        rating = trial.intermediate_values.get(trial.last_step) if trial.last_step is not None else None
        if rating is None or not math.isfinite(rating) or SAME_AS in trial.user_attrs:
            continue
        outcome = rating, last_gains(trial)
        if outcome in seen:
            found.add(trial.number)
        seen.add(outcome)
    return frozenset(found)
