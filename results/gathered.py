"""Rows of many trials in one file, beside their part files, which stay and decide.

The file has, of each row, the size and the time of change of the part file that the row was read from. A row counts while its
part file is still that one. Every other row is read from its part file. So nothing that a search writes meanwhile is missed,
and the file may be deleted at any time. It stands outside of the folder `trials`, where other programs would read rows twice.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from common.files import write_whole
from common.json_values import checked
from results.packs import BEING_WRITTEN, listed
from results.parts import GATHERED, STAMPS, Piece, read_piece, trial_of, unlike
from results.schema import FINGERPRINT, FOLDER, SCHEMA_VERSION, fingerprint
from results.writer import table_folder

if TYPE_CHECKING:
    import pyarrow as pa

FEWEST = 50  # rows below which their part files are read as fast
# Seconds that a part file has to be old: one that is written twice within the clock's grain may keep its size and time.
SETTLED = 3.0
_Stamp = tuple[int, int]  # size of a file, bytes, and its time of change, ns


@dataclass(frozen=True)
class Gathered:
    """What the file holds of some part files.

    Attributes:
        pieces: the rows; none where it holds none of them.
        covered: part files that need not be read.
        reasons: why the file cannot be used, by its path.
    """

    pieces: list[Piece]
    covered: set[Path]
    reasons: dict[Path, str]


def gathered_path(experiment: Path) -> Path:
    """Path of the file."""
    return experiment / FOLDER / f"{GATHERED}.parquet"


def gathered(
    experiment: Path,
    parts: Collection[Path],
    columns: Collection[str] | None = None,
    stamps: Mapping[Path, _Stamp] | None = None,
) -> Gathered:
    """Rows of part files that are still those that were gathered.

    Args:
        experiment: its folder.
        parts: part files of `trials` that are to be read.
        columns: that are wanted, see `results.parts.read_piece`.
        stamps: size and time of change of each of the parts, from earlier on; None for those that they have now.
    """
    import pyarrow.compute as pc

    path = gathered_path(experiment)
    if len(parts) < FEWEST or not path.exists():
        return Gathered([], set(), {})
    piece = read_piece(path, "trials", columns)
    if isinstance(piece, str):
        # Whatever is wrong with it, the part files have every row.
        return Gathered([], set(), {path: f"{piece.partition(': restore')[0]}: delete this file, which is a copy"})
    known = _stamps(piece.columns)
    stamp = _stamp if stamps is None else stamps.get
    covered = {part for part in parts if (trial := trial_of(part.stem)) in known and known[trial] == stamp(part)}
    if not covered:
        return Gathered([], set(), {})
    table = piece.table
    if len(covered) < len(table):
        table = table.filter(pc.field("trial").isin([trial_of(part.stem) for part in covered]))
    return Gathered([replace(piece, table=table, votes=len(covered))], covered, {})


def gather(experiment: Path) -> int:
    """Write the file anew, where rows came or changed; how many it then holds.

    Args:
        experiment: its folder. The caller holds the lock of its packs.

    Raises:
        ResultsError: if the folder cannot be read.
        OSError: if it cannot be written.
    """
    parts = listed(table_folder(experiment, "trials")).parts
    path = gathered_path(experiment)
    path.with_suffix(BEING_WRITTEN).unlink(missing_ok=True)  # of a kill
    newest = time.time_ns() - int(SETTLED * 1e9)
    # Taken once, and before anything is read: a row is written with the stamp of the part file that it was read from.
    stamps = {
        part: stamp
        for part in parts
        # Other programs leave files of other names there, such as copies of conflicts. Loading names them.
        if trial_of(part.stem) is not None and (stamp := _stamp(part)) is not None and stamp[1] < newest
    }
    before = gathered(experiment, stamps, stamps=stamps)
    pieces = _read({part: stamp for part, stamp in stamps.items() if part not in before.covered})
    if before.pieces and any(piece.columns.names != before.pieces[0].columns.names for piece in pieces):
        # Columns are in the order in which trials have them, so that gathering does not change it.
        before, pieces = Gathered([], set(), {}), _read(stamps)
    strange = unlike([*before.pieces, *pieces])
    usable = [piece for piece in (*before.pieces, *pieces) if piece.paths[0] not in strange]
    rows = sum(len(piece.table) for piece in usable)
    if rows < FEWEST:
        if path.exists():
            # Windows keeps a file that another program has open. What it holds counts only where the part files are the same.
            with suppress(PermissionError):
                path.unlink()
        return 0
    if pieces or not path.exists() or rows < len(_stamps(_columns(path))):
        kept = [*before.covered, *(part for piece in pieces for part in piece.paths)]
        _write(path, usable, {int(str(trial_of(part.stem))): stamps[part] for part in kept})
    return rows


def _read(stamps: Mapping[Path, _Stamp]) -> list[Piece]:
    """Rows of part files, in their order; without those that cannot be used, and those that have another stamp by now."""
    pieces = []
    for part, stamp in stamps.items():
        piece = read_piece(part, "trials")
        # Rows that cannot be used stay where loading names them; those that changed meanwhile wait for the next time.
        if not isinstance(piece, str) and _stamp(part) == stamp:
            pieces.append(piece)
    return pieces


def _write(path: Path, pieces: Sequence[Piece], stamps: Mapping[int, _Stamp]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = [piece.table.replace_schema_metadata(None) for piece in pieces]
    table = pa.concat_tables(tables, promote_options="permissive").sort_by("trial")
    own = {str(trial): stamps[trial] for trial in table["trial"].to_pylist()}
    metadata = {"table": "trials", "schema_version": str(SCHEMA_VERSION), STAMPS: json.dumps(own)}
    table = table.replace_schema_metadata({**metadata, FINGERPRINT: fingerprint(table)})
    write_whole(path, lambda file: pq.write_table(table, file, write_page_checksum=True), BEING_WRITTEN)


def _columns(path: Path) -> pa.Schema:
    import pyarrow.parquet as pq

    return pq.read_schema(path)


def _stamps(columns: pa.Schema) -> dict[int, _Stamp]:
    """Size and time of change of each part file, by trial; none where the file lists none.

    Args:
        columns: of the file, with its metadata.
    """
    try:
        listing = json.loads((columns.metadata or {}).get(STAMPS.encode(), b"null"))
        return {
            int(trial): (checked(size, int, "size"), checked(changed, int, "time"))
            for trial, (size, changed) in listing.items()
        }
    except (AttributeError, TypeError, ValueError):
        return {}


def _stamp(part: Path) -> _Stamp | None:
    """Size of a file, and when it changed; None where it is gone."""
    try:
        found = os.stat(part)  # noqa: PTH116  # of thousands of files
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns
