"""Which trials the model of freeze-thaw knows, where there are more of them than it can have in time.

A model of all trials takes time with the cube of their number. Of many, few matter to a decision: those that may yet be best,
and enough others to say what is usual.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Curves = Sequence[tuple[tuple[int, float], ...]]  # of each trial the steps and the rating of each evaluation, by steps

MOST_TRIALS = 400  # that the model knows
_OF_FROZEN, _OF_ALL = 100, 100  # the best of the frozen ones, and of all others; the rest are spread evenly


def rough_ends(curves: Curves) -> Array:
    """Rating that each trial would have at the end, if it gained from now on what trials usually gain.

    Usual is the median of all trials that have two evaluations in a row, from the first to the second.

    Args:
        curves: of the trials.

    Returns:
        Shape (trials,); NaN where there is no evaluation.
    """
    counts = np.array([len(curve) for curve in curves], dtype=np.int64)
    ends = np.full(len(counts), np.nan)
    if not counts.sum():
        return ends
    steps = np.array([taken for curve in curves for taken, _ in curve], dtype=np.int64)
    ratings = np.array([rating for curve in curves for _, rating in curve])
    levels, level = np.unique(steps, return_inverse=True)
    follows = np.ones(len(steps), dtype=bool)
    first = np.cumsum(counts) - counts
    follows[first[counts > 0]] = False
    gains = np.diff(ratings, prepend=ratings[0])
    usual = np.zeros(len(levels))
    for place in range(len(levels)):
        own = gains[follows & (level == place)]
        usual[place] = np.median(own) if len(own) else 0.0
    still = np.cumsum(usual[::-1])[::-1] - usual  # from each level to the end
    last = (first + counts - 1)[counts > 0]
    ends[counts > 0] = ratings[last] + still[level[last]]
    return ends


def considered(curves: Curves, frozen: Sequence[bool]) -> list[int]:
    """Places of the trials that the model knows, rising: all of them, or `MOST_TRIALS` of more.

    Args:
        curves: of the trials.
        frozen: whether each may go on.
    """
    if len(curves) <= MOST_TRIALS:
        return list(range(len(curves)))
    ends = rough_ends(curves)
    may_go_on = np.array(frozen, dtype=bool)
    order = np.argsort(-ends, kind="stable")  # those without an evaluation last
    order = order[~np.isnan(ends[order])]
    of_frozen = order[may_go_on[order]][:_OF_FROZEN]
    others = order[~np.isin(order, of_frozen)]
    best = np.concatenate([of_frozen, others[:_OF_ALL]])
    rest = np.sort(others[_OF_ALL:])
    room = min(MOST_TRIALS - len(best), len(rest))
    spread = rest[np.linspace(0, len(rest) - 1, room).round().astype(np.int64)] if room else rest[:0]
    found: list[int] = np.sort(np.concatenate([best, spread])).tolist()
    return found
