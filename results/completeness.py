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

    Trials that run, crashed or repeat another one may lack anything. So may tables that are empty, as in older tests of a
    judgement.

    Args:
        trials: see `Results`.
        reports: likewise.
        evaluations: likewise; those of a judgement have no row in `trials`.
    """
    search = evaluations[evaluations["contender"].isna()]
    ended = trials[trials["state"].isin(_ENDED) & trials["same_as"].isna()]
    lines = _trials(trials, reports, search)
    for number, fault in _of_trials(ended, reports[reports["trial"].isin(ended["trial"])], search):
        lines.append(f"trial {number}: {fault}; {_REMEDY}")
    return lines + _runs(evaluations[evaluations["contender"].notna()])


def _trials(trials: pd.DataFrame, reports: pd.DataFrame, evaluations: pd.DataFrame) -> list[str]:
    known = set(trials["trial"])
    seen = known | set(reports["trial"]) | set(evaluations["trial"].dropna().astype(int))
    missing = _gaps(known, 0, max(seen, default=-1))
    return [f"trials lacks the row of trial {missing}; {_REMEDY}"] if missing else []


def _of_trials(ended: pd.DataFrame, reports: pd.DataFrame, evaluations: pd.DataFrame) -> list[tuple[int, str]]:
    """Numbers of ended trials that lack something, and what.

    Args:
        ended: their rows in `trials`.
        reports: their reports.
        evaluations: of the search.
    """
    faults = []
    updates = reports.groupby("trial")["update"].agg(["nunique", "max"]).reindex(ended["trial"]).fillna(0)
    last = ended.set_index("trial")["updates"].fillna(updates["max"])
    for number in updates.index[updates["nunique"] != last]:
        own = set(reports.loc[reports["trial"] == number, "update"])
        missing = _gaps(own, 1, int(last[number]))
        beyond = f"its reports go to update {max(own, default=0)}, its row to {int(last[number])}"
        faults.append((number, f"its reports lack update {missing}" if missing else beyond))
    scored = reports.dropna(subset=["score"])
    pairs = scored.set_index(["trial", "steps"]).index
    unseen = pairs[~pairs.isin(evaluations.dropna(subset=["trial"]).set_index(["trial", "steps"]).index)]
    faults += [(number, f"it lacks the evaluation at {steps} steps") for number, steps in unseen]
    ends = scored.groupby("trial")["score"].last().reindex(ended["trial"])
    scores = ended.set_index("trial")["score"]
    whole = ends.notna() & scores.notna() & ~ends.index.isin([number for number, _ in faults])
    other = ends.index[whole & (ends != scores)]
    return faults + [(number, f"its row has the score {scores[number]}, its last report {ends[number]}") for number in other]


def _runs(judged: pd.DataFrame) -> list[str]:
    """What the runs of a judgement's contenders lack: they are numbered from 0, and each is of the same years."""
    lines = []
    years = set(judged["year"])
    for (name, backend), own in judged.dropna(subset=["trial"]).groupby(["contender", "backend"]):
        numbers = set(own["trial"].astype(int).tolist())
        if missing := _gaps(numbers, 0, max(numbers)):
            lines.append(f"{name} lacks the evaluation of run {missing} by {backend}; {_REMEDY}")
        short = sorted(number for number in numbers if set(own.loc[own["trial"] == number, "year"]) != years)
        if short:
            runs = _words([(number, number) for number in short])
            lines.append(f"{name} lacks years in the evaluation of run {runs} by {backend}; {_REMEDY}")
    return lines


def _gaps(known: set[int], first: int, last: int) -> str:
    """Numbers from `first` to `last` that are not known, in words; empty if there are none.

    The numbers come from files, and may be as large as 64 bits hold: only those that are known are counted.
    """
    gaps = []
    for number in [*sorted(number for number in known if first <= number <= last), last + 1]:
        if number > first:
            gaps.append((first, number - 1))
        first = number + 1
    return _words(gaps)


def _words(ranges: Sequence[tuple[int, int]]) -> str:
    """Sorted ranges of numbers in words, each with its first and its last, as `1, 3 to 5`; of many the first."""
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and joined[-1][1] == first - 1:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    texts = [str(first) if first == last else f"{first} to {last}" for first, last in joined[:MOST_NAMED]]
    more = len(joined) - MOST_NAMED
    return ", ".join([*texts, *([f"and {more} more"] if more > 0 else [])])
