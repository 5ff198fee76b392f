"""Experiments side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from common.measure import A_YEAR, SCORE, SITE
from results.analysis.curves import confirmed
from results.analysis.policies import last_evaluation
from results.analysis.searched import best_trial, default_trial, frame, rated
from results.analysis.times import stretches
from results.experiment_file import read_facts
from results.fresh import DEFAULT
from results.loader import Results, names_of
from results.schema import STATES

if TYPE_CHECKING:
    import pandas as pd

# Settings that decide what a rating says, beside site and reward.
_AIM = (
    "objective", "weights", "require", "train", "validation", "test", "train_buildings", "validation_buildings",
    "test_buildings", "validation_weeks",
)  # fmt: skip


def aim_of(settings: Mapping[str, Any]) -> str:
    """What a search aims at, and on which splits, as far as that is not the default."""
    parts = []
    for name in _AIM:
        value = settings.get(name)
        if value and not (name == "objective" and value == SCORE.name):
            text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            parts.append(f"{name.replace('_', ' ')} {text}")
    return "; ".join(parts)


def compare(experiments: Sequence[Results] | Results) -> pd.DataFrame:
    """One row an experiment, in the given order.

    Returns:
        `experiment`, `folder`, `algorithm`, `scenario`, `reward`, `aim` (see `aim_of`), `trials` (of the search), how many are
        in each state, `total_steps`, `seconds` (of all trials), `elapsed_seconds` (in which at least one ran), `best_trial` (or
        -1), `best_score`, `best_rating`, `best_objective`, `default_score`, `gain` (rating of the best less that of the
        default), `confirmed_gain`, `confirmed_low`, `confirmed_high` (with fresh seeds, see `confirmed`), and `..._change` for
        each amount that tables show, such as `co2_kg_change`: of the best against the uncontrolled site on the validation
        split.
    """
    import numpy as np

    from results.analysis.times import elapsed

    rows = []
    every = list(experiments.experiments if isinstance(experiments, Results) else experiments)
    measures = [measure for one in every for measure in one.measures.values()]
    amounts = {measure.name: measure for measure in measures if measure.label and measure.over == A_YEAR}
    for label, results in zip(names_of([one.folder for one in every]), every, strict=True):
        trials = results.trials
        of_search = trials[trials["confirms"].isna()]
        counts = of_search["state"].value_counts()
        ran = stretches(results.reports)
        own: dict[str, object] = {"experiment": label, "folder": results.place, "trials": len(of_search)}
        own["aim"] = aim_of(read_facts(results.single.folder).settings)
        for name in ("algorithm", "scenario", "reward"):
            own[name] = trials[name].iloc[0] if len(trials) else ""
        own |= {state: int(counts.get(state, 0)) for state in STATES}
        own |= {"total_steps": int(trials["steps"].fillna(0).sum()), "seconds": float(trials["seconds"].sum())}
        own["elapsed_seconds"] = float(elapsed(ran, ran["end"]).max()) if len(ran) else 0.0
        best, default = best_trial(results), default_trial(results)
        rating = rated(trials).set_axis(trials["trial"])
        scores = trials.set_index("trial")["score"]
        own |= {"best_trial": -1 if best is None else best, "default_score": scores.get(default, math.nan)}
        if best is not None:
            row = results.best
            own |= {"best_score": row["score"], "best_rating": rating[best], "best_objective": row["objective"]}
            own["gain"] = rating[best] - rating.get(default, math.nan)
            last = last_evaluation(results)
            last = last[last["trial"] == best]
            for measure in amounts.values():
                before = measure.value(last, SITE)
                own[f"{measure.name}_change"] = measure.value(last) / before - 1.0 if before > 0.0 else math.nan
        again = confirmed(results)
        again = again[(again["role"] != DEFAULT) & np.isfinite(again["gain"]) & (again["confirms"] == own["best_trial"])]
        if len(again):
            winner = again.iloc[0]
            own |= {
                "confirmed_gain": winner["gain"],
                "confirmed_low": winner["gain_low"],
                "confirmed_high": winner["gain_high"],
            }
        rows.append(own)
    types = dict.fromkeys(("experiment", "folder", "algorithm", "scenario", "reward", "aim"), "object")
    types |= dict.fromkeys(("trials", *STATES, "total_steps"), "int64")
    types |= {"seconds": "float64", "elapsed_seconds": "float64", "best_trial": "int64"}
    numbers = ("best_score", "best_rating", "best_objective", "default_score", "gain")
    types |= dict.fromkeys((*numbers, "confirmed_gain", "confirmed_low", "confirmed_high"), "float64")
    return frame(rows, types | dict.fromkeys((f"{name}_change" for name in amounts), "float64"))
