"""Who is still in the race, and who has won it: decisions from scores alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from results.statistics import CONFIDENCE, Interval, paired_mean

FIRST = 3  # runs of each contender before anybody is dropped: with two, an interval says next to nothing
GROWTH = 1.5  # of the number of runs from one look to the next


@dataclass(frozen=True)
class Standing:
    """How contenders stand after a number of runs of each.

    Attributes:
        leader: who has the best mean of those with the most runs.
        behind: by how much the leader is better than each of the others, over the runs that both have.
    """

    leader: str
    behind: Mapping[str, Interval]

    @property
    def beaten(self) -> list[str]:
        """Whose interval lies below the leader."""
        return [name for name, interval in self.behind.items() if interval.low > 0.0]

    @property
    def winner(self) -> str | None:
        """The leader, if it is better than all others; None where that cannot be told."""
        return self.leader if len(self.beaten) == len(self.behind) else None


def looks(runs: int) -> list[int]:
    """After how many runs of each contender the race is looked at; the last is all of them."""
    found, count = [], FIRST
    while count < runs:
        found.append(count)
        count = math.ceil(count * GROWTH)
    return [*found, runs]


def comparisons(contenders: int, runs: int) -> int:
    """How many comparisons a race makes: at each look any two may turn out to be the leader and who is behind."""
    return max(1, len(looks(runs)) * contenders * (contenders - 1) // 2)


def standing(scores: Mapping[str, np.ndarray], comparisons: int = 1) -> Standing:
    """Compare the leader with all others, pair by pair of runs with the same seed.

    Args:
        scores: of each contender, each run's mean over the years, in the order of the seeds; shape (runs,), at least two. One
            that was dropped has fewer, and cannot lead: its mean is of other seeds.
        comparisons: how many there are in all, see `comparisons`: each interval is widened so that all of them together hold
            the truth with `CONFIDENCE` (Bonferroni), or many contenders and many looks would drop somebody by chance.
    """
    most = max(len(own) for own in scores.values())
    leader = max((name for name, own in scores.items() if len(own) == most), key=lambda name: float(np.mean(scores[name])))
    confidence = 1.0 - (1.0 - CONFIDENCE) / max(1, comparisons)
    behind = {}
    for name, own in scores.items():
        if name != leader:
            common = min(len(own), len(scores[leader]))
            behind[name] = paired_mean(scores[leader][:common], own[:common], confidence)
    return Standing(leader, behind)
