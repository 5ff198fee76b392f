"""The trials of a search, the best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.analysis.searched import best_trial, default_trial, misses, rated
from results.loader import Results, ratings
from results.schema import GIVEN

if TYPE_CHECKING:
    import pandas as pd

_TAKEN = (
    "trial", "state", "score", "rating", "objective", "shortfall", "steps", "budget_steps", "seconds", "steps_per_second",
    "peak_rss_bytes", "peak_process_vram_bytes", "device", "noticed", "same_as",
)  # fmt: skip


def leaderboard(results: Results) -> pd.DataFrame:
    """All trials of the search, the best first; then those that miss a requirement, and last those that cannot be ranked.

    Args:
        results: of one experiment; empty tables give an empty frame.

    Returns:
        A row a trial. `rank` from 1, empty without a rating or where a requirement is missed; `trial`; `state`; `score`;
        `rating` (what ranks: the objective turned so that more is better, or the score; empty where a requirement is missed);
        `objective` and `shortfall`, empty
        where nothing of the kind was wanted; `steps` and `budget_steps`; `seconds` (s); `steps_per_second` (1/s, evaluations
        left out); `peak_rss_bytes` and `peak_process_vram_bytes` (B); `device`; `noticed`; `same_as`; `is_default`; `is_best`
        (see `Results.best`); `confirmed`, `confirmed_low`, `confirmed_high` (mean rating of the trials that trained it again
        with fresh seeds, and Student's 95 % interval) and `confirmed_runs`; then the `hp_` columns.
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
