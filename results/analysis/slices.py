"""Each hyperparameter by itself: its values beside the ratings, and how much of its range was tried."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from results.analysis.searched import acts, best_trial, frame, ranges_of, searched
from results.experiment_file import Range, read_facts, text_of
from results.loader import Results
from results.schema import GIVEN

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

EDGE = 0.05  # part of a range that counts as its edge
BINS = 10  # equal parts of a range


def effects(results: Results) -> pd.DataFrame:
    """Value and rating of each trial for each hyperparameter that was searched.

    Returns:
        A row for each hyperparameter and trial: `hyperparameter`, `trial`, `state`, `value` (a number; empty for choices and
        none), `label` (the value as a text), `position` (0 at the lower end of the range, 1 at the upper one, on the scale
        that is drawn from; starts may lie beyond), `low`, `high`, `log`, `from_one` (of that range; empty for choices),
        `choices` (how many there are; 0 for a range), `acts` (false where another value switches it off), `score`, `rating`,
        `shortfall`, `is_best`, and `at_edge`: `lower` or `upper` where the winner's value lies within a twentieth of an end of
        its range, else empty. An end of the range beyond which nothing is valid is an edge all the same.
    """
    import numpy as np
    import pandas as pd

    trials = searched(results)
    best = best_trial(results)
    parts = []
    for name, own in ranges_of(trials, read_facts(results.single.folder)).items():
        column = trials[GIVEN + name]
        places = own.positions(column)
        part = trials[["trial", "state", "score", "rating", "shortfall"]].assign(
            hyperparameter=name, label=column.map(text_of), position=places, low=own.low, high=own.high, log=own.log,
            from_one=own.from_one, choices=len(own.choices), acts=acts(trials, own),
            is_best=trials["trial"] == (-1 if best is None else best),
            value=np.nan if own.choices else pd.to_numeric(column, errors="coerce").astype(float), at_edge="",
        )  # fmt: skip
        if not own.choices:
            edges = np.select([places <= EDGE, places >= 1.0 - EDGE], ["lower", "upper"], "")
            part["at_edge"] = np.where(part["is_best"] & part["acts"], edges, "")
        parts.append(part)
    types = {"hyperparameter": "object", "trial": "int64", "state": "object", "value": "float64", "label": "object"}
    types |= dict.fromkeys(("position", "low", "high"), "float64")
    types |= {"log": "bool", "from_one": "bool", "choices": "int64", "acts": "bool"}
    types |= dict.fromkeys(("score", "rating", "shortfall"), "float64") | {"is_best": "bool", "at_edge": "object"}
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True)[[*types]].astype(types) if filled else frame([], types)


def coverage(results: Results) -> pd.DataFrame:
    """How much of each range the search tried.

    Returns:
        A row a hyperparameter: `hyperparameter`, `low`, `high`, `log` (empty for choices), `trials` (in which it acts),
        `values` (different ones), `parts` (equal parts of the range, at most ten, or values that it has), `tried` (share of
        these with a trial), `expected` (share that as many even draws would try), `gap_low` and `gap_high` (ends of the widest
        stretch of the range without a trial, as values; empty for choices), `gap` (its share of the range) and `untried`
        (choices without a trial, with commas).
    """
    import numpy as np

    trials = searched(results)
    rows: list[dict[str, object]] = []
    for name, own in ranges_of(trials, read_facts(results.single.folder)).items():
        # A range of one value has nothing to try.
        if own.values == 1 or own.low == own.high:
            continue
        column = trials.loc[acts(trials, own), GIVEN + name]
        parts = min(BINS, own.values or BINS) if not own.choices else len(own.choices)
        places = own.positions(column)
        places = places[(places >= 0.0) & (places <= 1.0)]
        tried = len(set(_parts(places, parts, bool(own.choices))))
        row: dict[str, object] = {
            "hyperparameter": name, "low": own.low, "high": own.high, "log": own.log, "trials": len(column),
            "values": column.map(text_of).nunique(), "parts": parts, "tried": tried / parts,
            "expected": 1.0 - (1.0 - 1.0 / parts) ** len(column), "untried": "",
        }  # fmt: skip
        if own.choices:
            row["untried"] = ", ".join(text for text in own.choices if text not in set(column.map(text_of)))
        else:
            ends = np.unique(np.concatenate([[0.0], places, [1.0]]))
            widest = int(np.diff(ends).argmax())
            row["gap"] = float(ends[widest + 1] - ends[widest])
            row["gap_low"], row["gap_high"] = (value_at(own, float(ends[place])) for place in (widest, widest + 1))
        rows.append(row)
    types = {"hyperparameter": "object", "low": "float64", "high": "float64", "log": "bool", "trials": "int64"}
    types |= {"values": "int64", "parts": "int64", **dict.fromkeys(("tried", "expected", "gap_low", "gap_high"), "float64")}
    return frame(rows, {**types, "gap": "float64", "untried": "object"})


def _parts(places: np.ndarray, parts: int, of_choices: bool) -> list[int]:
    """Number of the part that each place lies in."""
    import numpy as np

    scaled = np.rint(places * (parts - 1)) if of_choices else np.minimum(np.floor(places * parts), parts - 1)
    return [int(part) for part in scaled]


def value_at(own: Range, place: float) -> float:
    """Value at a position of a range of numbers; see `Range.positions`."""
    if not own.log:
        return own.low + place * (own.high - own.low)
    if own.from_one:
        return 1.0 - (1.0 - own.low) * ((1.0 - own.high) / (1.0 - own.low)) ** place
    return own.low * math.exp(place * math.log(own.high / own.low))
