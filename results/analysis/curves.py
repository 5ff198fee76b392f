"""Learning curves of trials, of several together, and how early their order tells the end."""

import numpy as np
import pandas as pd

from results.analysis.searched import frame, misses, rated
from results.fresh import of_length
from results.loader import Results, ratings
from results.statistics import known_mean


def evaluated(results: Results) -> pd.DataFrame:
    """Reports with an evaluation, in the order of trials and steps.

    Returns:
        Columns `trial`, `steps`, `time`, `seconds`, `score`, `rating` (empty where a requirement is missed), `place` (what
        ranks: the same, or far below), and `rung`: how many evaluations were due by these steps, as a late update skips one.
    """
    reports = results.reports
    place = ratings(reports).astype(float)
    rows = reports.assign(rating=rated(reports), place=place)[np.isfinite(place)]
    rows = rows[["trial", "steps", "time", "seconds", "score", "rating", "place"]].reset_index(drop=True)
    reported = results.facts.settings.get("evaluations")
    if isinstance(reported, int) and reported > 0:
        budget = rows["trial"].map(results.trials.set_index("trial")["budget_steps"]).astype(float)
        due = np.floor(rows["steps"] * reported / budget).clip(upper=reported)
        rows["rung"] = due.fillna(0).astype("int64")
    else:
        rows["rung"] = rows.groupby("trial").cumcount() + 1
    return rows


def learning_curves(results: Results) -> pd.DataFrame:
    """The score of each trial over its training, confirmations included.

    Returns:
        A row an evaluation, by trial and steps: `trial`, `rung`, `steps`, `seconds` (s, of the trial so far), `time`, `score`,
        `rating`, `state` (in the end), `role` (`search`, `best`, `default` or `candidate`), `confirms` and `is_last`.
    """
    curves = evaluated(results)
    trials = results.trials.set_index("trial")
    curves["state"] = curves["trial"].map(trials["state"])
    curves["confirms"] = curves["trial"].map(trials["confirms"]).astype(float)
    curves["role"] = curves["trial"].map(trials["confirm_role"]).astype(object).fillna("search")
    curves["is_last"] = ~curves.duplicated("trial", keep="last")
    names = ["trial", "rung", "steps", "seconds", "time", "score", "rating", "state", "role", "confirms", "is_last"]
    return curves[names]


def mean_curves(results: Results) -> pd.DataFrame:
    """Mean learning curves of assignments that were trained several times with fresh seeds.

    Returns:
        A row for each assignment and rung: `confirms` (-1 for a default that was not tried), `role`, `rung`, `steps` (mean),
        `runs`, `mean` (rating), `low` and `high` (Student's 95 % interval over seeds, empty with one run).
    """
    curves = learning_curves(results)
    told = of_length(results.confirmations, results.steps)["trial"]
    again = curves[curves["trial"].isin(told)]
    rows = []
    for (number, rung), runs in again.groupby([again["confirms"].astype("int64"), "rung"]):
        whole = known_mean(runs["rating"].to_numpy(float))
        rows.append(
            {"confirms": number, "role": runs["role"].iloc[0], "rung": rung, "steps": runs["steps"].mean(), "runs": len(runs)}
            | {"mean": whole.value, "low": whole.low, "high": whole.high}
        )
    return frame(rows, "confirms role rung steps runs mean low high")


def confirmed(results: Results) -> pd.DataFrame:
    """The rating of each assignment that was trained to its end again with fresh seeds.

    Returns:
        A row an assignment, the default last: `confirms`, `role`, `runs`, `ended_early` (trainings that did not reach the end),
        `mean` (rating; empty where a run misses a requirement), `low` and `high` (Student's 95 % interval), and of the paired
        differences from the default `gain`, `gain_low` and `gain_high`, which hold together; empty where the two are not
        compared, see `FreshRuns.pairs`.
    """
    fresh = results.single.fresh
    rows = []
    for number in [*fresh.contenders, *([] if fresh.control is None else [fresh.control])]:
        runs = fresh.complete[number]
        whole = known_mean(runs["rating"].astype(float).mask(misses(runs)).to_numpy(float))
        row = {"confirms": number, "role": runs["confirm_role"].iloc[0], "runs": len(runs), "mean": whole.value}
        row |= {"low": whole.low, "high": whole.high, "ended_early": fresh.ended_early[number]}
        if number != fresh.control and (gain := fresh.difference(number)):
            row |= {"gain": gain.value, "gain_low": gain.low, "gain_high": gain.high}
        rows.append(row)
    return frame(rows, "confirms role runs ended_early mean low high gain gain_low gain_high")
