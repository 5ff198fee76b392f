"""Scores over training: of each trial, and means over trials of one assignment."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from results.analysis.searched import frame, misses, rated
from results.experiment_file import Facts, read_facts
from results.fresh import of_length
from results.loader import Results, ratings
from results.statistics import mean, paired_mean

if TYPE_CHECKING:
    import pandas as pd


def evaluated(results: Results, facts: Facts | None = None) -> pd.DataFrame:
    """Reports with an evaluation, in the order of trials and steps.

    Args:
        results: of one experiment.
        facts: of it, where they have been read already.

    Returns:
        Columns `trial`, `steps`, `time`, `seconds`, `score`, `rating` (empty where a requirement is missed), `place` (what
        ranks: the same, or far below where one is missed), and `rung`: how many evaluations were due by these steps. A late
        update skips a rung. Without settings, rungs are counted as they come.
    """
    import numpy as np

    reports = results.reports
    place = ratings(reports).astype(float)
    own = reports.assign(rating=rated(reports), place=place)[np.isfinite(place)]
    own = own[["trial", "steps", "time", "seconds", "score", "rating", "place"]].reset_index(drop=True)
    reported = (facts or read_facts(results.single.folder)).settings.get("reports")
    if isinstance(reported, int) and reported > 0:
        budget = own["trial"].map(results.trials.set_index("trial")["budget_steps"]).astype(float)
        due = np.floor(own["steps"] * reported / budget).clip(upper=reported)
        own["rung"] = due.fillna(0).astype("int64")
    else:
        own["rung"] = own.groupby("trial").cumcount() + 1
    return own


def learning_curves(results: Results) -> pd.DataFrame:
    """The score of each trial over its training, confirmations included.

    Args:
        results: of one experiment; without evaluations the frame is empty.

    Returns:
        A row an evaluation, by trial and steps: `trial`, `rung` (number of the evaluation that was due), `steps`, `seconds` (s,
        of the trial so far), `time`, `score`, `rating`, `state` (of the trial in the end), `role` (`search`, or what a
        confirmation is of: `best`, `default` or `candidate`), `confirms` (see `trials`) and `is_last`.
    """
    own = evaluated(results)
    trials = results.trials.set_index("trial")
    own["state"] = own["trial"].map(trials["state"])
    own["confirms"] = own["trial"].map(trials["confirms"]).astype(float)
    own["role"] = own["trial"].map(trials["confirm_role"]).astype(object).fillna("search")
    own["is_last"] = ~own.duplicated("trial", keep="last")
    names = ["trial", "rung", "steps", "seconds", "time", "score", "rating", "state", "role", "confirms", "is_last"]
    return own[names]


def mean_curves(results: Results) -> pd.DataFrame:
    """Mean learning curves of assignments that were trained several times with fresh seeds.

    Args:
        results: of one experiment; without confirmations the frame is empty.

    Returns:
        A row for each assignment and rung, by these: `confirms` (trial with the assignment; -1 for a default that was not
        tried), `role`, `rung`, `steps` (mean), `runs`, `mean` (rating), and `low` and `high`, the ends of Student's 95 %
        interval over seeds, empty with one run.
    """
    curves = learning_curves(results)
    told = of_length(results.confirmations, results.steps)["trial"]
    again = curves[curves["trial"].isin(told)]
    rows = []
    for (number, rung), own in again.groupby([again["confirms"].astype("int64"), "rung"]):
        middle, low, high = _interval(own["rating"])
        rows.append(
            {"confirms": number, "role": own["role"].iloc[0], "rung": rung, "steps": own["steps"].mean(), "runs": len(own)}
            | {"mean": middle, "low": low, "high": high}
        )
    types = {"confirms": "int64", "role": "object", "rung": "int64", "steps": "float64", "runs": "int64"}
    return frame(rows, {**types, **dict.fromkeys(("mean", "low", "high"), "float64")})


def confirmed(results: Results) -> pd.DataFrame:
    """What the last part of the search says: the rating of each assignment that was trained to its end again.

    Args:
        results: of one experiment; without complete confirmations the frame is empty.

    Returns:
        A row an assignment, the default last: `confirms` (see `mean_curves`), `role`, `runs`, `ended_early` (trainings that did
        not reach the end), `mean` (rating), `low` and `high` (Student's 95 % interval over seeds, empty with one run), and of
        the paired differences from the default `gain`, `gain_low` and `gain_high`. With several assignments these intervals
        are wider, so that all of them hold together. They are empty for the default itself, and where the two are not
        compared, see `FreshRuns.pairs`. Where a run misses a requirement, its assignment has no mean.
    """
    fresh = results.single.fresh
    rows = []
    for number in [*fresh.contenders, *([] if fresh.control is None else [fresh.control])]:
        runs = fresh.complete[number]
        middle, low, high = _interval(runs["rating"].astype(float).mask(misses(runs)))
        row = {"confirms": number, "role": runs["confirm_role"].iloc[0], "runs": len(runs), "mean": middle, "low": low}
        row |= {"high": high, "ended_early": fresh.ended_early[number]}
        if number != fresh.control and (pairs := fresh.pairs(number)):
            own, default = (side["rating"].to_numpy(float) for side in pairs)
            gain = paired_mean(own, default, fresh.confidence())
            row |= {"gain": gain.value, "gain_low": gain.low, "gain_high": gain.high}
        rows.append(row)
    types = {"confirms": "int64", "role": "object", "runs": "int64", "ended_early": "int64"}
    return frame(rows, types | dict.fromkeys(("mean", "low", "high", "gain", "gain_low", "gain_high"), "float64"))


def _interval(values: pd.Series) -> tuple[float, float, float]:
    """Mean and the ends of its interval; these are NaN with one value, and all are where a value is."""
    if len(values) < 2 or values.isna().any():
        return float(values.mean(skipna=False)), math.nan, math.nan
    found = mean(values.to_numpy(float))
    return found.value, found.low, found.high
