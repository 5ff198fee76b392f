"""The trials of a search as analysis takes them: which count, which one is the default, which hyperparameters were searched."""

from typing import Any

import numpy as np
import pandas as pd

from common.measure import SCORE
from results.experiment_file import Facts, Range, text_of
from results.fresh import DEFAULT
from results.loader import Results, ratings
from results.schema import GIVEN, STATES


def searched(results: Results) -> pd.DataFrame:
    """Trials of the search that were evaluated, by number: not those that repeat an assignment or confirm one.

    Returns:
        Rows of `trials` in any state that can be ranked. Its columns, and `rating` as `rated` has it.
    """
    trials = results.trials
    evaluated = trials["same_as"].isna() & trials["confirms"].isna() & np.isfinite(ratings(trials).astype(float))
    return trials.assign(rating=rated(trials))[evaluated].reset_index(drop=True)


def rated(rows: pd.DataFrame) -> pd.Series:
    """Ratings that have a unit: empty where a requirement is missed.

    What misses a requirement is ranked far below all else, by how much it misses. That is a place, and no value to draw.
    """
    return ratings(rows).astype(float).mask(misses(rows))


def misses(rows: pd.DataFrame) -> pd.Series:
    """Whether each row misses a requirement; false where nothing is required."""
    return rows["shortfall"].astype(float) > 0.0


def aims(facts: Facts) -> tuple[str, ...]:
    """Names of what a search aims at: `score` by default, and two where it gives a front."""
    return tuple(str(facts.settings.get("objective") or SCORE.name).split())


def ranks_by_score(facts: Facts) -> bool:
    """Whether ratings of a search are scores."""
    return aims(facts) == (SCORE.name,)


def admissible(trials: pd.DataFrame) -> pd.DataFrame:
    """Of these trials those that meet the requirements; all where nothing is required."""
    return trials[~misses(trials)].reset_index(drop=True)


def best_trial(results: Results) -> int | None:
    """Number of the winner, see `Results.best`; None without one."""
    return None if results.scored.empty else int(results.best["trial"])


def default_trial(results: Results) -> int | None:
    """Number of the trial with the default preset, by confirmations, else by `--start-from`; None where none is known."""
    again = results.confirmations
    of_default = again.loc[(again["confirm_role"] == DEFAULT) & (again["confirms"] >= 0), "confirms"]
    if len(of_default):
        return int(of_default.iloc[0])
    settings = results.facts.settings
    starts = [settings["preset"]] if settings.get("preset") else settings.get("start_from")
    if not isinstance(starts, list) or DEFAULT not in starts:
        return None
    number = starts.index(DEFAULT)
    return number if (results.trials["trial"] == number).any() else None


def ranges_of(trials: pd.DataFrame, facts: Facts) -> dict[str, Range]:
    """Range of each hyperparameter that was searched, by name.

    Where the settings tell of none, it is what was tried: hyperparameters that differ between trials, from the least value to
    the greatest, on a log scale where these differ tenfold and more.
    """
    columns = {str(name).removeprefix(GIVEN): trials[name] for name in trials.columns if str(name).startswith(GIVEN)}
    if facts.settings:
        return {name: hyperparameter for name, hyperparameter in facts.ranges.items() if name in columns}
    ranges = {}
    for name, column in columns.items():
        if column.map(text_of).nunique() < 2:
            continue
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            low, high = float(column.min()), float(column.max())
            if low < high:
                whole = bool((column.dropna() % 1 == 0).all())
                ranges[name] = Range(name, low, high, log=low > 0.0 and high >= 10.0 * low, whole=whole)
        else:
            ranges[name] = Range(name, choices=tuple(sorted(set(column.map(text_of)))))
    return ranges


def acts(trials: pd.DataFrame, hyperparameter: Range) -> np.ndarray:
    """Whether a hyperparameter does something in each trial, shape (trials,)."""
    if hyperparameter.only_if is None or GIVEN + hyperparameter.only_if[0] not in trials:
        return np.ones(len(trials), bool)
    name, values = hyperparameter.only_if
    return trials[GIVEN + name].map(text_of).isin(values).to_numpy(bool)


# Types of the columns of analysis; all others hold float64.
_TYPES = {
    "object": "aim algorithm at_edge backend contender experiment folder hyperparameter kind label measure name reward role "
    "scenario split state",
    "int64": "best_trial best_trials choices confirms ended_early of rung runs seed total_steps trial trials",
    "bool": "acts beyond_chance from_one is_best is_default log",
}
_TYPE_OF = {name: kind for kind, names in _TYPES.items() for name in names.split()} | dict.fromkeys(STATES, "int64")


def frame(rows: list[dict[str, Any]] | dict[str, Any], columns: str, **types: str) -> pd.DataFrame:
    """Rows, or values by column, as a frame with these columns, separated by spaces, also without any row.

    Types are those of `_TYPES` or given.
    """
    names = columns.split()
    return pd.DataFrame(rows, columns=names).astype({name: types.get(name, _TYPE_OF.get(name, "float64")) for name in names})


EDGE = 0.05  # part of a range that counts as its edge
_ROUNDED = 1e-9  # of a place, that rounding may move it


def effects(results: Results) -> pd.DataFrame:
    """Value and rating of each trial for each hyperparameter that was searched.

    Returns:
        A row for each hyperparameter and trial: `hyperparameter`, `trial`, `state`, `value` (a number; empty for choices and
        none), `label` (the value as a text), `position` (0 at the lower end of the range, 1 at the upper one, on the scale
        that is drawn from; starts may lie beyond), `low`, `high`, `log`, `from_one` (of that range; empty for choices),
        `choices` (how many there are; 0 for a range), `acts` (false where another value switches it off), `score`, `rating`,
        `shortfall`, `is_best`, and `at_edge`: `lower` or `upper` where the winner's value lies within a twentieth of an end of
        its range, `beyond the lower` or `beyond the upper` where a start lies outside, else empty. An end of the range beyond
        which nothing is valid is an edge all the same.
    """
    trials = searched(results)
    best = best_trial(results)
    parts = []
    for name, hyperparameter in ranges_of(trials, results.facts).items():
        column = trials[GIVEN + name]
        places = hyperparameter.positions(column)
        part = trials[["trial", "state", "score", "rating", "shortfall"]].assign(
            hyperparameter=name, label=column.map(text_of), position=places, is_best=trials["trial"] == best, at_edge="",
            low=hyperparameter.low, high=hyperparameter.high, log=hyperparameter.log, from_one=hyperparameter.from_one,
            choices=len(hyperparameter.choices), acts=acts(trials, hyperparameter),
            value=np.nan if hyperparameter.choices else pd.to_numeric(column, errors="coerce").astype(float),
        )  # fmt: skip
        if not hyperparameter.choices:
            # On a logarithmic scale 0 is no end that could be widened.
            ends = {"beyond the lower": -places > _ROUNDED, "beyond the upper": places > 1.0 + _ROUNDED,
                    "lower": places <= EDGE, "upper": places >= 1.0 - EDGE}  # fmt: skip
            edges = np.where(np.isfinite(places), np.select([*ends.values()], [*ends], ""), "")
            part["at_edge"] = np.where(part["is_best"] & part["acts"], edges, "")
        parts.append(part)
    empty = frame(
        [],
        "hyperparameter trial state value label position low high log from_one choices acts score rating shortfall is_best "
        "at_edge",
    )
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True)[[*empty]].astype(empty.dtypes) if filled else empty
