"""What scores say: the leader, the contenders that it beats, the winner, and all that in sentences."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from common.measure import services
from common.texts import counted
from results.judgement import BOUNDS, EXACT_MPC, GOAL, Ranking, per_run
from results.statistics import CONFIDENCE, Interval, compared_in_pairs, compared_with_value

FIRST = 3  # runs of each contender before the first is dropped: an interval of two runs is too wide
GROWTH = 1.5  # factor of the number of runs from one look to the next


@dataclass(frozen=True)
class Standing:
    """Standings after a number of runs of each contender."""

    leader: str  # contender with the best mean among those with the most runs
    behind: Mapping[str, Interval]  # by how much the leader is better than each of the others, over the runs that both have

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
    counts, count = [], FIRST
    while count < runs:
        counts.append(count)
        count = math.ceil(count * GROWTH)
    return [*counts, runs]


def standing(scores: Mapping[str, np.ndarray], looks: int = 1) -> Standing:
    """Compare the leader with all others, over runs with the same seeds.

    All intervals of all looks together hold the truth with `CONFIDENCE`: any contender may lead, and any be behind it. The
    looks share the error. A contender that was dropped is compared as at the look that dropped it, so that is none more.

    Args:
        scores: mean over the years of each run, by contender, in the order of the seeds; shape (runs,), at least two. A
            dropped contender has fewer runs and cannot lead, as its mean is of other seeds.
        looks: number of looks of the race, see `looks`.
    """
    most = max(map(len, scores.values()))
    leader = max((name for name, each in scores.items() if len(each) == most), key=lambda name: float(np.mean(scores[name])))
    confidence = 1.0 - (1.0 - CONFIDENCE) / looks
    behind: dict[str, Interval] = {}
    for runs in set(map(len, scores.values())):
        # All that were in the race then: their runs tell how much noise there is.
        racing = {name: each[:runs] for name, each in scores.items() if len(each) >= runs}
        compared = compared_in_pairs(racing, confidence)
        behind |= {name: compared[leader, name] for name, each in scores.items() if len(each) == runs and name != leader}
    return Standing(leader, {name: behind[name] for name in scores if name != leader})


def run_scores(runs: pd.DataFrame, column: str = "score") -> dict[str, np.ndarray]:
    """Scores of each contender's runs, by name, in the order of the table; see `results.judgement.per_run`."""
    learned = runs[runs["algorithm"] != ""]
    return {str(name): rows[column].to_numpy(float) for name, rows in learned.groupby("contender", sort=False)}


def verdict(
    evaluations: pd.DataFrame,
    table: pd.DataFrame,
    seeds: int,
    looks: int,
    failed: Mapping[str, str],
    ranking: Ranking | None = None,
) -> list[str]:
    """The winner, its lead over the best controller without learning, and its distance from the bound.

    `table` is of `results.judgement.judgement`, `looks` as of `standing`. Only a contender with as many runs as `seeds` can
    win; those that `failed` lack runs, with the reason. With a `ranking` differences are in its unit.
    """
    column = GOAL if ranking else "score"
    lines = [f"{name} failed and cannot win: {reason}" for name, reason in failed.items()]
    if left_out := table.loc[~table["comparable"], "contender"].tolist():
        required = ranking.required if ranking else " and ".join(kept.text for kept in services(evaluations))
        lines.append(f"not comparable (*), as they miss {required}: {', '.join(left_out)}")
    known = table.loc[table["comparable"], "contender"].tolist()
    runs = per_run(evaluations, {}, ranking)
    scores = {name: values for name, values in run_scores(runs, column).items() if name in known and len(values) > 1}
    if not any(len(values) == seeds for values in scores.values()):
        return [*lines, f"no contender has {counted(seeds, 'run')} that can be compared, so there is no verdict"]
    if ranking and (aim := ranking.objective):
        unit = f" in {aim.shown_unit}" if aim.shown_unit else ""
        lines.append(f"differences are of {aim.name}{unit}, above 0 where it is better")
    now = standing(scores, looks)
    lines += _winner(now, scores)
    # The leader is the best of these by their means, so its intervals have to hold for all of them.
    leading = {name: values for name, values in scores.items() if len(values) == len(scores[now.leader])}
    rival = (table["algorithm"] == "") & ~table["contender"].isin((*BOUNDS, EXACT_MPC))
    # What has no score is another site, whatever its KPIs.
    rules = table[rival & table["comparable"] & table["score"].notna() & table[column].notna()]
    if not rules.empty:
        best = rules.sort_values(column, ascending=False).iloc[0]
        lines.append(_against(now.leader, str(best["contender"]), compared_with_value(leading, best[column])[now.leader]))
    shares = {name: values for name, values in run_scores(runs, "bound_share").items() if name in leading}
    if all(np.isfinite(values).all() for values in shares.values()):
        share = compared_with_value(shares, 0.0)[now.leader]
        of_what = " of score" if ranking and ranking.objective else ""
        lines.append(f"{now.leader} reaches {share.value:.1%} of the bound{of_what} ({share.low:.1%} to {share.high:.1%})")
    return lines


def _winner(now: Standing, scores: Mapping[str, np.ndarray]) -> list[str]:
    if not now.behind:
        return [f"{now.leader} is the only contender"]
    if now.winner:
        nearest = min(now.behind, key=lambda name: now.behind[name].value)
        least = now.behind[nearest]
        return [f"{now.winner} wins: {nearest} comes second, {least} behind it"]
    close = [name for name in now.behind if name not in now.beaten]
    told = "; ".join(f"it is {now.behind[name]} better than {name}" for name in close)
    return [f"no significant difference: {now.leader} has the best mean of {len(scores[now.leader])} runs, but {told}"]


def _against(leader: str, rule: str, difference: Interval) -> str:
    if difference.low > 0.0:
        return f"{leader} is better than the best controller without learning ({rule}), by {difference}"
    word = "worse than" if difference.high < 0.0 else "not known to be better than"
    return f"{leader} is {word} the best controller without learning ({rule}): {difference}"
