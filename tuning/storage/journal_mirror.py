"""The study's journal in a storage: the file in pieces, as an object cannot be appended to.

    study.journal           the first piece: the whole file of a small search, or of an experiment that was copied by hand
    study.journal.00001     what follows; the last piece is replaced as it grows, up to `PIECE` bytes and one flush more

A journal has some 5 KB for each trial: whole, that of a thousand trials would be 5 MB at each evaluation. Pieces end with a
whole line and are put in their order. So whatever a kill leaves, they are together a beginning of the journal.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from common.files import write_whole
from common.storage.location import location
from common.storage.objects import Objects
from common.uris import stand_for, uri_of
from results.places import PATIENCE
from tuning.experiment.folder import Experiment, ExperimentPaths
from tuning.storage.lease import Guarded

PIECE = 256 * 2**10
KEY = ExperimentPaths(Path()).study.name


class JournalMirror:
    """Keeps the journal of a storage like the local one at a path, which only grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number = self._begin = 0  # of the last piece, and where it begins
        self._end = 0  # of what the storage has
        self._is_full = False  # whether the last piece stays as it is

    def fetch(self, objects: Objects) -> None:
        """Write the journal that storage has into the file, if any; a part of a line, as in a copy by hand, is cut off."""
        lengths = _fetch(objects, self._path)
        if not lengths:
            return
        with self._path.open("rb+") as file:
            self._end = file.read().rfind(b"\n") + 1
            file.truncate(self._end)
        self._number, self._begin = len(lengths) - 1, sum(lengths[:-1])
        self._is_full = lengths[-1] >= PIECE and self._end == sum(lengths)

    def put(self, guarded: Guarded) -> None:
        """Put what the journal has gained."""
        size = self._path.stat().st_size if self._path.exists() else 0
        if size == self._end:
            return
        number, begin = (self._number + 1, self._end) if self._is_full else (self._number, self._begin)
        with self._path.open("rb") as file:
            file.seek(begin)
            content = file.read(size - begin)
        guarded.put(_key(number), content)
        self._number, self._begin, self._end, self._is_full = number, begin, size, len(content) >= PIECE


@contextmanager
def with_journal(experiment: Experiment) -> Iterator[Experiment]:
    """An experiment of `open_to_read` with its study's journal, as long as it is entered.

    Other readers share the working copy of an experiment at a URI. So the journal is put together elsewhere, beside the rows of
    trials that were fetched before it.
    """
    uri = uri_of(experiment.paths.folder)
    if not uri:
        yield experiment
        return

    with TemporaryDirectory(prefix="journal-", dir=experiment.paths.folder.parent) as folder:
        stand_for(Path(folder), uri)
        paths = ExperimentPaths(Path(folder))
        rows, copy = (each.part("trials", 0).parent for each in (experiment.paths, paths))
        if rows.is_dir():
            shutil.copytree(rows, copy)
        _fetch(Objects(location(uri), PATIENCE), paths.study)
        yield replace(experiment, paths=paths)


def _fetch(objects: Objects, path: Path) -> list[int]:
    """Write the journal that storage has into a file, without one where there is none; the lengths of its pieces."""
    path.unlink(missing_ok=True)
    keys, pieces = objects.listed(KEY), list[bytes]()
    while _key(len(pieces)) in keys:
        pieces.append(objects.read(_key(len(pieces))))
    if pieces:
        write_whole(path, b"".join(pieces))
    return [len(piece) for piece in pieces]


def _key(number: int) -> str:
    return f"{KEY}.{number:05d}" if number else KEY
