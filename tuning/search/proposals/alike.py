"""Trials that do the same as an earlier one.

A policy that starts from a plan and keeps it is rated exactly as the plan is. Hundreds of assignments can do that. Where none
is better, all of them are the best, and a sampler would propose ever more of them. So only the first counts as good.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from optuna.trial import FrozenTrial, TrialState

from envs.objective.aim import Aim
from tuning.search.record.trials import CAN_BE_BEST, SAME_AS, Gains, gains_of, lacked_memory, last_gains

Outcome = tuple[float, Gains | None]  # of an evaluation: its rating and, with two objectives, both gains


def alike(trials: Iterable[FrozenTrial]) -> frozenset[int]:
    """Numbers of trials that do the same as an earlier one: their last ratings, and both gains, are equal to the last bit.

    Policies that differ in any hour do not have equal ratings, as a rating sums thousands of hours. A trial that goes on and
    then differs is in it no longer. One that repeats an assignment, and so was not trained, is not in it. Nor is one that
    misses a requirement. One that failed or ran out of memory is no such earlier one, as samplers do not see it as good.

    Args:
        trials: of a study, by number.
    """
    seen: set[Outcome] = set()
    found = set()
    for trial in trials:
        outcome = _last_outcome(trial)
        if outcome is None or Aim.is_missed(outcome[0]):
            continue  # policies that differ can miss a requirement by as much
        if outcome in seen:
            found.add(trial.number)
        if trial.state is not TrialState.FAIL and not lacked_memory(trial):
            seen.add(outcome)
    return frozenset(found)


def repeats(trials: Iterable[FrozenTrial], least_steps: float) -> dict[int, int]:
    """Trials that have done nothing but what an earlier one does, each with the number of that one.

    Args:
        trials: of a study, by number.
        least_steps: due steps from which on that counts; a policy begins with its plan, and leaves it later.

    Returns:
        By number: trials with equal outcomes of all evaluations, which are the last outcome of an earlier trial too. That one
        runs, is frozen or is complete.
    """
    lasts: dict[Outcome, int] = {}
    found = {}
    for trial in trials:
        outcome = _last_outcome(trial)
        if outcome is None or Aim.is_missed(outcome[0]):
            continue  # policies that differ can miss a requirement by as much
        if outcome in lasts and max(trial.intermediate_values) >= least_steps and _is_constant(trial):
            found[trial.number] = lasts[outcome]
        elif trial.state in CAN_BE_BEST:
            lasts.setdefault(outcome, trial.number)
    return found


def _last_outcome(trial: FrozenTrial) -> Outcome | None:
    """Outcome of the last evaluation; None before the first, where it is not finite, and for a trial that was not trained."""
    if not trial.intermediate_values or SAME_AS in trial.user_attrs:
        return None
    rating = trial.intermediate_values[max(trial.intermediate_values)]
    return (rating, last_gains(trial)) if math.isfinite(rating) else None


def _is_constant(trial: FrozenTrial) -> bool:
    """Whether all evaluations of a trial came out equal."""
    return len(set(trial.intermediate_values.values())) == 1 and len(set(gains_of(trial).values())) <= 1
