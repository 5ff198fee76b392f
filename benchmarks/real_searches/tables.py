"""What the judged searches say: means, differences to ours with Student's intervals, and parts of the bound."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.real_searches.methods import OURS
from results.statistics import Interval, paired_mean

Row = Mapping[str, Any]
_HEADINGS = (
    "site", "method", "searches", "score in the search", "test score", "ours minus it", "part of the bound", "trials",
    "minutes",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A method on a site.

    Attributes:
        site: of the searches.
        method: that searched.
        scores: test score of each search's winner by the seed of the search: the mean over its fresh trainings.
        ours_minus: mean paired difference, with its interval from two pairs on; None where there is no pair, or for ours.
        pairs: searches that have one of ours with the same seed.
        bound_part: mean test score as a part of the bound; None without one.
        searched: mean score of winners in their searches, on the validation split.
        trials: mean number that a search began.
        minutes: mean wall time of a search's whole process.
    """

    site: str
    method: str
    scores: dict[int, float]
    ours_minus: Interval | float | None
    pairs: int
    bound_part: float | None
    searched: float
    trials: float
    minutes: float


def lines(cells: Sequence[Row], judged: Sequence[Row], bounds: Sequence[Row], runs: int) -> list[Line]:
    """A line for each site and method with a search that is judged whole.

    A search is a unit. What its winner's fresh trainings differ by is noise of that unit.

    Args:
        cells: rows of the table.
        judged: likewise.
        bounds: likewise.
        runs: fresh trainings that a judged search has; further ones do not count.
    """
    scores = _scores(judged, runs)
    bound_of = {row["site"]: row["score"] for row in bounds}
    found = []
    for site, method in dict.fromkeys((site, method) for site, method, _ in scores):
        own = {seed: value for (at, by, seed), value in sorted(scores.items()) if (at, by) == (site, method)}
        ours = {seed: value for (at, by, seed), value in scores.items() if (at, by) == (site, OURS)}
        pairs = [seed for seed in own if seed in ours] if method != OURS else []
        rows = [row for row in cells if (row["site"], row["method"]) == (site, method) and row["seed"] in own]
        bound = bound_of.get(site)
        found.append(
            Line(
                site, method, own,
                _difference([ours[seed] for seed in pairs], [own[seed] for seed in pairs]),
                len(pairs),
                float(np.mean([*own.values()])) / bound if bound else None,
                *(float(np.mean([row[name] for row in rows])) for name in ("score", "trials")),
                float(np.mean([row["seconds"] for row in rows])) / 60.0,
            )
        )  # fmt: skip
    return found


def _scores(judged: Sequence[Row], runs: int) -> dict[tuple[str, str, int], float]:
    """Mean test score of each search that has all its fresh trainings, by site, method and seed."""
    values: dict[tuple[str, str, int], dict[int, float]] = {}
    for row in judged:
        if row["run"] < runs:
            values.setdefault((row["site"], row["method"], row["seed"]), {})[row["run"]] = row["score"]
    return {key: float(np.mean([*own.values()])) for key, own in values.items() if len(own) == runs}


def _difference(ours: Sequence[float], other: Sequence[float]) -> Interval | float | None:
    if not ours:
        return None
    return paired_mean(np.array(ours), np.array(other)) if len(ours) > 1 else ours[0] - other[0]


def verdict(found: Sequence[Line]) -> list[str]:
    """A sentence on each other method: on how many sites ours is ahead of it or below it, by intervals without zero.

    To be ahead of all, ours has to be ahead of each. So each interval has its own confidence, and needs no correction.
    """
    said = []
    for method in dict.fromkeys(line.method for line in found if line.method != OURS):
        intervals = [line.ours_minus for line in found if line.method == method and isinstance(line.ours_minus, Interval)]
        ahead = sum(own.low > 0.0 for own in intervals)
        below = sum(own.high < 0.0 for own in intervals)
        if intervals:
            said.append(f"{OURS} against {method}: ahead on {ahead} of {len(intervals)} sites, below on {below}.")
    return said


def markdown(found: Sequence[Line]) -> str:
    """The table and the sentences."""
    rows = [_HEADINGS, ("---", "---", *["---:"] * (len(_HEADINGS) - 2)), *map(_cells, found)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return "\n\n".join([table, *(["\n".join(f"- {line}" for line in verdict(found))] if verdict(found) else [])]) + "\n"


def _cells(line: Line) -> tuple[str, ...]:
    difference = f"{line.ours_minus:+.4f}" if isinstance(line.ours_minus, float) else str(line.ours_minus or "")
    if line.pairs and line.pairs < len(line.scores):
        difference += f", {line.pairs} pairs"
    return (
        line.site, line.method, str(len(line.scores)), f"{line.searched:+.4f}", f"{np.mean([*line.scores.values()]):+.4f}",
        difference, "" if line.bound_part is None else f"{line.bound_part:.1%}", f"{line.trials:.1f}", f"{line.minutes:.1f}",
    )  # fmt: skip
