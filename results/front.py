"""The front of a search with two objectives: the trials that no other one is better than in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

GAINS = ("gain", "gain_2")


def not_dominated(gains: np.ndarray) -> np.ndarray:
    """Which points no other point dominates: is at least as good in all columns, and better in one.

    Args:
        gains: more is better, shape (points, objectives).

    Returns:
        Shape (points,), bool. Of equal points all are, or none.
    """
    import numpy as np

    kept = np.ones(len(gains), bool)
    # Point by point: all pairs at once would take memory with the square of the points.
    for place, own in enumerate(gains):
        better = (gains >= own).all(axis=1) & (gains > own).any(axis=1)
        kept[place] = not better.any()
    return kept


def spread_out(gains: np.ndarray) -> list[int]:
    """Members of a front in an order in which the first few stand for all of it.

    The first has the greatest mean gain. Each next one is farthest from those before, where the front is one wide in each
    objective. Of equal ones the earlier comes first.

    Args:
        gains: of the members, shape (members, objectives).

    Returns:
        All of their places.
    """
    import numpy as np

    if not len(gains):
        return []
    width = np.ptp(gains, axis=0)
    places = gains / np.where(width > 0.0, width, 1.0)
    order = [int(gains.mean(axis=1).argmax())]
    while len(order) < len(gains):
        distances = np.linalg.norm(places[:, np.newaxis] - places[order], axis=2).min(axis=1)
        distances[order] = -1.0
        order.append(int(distances.argmax()))
    return order


def front_of(scored: pd.DataFrame) -> pd.DataFrame:
    """Rows of the front.

    Args:
        scored: rows of trials that may be in it.

    Returns:
        The best in the first objective at the top; of trials with the same assignment the first. Empty with one objective.
    """
    if any(name not in scored for name in GAINS):
        return scored.iloc[:0]
    rated = scored[scored[list(GAINS)].notna().all(axis=1) & scored["same_as"].isna() & ~(scored["shortfall"] > 0.0)]
    front = rated[not_dominated(rated[list(GAINS)].to_numpy(dtype=float))]
    return front.sort_values(["gain", "trial"], ascending=[False, True])
