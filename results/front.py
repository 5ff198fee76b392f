"""The front of a search with two objectives: the trials that no other one is better than in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

GAINS = ("gain", "gain_2")


def not_dominated(gains: np.ndarray) -> np.ndarray:
    """Which points (points, objectives), more is better, no other point dominates; of equal points all are, or none."""
    import numpy as np

    kept = np.ones(len(gains), bool)
    # Point by point: all pairs at once would take memory with the square of the points.
    for place, own in enumerate(gains):
        better = (gains >= own).all(axis=1) & (gains > own).any(axis=1)
        kept[place] = not better.any()
    return kept


def spread_out(gains: np.ndarray) -> list[int]:
    """Places of the members (members, objectives) in an order in which the first few stand for all of the front.

    The first has the greatest mean gain. Each next one is farthest from those before, where the front is one wide in each
    objective.
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
    """Rows of the front, the best in the first objective at the top; of trials with the same assignment the first."""
    if any(name not in scored for name in GAINS):
        return scored.iloc[:0]
    rated = scored[scored[list(GAINS)].notna().all(axis=1) & scored["same_as"].isna() & ~(scored["shortfall"] > 0.0)]
    front = rated[not_dominated(rated[list(GAINS)].to_numpy(dtype=float))]
    return front.sort_values(["gain", "trial"], ascending=[False, True])
