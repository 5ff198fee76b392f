"""Decisions of a race, from scores alone: the leader, the contenders that it beats, and the winner."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from results.multiple_comparisons import compared_in_pairs
from results.statistics import CONFIDENCE, Interval

FIRST = 3  # runs of each contender before the first is dropped: an interval of two runs is too wide
GROWTH = 1.5  # factor of the number of runs from one look to the next


@dataclass(frozen=True)
class Standing:
    """Standings after a number of runs of each contender.

    Attributes:
        leader: contender with the best mean among those with the most runs.
        behind: by how much the leader is better than each of the others, over the runs that both have.
    """

    leader: str
    behind: Mapping[str, Interval]

    @property
    def beaten(self) -> list[str]:
        """Contenders that are worse than the leader, by an interval without zero."""
        return [name for name, interval in self.behind.items() if interval.low > 0.0]

    @property
    def winner(self) -> str | None:
        """The leader if it beats all others, else None."""
        return self.leader if len(self.beaten) == len(self.behind) else None


def looks(runs: int) -> list[int]:
    """Numbers of runs after which contenders are compared; the last is all of them."""
    found, count = [], FIRST
    while count < runs:
        found.append(count)
        count = math.ceil(count * GROWTH)
    return [*found, runs]


def standing(scores: Mapping[str, np.ndarray], looks: int = 1) -> Standing:
    """Compare the leader with all others, over runs with the same seeds.

    All intervals of all looks together hold the truth with `CONFIDENCE`: any contender may lead, and any be behind it. The
    looks share the error. A contender that was dropped is compared as at the look that dropped it, so that is none more.

    Args:
        scores: mean over the years of each run, by contender, in the order of the seeds; shape (runs,), at least two. A
            dropped contender has fewer runs and cannot lead, as its mean is of other seeds.
        looks: number of looks of the race, see `looks`.
    """
    most = max(len(own) for own in scores.values())
    leader = max((name for name, own in scores.items() if len(own) == most), key=lambda name: float(np.mean(scores[name])))
    confidence = 1.0 - (1.0 - CONFIDENCE) / looks
    behind: dict[str, Interval] = {}
    for runs in {len(own) for own in scores.values()}:
        # All that were in the race then: their runs tell how much noise there is.
        racing = {name: own[:runs] for name, own in scores.items() if len(own) >= runs}
        compared = compared_in_pairs(racing, confidence)
        behind |= {name: compared[leader, name] for name, own in scores.items() if len(own) == runs and name != leader}
    return Standing(leader, {name: behind[name] for name in scores if name != leader})
