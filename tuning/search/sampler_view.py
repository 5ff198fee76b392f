"""What a sampler sees of the trials of a study."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from datetime import datetime

from optuna.trial import FrozenTrial, TrialState


def as_seen(known: Sequence[FrozenTrial], values: Mapping[int, float]) -> list[FrozenTrial]:
    """Trials as a sampler sees them: one that may still go on counts as complete, with a value that it is expected to reach.

    Args:
        known: all trials by number; they are not changed.
        values: expected value of trials that have not ended, by number; others have their last.
    """
    return [_seen(trial, values) for trial in known]


def _seen(trial: FrozenTrial, values: Mapping[int, float]) -> FrozenTrial:
    if trial.state is not TrialState.WAITING:
        return trial
    seen = copy.copy(trial)
    value = values.get(trial.number, trial.intermediate_values[max(trial.intermediate_values)])
    seen.state, seen.values, seen.datetime_complete = TrialState.COMPLETE, [value], datetime.now()
    return seen
