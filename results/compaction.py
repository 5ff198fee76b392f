"""Compaction: part files of trials that do not run become packs. See `results.packs` for the rule that makes it safe."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from common.files import sync_folder, write_whole
from results.experiment_file import read_facts
from results.gathered import gather
from results.packs import BEING_WRITTEN, is_trained, listed, locked, number_of, packs_of
from results.parts import HELD, PACKED, Piece, ResultsError, held_parts, read_table, trial_of, unlike
from results.schema import FINGERPRINT, PART_VERSION, SCHEMA_VERSION, fingerprint, fingerprint_of
from results.writer import part_path, table_folder

if TYPE_CHECKING:
    import pyarrow as pa

PACK_ROWS = 2**20  # rows from which on a pack is left as it is
_GROUP_ROWS = 2**17  # of a row group
_FEWEST = 2  # files below which there is nothing to gain


@dataclass(frozen=True)
class Compacted:
    """What a compaction did to a table.

    Attributes:
        table: its name.
        trials: that were packed by it.
        before: files before it.
        after: files after it; of trials, whose files stay, those that loading reads.
        stuck: of these, files that could not be deleted, as another program has them open. They do not count, and the next
            compaction deletes them.
    """

    table: str
    trials: int
    before: int
    after: int
    stuck: int


@dataclass(frozen=True)
class _Source:
    """Rows of some trials in a file.

    Attributes:
        path: of the file.
        held: of each trial the steps in the names of its part files.
    """

    path: Path
    held: dict[int, list[int]]


def compact(experiment: Path) -> list[Compacted]:
    """Pack reports and evaluations of all trials that do not run, and gather rows of trials. A search may write meanwhile.

    A trial keeps its part files while its row says `running`, while a process trains it, and where a part cannot be used.

    Args:
        experiment: its folder.

    Raises:
        ResultsError: if the folder holds no results of a search, is in a storage too, or cannot be written.
    """
    if not table_folder(experiment, "trials").is_dir():
        raise ResultsError(f"no results of a search in {experiment}: give the folder of an experiment")
    _refuse_stored(experiment)
    with locked(experiment):
        try:
            resting = _resting(experiment)
            packed = [_compact(experiment, table, resting) for table in PACKED]
            files = len(listed(table_folder(experiment, "trials")).parts)
            rows = gather(experiment)
            return [*packed, Compacted("trials", rows, files, files - rows + (rows > 0), 0)]
        except OSError as error:
            raise ResultsError(f"cannot pack {experiment}: {error.strerror}; make room, or make it writable") from error


def _refuse_stored(experiment: Path) -> None:
    """Refuse a folder that a run keeps like a storage: it lacks parts there that trials wrote on other machines since.

    A pack would hold no such part, and once it is uploaded, only rows in the pack count.

    Raises:
        ResultsError: if it is one, or its settings cannot be read.
    """
    from common.storage.working_copy import INDEX

    if (experiment / INDEX).exists() or read_facts(experiment).settings.get("storage"):
        raise ResultsError(
            f"{experiment} is in a storage too, and only experiments of this machine alone are packed; loading many parts from "
            "storage is parallel, and fetches each once"
        )


def unpack(experiment: Path, trial: int) -> list[Path]:
    """Give a trial its part files back, before it goes on. Does nothing where no pack holds it.

    Args:
        experiment: its folder. The caller holds the lock of its packs, until the trial's row says that it runs.
        trial: its number.

    Returns:
        Files that were written or removed, in this order.

    Raises:
        ResultsError: if a pack is damaged, or another program has it open. Part files that a kill left are then still there.
    """
    import pyarrow.compute as pc

    changed: list[Path] = []
    for table in PACKED:
        folder = table_folder(experiment, table)
        holding = [pack for pack in packs_of(folder) if trial in _held(pack)]
        if not holding:
            continue
        # Read before anything is deleted: of a damaged pack, part files that a kill left are the only copy.
        own = _usable(holding[0], table).filter(pc.field("trial") == trial)
        left_over = list(folder.glob(f"{trial:05d}-*.parquet"))
        _delete_all(left_over, trial)
        changed += [*left_over, *_write_parts(experiment, table, trial, own, _held(holding[0])[trial])]
        # The newest one counts until it is gone, so it goes last.
        for pack in reversed(holding):
            if others := {number: ends for number, ends in _held(pack).items() if number != trial}:
                changed.append(_write(folder, [_Source(pack, others)]))
            _delete_all([pack], trial)
            changed.append(pack)
    return changed


def _write_parts(experiment: Path, table: str, trial: int, own: pa.Table, ends: Iterable[int]) -> list[Path]:
    """Write a trial's rows as part files, each up to one of some steps; their paths."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    metadata = {b"table": table.encode(), b"schema_version": str(PART_VERSION).encode()}
    before, written = -1, []
    for end in sorted(ends):
        part = own.filter((pc.field("steps") > before) & (pc.field("steps") <= end))
        part = part.replace_schema_metadata({**metadata, FINGERPRINT.encode(): fingerprint(part).encode()})

        def write(file: BinaryIO, part: pa.Table = part) -> None:
            pq.write_table(part, file, write_page_checksum=True)

        path = part_path(experiment, table, trial, end)
        write_whole(path, write)
        written.append(path)
        before = end
    sync_folder(table_folder(experiment, table))
    return written


def _compact(experiment: Path, table: str, resting: set[int]) -> Compacted:
    folder = table_folder(experiment, table)
    if not folder.is_dir():
        return Compacted(table, 0, 0, 0, 0)
    for half_written in folder.glob(f"*{BEING_WRITTEN}"):
        half_written.unlink()
    files = listed(folder)
    sound = cache(lambda pack: not isinstance(read_table(pack, table), str))
    holder: dict[int, Path] = {}
    sources: list[_Source] = []
    emptied: list[Path] = []
    for pack in files.packs:
        own = {trial: ends for trial, ends in _held(pack).items() if trial not in holder}
        holder |= dict.fromkeys(own, pack)
        # A trial in two packs, or a pack without any: a kill came between two steps.
        if own and (len(own) < len(_held(pack)) or _rows(pack) < PACK_ROWS):
            sources.append(_Source(pack, own))
        elif not own and sound(pack):
            emptied.append(pack)
    of_trial: dict[int, list[Path]] = {}
    for path in files.parts:
        trial = trial_of(path.stem)
        if trial in holder:
            # What a kill left behind; of a pack that was damaged since, it is the only copy.
            emptied += [path] if sound(holder[trial]) else []
        elif trial in resting:
            assert trial is not None
            of_trial.setdefault(trial, []).append(path)
    faulty = _faulty(of_trial, table)
    fresh = {trial: paths for trial, paths in of_trial.items() if trial not in faulty}
    sources += [_Source(path, {trial: [int(path.stem.rpartition("-")[2])]}) for trial, paths in fresh.items() for path in paths]
    count = len(files.parts) + len(files.packs)
    if len(sources) < _FEWEST:
        sources, fresh = [], {}
    stuck = _delete(emptied)
    for group in _groups_of(sources):
        _write(folder, group)
        stuck += _delete(source.path for source in group)
    after = listed(folder)
    return Compacted(table, len(fresh), count, len(after.parts) + len(after.packs), stuck)


def _groups_of(sources: Sequence[_Source]) -> Iterator[list[_Source]]:
    """Sources of one pack each, by trial: a little more than `PACK_ROWS`, with all parts of a trial together."""
    group: list[_Source] = []
    rows = 0
    for source in sorted(sources, key=lambda source: (min(source.held), source.path.name)):
        if rows >= PACK_ROWS and min(source.held) != min(group[-1].held):
            yield group
            group, rows = [], 0
        group.append(source)
        rows += _rows(source.path)
    if group:
        yield group


def _resting(experiment: Path) -> set[int]:
    """Numbers of the trials that do not run, by their rows and their locks."""
    resting = set()
    for path in listed(table_folder(experiment, "trials")).parts:
        row = read_table(path, "trials", ("trial", "state"))
        if isinstance(row, str) or row["state"][0].as_py() == "running":
            continue
        trial = int(row["trial"][0].as_py())
        if not is_trained(experiment, trial):
            resting.add(trial)
    return resting


def _faulty(of_trial: dict[int, list[Path]], table: str) -> set[int]:
    """Trials with a part that cannot be used, or that has columns of other types than most."""
    faulty = set()
    pieces = []
    for trial, paths in of_trial.items():
        for path in paths:
            part = read_table(path, table)
            if isinstance(part, str):
                faulty.add(trial)
            else:
                pieces.append(Piece((path,), part.schema, part.schema.empty_table()))
    return faulty | ({trial_of(path.stem) for path in unlike(pieces)} - {None})  # type: ignore[operator]


def _held(pack: Path) -> dict[int, list[int]]:
    """Trials that a pack holds, see `results.parts.held_parts`; none where it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return held_parts(pq.read_schema(pack)) or {}
    except (pa.ArrowException, OSError):
        return {}


def _rows(pack: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(pack).num_rows)


def _usable(path: Path, table: str) -> pa.Table:
    """Table of a file.

    Raises:
        ResultsError: if it cannot be used.
    """
    part = read_table(path, table)
    if isinstance(part, str):
        raise ResultsError(f"{path} cannot be used: {part}")
    return part


def _write(folder: Path, sources: Sequence[_Source]) -> Path:
    """Write one pack with the rows of these sources, and rename it into place. It has the highest number.

    Only a source and a row group are in memory at a time.

    Args:
        folder: of the table.
        sources: files that can be used, each with the trials that are taken from it; no part of a trial is in two.

    Returns:
        Its path.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = folder.name
    ordered = sorted(sources, key=lambda source: (min(source.held), source.path.name))
    columns = pa.unify_schemas([pq.read_schema(own.path).remove_metadata() for own in ordered], promote_options="permissive")
    held: dict[int, list[int]] = {}
    rows = 0
    for source in ordered:
        for trial, ends in source.held.items():
            held.setdefault(trial, []).extend(ends)
        rows += _rows(source.path) if source.held.keys() >= _held(source.path).keys() else len(_taken(source, table))
    listing = json.dumps({str(trial): sorted(held[trial]) for trial in sorted(held)})
    metadata = {
        "table": table,
        "schema_version": str(SCHEMA_VERSION),
        HELD: listing,
        FINGERPRINT: fingerprint_of(columns, rows),
    }
    described = columns.with_metadata(metadata)
    number = max((number_of(pack) for pack in listed(folder).packs), default=-1) + 1
    path = folder / f"packed-{number:05d}.parquet"
    new = path.with_suffix(BEING_WRITTEN)
    new.unlink(missing_ok=True)
    try:
        with new.open("xb") as file:
            with pq.ParquetWriter(file, described, write_page_checksum=True) as writer:
                for group in _groups(ordered, table, described):
                    writer.write_table(group, row_group_size=_GROUP_ROWS)
            file.flush()
            os.fsync(file.fileno())
        # Before anything that it replaces is deleted.
        _usable(new, table)
        new.replace(path)
    except BaseException:
        # A full disk needs the room.
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise
    sync_folder(folder)
    return path


def _taken(source: _Source, table: str) -> pa.Table:
    """Rows that are taken from a file."""
    import pyarrow.compute as pc

    return _usable(source.path, table).filter(pc.field("trial").isin(sorted(source.held)))


def _groups(sources: Iterable[_Source], table: str, columns: pa.Schema) -> Iterator[pa.Table]:
    """Rows of the sources in pieces of about a row group, all with the same columns."""
    import pyarrow as pa

    waiting: list[pa.Table] = []
    empty = columns.remove_metadata().empty_table()
    for source in sources:
        own = _taken(source, table).replace_schema_metadata(None)
        whole = pa.concat_tables([empty, own], promote_options="permissive").select(columns.names)
        waiting.append(whole.cast(columns))
        if sum(map(len, waiting)) >= _GROUP_ROWS:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _delete_all(paths: Iterable[Path], trial: int) -> None:
    """Delete files that would count instead of those that a trial writes when it goes on.

    Raises:
        ResultsError: if one cannot be deleted.
    """
    for path in paths:
        if _delete([path]):
            raise ResultsError(f"{path} is open in another program: close it, so that trial {trial} can go on")


def _delete(paths: Iterable[Path]) -> int:
    """Delete files that do not count any more.

    Returns:
        How many could not be deleted: Windows keeps a file that another program has open.
    """
    stuck = 0
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except PermissionError:
            stuck += 1
    return stuck
