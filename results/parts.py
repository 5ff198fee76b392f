"""Read part files: one that is damaged, or is of a later version, is named with the reason."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import UserError
from common.json_values import checked
from results.schema import FINGERPRINT, READ_MEASURES, SCHEMA_VERSION, STATES, fingerprint_of, schema

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# Columns without which a row says nothing. A part of an older version may lack others.
_NEEDED = {
    "trials": ("trial", "state", "score"),
    "reports": ("trial", "update", "steps"),
    "evaluations": ("trial", "steps", "year", "score"),
}
# Columns that are filled in each row. In a judgement, evaluations of baselines and bounds have no trial.
_FILLED = {"trials": ("trial",), "reports": ("trial", "update"), "evaluations": ("year",)}
_OF_TRIAL = re.compile(r"(\d{5,})(?:-(\d{12,}))?")  # name of a part, see `results.writer.part_path`
_JUDGED = re.compile(r".+?(?:-(\d{3,}))?-(batch|citylearn)")  # see `results.writer.judged_path`
_PACK = re.compile(r"packed-(\d{5,})")  # name of a pack
PACKED = ("reports", "evaluations")  # tables that are packed
HELD = "parts"  # key in a pack's metadata: of each trial that it holds the steps in the names of its part files, as JSON
_OF_RUN = ("backend", "trial", "contender")  # columns that the name of such a part tells
_SMALL = 2**20  # bytes of a file up to which it is read at once
_LONG = 10_000  # rows of a file from which on its columns are read side by side
MOST_VALUES, MOST_BYTES = 10**8, 2**31  # of a file; the largest of ours have some million values
UPDATE = "update the package"  # remedy for a part of a later version, which is no damage


class ResultsError(UserError, ValueError):
    """A folder holds no results, or none that are complete. The message says what to do."""


def read_table(
    path: Path, table: str, columns: Collection[str] | None = None, trials: Collection[int] | None = None
) -> pa.Table | str:
    """Table of a part file or a pack, or the reason why it cannot be used.

    Args:
        path: of the file.
        table: name of the table.
        columns: those that are wanted; those that tell whether the file can be used come with them. None for all.
        trials: whose rows are wanted; row groups without them are not read. None for all.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Arrow would read a folder as one table of all files in it.
    if path.is_dir():
        return "it is a folder: restore the file from a copy"
    try:
        # A small part is opened once, and read whole: opening takes most of its time.
        source = pa.BufferReader(path.read_bytes()) if path.stat().st_size <= _SMALL else path
        with pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False) as file:
            if fault := _size_fault(file.metadata):
                return f"{fault}: restore the file from a copy"
            wanted, whole = None, None
            if columns is not None or trials is not None:
                whole = file.schema_arrow, file.metadata.num_rows
                needed = {
                    *(columns if columns is not None else whole[0].names),
                    *_NEEDED[table],
                    *(_OF_RUN if table == "evaluations" else ()),
                }
                wanted = [name for name in whole[0].names if name in needed]
            if trials is None:
                # Columns of a part are too short for threads of their own.
                part = file.read(wanted, use_threads=file.metadata.num_rows >= _LONG)
            else:
                rows = [("trial", "in", list(trials))]
                part = pq.read_table(path, columns=wanted, filters=rows, partitioning=None, page_checksum_verification=True)
        version = int((part.schema.metadata or {}).get(b"schema_version", b"0"))
        # A name that is no UTF-8 is noticed only where it is read.
        _ = part.column_names
    except (pa.ArrowException, OSError, ValueError) as error:
        return " ".join(str(error).split())
    if version > SCHEMA_VERSION:
        return f"its schema version {version} is newer than this package's {SCHEMA_VERSION}: {UPDATE}"
    fault = _fault(part, table, whole) or _name_fault(part, table, path.stem)
    return f"{fault}: restore the file from a copy" if fault else part


def size_fault(path: Path) -> str:
    """Why a Parquet file would take more memory than any file of ours, by its metadata; empty where it would not.

    Args:
        path: of the file.

    Raises:
        ArrowException: if it is damaged.
        OSError: if it cannot be read, or is damaged.
    """
    import pyarrow.parquet as pq

    return _size_fault(pq.read_metadata(path))


def _size_fault(metadata: pq.FileMetaData) -> str:
    values = nbytes = 0
    for number in range(metadata.num_row_groups):
        # Of the group as a whole: where a footer is damaged, Arrow ends the process when it is asked for a column of it.
        group = metadata.row_group(number)
        values += group.num_rows * group.num_columns
        nbytes += group.total_byte_size
    if values > MOST_VALUES:
        return f"it holds {values:,} values, more than the {MOST_VALUES:,} that are read"
    return f"it unfolds to {nbytes:,} bytes, more than the {MOST_BYTES:,} that are read" if nbytes > MOST_BYTES else ""


def _fault(part: pa.Table, table: str, whole: tuple[pa.Schema, int] | None) -> str:
    """What is wrong with the columns of a part; empty where nothing is.

    Args:
        part: what was read of it.
        table: name of the table.
        whole: all columns of the file and its number of rows, where only some were read.
    """
    names = part.column_names
    if doubled := sorted(name for name, count in Counter(names).items() if count > 1):
        return f"column {doubled[0]} stands twice"
    if lacking := [name for name in _NEEDED[table] if name not in names]:
        return f"it lacks the column {', '.join(lacking)}"
    wanted = _types(table)
    for field in part.schema:
        if (kind := wanted.get(field.name)) is not None and field.type != kind and _joined(field.type, kind) != kind:
            return f"column {field.name} is {field.type}, not {kind}"
    if table == "trials" and (unknown := sorted(_distinct(part, "state") - set(STATES), key=str)):
        return f"column state holds {unknown[0]!r}, which is no state"
    if empty := [name for name in _FILLED[table] if part[name].null_count]:
        return f"column {empty[0]} is empty in a row"
    # Arrow checks the values; names, types and the number of rows have this.
    known = (part.schema.metadata or {}).get(FINGERPRINT.encode())
    if known is not None and known.decode(errors="replace") != fingerprint_of(*(whole or (part.schema, len(part)))):
        return "its columns have changed since it was written"
    return ""


@cache
def _types(table: str) -> Mapping[str, pa.DataType]:
    """Types of a table's own columns, and of the measures that summaries read."""
    import pyarrow as pa

    own = {field.name: field.type for field in schema(table)}
    return own | (dict.fromkeys(READ_MEASURES, pa.float64()) if table == "evaluations" else {})


def _name_fault(part: pa.Table, table: str, stem: str) -> str:
    """What in a part contradicts the name of its file, as in one that was copied from another; empty where nothing does."""
    import pyarrow.compute as pc

    if is_pack(stem):
        held = held_parts(part.schema)
        if table not in PACKED or held is None:
            return "its name is none of this table"
        if others := _distinct(part, "trial") - set(held):
            return f"it holds trial {min(others, key=str)}, which it does not list"
    elif (name := _OF_TRIAL.fullmatch(stem)) is not None:
        trial, steps = int(name[1]), name[2]
        if others := _distinct(part, "trial") - {trial}:
            return f"it holds trial {min(others, key=str)}, not {trial}"
        if table == "trials" and len(part) != 1:
            return f"it holds {len(part)} rows, not 1"
        if (steps is None) != (table == "trials"):
            return "its name is none of this table"
        if steps and len(part) and (last := pc.max(part["steps"]).as_py()) != int(steps):
            return f"it ends at {last} steps, not {int(steps)}"
    elif table == "evaluations" and (name := _JUDGED.fullmatch(stem)) is not None:
        run, backend = name[1] and int(name[1]), name[2]
        found = {column: _distinct(part, column) if column in part.column_names else set() for column in _OF_RUN}
        if others := found["backend"] - {backend, None}:
            return f"it was evaluated by {min(others, key=str)}, not {backend}"
        if others := found["trial"] - {run}:
            return f"it is of run {min(others, key=str)}, not {run}"
        is_bounds = stem.startswith("bounds-")
        if others := {who for who in found["contender"] if run is None and str(who).startswith("bound") != is_bounds}:
            return f"it is of {min(others, key=str)}"
    else:
        return "its name is none of this table"
    return ""


def _distinct(part: pa.Table, column: str) -> set[Any]:
    return set(part[column].unique().to_pylist())


def is_pack(stem: str) -> bool:
    """Whether a file of this name, without its suffix, holds the rows of several trials; see `results.packs`."""
    return _PACK.fullmatch(stem) is not None


def held_parts(pack: pa.Schema) -> dict[int, list[int]] | None:
    """Part files that a pack replaces: the steps in their names, by trial; None where it lists none.

    Args:
        pack: its columns, with the file's metadata.
    """
    try:
        listed = json.loads((pack.metadata or {}).get(HELD.encode(), b"null"))
        return {int(number): [checked(end, int, "end") for end in ends] for number, ends in listed.items()}
    except (AttributeError, TypeError, ValueError):
        return None


def trial_of(stem: str) -> int | None:
    """Number of the trial that a part file of this name, without its suffix, is of; None for one of a judgement or a pack."""
    found = _OF_TRIAL.fullmatch(stem)
    return int(found[1]) if found else None


def unlike(parts: Mapping[Path, pa.Table]) -> dict[Path, str]:
    """Parts in which a column has another type than in most parts, each with the reason.

    It concerns columns beyond the table's own, such as hyperparameters and KPIs. Their types are known only from the files.
    """
    schemas = [part.schema for part in parts.values()]
    if all(schema.equals(schemas[0]) for schema in schemas):
        return {}
    types: dict[str, Counter[pa.DataType]] = {}
    for part in parts.values():
        for field_ in part.schema:
            types.setdefault(field_.name, Counter())[field_.type] += 1
    reasons = {}
    for name, counted in types.items():
        usual = counted.most_common(1)[0][0]
        for path, part in parts.items():
            if name in part.column_names and _joined(found := part.schema.field(name).type, usual) is None:
                reasons[path] = f"column {name} is {found}, but {usual} in other files: restore the file from a copy"
    return reasons


def _joined(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Type that holds the values of both; None where there is none."""
    import pyarrow as pa

    if one == other:
        return one
    fields = [pa.schema([pa.field("column", kind)]) for kind in (one, other)]
    try:
        return pa.unify_schemas(fields, promote_options="permissive").field("column").type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None


def read_part(path: Path) -> list[dict[str, Any]]:
    """Rows of a part file.

    Raises:
        ResultsError: if it is missing, damaged or of a later version.
    """
    part = read_table(path, path.parent.name)
    if isinstance(part, str):
        raise ResultsError(f"{path} cannot be used: {part}")
    rows: list[dict[str, Any]] = part.to_pylist()
    return rows
