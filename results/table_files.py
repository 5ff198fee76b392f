"""Files of the tables: one for each trial, in `trials` for each hundred. Each is written whole under its name or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import UserError
from common.files import write_whole
from common.measure import Measure
from common.texts import printable
from results.schema import FINGERPRINT, FOLDER, SCHEMA_VERSION, STATES, checksum_of, columns_text, schema

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

Rows = Sequence[Mapping[str, Any]]  # values by column; a missing column is empty
Kinds = Mapping[str, type]  # Python types of hyperparameters, by name
Measures = Mapping[str, Measure]  # what evaluations measure, by name: see `results.schema.schema`
# Columns that are filled in each row. In a judgement, evaluations of baselines and bounds have no trial.
_FILLED = {"trials": ("trial",), "reports": ("trial", "update"), "evaluations": ("year",)}
# Columns that tell whether a file can be used.
_TELLING = {
    "trials": ("trial", "state"),
    "reports": ("trial", "update"),
    "evaluations": ("trial", "year", "backend", "contender"),
}
_OF_TRIAL = re.compile(r"(\d{5,})")  # name of a file, see `rows_path`
_JUDGED = re.compile(r".+?(?:-(\d{3,}))?-(batch|citylearn|gymnasium)")  # see `judged_path`
TOGETHER = 100  # trials whose rows in `trials` share a file: to open thousands of files of one row would take seconds
_LAST_TIME = 7_258_118_400 * 10**6  # microseconds from 1970 to 2200
_SMALL = 2**20  # bytes of a file up to which it is read at once
MOST_VALUES, MOST_BYTES = 10**8, 2**31  # of a file; the largest of ours have some million values
OTHER_VERSION = "use the version that wrote it"  # remedy where a file is not damaged
_RESTORE = "restore the file from a copy"


class ResultsError(UserError, ValueError):
    """A folder holds no results, or none that are complete. The message says what to do."""


def table_folder(experiment: Path, table: str) -> Path:
    """Folder of a table's files."""
    return experiment / FOLDER / table


def rows_path(experiment: Path, table: str, trial: int) -> Path:
    """Path of the file with a trial's rows of a table."""
    return table_folder(experiment, table) / f"{first_of(table, trial):05d}.parquet"


def first_of(table: str, trial: int) -> int:
    """The first trial in the file that has a trial's rows of a table; the file is named by it."""
    return trial // TOGETHER * TOGETHER if table == "trials" else trial


def judged_path(folder: Path, name: str, backend: str) -> Path:
    """Path of the file with the evaluations of one run of a contender, of the baselines or of the bounds."""
    return table_folder(folder, "evaluations") / f"{name}-{backend}.parquet"


def write_rows(
    folder: Path, table: str, trial: int, rows: Rows, hyperparameters: Kinds | None = None, measures: Measures | None = None
) -> Path:
    """Write a trial's rows in place of those that are there; the path of their file. It is not written if it is damaged."""
    import pyarrow as pa
    import pyarrow.compute as pc

    path = rows_path(folder, table, trial)
    content = _table_of(table, rows, hyperparameters, measures)
    if table == "trials" and path.exists():
        others = _usable(path).filter(pc.field("trial") != trial)
        content = pa.concat_tables([others, content], promote_options="default").sort_by("trial")
    return _write(path, content)


def add_rows(folder: Path, table: str, trial: int, rows: Rows, measures: Measures | None = None) -> Path:
    """Add rows to those of a trial; the path of their file. It is not written if it is damaged."""
    import pyarrow as pa

    path = rows_path(folder, table, trial)
    before = [_usable(path)] if path.exists() else []
    return _write(path, pa.concat_tables([*before, _table_of(table, rows, None, measures)], promote_options="default"))


def read_rows(folder: Path, table: str, trial: int) -> list[dict[str, Any]]:
    """Rows of a trial; none where it has no file. Raises ResultsError if the file is damaged or of another version."""
    import pyarrow.compute as pc

    path = rows_path(folder, table, trial)
    return _usable(path).filter(pc.field("trial") == trial).to_pylist() if path.exists() else []


def drop_rows_after(folder: Path, table: str, trial: int, steps: int) -> bool:
    """Remove a trial's rows beyond some steps, before that work is repeated; whether there were any."""
    import pyarrow.compute as pc

    path = rows_path(folder, table, trial)
    content = _usable(path) if path.exists() else schema(table).empty_table()
    kept = content.filter(pc.field("steps") <= steps)
    if drops := len(kept) < len(content):
        _write(path, kept)
    return drops


def write_file(path: Path, rows: Rows, hyperparameters: Kinds | None = None, measures: Measures | None = None) -> None:
    """Write rows as one file, replacing one of that name. Raises KeyError if a row has a column that the schema lacks."""
    _write(path, _table_of(path.parent.name, rows, hyperparameters, measures))


def read_file(path: Path) -> list[dict[str, Any]]:
    """Rows of a file. Raises ResultsError if it is missing, damaged or of another version."""
    return _usable(path).to_pylist()


def _table_of(table: str, rows: Rows, hyperparameters: Kinds | None, measures: Measures | None) -> pa.Table:
    import pyarrow as pa

    columns = schema(table, hyperparameters, measures)
    if unknown := {name for row in rows for name in row} - set(columns.names):
        raise KeyError(f"table {table} has no column {', '.join(sorted(unknown))}")
    return pa.Table.from_pylist(list(rows), schema=columns)


def _write(path: Path, content: pa.Table) -> Path:
    checksum = checksum_of(columns_text(content.schema), len(content))
    content = content.replace_schema_metadata({**content.schema.metadata, FINGERPRINT.encode(): checksum})
    # Columns are short: to read a dictionary, statistics and a codec's frame takes longer than to read the values.
    return write_parquet(path, content, compression="none", use_dictionary=False, write_statistics=False)


def write_parquet(path: Path, content: pa.Table, **options: Any) -> Path:
    """Write a table as a file, whole or not at all, with checksums and options of Arrow; its path."""
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda file: pq.write_table(content, file, write_page_checksum=True, **options))
    return path


def _usable(path: Path) -> pa.Table:
    content = read_table(path)
    if isinstance(content, str):
        raise ResultsError(f"{path} cannot be used: {content}")
    return content


def read_table(path: Path, columns: Collection[str] | None = None) -> pa.Table | str:
    """Rows of a file, or the reason why it cannot be used. With `columns` come those that tell whether it can."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = path.parent.name
    try:
        # A small file is opened once, and read whole: opening takes most of its time.
        with path.open("rb", buffering=0) as opened:
            is_small = os.fstat(opened.fileno()).st_size <= _SMALL
            source = pa.BufferReader(opened.readall()) if is_small else pa.OSFile(str(path))
        with pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False) as file:
            if fault := _file_fault(file.metadata):
                return fault
            part = file.read(None if columns is None else [*{*columns, *_TELLING[table]}], use_threads=not is_small)
            whole = part.schema if columns is None else file.schema_arrow
            fault = _columns_fault(whole, table, file.metadata)
    except (pa.ArrowException, OSError, ValueError) as error:
        # Arrow would read a folder as one table of all files in it.
        return f"{'it is a folder' if path.is_dir() else ' '.join(str(error).split())}: {_RESTORE}"
    fault = fault or _content_fault(part, table, path.stem)
    return f"{fault}: {_RESTORE}" if fault else part


def _file_fault(metadata: pq.FileMetaData) -> str:
    """Why a file cannot be used, before its values are read; empty where it can."""
    version = (metadata.metadata or {}).get(b"schema_version", b"none").decode(errors="replace")
    if version != str(SCHEMA_VERSION):
        return f"its schema version is {printable(version)}, and this package reads {SCHEMA_VERSION}: {OTHER_VERSION}"
    fault = _size_fault(metadata)
    return f"{fault}: {_RESTORE}" if fault else ""


def read_parquet(path: Path, remedy: str) -> tuple[pa.Table, dict[str, str]]:
    """A table that `write_parquet` wrote, and the facts in its metadata. Raises ResultsError with the remedy if it is damaged.

    Raises FileNotFoundError if it is missing.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if fault := _size_fault(pq.read_metadata(path)):
            raise ResultsError(f"{path}: {fault}: {remedy}")
        content = pq.read_table(path, partitioning=None, page_checksum_verification=True)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason, *_ = str(error).splitlines()  # the rest has the whole schema
        raise ResultsError(f"{path}: {reason}: {remedy}") from error
    facts = {key.decode(): value.decode(errors="replace") for key, value in (content.schema.metadata or {}).items()}
    return content, facts


def _size_fault(metadata: pq.FileMetaData) -> str:
    """Why a file would take more memory than any of ours; empty where it does not."""
    values = nbytes = 0
    for number in range(metadata.num_row_groups):
        # Of the group as a whole: where a footer is damaged, Arrow ends the process when it is asked for a column of it.
        group = metadata.row_group(number)
        values += group.num_rows * group.num_columns
        nbytes += group.total_byte_size
    if values > MOST_VALUES:
        return f"it holds {values:,} values, more than the {MOST_VALUES:,} that are read"
    return f"it unfolds to {nbytes:,} bytes, more than the {MOST_BYTES:,} that are read" if nbytes > MOST_BYTES else ""


_LAST: dict[str, tuple[pa.Schema, str, str]] = {}


def _columns_fault(columns: pa.Schema, table: str, metadata: pq.FileMetaData) -> str:
    """Whether names and types of columns, and the number of rows, are those that were written; Arrow checks the values."""
    last = _LAST.get(table)
    # Thousands of files have the same columns, and to compare them is faster than to name them.
    if last is None or not last[0].equals(columns):
        last = _LAST[table] = (columns, columns_text(columns), _types_fault(columns, table))
    written = metadata.metadata.get(FINGERPRINT.encode(), b"")
    is_same = written.decode(errors="replace") == checksum_of(last[1], metadata.num_rows)
    return last[2] if is_same else "its columns have changed since it was written"


def _types_fault(columns: pa.Schema, table: str) -> str:
    """What of a table's own columns a file has twice, in another type, or lacks where rows are told apart by it."""
    if doubled := sorted({name for name in columns.names if columns.names.count(name) > 1}):
        return f"it has two columns {doubled[0]}"
    expected = schema(table)
    if lacking := [name for name in _TELLING[table] if name not in columns.names]:
        return f"it lacks the column {lacking[0]}"
    odd = (field for field in columns if field.name in expected.names and field.type != expected.field(field.name).type)
    return next((f"column {field.name} is of the type {field.type}" for field in odd), "")


def _content_fault(part: pa.Table, table: str, stem: str) -> str:
    """What in a file cannot be, or contradicts its name, as in one that was copied from another; empty where nothing does."""
    if empty := [name for name in _FILLED[table] if part[name].null_count]:
        return f"column {empty[0]} is empty in a row"
    if odd := [name for name in part.column_names if not _are_times(part[name])]:
        return f"column {odd[0]} holds a time that no clock shows"
    if table == "trials" and (unknown := sorted(_distinct(part, "state") - set(STATES), key=str)):
        return f"column state holds {unknown[0]!r}, which is no state"
    if (trial := trial_of(stem)) is not None:
        if first_of(table, trial) != trial:
            return "its name is none of this table"
        if table == "trials" and not len(part):
            return "it holds no row"
        held = _distinct(part, "trial")
        if others := {number for number in held if first_of(table, number) != trial}:
            return f"it holds trial {min(others)}, which is of another file"
        return "it holds a trial twice" if table == "trials" and len(held) != len(part) else ""
    name = _JUDGED.fullmatch(stem)
    if table != "evaluations" or name is None:
        return "its name is none of this table"
    run, backend = name[1] and int(name[1]), name[2]
    if others := _distinct(part, "backend") - {backend, None}:
        return f"it was evaluated by {min(others, key=str)}, not {backend}"
    if others := _distinct(part, "trial") - {run}:
        return f"it is of run {min(others, key=str)}, not {run}"
    is_bounds = stem.startswith("bounds-")
    if others := {who for who in _distinct(part, "contender") if run is None and str(who).startswith("bound") != is_bounds}:
        return f"it is of {min(others, key=str)}"
    return ""


def _are_times(column: pa.ChunkedArray) -> bool:
    """Whether a column holds no time that pandas or Python cannot take; true for one of no times."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_timestamp(column.type):
        return True
    ends = pc.min_max(column.cast(pa.int64())).as_py()
    return ends["min"] is None or (ends["min"] >= 0 and ends["max"] <= _LAST_TIME)


def _distinct(part: pa.Table, column: str) -> set[Any]:
    return set(part[column].unique().to_pylist())


def trial_of(stem: str) -> int | None:
    """Number of the first trial that a file of this name, without its suffix, is of; None for one of a judgement."""
    return int(stem) if _OF_TRIAL.fullmatch(stem) else None
