"""Two objectives as one number, a different one from decision to decision.

The study of a search has one value for each evaluation: the mean of both gains. What each objective gained is an attribute of
the trial. A decision of freeze-thaw looks at them from one direction: it weights the objectives, and the weights follow a fixed
sequence (ParEGO, Knowles 2006). So all parts of the front get their turn, and a decision depends on the study alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from optuna.trial import FrozenTrial, TrialState

from envs.objective.aim import Aim
from results.front import not_dominated, spread_out
from tuning.search.record.trials import CAN_BE_BEST, CONFIRMS, last_gains

FINISHED = 3  # members of the front that the end of a budget pays for: both ends and the middle
_AUGMENTATION = 0.05  # how much the weighted sum counts beside the greatest weighted distance
_FIRST_WEIGHTS = (0.5, 0.0, 1.0)  # the middle and both ends


def weight(number: int) -> float:
    """Weight of the first objective: 1/2, 0, 1, then 1/4, 3/4, 1/8, 5/8, ... (van der Corput's sequence).

    Args:
        number: in the sequence, from 0.
    """
    if number < len(_FIRST_WEIGHTS):
        return _FIRST_WEIGHTS[number]
    value, part, rest = 0.0, 0.5, number - 1
    while rest:
        value, part, rest = value + part * (rest % 2), part / 2.0, rest // 2
    return value


def chebyshev(gains: NDArray[np.float64], of_first: float) -> NDArray[np.float64]:
    """Gains as one number: the augmented Chebyshev scalarisation of ParEGO (Knowles 2006), turned so that more is better.

    Each objective is scaled first: its median becomes 0, its best value 1.

    Args:
        gains: of all evaluations, shape (evaluations, 2).
        of_first: weight of the first objective, from 0 to 1.

    Returns:
        Shape (evaluations,), at most 0.
    """
    best, middle = gains.max(axis=0), np.median(gains, axis=0)
    width = np.where(best > middle, best - middle, 1.0)
    weighted = (best - gains) / width * (of_first, 1.0 - of_first)
    return -(weighted.max(axis=1) + _AUGMENTATION * weighted.sum(axis=1))


def on_front(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """The trials that no other one is better than in both objectives, those that stand for the whole front first.

    Args:
        trials: those that may be among them. What has failed or was stopped, has no evaluation or misses a requirement is not.
    """
    rated = [
        (trial, gains)
        for trial in trials
        if trial.state in CAN_BE_BEST
        and (gains := last_gains(trial)) is not None
        and not Aim.is_missed(trial.intermediate_values[max(trial.intermediate_values)])
    ]
    if not rated:
        return []
    kept = not_dominated(np.array([gains for _, gains in rated]))
    front = [one for one, is_kept in zip(rated, kept, strict=True) if is_kept]
    return [front[place][0] for place in spread_out(np.array([gains for _, gains in front]))]


def front_of_search(trials: Sequence[FrozenTrial]) -> list[int]:
    """Numbers of the trials of a search that no other one is better than in both of two objectives.

    Those are among them that only a running trial is better than, as that one may fail.

    Args:
        trials: of the study.
    """
    search = [trial for trial in trials if CONFIRMS not in trial.user_attrs]
    still = [trial for trial in search if trial.state is not TrialState.RUNNING]
    return list(dict.fromkeys(trial.number for some in (search, still) for trial in on_front(some)))
