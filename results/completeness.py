"""What the tables of an experiment lack or contradict, as after files were deleted or mixed with another experiment's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_ENDED = ("complete", "frozen", "pruned")  # states in which everything of a trial has been written
MOST_NAMED = 20  # ranges of numbers in a line
_REMEDY = "restore its files from a copy"


def lacking(trials: pd.DataFrame, reports: pd.DataFrame, evaluations: pd.DataFrame) -> list[str]:
    """Lines that name what is not there; none where all is.

    Trials that run, crashed or repeat another one may lack anything. Evaluations of a judgement have no row in `trials`.
    """
    search = evaluations[evaluations["contender"].isna()]
    known = set(trials["trial"])
    seen = known | set(reports["trial"]) | set(search["trial"].dropna().astype(int))
    missing = _gaps(known, max(seen, default=-1))
    lines = [f"trials lacks the row of trial {missing}"] if missing else []
    ended = trials[trials["state"].isin(_ENDED) & trials["same_as"].isna()].set_index("trial")
    lines += [f"trial {number}: {fault}" for number, fault in _of_trials(ended, reports, search).items()]
    return [f"{line}; {_REMEDY}" for line in lines + _runs(evaluations[evaluations["contender"].notna()])]


def _of_trials(ended: pd.DataFrame, reports: pd.DataFrame, evaluations: pd.DataFrame) -> dict[int, str]:
    """What ended trials lack, by number: reports, else an evaluation, else the row's own score.

    Args:
        ended: their rows in `trials`, by number.
        reports: of all trials.
        evaluations: of the search.
    """
    reports = reports[reports["trial"].isin(ended.index)]
    counts = reports.groupby("trial").size().reindex(ended.index).fillna(0)
    updates = ended["updates"].fillna(counts)
    scored = reports.dropna(subset=["score"])
    pairs = scored.set_index(["trial", "steps"]).index
    unseen = pairs[~pairs.isin(evaluations.dropna(subset=["trial"]).set_index(["trial", "steps"]).index)]
    scores, ends = ended["score"], scored.groupby("trial")["score"].last().reindex(ended.index)
    differ = ends.index[ends.notna() & scores.notna() & (ends != scores)]
    faults = {number: f"its row has the score {scores[number]}, its last report {ends[number]}" for number in differ}
    faults |= {number: f"it lacks the evaluation at {steps} steps" for number, steps in reversed(unseen)}
    return faults | {
        number: f"it has {counts[number]:.0f} reports, and its row counts {updates[number]:.0f}"
        for number in counts.index[counts != updates]
    }


def _runs(judged: pd.DataFrame) -> list[str]:
    """What the runs of a judgement's contenders lack: they are numbered from 0, and each is of the same years."""
    lines = []
    years = set(judged["year"])
    for (name, backend), own in judged.dropna(subset=["trial"]).groupby(["contender", "backend"]):
        numbers = set(own["trial"].astype(int).tolist())
        if missing := _gaps(numbers, max(numbers)):
            lines.append(f"{name} lacks the evaluation of run {missing} by {backend}")
        short = sorted(number for number in numbers if set(own.loc[own["trial"] == number, "year"]) != years)
        if short:
            runs = _words([(number, number) for number in short])
            lines.append(f"{name} lacks years in the evaluation of run {runs} by {backend}")
    return lines


def _gaps(known: set[int], last: int) -> str:
    """Numbers from 0 to `last` that are not known, in words; empty if there are none.

    The numbers come from files, and may be as large as 64 bits hold: only those that are known are counted.
    """
    gaps, first = [], 0
    for number in [*sorted(known), last + 1]:
        if number > first:
            gaps.append((first, number - 1))
        first = number + 1
    return _words(gaps)


def _words(ranges: Sequence[tuple[int, int]]) -> str:
    """Ranges of numbers in words, each with its first and its last, as `1, 3 to 5`; of many the first."""
    texts = [str(first) if first == last else f"{first} to {last}" for first, last in ranges[:MOST_NAMED]]
    more = len(ranges) - MOST_NAMED
    return ", ".join([*texts, *([f"and {more} more"] if more > 0 else [])])
