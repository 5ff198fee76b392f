"""Rows of an experiment's table as a pandas DataFrame, read from the files of the table."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from results.conditions import Filter, empty_passes, trials_wanted
from results.schema import schema
from results.table_files import ResultsError, joined_type, read_table, table_folder, trial_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ORDER = {"trials": ["trial"], "reports": ["trial", "update"], "evaluations": ["trial", "steps", "year"]}  # of rows
_READERS = 4  # threads
_AT_ONCE = 500  # files whose rows are then put together, as memory in few pieces is read faster


@dataclass(frozen=True)
class Read:
    """What was read of an experiment's table.

    Attributes:
        frame: its rows. Columns that it lacks are empty.
        skipped: files, each with the reason.
        lacking: columns that were wanted, or that a condition is on, which the table does not have.
    """

    frame: pd.DataFrame
    skipped: dict[Path, str]
    lacking: list[str]


@dataclass(frozen=True)
class _Alike:
    """Rows of files that follow each other and have the same columns."""

    paths: tuple[Path, ...]
    rows: pa.Table


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
    """Rows of a table; see `results.Results.read`. Files that cannot be used are skipped.

    Raises:
        ResultsError: for a condition that cannot be.
    """
    wanted = trials_wanted(filters)
    of = {path: trial_of(path.stem) for path in files_of(folder, table)}
    paths = [path for path, trial in of.items() if trial is None or wanted is None or trial in wanted]
    needed = None if columns is None else {*columns, *(own[0] for own in filters), *ORDER[table]}
    alike: list[_Alike] = []
    skipped: dict[Path, str] = {}
    with ThreadPoolExecutor(_READERS) as readers:
        for first in range(0, len(paths), _AT_ONCE):
            some = paths[first : first + _AT_ONCE]
            read = dict(zip(some, readers.map(partial(read_table, columns=needed), some), strict=True))
            skipped |= {path: rows for path, rows in read.items() if isinstance(rows, str)}
            alike += _alike({path: rows for path, rows in read.items() if not isinstance(rows, str)})
    skipped |= _unlike(alike)
    whole = [schema(table).empty_table(), *(own.rows for own in alike if own.paths[0] not in skipped)]
    alike.clear()
    frame, lacking = _frame(table, whole, columns, filters)
    return Read(frame, skipped, lacking)


def _alike(read: Mapping[Path, pa.Table]) -> Iterator[_Alike]:
    import pyarrow as pa

    for _, files in itertools.groupby(read.items(), key=lambda own: own[1].schema):
        paths, rows = zip(*files, strict=True)
        yield _Alike(paths, pa.concat_tables(rows).combine_chunks())


def _unlike(alike: Iterable[_Alike]) -> dict[Path, str]:
    """Files in which a column has another type than in most files, each with the reason.

    It concerns columns beyond the table's own, such as hyperparameters and KPIs. Their types are known only from the files.
    """
    known = list(alike)
    types: dict[str, Counter[pa.DataType]] = {}
    for own in known:
        for field in own.rows.schema:
            types.setdefault(field.name, Counter())[field.type] += len(own.paths)
    usual = {name: counted.most_common(1)[0][0] for name, counted in types.items()}
    return {
        path: f"column {field.name} is {field.type}, but {usual[field.name]} in other files: restore the file from a copy"
        for own in known
        for field in own.rows.schema
        if joined_type(field.type, usual[field.name]) is None
        for path in own.paths
    }


def _frame(
    name: str, tables: list[pa.Table], columns: Collection[str] | None, filters: Sequence[Filter]
) -> tuple[pd.DataFrame, list[str]]:
    """All rows of a table, and which columns it lacks, which are empty. The list is emptied, so that memory can be freed.

    It has the table's own columns even if no file has them.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.concat_tables(tables, promote_options="permissive")
    tables.clear()
    known = set(table.column_names)
    lacking = [column for column in dict.fromkeys([*(columns or ()), *(own[0] for own in filters)]) if column not in known]
    if not empty_passes(own for own in filters if own[0] in lacking):
        table = table.slice(0, 0)
    elif present := [own for own in filters if own[0] in known]:
        try:
            table = table.filter(pq.filters_to_expression(present))
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise ResultsError(f"filters of {name}: {' '.join(str(error).split())}") from error
    for column in lacking:
        table = table.append_column(str(column), pa.nulls(len(table)))
    if columns is not None:
        table = table.select(list(dict.fromkeys([*columns, *ORDER[name]])))
    is_sorted = _is_sorted(table, ORDER[name])
    frame: pd.DataFrame = table.to_pandas(self_destruct=True)
    if not is_sorted:
        frame = frame.sort_values(ORDER[name], ignore_index=True)
    return (frame if columns is None else frame[list(columns)]), lacking


def _is_sorted(table: pa.Table, names: Sequence[str]) -> bool:
    """Whether rows are in the order of some columns of whole numbers already."""
    import numpy as np

    if any(table[name].null_count for name in names):
        return False
    decided = np.zeros(max(len(table) - 1, 0), bool)
    for name in names:
        steps = np.diff(table[name].to_numpy())
        if bool(((steps < 0) & ~decided).any()):
            return False
        decided |= steps > 0
    return True
