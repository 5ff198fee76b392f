"""All trials ranked, how the best of a search grew, and what it can be compared with."""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from results.analysis.curves import confirmed, evaluated
from results.analysis.judged import CONTENDER, judged_runs
from results.analysis.searched import aims, best_trial, default_trial, frame, misses, ranks_by_score, rated
from results.analysis.times import elapsed, stretches
from results.experiment_file import read_facts
from results.fresh import DEFAULT
from results.loader import Results, ratings
from results.schema import GIVEN

if TYPE_CHECKING:
    import pandas as pd

_CANDIDATES = ("complete", "frozen", "running")  # states of trials that may win


def best_so_far(results: Results) -> pd.DataFrame:
    """The best of the search after each evaluation, over the time and the steps that all trials had taken.

    The best is the trial that would have won, had the search ended then, so it may fall. Trials that ended as pruned, failed or
    out of memory never count, nor do confirmations; what they took counts.

    Returns:
        A row an evaluation of the search, by time: `time` (UTC), `elapsed_seconds` (in which at least one trial ran),
        `total_steps` (of all trials), `trial`, `steps` (of it), `score`, `rating`, `best` (rating; empty until one may win and
        meets all requirements), `best_score`, `best_trial`, `highest` (rating of any evaluation so far) and `is_new_best`.
    """
    import numpy as np

    trials = results.trials.set_index("trial")
    of_search = trials.index[trials["confirms"].isna()]
    own = evaluated(results)
    own = own[own["trial"].isin(of_search) & own["time"].notna()].sort_values(["time", "trial"], ignore_index=True)
    may_win = set(trials.index[trials["state"].isin(_CANDIDATES) & trials["confirms"].isna()])
    newest: dict[int, float] = {}
    # Heap, of equals the lowest number first, as `Results.best` has it.
    ranked: list[tuple[float, int, float, float]] = []
    leaders = []
    for number, place, rating, score in zip(own["trial"], own["place"], own["rating"], own["score"], strict=True):
        if number in may_win:
            newest[number] = place
            heappush(ranked, (-place, number, rating, score))
        while ranked and newest[ranked[0][1]] != -ranked[0][0]:
            heappop(ranked)  # an earlier evaluation of its trial
        leaders.append(ranked[0] if ranked else (math.nan, -1, math.nan, math.nan))
    spent = results.reports[["trial", "steps", "time"]].dropna().sort_values(["trial", "steps"])
    taken = spent["steps"].groupby(spent["trial"]).diff().fillna(spent["steps"])
    order = np.argsort(spent["time"].to_numpy(), kind="stable")
    total = taken.to_numpy(float)[order].cumsum()
    place = np.searchsorted(spent["time"].to_numpy()[order], own["time"].to_numpy(), side="right")
    own["elapsed_seconds"] = elapsed(stretches(results.reports), own["time"])
    own["total_steps"] = total[place - 1].astype("int64") if len(own) else np.empty(0, "int64")
    own["best"] = np.array([leader[2] for leader in leaders], float)
    own["best_score"] = np.array([leader[3] for leader in leaders], float)
    own["best_trial"] = np.array([leader[1] for leader in leaders], "int64")
    own["highest"] = own["rating"].where(own["trial"].isin(may_win)).cummax().ffill()
    own["is_new_best"] = (own["best_trial"] >= 0) & (own["best_trial"] != own["best_trial"].shift(fill_value=-1))
    names = ["time", "elapsed_seconds", "total_steps", "trial", "steps", "score", "rating", "best", "best_score", "best_trial"]
    return own[[*names, "highest", "is_new_best"]]


def references(results: Results, judgement: Results | None = None) -> pd.DataFrame:
    """Ratings that the best of a search can be compared with; those of a judgement where the search aims at the score.

    Returns:
        A row a yardstick: `kind` (`uncontrolled`, `default`, `confirmed default`, `confirmed best`, and of a judgement
        `contender`, `rule`, `mpc` or `bound`), `name`, `split`, `runs`, `score` (of confirmations the rating), `low` and `high`
        (Student's 95 % interval over seeds), `steps` of the default. The uncontrolled site has 0 by definition of the reward
        `improvement`; other rewards have none. What misses a requirement has no number.
    """
    rows: list[dict[str, object]] = []
    trials = results.trials
    facts = read_facts(results.single.folder)
    by_score = ranks_by_score(facts)
    if len(trials) and (len(aims(facts)) > 1 or (by_score and trials["reward"].iloc[0] == "improvement")):
        rows.append({"kind": "uncontrolled", "name": "uncontrolled", "split": "validation", "runs": 1, "score": 0.0})
    number = default_trial(results, facts)
    if number is not None:
        first = trials[trials["trial"] == number]
        row = {"kind": DEFAULT, "name": f"default (trial {number})", "split": "validation", "runs": 1}
        rows.append({**row, "score": float(rated(first).iloc[0]), "steps": float(first["steps"].iloc[0])})
    for own in confirmed(results).itertuples():
        name = f"trial {own.confirms}" if own.role != DEFAULT else "default"
        rows.append(
            {"kind": f"confirmed {own.role}", "name": f"{name}, fresh seeds", "split": "validation", "runs": own.runs}
            | {"score": own.mean, "low": own.low, "high": own.high}
        )
    if judgement is not None and by_score:
        runs = judged_runs(judgement)
        for (kind, contender), group in runs.groupby(["kind", "contender"], sort=False):
            low, high = group["low"].iloc[0], group["high"].iloc[0]
            if kind != CONTENDER and group["score"].isna().all():
                continue
            rows.append(
                {"kind": kind, "name": contender, "split": group["split"].iloc[0], "runs": len(group)}
                | {"score": group["score"].mean(), "low": low, "high": high}
            )
    types = {"kind": "object", "name": "object", "split": "object", "runs": "int64"}
    return frame(rows, {**types, **dict.fromkeys(("score", "low", "high", "steps"), "float64")})


_TAKEN = (
    "trial", "state", "score", "rating", "objective", "shortfall", "steps", "budget_steps", "seconds", "steps_per_second",
    "peak_rss_bytes", "peak_process_vram_bytes", "device", "noticed", "same_as",
)  # fmt: skip


def leaderboard(results: Results) -> pd.DataFrame:
    """All trials of the search, the best first; then those that miss a requirement, and last those that cannot be ranked.

    Returns:
        A row a trial: `rank` from 1 and `rating` (what ranks), empty where a requirement is missed; `trial`; `state`; `score`;
        `objective` and `shortfall` where wanted; `steps` and `budget_steps`; `seconds`; `steps_per_second` (evaluations left
        out); `peak_rss_bytes` and `peak_process_vram_bytes`; `device`; `noticed`; `same_as`; `is_default`; `is_best`;
        `confirmed`, `confirmed_low`, `confirmed_high` (mean rating with fresh seeds, Student's 95 % interval) and
        `confirmed_runs`; the `hp_` columns.
    """
    import numpy as np

    from results.analysis.curves import confirmed

    trials = results.trials[results.trials["confirms"].isna()].copy()
    ranking = ratings(trials).astype(float)
    trials["rating"] = rated(trials)
    training = trials["seconds"] - trials["evaluation_seconds"].fillna(0.0)
    trials["steps_per_second"] = trials["steps"] / training.where(training > 0.0)
    ranked = ranking[np.isfinite(ranking)].sort_values(ascending=False, kind="stable")
    table = trials.loc[[*ranked.index, *trials.index.difference(ranked.index)]]
    given = [name for name in table.columns if str(name).startswith(GIVEN)]
    table = table[[*_TAKEN, *given]].reset_index(drop=True)
    counts = np.isfinite(table["rating"]) & ~misses(table)
    table.insert(0, "rank", np.where(counts, counts.cumsum(), np.nan))
    again = confirmed(results).set_index("confirms")
    place = len(_TAKEN) + 1
    for name in ("runs", "high", "low", "mean"):
        column = table["trial"].map(again[name]).astype(float)
        table.insert(place, "confirmed" if name == "mean" else f"confirmed_{name}", column)
    table.insert(place, "is_best", table["trial"] == (-1 if (best := best_trial(results)) is None else best))
    default = default_trial(results)
    table.insert(place, "is_default", table["trial"] == (-1 if default is None else default))
    return table
