"""The verdict of a judgement, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from results.judgement import BOUNDS, EXACT_MPC, GOAL, LEAST_SERVED, Ranking, per_run
from results.multiple_comparisons import compared_with_value
from results.statistics import Interval
from tuning.judging.standings import Standing, standing


def run_scores(runs: pd.DataFrame, column: str = "score") -> dict[str, np.ndarray]:
    """Scores of each contender's runs, by name, in the order of the table; see `results.judgement.per_run`."""
    learned = runs[runs["algorithm"] != ""]
    return {str(name): own[column].to_numpy(float) for name, own in learned.groupby("contender", sort=False)}


def verdict(
    evaluations: pd.DataFrame,
    table: pd.DataFrame,
    seeds: int,
    looks: int,
    failed: Mapping[str, str],
    ranking: Ranking | None = None,
) -> list[str]:
    """The winner, its lead over the best controller without learning, and its distance from the bound.

    Args:
        evaluations: of the judgement.
        table: of `results.judgement.judgement`.
        seeds: runs of a finalist; only a contender that has them all can win.
        looks: see `tuning.judging.standings.standing`.
        failed: contenders that lack runs, with the reason.
        ranking: by what else than the score contenders are ranked; differences are in its unit then.
    """
    column = GOAL if ranking else "score"
    lines = [f"{name} failed and cannot win: {reason}" for name, reason in failed.items()]
    out = ~table["comparable"]
    if ranking and ranking.requirements and (missing := table.loc[~table["meets"].astype(bool), "contender"].tolist()):
        lines.append(f"not comparable (*), as they miss {ranking.requirements}: {', '.join(missing)}")
        out &= table["meets"].astype(bool)
    left_out = table.loc[out, "contender"].tolist()
    if left_out:
        lines.append(
            f"not comparable (*), as they serve less than {LEAST_SERVED:.0%} of the vehicle energy that can be served: "
            f"{', '.join(left_out)}"
        )
    known = table.loc[table["comparable"], "contender"].tolist()
    runs = per_run(evaluations, {}, ranking)
    scores = {name: values for name, values in run_scores(runs, column).items() if name in known and len(values) > 1}
    if not any(len(values) == seeds for values in scores.values()):
        return [*lines, f"no contender has {seeds} runs that can be compared, so there is no verdict"]
    found = standing(scores, looks)
    lines += _winner(found, scores)
    # The leader is the best of these by their means, so its intervals have to hold for all of them.
    leading = {name: values for name, values in scores.items() if len(values) == len(scores[found.leader])}
    rival = (table["algorithm"] == "") & ~table["contender"].isin((*BOUNDS, EXACT_MPC))
    # What has no score is another site, whatever its KPIs.
    rules = table[rival & table["comparable"] & table["score"].notna() & table[column].notna()]
    if not rules.empty:
        best = rules.sort_values(column, ascending=False).iloc[0]
        lines.append(_against(found.leader, str(best["contender"]), compared_with_value(leading, best[column])[found.leader]))
    shares = {name: values for name, values in run_scores(runs, "bound_share").items() if name in leading}
    if all(np.isfinite(values).all() for values in shares.values()):
        share = compared_with_value(shares, 0.0)[found.leader]
        lines.append(f"{found.leader} reaches {share.value:.1%} of the bound ({share.low:.1%} to {share.high:.1%})")
    return lines


def _winner(found: Standing, scores: Mapping[str, np.ndarray]) -> list[str]:
    if not found.behind:
        return [f"{found.leader} is the only contender"]
    if found.winner:
        nearest = min(found.behind, key=lambda name: found.behind[name].value)
        least = found.behind[nearest]
        return [f"{found.winner} wins: {nearest} comes second, {least} behind it"]
    close = [name for name in found.behind if name not in found.beaten]
    told = "; ".join(f"it is {found.behind[name]} better than {name}" for name in close)
    return [f"no significant difference: {found.leader} has the best mean of {len(scores[found.leader])} runs, but {told}"]


def _against(leader: str, rule: str, difference: Interval) -> str:
    if difference.low > 0.0:
        return f"{leader} is better than the best controller without learning ({rule}), by {difference}"
    word = "worse than" if difference.high < 0.0 else "not known to be better than"
    return f"{leader} is {word} the best controller without learning ({rule}): {difference}"
