"""Rows of an experiment's table as a pandas DataFrame: those that meet conditions, read from the files of the table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.texts import printable
from results.schema import schema
from results.table_files import ResultsError, first_of, read_table, table_folder, trial_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# A condition on a column: its name, one of == != < <= > >= in, not in, and a value or a list of values.
Filter = tuple[str, str, Any]

EXPERIMENT = "experiment"  # column that tells several experiments apart
ORDER = {"trials": ["trial"], "reports": ["trial", "update"], "evaluations": ["trial", "steps", "year"]}  # of rows
_OF_LISTS = ("in", "not in")  # conditions with a list of values
_MOST_READERS = 4  # threads
_BATCH = 200  # files that are joined at once: memory in thousands of small pieces is slow to copy, and is not given back


@dataclass(frozen=True)
class Read:
    """What was read of a table."""

    frame: pd.DataFrame  # its rows. Columns that it lacks are empty.
    lacking: list[str]  # columns that were wanted, or that a condition is on, which the table does not have
    skipped: dict[Path, str]  # files that cannot be used, each with the reason


def files_of(folder: Path, table: str) -> list[Path]:
    """Files of a table, by name; none where it has no folder yet. Raises ResultsError if that cannot be read."""
    of_table = table_folder(folder, table)
    try:
        # By their names: to compare thousands of paths takes longer than to list them.
        return sorted((path for path in of_table.iterdir() if path.suffix == ".parquet"), key=lambda path: path.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ResultsError(f"{of_table}: {error.strerror}; restore this folder, or make it readable") from error


def read_frame(folder: Path, table: str, columns: Collection[str] | None = None, filters: Sequence[Filter] = ()) -> Read:
    """Rows of a table in order; see `results.Results.read`. Raises ResultsError for a condition that cannot be."""
    import pyarrow as pa

    paths = files_of(folder, table)
    for column, sign, given in filters:
        if column == "trial" and sign in ("=", "==", "in"):
            trials = given if sign == "in" else [given]
            whole = [int(float(trial)) for trial in trials if isinstance(trial, Real) and float(trial).is_integer()]
            firsts = {None, *(first_of(table, trial) for trial in whole)}
            paths = [path for path in paths if trial_of(path.stem) in firsts]
    needed = None if columns is None else {*columns, *(column for column, _, _ in filters), *ORDER[table]}
    batches = [paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH)]
    with ThreadPoolExecutor(min(_MOST_READERS, pa.cpu_count())) as readers:
        read = list(readers.map(partial(_read_batch, folder, table, needed), batches))
    skipped = {path: reason for _, faults in read for path, reason in faults.items()}
    # Only `parts` holds the rows now, so that making the frame of them can free them.
    parts = [part for part, _ in read]
    read.clear()
    return Read(*_frame(folder, table, parts, columns, filters), skipped)


def _read_batch(
    folder: Path, table: str, columns: Collection[str] | None, paths: Sequence[Path]
) -> tuple[pa.Table, dict[Path, str]]:
    """Rows of some files, of each column in one piece of memory, and the files that cannot be used, each with the reason."""
    read = {path: read_table(path, columns) for path in paths}
    usable = [rows for rows in read.values() if not isinstance(rows, str)]
    return _joined(folder, table, usable).combine_chunks(), {path: why for path, why in read.items() if isinstance(why, str)}


def _joined(folder: Path, table: str, parts: list[pa.Table]) -> pa.Table:
    import pyarrow as pa

    try:
        return pa.concat_tables([schema(table).empty_table(), *parts], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        told = " ".join(str(error).split())
        raise ResultsError(f"{table_folder(folder, table)}: its files differ ({told}); restore them from one copy") from error


def _frame(
    folder: Path, table: str, parts: list[pa.Table], columns: Collection[str] | None, filters: Sequence[Filter]
) -> tuple[pd.DataFrame, list[str]]:
    """The rows, and which columns they lack, which are empty. The list is emptied."""
    import pandas as pd
    import pyarrow as pa

    whole = _joined(folder, table, parts)
    parts.clear()
    known = set(whole.column_names)
    lacking = [name for name in dict.fromkeys([*(columns or ()), *(column for column, _, _ in filters)]) if name not in known]
    for name in lacking:
        compared = [given if sign in _OF_LISTS else [given] for column, sign, given in filters if column == name]
        whole = whole.append_column(name, pa.nulls(len(whole), pa.array(compared[0]).type if compared else None))
    rows = filtered(table, whole, filters)
    del whole
    if columns is not None:
        rows = rows.select(list(dict.fromkeys([*columns, *ORDER[table]])))
    # Column by column, so that there are never two copies of all; a first piece without rows lets none be shared and read-only.
    pa.default_memory_pool().release_unused()
    frame: pd.DataFrame = rows.to_pandas(self_destruct=True, split_blocks=True)
    if not pd.MultiIndex.from_frame(frame[ORDER[table]]).is_monotonic_increasing:
        frame = frame.sort_values(ORDER[table], ignore_index=True)
    return (frame if columns is None else frame[list(columns)]), lacking


def filtered(table: str, rows: pa.Table, filters: Sequence[Filter]) -> pa.Table:
    """Rows that meet conditions. A ResultsError says which condition cannot be."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return rows.filter(pq.filters_to_expression(list(filters))) if filters else rows
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise ResultsError(f"filters of {table}: {' '.join(str(error).split())}") from error


def checked_conditions(table: str, filters: Sequence[Filter] | None) -> list[Filter]:
    """Conditions in the form that Arrow takes. A ResultsError says how one is written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        conditions = [(column, sign, [*given] if sign in _OF_LISTS else given) for column, sign, given in filters or ()]
        if conditions:
            pq.filters_to_expression(conditions)
    except (pa.ArrowException, AttributeError, OverflowError, TypeError, ValueError) as error:
        text = printable(repr(filters))
        shown = text if len(text) <= 80 else text[:77] + "..."
        wanted = 'give a list of conditions, each such as ("trial", "in", [0, 3]) or ("steps", ">", 10_000)'
        raise ResultsError(f"filters of {table}: {shown}: {wanted}") from error
    return conditions


_ENDED = ("complete", "frozen", "pruned")  # states in which everything of a trial has been written
MOST_NAMED = 20  # ranges of numbers in a line
_REMEDY = "restore its files from a copy"


def lacking(trials: pd.DataFrame, reports: pd.DataFrame, evaluations: pd.DataFrame) -> list[str]:
    """Lines that name what the tables lack; none where they lack nothing.

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
    """What ended trials lack, by number: reports, else an evaluation, else the row's own score."""
    reports = reports[reports["trial"].isin(ended.index)]
    counts = reports.groupby("trial").size().reindex(ended.index).fillna(0)
    updates = ended["updates"].fillna(counts)
    scored = reports.dropna(subset=["score"])
    pairs = scored.set_index(["trial", "steps"]).index
    unseen = pairs[~pairs.isin(evaluations.dropna(subset=["trial"]).set_index(["trial", "steps"]).index)]
    scores, kept = ended["score"], scored["trial"].map(ended["kept_steps"])
    rated = scored[(scored["steps"] == kept) | kept.isna()].groupby("trial")["score"].last().reindex(ended.index)
    # The score of further episodes is in no report.
    differ = rated.index[rated.notna() & scores.notna() & (rated != scores) & ~(ended["further_episodes"] > 0)]
    faults = {number: f"its row has the score {scores[number]}, its report {rated[number]}" for number in differ}
    faults |= {number: f"it lacks the evaluation at {steps} steps" for number, steps in reversed(unseen)}
    return faults | {
        number: f"it has {counts[number]:.0f} reports, and its row counts {updates[number]:.0f}"
        for number in counts.index[counts != updates]
    }


def _runs(judged: pd.DataFrame) -> list[str]:
    """What the runs of a judgement's contenders lack: they are numbered from 0, and each is of the same years."""
    lines = []
    years = set(judged["year"])
    for (name, backend), rows in judged.dropna(subset=["trial"]).groupby(["contender", "backend"]):
        numbers = set(rows["trial"].astype(int).tolist())
        if missing := _gaps(numbers, max(numbers)):
            lines.append(f"{name} lacks the evaluation of run {missing} by {backend}")
        short = sorted(number for number in numbers if set(rows.loc[rows["trial"] == number, "year"]) != years)
        if short:
            runs = _words([(number, number) for number in short])
            lines.append(f"{name} lacks years or episodes in the evaluation of run {runs} by {backend}")
    return lines


def _gaps(known: set[int], last: int) -> str:
    """Ranges up to `last` without a known number, in words. The loop is over known ones, as any may have 64 bits."""
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
