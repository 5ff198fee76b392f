"""Rows of an experiment's table as a pandas DataFrame: those that meet conditions, read from the files of the table."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
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
# Whether a text passes.
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "in": lambda value, given: value in given, "not in": lambda value, given: value not in given,
}  # fmt: skip
_OF_LISTS = ("in", "not in")  # conditions with a list of values
_NAMING = ("=", "==", "in")  # conditions that name the values that pass
_MOST_READERS = 4  # threads
_BATCH = 200  # files that are joined at once: memory in thousands of small pieces is slow to copy, and is not given back


@dataclass(frozen=True)
class Read:
    """What was read of a table.

    Attributes:
        frame: its rows. Columns that it lacks are empty.
        lacking: columns that were wanted, or that a condition is on, which the table does not have.
        skipped: files that cannot be used, each with the reason.
    """

    frame: pd.DataFrame
    lacking: list[str]
    skipped: dict[Path, str]


def files_of(folder: Path, table: str) -> list[Path]:
    """Files of a table, by name; none where it has no folder yet.

    Raises:
        ResultsError: if its folder cannot be read, or is none.
    """
    of_table = table_folder(folder, table)
    try:
        # By their names: to compare thousands of paths takes longer than to list them.
        return sorted((path for path in of_table.iterdir() if path.suffix == ".parquet"), key=lambda path: path.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ResultsError(f"{of_table}: {error.strerror}; restore this folder, or make it readable") from error


def read_frame(folder: Path, table: str, columns: Collection[str] | None = None, filters: Sequence[Filter] = ()) -> Read:
    """Rows of a table in order; see `results.Results.read`.

    Raises:
        ResultsError: for a condition that cannot be.
    """
    import pyarrow as pa

    wanted = trials_wanted(filters)
    paths = files_of(folder, table)
    if wanted is not None:
        firsts = {trial if trial is None else first_of(table, trial) for trial in wanted}
        paths = [path for path in paths if trial_of(path.stem) in {None, *firsts}]
    needed = None if columns is None else {*columns, *(column for column, _, _ in filters), *ORDER[table]}
    batches = [paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH)]
    with ThreadPoolExecutor(min(_MOST_READERS, pa.cpu_count())) as readers:
        read = list(readers.map(partial(_read_batch, folder, table, needed), batches))
    skipped = {path: reason for _, faults in read for path, reason in faults.items()}
    # What is not named any more is freed as the frame is made of it.
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
    """All rows, with the table's own columns first."""
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
    import pyarrow as pa

    whole = _joined(folder, table, parts)
    parts.clear()
    known = set(whole.column_names)
    lacking = [name for name in dict.fromkeys([*(columns or ()), *(column for column, _, _ in filters)]) if name not in known]
    rows = _filtered(table, whole, filters)
    del whole
    for name in lacking:
        rows = rows.append_column(str(name), pa.nulls(len(rows)))
    if columns is not None:
        rows = rows.select(list(dict.fromkeys([*columns, *ORDER[table]])))
    is_sorted = _is_sorted(rows, ORDER[table])
    # Column by column, so that there are never two copies of all; a first piece without rows lets none be shared and read-only.
    pa.default_memory_pool().release_unused()
    frame: pd.DataFrame = rows.to_pandas(self_destruct=True, split_blocks=True)
    if not is_sorted:
        frame = frame.sort_values(ORDER[table], ignore_index=True)
    return (frame if columns is None else frame[list(columns)]), lacking


def _filtered(table: str, rows: pa.Table, filters: Sequence[Filter]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    present = [condition for condition in filters if condition[0] in rows.column_names]
    if not empty_passes(condition for condition in filters if condition not in present):
        return rows.slice(0, 0)
    try:
        return rows.filter(pq.filters_to_expression(present)) if present else rows
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise ResultsError(f"filters of {table}: {' '.join(str(error).split())}") from error


def _is_sorted(rows: pa.Table, names: Sequence[str]) -> bool:
    """Whether rows are in the order of some columns of whole numbers already."""
    import numpy as np

    if any(rows[name].null_count for name in names):
        return False
    decided = np.zeros(max(len(rows) - 1, 0), bool)
    for name in names:
        steps = np.diff(rows[name].to_numpy())
        if bool(((steps < 0) & ~decided).any()):
            return False
        decided |= steps > 0
    return True


def empty_passes(conditions: Iterable[Filter]) -> bool:
    """Whether an empty cell meets conditions, as Arrow has it: only lists tell that it is among them, or is not."""
    return all(sign in _OF_LISTS and any(each is None for each in given) == (sign == "in") for _, sign, given in conditions)


def name_passes(name: str, conditions: Iterable[Filter]) -> bool:
    """Whether the name of an experiment meets conditions."""
    return all(_COMPARED[sign](name, given) for _, sign, given in conditions)


def trials_wanted(filters: Sequence[Filter]) -> set[int] | None:
    """Trials that conditions let pass, where these name some; None where any trial may pass."""
    named = [
        set(given) if sign in _OF_LISTS else {given} for column, sign, given in filters if column == "trial" and sign in _NAMING
    ]
    # What no column of 64 bits holds is refused once the table is filtered.
    return {trial for trial in set.intersection(*named) if trial is None or abs(trial) < 2**63} if named else None


def checked_conditions(table: str, filters: Sequence[Filter] | None) -> list[Filter]:
    """Conditions on a table in the form that Arrow takes: lists of values are lists, numbers of trials are Python's.

    Raises:
        ResultsError: if one has not the form of a condition.
    """
    if filters is None:
        return []
    if isinstance(filters, str | Mapping) or not isinstance(filters, Iterable):
        raise _malformed(table, filters, 'give a list such as [("trial", "in", [0, 3])]')
    return [_condition(table, each) for each in filters]


def _condition(table: str, given: object) -> Filter:
    if not isinstance(given, tuple | list) or len(given) != 3 or not isinstance(given[0], str):
        raise _malformed(table, given, 'give a list of conditions, each such as ("trial", "==", 3)')
    column, sign, value = given
    if not isinstance(sign, str) or sign not in _COMPARED:
        raise _malformed(table, given, f"conditions are {', '.join(_COMPARED)}")
    has_several = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    if has_several != (sign in _OF_LISTS):
        raise _malformed(table, given, f"{sign} takes {'a list of values' if sign in _OF_LISTS else 'one value'}")
    values: list[Any] = list(value) if has_several else [value]
    if column == EXPERIMENT and not all(isinstance(each, str) for each in values):
        raise _malformed(table, given, "names of experiments are texts")
    if column == "trial":
        if any(each is not None and (isinstance(each, bool) or not isinstance(each, Real)) for each in values):
            raise _malformed(table, given, "trials have numbers, such as 3")
        values = [each if each is None else int(each) if isinstance(each, Integral) else float(each) for each in values]
    return column, sign, values if has_several else values[0]


def _malformed(table: str, given: object, remedy: str) -> ResultsError:
    text = printable(repr(given))
    return ResultsError(f"filters of {table}: {text if len(text) <= 80 else text[:77] + '...'}: {remedy}")
