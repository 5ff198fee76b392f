"""Trials by several aims at once: those of which none is better in all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from common.measure import SCORE, Better, Measure
from common.texts import printable
from results.analysis.policies import last_evaluation
from results.analysis.searched import admissible, aims, searched
from results.experiment_file import read_facts
from results.front import GAINS, not_dominated
from results.loader import Results
from results.table_files import ResultsError

if TYPE_CHECKING:
    import pandas as pd


def pareto_front(results: Results, objectives: Sequence[str] | Mapping[str, Better]) -> pd.DataFrame:
    """Values of some measures in each trial's last evaluation, and which trials no other one beats.

    Args:
        results: of one experiment.
        objectives: columns of `evaluations`; as a mapping, whether `less` or `more` of each is better, else as its measure
            says.

    Returns:
        A row for each complete or frozen trial, the best in the first objective at the top: `trial`, `state`, `score`, `steps`,
        `shortfall`, each objective (amounts of a year of 8,760 h), and `on_front`: no other trial is at least as good in all
        and better in one. What misses a requirement, or lacks a value, is not on the front.

    Raises:
        ResultsError: for fewer than two objectives, or one without a known direction or column.
    """
    import numpy as np

    wanted = _measures(objectives, results)
    trials = results.scored
    trials = trials[trials["same_as"].isna()]
    last = last_evaluation(results)
    table = trials[["trial", "state", "score", "steps", "shortfall"]].astype({"state": "object"})
    for name, own in wanted.items():
        table[name] = table["trial"].map({trial: own.value(years) for trial, years in last.groupby("trial")}).astype(float)
    signs = np.array([1.0 if own.better == "more" else -1.0 for own in wanted.values()])
    goals = table[[*wanted]].to_numpy(float) * signs
    may = np.isfinite(goals).all(axis=1) & ~(table["shortfall"] > 0.0).to_numpy()
    table["on_front"] = False
    table.loc[may, "on_front"] = not_dominated(goals[may])
    first, own = next(iter(wanted.items()))
    return table.sort_values(first, ascending=own.better == "less", kind="stable", ignore_index=True)


def _measures(objectives: Sequence[str] | Mapping[str, Better], results: Results) -> dict[str, Measure]:
    """How each objective is read."""
    if isinstance(objectives, str) or len(objectives) < 2:
        raise ResultsError("a front takes at least two objectives, such as ['co2_kg', 'bill']")
    measures: dict[str, Measure] = {}
    for name in objectives:
        if name not in results.evaluations:
            known = ", ".join(own.name for own in results.measures.values() if own.better != "neither")
            raise ResultsError(f"evaluations has no column {printable(name)!r}: KPIs are {known}")
        measure = results.measures.get(name, Measure(name, better="neither"))
        better = objectives[name] if isinstance(objectives, Mapping) else measure.better
        if isinstance(objectives, Mapping) and better not in ("less", "more"):
            raise ResultsError(f"objective {printable(name)!r}: {better!r} is no direction; give 'less' or 'more'")
        if better == "neither":
            raise ResultsError(f"objective {printable(name)!r} has no known direction: give {{{name!r}: 'less'}} or 'more'")
        measures[name] = replace(measure, better=better)
    return measures


_TAKEN = ("trial", "state", "steps", SCORE.name, "objective", "objective_2", *GAINS)


def gains(results: Results) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Trials by both objectives, and the names of these; with one objective the frame is empty.

    Returns:
        A row for each trial that was evaluated and meets the requirements, the greatest first gain at the top: `trial`,
        `state`, `steps`, `score`, `objective`, `objective_2`, `gain`, `gain_2` and `on_front`.
    """
    trials = admissible(searched(results))
    names = aims(read_facts(results.single.folder))
    if any(name not in trials for name in _TAKEN) or len(names) < 2:
        return trials.reindex(columns=[*_TAKEN, "on_front"]).head(0), names
    known = trials[trials[list(GAINS)].notna().all(axis=1)][[*_TAKEN]]
    known = known.assign(on_front=known["trial"].isin(results.front["trial"]))
    return known.sort_values(["gain", "trial"], ascending=[False, True], ignore_index=True), names
