"""All trials ranked, how the best of a search grew, and what it can be compared with."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any

import numpy as np
import pandas as pd

from common.measure import A_YEAR, COMFORT, SCORE, SITE, Better, Measure
from common.texts import printable
from results.analysis.curves import confirmed, evaluated
from results.analysis.judged import CONTENDER, UNCONTROLLED, judged_runs
from results.analysis.searched import (
    admissible,
    aims,
    best_trial,
    default_trial,
    frame,
    misses,
    ranks_by_score,
    rated,
    searched,
)
from results.analysis.times import elapsed, stretches
from results.fresh import DEFAULT
from results.loader import GAINS, Results, names_of, not_dominated, ranked, ratings
from results.schema import GIVEN, STATES
from results.table_files import ResultsError

_CANDIDATES = ("complete", "frozen", "running")  # states of trials that may win


def best_so_far(results: Results) -> pd.DataFrame:
    """The best of the search after each evaluation, over the time and the steps that all trials had taken.

    The best is the trial that would have won, had the search ended then. Where a trial is rated by its last evaluation and not
    by its best, it may fall. Trials that ended as pruned, failed or out of memory never count, nor do confirmations; what they
    took counts.

    Returns:
        A row an evaluation of the search, by time: `time` (UTC), `elapsed_seconds` (in which at least one trial ran),
        `total_steps` (of all trials), `trial`, `steps` (of it), `score`, `rating`, `best` (rating; empty until one may win and
        meets all requirements), `best_score`, `best_trial`, `highest` (rating of any evaluation so far) and `is_new_best`.
    """
    trials = results.trials.set_index("trial")
    of_search = trials.index[trials["confirms"].isna()]
    rows = evaluated(results)
    rows = rows[rows["trial"].isin(of_search) & rows["time"].notna()].sort_values(["time", "trial"], ignore_index=True)
    may_win = set(trials.index[trials["state"].isin(_CANDIDATES) & trials["confirms"].isna()])
    newest: dict[int, float] = {}
    keeps_best = results.facts.settings.get("keep") == "best"
    # Heap, of equals the lowest number first, as `Results.best` has it.
    ranked: list[tuple[float, int, float, float]] = []
    leaders = []
    for number, place, rating, score in zip(rows["trial"], rows["place"], rows["rating"], rows["score"], strict=True):
        if number in may_win and not (keeps_best and place <= newest.get(number, -math.inf)):
            newest[number] = place
            heappush(ranked, (-place, number, rating, score))
        while ranked and newest[ranked[0][1]] != -ranked[0][0]:
            heappop(ranked)  # an earlier evaluation of its trial
        leaders.append(ranked[0] if ranked else (math.nan, -1, math.nan, math.nan))
    spent = results.reports[["trial", "steps", "time"]].dropna().sort_values(["trial", "steps"])
    taken = spent["steps"].groupby(spent["trial"]).diff().fillna(spent["steps"])
    order = np.argsort(spent["time"].to_numpy(), kind="stable")
    total = taken.to_numpy(float)[order].cumsum()
    place = np.searchsorted(spent["time"].to_numpy()[order], rows["time"].to_numpy(), side="right")
    rows["elapsed_seconds"] = elapsed(stretches(results.reports), rows["time"])
    rows["total_steps"] = total[place - 1].astype("int64") if len(rows) else np.empty(0, "int64")
    rows["best"] = np.array([leader[2] for leader in leaders], float)
    rows["best_score"] = np.array([leader[3] for leader in leaders], float)
    rows["best_trial"] = np.array([leader[1] for leader in leaders], "int64")
    rows["highest"] = rows["rating"].where(rows["trial"].isin(may_win)).cummax().ffill()
    rows["is_new_best"] = (rows["best_trial"] >= 0) & (rows["best_trial"] != rows["best_trial"].shift(fill_value=-1))
    names = ["time", "elapsed_seconds", "total_steps", "trial", "steps", "score", "rating", "best", "best_score", "best_trial"]
    return rows[[*names, "highest", "is_new_best"]]


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
    by_score = ranks_by_score(results.facts)
    if len(trials) and (len(aims(results.facts)) > 1 or (by_score and trials["reward"].iloc[0] == "improvement")):
        rows.append({"kind": UNCONTROLLED, "name": UNCONTROLLED, "split": "validation", "runs": 1, "score": 0.0})
    number = default_trial(results)
    if number is not None:
        first = trials[trials["trial"] == number]
        row = {"kind": DEFAULT, "name": f"default (trial {number})", "split": "validation", "runs": 1}
        rows.append({**row, "score": float(rated(first).iloc[0]), "steps": float(first["steps"].iloc[0])})
    for fresh in confirmed(results).itertuples():
        name = f"trial {fresh.confirms}" if fresh.role != DEFAULT else "default"
        rows.append(
            {"kind": f"confirmed {fresh.role}", "name": f"{name}, fresh seeds", "split": "validation", "runs": fresh.runs}
            | {"score": fresh.mean, "low": fresh.low, "high": fresh.high}
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
    return frame(rows, "kind name split runs score low high steps")


_TAKEN = (
    "trial", "state", "score", "rating", "objective", "shortfall", "kept_steps", "steps", "budget_steps", "seconds",
    "further_episodes", "steps_per_second", "peak_rss_bytes", "peak_process_vram_bytes", "device", "noticed", "same_as",
)  # fmt: skip


def leaderboard(results: Results) -> pd.DataFrame:
    """All trials of the search, the best first; then those that miss a requirement, and last those that cannot be ranked.

    Returns:
        A row a trial: `rank` from 1 and `rating` (what ranks), empty where a requirement is missed; `trial`; `state`; `score`;
        `objective` and `shortfall` where wanted; `kept_steps` (at the evaluation that rates it), `steps` and `budget_steps`;
        `seconds`; `further_episodes`; `steps_per_second` (evaluations left out); `peak_rss_bytes`, `peak_process_vram_bytes`;
        `device`; `noticed`; `same_as`; `is_default`; `is_best`; `confirmed`, `confirmed_low`, `confirmed_high` (mean rating
        with fresh seeds, Student's 95 % interval) and `confirmed_runs`; the `hp_` columns.
    """
    trials = results.trials[results.trials["confirms"].isna()].copy()
    first = ranked(trials[np.isfinite(ratings(trials).astype(float))]).index
    trials["rating"] = rated(trials)
    training = trials["seconds"] - trials["evaluation_seconds"].fillna(0.0)
    trials["steps_per_second"] = trials["steps"] / training.where(training > 0.0)
    table = trials.loc[[*first, *trials.index.difference(first)]]
    given = [name for name in table.columns if str(name).startswith(GIVEN)]
    table = table[[*_TAKEN, *given]].reset_index(drop=True)
    counts = np.isfinite(table["rating"]) & ~misses(table)
    table.insert(0, "rank", np.where(counts, counts.cumsum(), np.nan))
    again = confirmed(results).set_index("confirms")
    place = len(_TAKEN) + 1
    for name in ("runs", "high", "low", "mean"):
        column = table["trial"].map(again[name]).astype(float)
        table.insert(place, "confirmed" if name == "mean" else f"confirmed_{name}", column)
    table.insert(place, "is_best", table["trial"] == best_trial(results))
    table.insert(place, "is_default", table["trial"] == default_trial(results))
    return table


def pareto_front(results: Results, objectives: Sequence[str] | Mapping[str, Better]) -> pd.DataFrame:
    """Values of some measures in the evaluation that each trial is rated by, and which trials no other one beats.

    Raises ResultsError for fewer than two objectives, or one without a known direction or column.

    Args:
        results: of one experiment.
        objectives: columns of `evaluations`; as a mapping, whether `less` or `more` of each is better, else as its measure
            says.

    Returns:
        A row for each complete or frozen trial, the best in the first objective at the top: `trial`, `state`, `score`, `steps`,
        `shortfall`, each objective (amounts of a year of 8,760 h), and `on_front`: no other trial is at least as good in all
        and better in one. What misses a requirement, or lacks a value, is not on the front.
    """
    wanted = _measures(objectives, results)
    last = results.rated_evaluations
    table = results.scored[["trial", "state", "score", "steps", "shortfall"]].astype({"state": "object"})
    for name, measure in wanted.items():
        table[name] = table["trial"].map({trial: measure.value(years) for trial, years in last.groupby("trial")}).astype(float)
    signs = np.array([1.0 if measure.better == "more" else -1.0 for measure in wanted.values()])
    goals = table[[*wanted]].to_numpy(float) * signs
    may = np.isfinite(goals).all(axis=1) & ~(table["shortfall"] > 0.0).to_numpy()
    table["on_front"] = False
    table.loc[may, "on_front"] = not_dominated(goals[may])
    first, measure = next(iter(wanted.items()))
    return table.sort_values(first, ascending=measure.better == "less", kind="stable", ignore_index=True)


def _measures(objectives: Sequence[str] | Mapping[str, Better], results: Results) -> dict[str, Measure]:
    if isinstance(objectives, str) or len(objectives) < 2:
        raise ResultsError("a front takes at least two objectives, such as ['co2_kg', 'bill']")
    measures: dict[str, Measure] = {}
    for name in objectives:
        if name not in results.evaluations:
            known = ", ".join(measure.name for measure in results.measures.values() if measure.better != "neither")
            raise ResultsError(f"evaluations has no column {printable(name)!r}: KPIs are {known}")
        measure = results.measures.get(name, Measure(name, better="neither"))
        better = objectives[name] if isinstance(objectives, Mapping) else measure.better
        if isinstance(objectives, Mapping) and better not in ("less", "more"):
            raise ResultsError(f"objective {printable(name)!r}: {better!r} is no direction; give 'less' or 'more'")
        if better == "neither":
            raise ResultsError(f"objective {printable(name)!r} has no known direction: give {{{name!r}: 'less'}} or 'more'")
        measures[name] = replace(measure, better=better)
    return measures


_OF_GAINS = ("trial", "state", "steps", SCORE.name, "objective", "objective_2", *GAINS)


def gains(results: Results) -> pd.DataFrame:
    """Trials by both objectives; with one objective the frame is empty.

    Returns:
        A row for each trial that was evaluated and meets the requirements, the greatest first gain at the top: `trial`,
        `state`, `steps`, `score`, `objective`, `objective_2`, `gain`, `gain_2` and `on_front`.
    """
    trials = admissible(searched(results))
    known = trials[trials[list(GAINS)].notna().all(axis=1)][[*_OF_GAINS]]
    known = known.assign(on_front=known["trial"].isin(results.front["trial"]))
    return known.sort_values(["gain", "trial"], ascending=[False, True], ignore_index=True)


# Settings that decide what a rating says, beside site and reward.
_AIM = (
    "objective", "weights", "require", "train", "validation", "test", "train_buildings", "validation_buildings",
    "test_buildings", "validation_weeks",
)  # fmt: skip
_AIM_IN_ENVIRONMENT = ("objective", "minimize", "require")


def aim_of(settings: Mapping[str, Any]) -> str:
    """What a search aims at, and on which splits, as far as that is not the default."""
    parts = []
    for name in _AIM_IN_ENVIRONMENT if settings.get("env") else _AIM:
        value = settings.get(name)
        if value is True:
            parts.append(name)
        elif value and not (name == "objective" and value == SCORE.name):
            text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            parts.append(f"{name.replace('_', ' ')} {text}")
    return "; ".join(parts)


def compare(experiments: Sequence[Results] | Results) -> pd.DataFrame:
    """One row an experiment, in the given order.

    Returns:
        `experiment`, `folder`, `algorithm`, `scenario`, `reward`, `aim` (see `aim_of`), `trials` (of the search), how many are
        in each state, `total_steps`, `seconds` (of all trials), `elapsed_seconds` (in which at least one ran), `best_trial` (or
        -1), `best_score`, `best_rating`, `best_objective`, `default_rating`, `gain` (rating of the best less that of the
        default), `confirmed_gain`, `confirmed_low`, `confirmed_high` (with fresh seeds, see `confirmed`), and `..._change` for
        each amount that tables show, such as `co2_kg_change`: of the best against the uncontrolled site on the validation
        split.
    """
    rows = []
    every = list(experiments.experiments if isinstance(experiments, Results) else experiments)
    measures = [measure for one in every for measure in one.measures.values()]
    # Changes of comfort are of next to nothing, where the site keeps set points by itself.
    labelled = [measure for measure in measures if measure.label and not COMFORT.is_stated([measure.name])]
    amounts = {measure.name: measure for measure in labelled if measure.over == A_YEAR}
    for label, results in zip(names_of([one.folder for one in every]), every, strict=True):
        trials = results.trials
        of_search = trials[trials["confirms"].isna()]
        counts = of_search["state"].value_counts()
        ran = stretches(results.reports)
        row: dict[str, object] = {"experiment": label, "folder": results.place, "trials": len(of_search)}
        row["aim"] = aim_of(results.facts.settings)
        for name in ("algorithm", "scenario", "reward"):
            row[name] = trials[name].iloc[0] if len(trials) else ""
        row |= {state: int(counts.get(state, 0)) for state in STATES}
        row |= {"total_steps": int(trials["steps"].fillna(0).sum()), "seconds": float(trials["seconds"].sum())}
        row["elapsed_seconds"] = float(elapsed(ran, ran["end"]).max()) if len(ran) else 0.0
        best, default = best_trial(results), default_trial(results)
        rating = rated(trials).set_axis(trials["trial"])
        row |= {"best_trial": -1 if best is None else best, "default_rating": rating.get(default, math.nan)}
        if best is not None:
            trial = results.best
            row |= {"best_score": trial["score"], "best_rating": rating[best], "best_objective": trial["objective"]}
            row["gain"] = rating[best] - row["default_rating"]
            last = results.rated_evaluations
            last = last[last["trial"] == best]
            for measure in amounts.values():
                before = measure.value(last, SITE)
                row[f"{measure.name}_change"] = measure.value(last) / before - 1.0 if before > 0.0 else math.nan
        again = confirmed(results)
        again = again[(again["role"] != DEFAULT) & np.isfinite(again["gain"]) & (again["confirms"] == row["best_trial"])]
        if len(again):
            winner = again.iloc[0]
            row |= {"confirmed_gain": winner["gain"], "confirmed_low": winner["gain_low"]}
            row["confirmed_high"] = winner["gain_high"]
        rows.append(row)
    changes = " ".join(f"{name}_change" for name in amounts)
    return frame(
        rows,
        f"experiment folder algorithm scenario reward aim trials {' '.join(STATES)} total_steps seconds elapsed_seconds "
        "best_trial best_score best_rating best_objective default_rating gain confirmed_gain confirmed_low confirmed_high "
        + changes,
    )
