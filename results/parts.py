"""Read part files: one that is damaged, or is of a later version, is named with the reason."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import UserError
from common.json_values import checked
from results.schema import FINGERPRINT, SCHEMA_VERSION, STATES, checksum_of, columns_text, schema

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
GATHERED = "trials-gathered"  # name of the file with the rows of many trials, see `results.gathered`
STAMPS = "stamps"  # key in its metadata: size and time of change of each trial's part file, as JSON
HELD = "parts"  # key in a pack's metadata: of each trial that it holds the steps in the names of its part files, as JSON
_OF_RUN = ("backend", "trial", "contender")  # columns that the name of such a part tells
_SMALL = 2**20  # bytes of a file up to which it is read at once
_LONG = 10_000  # rows of a file from which on its columns are read side by side
_PIECE_ROWS, _PIECE_FILES = 2**17, 500  # rows or files from which on the parts that were read so far become one piece
MOST_VALUES, MOST_BYTES = 10**8, 2**31  # of a file; the largest of ours have some million values
UPDATE = "update the package"  # remedy for a part of a later version, which is no damage


class ResultsError(UserError, ValueError):
    """A folder holds no results, or none that are complete. The message says what to do."""


@dataclass(frozen=True)
class Piece:
    """Rows of a table, of one file or of several that follow each other.

    Attributes:
        paths: of the files.
        columns: names and types of what can be read of it, with the metadata of the file.
        table: rows that are in memory: with all columns, or of a long file with those alone that tell whether it can be used.
        votes: part files that stand behind it; a pack replaces many.
        source: of a long file: it is open, so its other columns can be read whatever happens to its name.
        metadata: of a long file.
    """

    paths: tuple[Path, ...]
    columns: pa.Schema
    table: pa.Table
    votes: int = 1
    source: pa.NativeFile | None = None
    metadata: pq.FileMetaData | None = None

    def column(self, name: str) -> Iterator[pa.ChunkedArray]:
        """A column in parts, each of which is read when it is needed. Several threads may read at once.

        Raises:
            ArrowException: if a long file is damaged there.
            OSError: if a long file cannot be read, or is damaged there.
        """
        if self.source is None or name in self.table.column_names:
            yield self.table[name]
            return
        import pyarrow.parquet as pq

        file = pq.ParquetFile(self.source, metadata=self.metadata, page_checksum_verification=True, pre_buffer=False)
        for number in range(file.num_row_groups):
            yield file.read_row_group(number, [name], use_threads=False)[name]


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
    piece = read_piece(path, table, columns, trials)
    return piece if isinstance(piece, str) else piece.table


def read_piece(
    path: Path,
    table: str,
    columns: Collection[str] | None = None,
    trials: Collection[int] | None = None,
    most: float = math.inf,
) -> Piece | str:
    """Like `read_table`; it tells more of the file.

    Args:
        path: see `read_table`.
        table: likewise.
        columns: likewise.
        trials: likewise.
        most: rows above which only those columns are read that tell whether the file can be used; see `Piece.column`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Arrow would read a folder as one table of all files in it.
    if path.is_dir():
        return "it is a folder: restore the file from a copy"
    source = metadata = None
    try:
        # A small part is opened once, and read whole: opening takes most of its time.
        is_small = path.stat().st_size <= _SMALL
        source = pa.BufferReader(path.read_bytes()) if is_small else pa.OSFile(str(path))
        with pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False) as file:
            metadata = file.metadata
            if fault := _size_fault(metadata):
                return f"{fault}: restore the file from a copy"
            is_long = trials is None and metadata.num_rows > most
            whole = file.schema_arrow if columns is not None or trials is not None or is_long else None
            wanted = None
            if whole is not None and columns is not None:
                needed = {*columns, *_NEEDED[table], *(_OF_RUN if table == "evaluations" else ())}
                wanted = [name for name in whole.names if name in needed]
            if is_long and whole is not None:
                part = file.read([name for name in whole.names if name in _NEEDED[table]])
            elif trials is None:
                # Columns of a part are too short for threads of their own.
                part = file.read(wanted, use_threads=metadata.num_rows >= _LONG)
            else:
                rows = [("trial", "in", list(trials))]
                part = pq.read_table(path, columns=wanted, filters=rows, partitioning=None, page_checksum_verification=True)
        read = part.schema
        if is_long and whole is not None:
            read = whole if wanted is None else pa.schema([whole.field(name) for name in wanted], whole.metadata)
        version = int((read.metadata or {}).get(b"schema_version", b"0"))
        # A name that is no UTF-8 is noticed only where it is read.
        _ = read.names
    except (pa.ArrowException, OSError, ValueError) as error:
        return " ".join(str(error).split())
    if version > SCHEMA_VERSION:
        return f"its schema version {version} is newer than this package's {SCHEMA_VERSION}: {UPDATE}"
    fault = _fault(part, table, read, (whole or read, metadata.num_rows)) or _name_fault(part, table, path.stem)
    if fault:
        return f"{fault}: restore the file from a copy"
    votes = sum(map(len, (held_parts(read) or {}).values())) if is_pack(path.stem) else 1
    return Piece((path,), read, part, votes, *((source, metadata) if is_long else ()))


def pieces_of(read: Iterable[tuple[Path, Piece | str]]) -> tuple[list[Piece], dict[Path, str]]:
    """Pieces of many small part files, and why some cannot be used. Files with the same columns are one piece.

    So their memory is in few places, which are freed one by one.

    Args:
        read: files in their order, each with what `read_piece` gave.
    """
    pieces: list[Piece] = []
    reasons: dict[Path, str] = {}
    waiting: list[Piece] = []
    rows = 0
    for path, piece in read:
        if isinstance(piece, str):
            reasons[path] = piece
            continue
        is_full = rows >= _PIECE_ROWS or len(waiting) >= _PIECE_FILES
        if waiting and (is_full or not piece.columns.equals(waiting[0].columns)):
            pieces.append(_one_piece(waiting))
            waiting, rows = [], 0
        waiting.append(piece)
        rows += len(piece.table)
    return [*pieces, *([_one_piece(waiting)] if waiting else [])], reasons


def _one_piece(pieces: list[Piece]) -> Piece:
    """Pieces with the same columns as one, which has a copy of their rows."""
    import pyarrow as pa

    if len(pieces) == 1:
        return pieces[0]
    table = pa.concat_tables([piece.table for piece in pieces]).combine_chunks()
    return Piece(tuple(path for piece in pieces for path in piece.paths), pieces[0].columns, table, len(pieces))


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


def _fault(part: pa.Table, table: str, columns: pa.Schema, whole: tuple[pa.Schema, int]) -> str:
    """What is wrong with the columns of a part; empty where nothing is.

    Args:
        part: what was read of it.
        table: name of the table.
        columns: that are wanted of it.
        whole: all columns of the file, and its number of rows.
    """
    fault, _ = _of_columns(columns, table)
    if fault:
        return fault
    if table == "trials" and (unknown := sorted(_distinct(part, "state") - set(STATES), key=str)):
        return f"column state holds {unknown[0]!r}, which is no state"
    if empty := [name for name in _FILLED[table] if part[name].null_count]:
        return f"column {empty[0]} is empty in a row"
    # Arrow checks the values; names, types and the number of rows have this.
    known = (columns.metadata or {}).get(FINGERPRINT.encode())
    if known is not None:
        _, text = _of_columns(whole[0], table)
        if known.decode(errors="replace") != checksum_of(text, whole[1]):
            return "its columns have changed since it was written"
    return ""


_LAST: dict[tuple[str, int], tuple[pa.Schema, tuple[str, str]]] = {}


def _of_columns(columns: pa.Schema, table: str) -> tuple[str, str]:
    """What is wrong with names and types of columns, and their text; see `results.schema.columns_text`.

    Thousands of files have the same columns, so what was last found of as many is kept.
    """
    last = _LAST.get((table, len(columns)))
    if last is None or not last[0].equals(columns):
        last = _LAST[table, len(columns)] = (columns, (_columns_fault(columns, table), columns_text(columns)))
    return last[1]


def _columns_fault(columns: pa.Schema, table: str) -> str:
    names = columns.names
    if doubled := sorted(name for name, count in Counter(names).items() if count > 1):
        return f"column {doubled[0]} stands twice"
    if lacking := [name for name in _NEEDED[table] if name not in names]:
        return f"it lacks the column {', '.join(lacking)}"
    wanted = _types(table)
    for field in columns:
        if (kind := wanted.get(field.name)) is not None and field.type != kind and _joined(field.type, kind) != kind:
            return f"column {field.name} is {field.type}, not {kind}"
    return ""


@cache
def _types(table: str) -> Mapping[str, pa.DataType]:
    """Types of a table's own columns."""
    return {field.name: field.type for field in schema(table)}


def _name_fault(part: pa.Table, table: str, stem: str) -> str:
    """What in a part contradicts the name of its file, as in one that was copied from another; empty where nothing does."""
    import pyarrow.compute as pc

    if stem == GATHERED:
        if table != "trials":
            return "its name is none of this table"
    elif is_pack(stem):
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


def unlike(pieces: Iterable[Piece]) -> dict[Path, str]:
    """Files in which a column has another type than in most part files, each with the reason.

    It concerns columns beyond the table's own, such as hyperparameters and KPIs. Their types are known only from the files.
    """
    known = list(pieces)
    if all(piece.columns.equals(known[0].columns) for piece in known):
        return {}
    types: dict[str, Counter[pa.DataType]] = {}
    for piece in known:
        for field_ in piece.columns:
            types.setdefault(field_.name, Counter())[field_.type] += piece.votes
    reasons: dict[Path, str] = {}
    for name, counted in types.items():
        usual = counted.most_common(1)[0][0]
        for piece in known:
            if name in piece.columns.names and _joined(found := piece.columns.field(name).type, usual) is None:
                reason = f"column {name} is {found}, but {usual} in other files: restore the file from a copy"
                reasons |= dict.fromkeys(piece.paths, reason)
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
