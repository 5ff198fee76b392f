"""The study's journal in a storage: the file in pieces of one length, as an object cannot be appended to.

    study/00000000.journal  the first `CHUNK` bytes
    study/00000001.journal  the next ones; the last piece is replaced as it grows

Pieces are put in their order. So whatever a kill leaves, the pieces together are a beginning of the journal.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from common.files import write_whole

if TYPE_CHECKING:
    from common.storage.objects import Objects

# The last piece is put again and again, so a small one saves time; a thousand of them hold the journal of a very long search.
CHUNK = 2**20
FOLDER = "study/"
WHOLE = "study.journal"  # in place of pieces, where a local experiment was copied to the storage by hand


def put_journal(objects: Objects, path: Path, begin: int, end: int) -> None:
    """Put what a journal has gained.

    Args:
        objects: of the experiment.
        path: of the journal.
        begin: length that storage has.
        end: length that it shall have.
    """
    for number in range(begin // CHUNK, -(-end // CHUNK)):
        objects.put(chunk_key(number), _piece(path, number * CHUNK, min((number + 1) * CHUNK, end)))


def fetch_journal(objects: Objects, path: Path) -> None:
    """Write the journal that storage has into a file; where there is none, it is not there then."""
    path.unlink(missing_ok=True)
    keys = _in_order(objects.listed(FOLDER))
    # As long as it is there its pieces may not be whole.
    if objects.has(WHOLE):
        objects.fetch(WHOLE, path)
    elif keys:
        with TemporaryDirectory(dir=path.parent) as folder:
            pieces = [Path(folder, str(number)) for number in range(len(keys))]
            objects.fetch_all(zip(keys, pieces, strict=True))
            write_whole(path, lambda file: [file.write(piece.read_bytes()) for piece in pieces])


def trim_journal(objects: Objects, path: Path) -> int:
    """Cut an incomplete last line, which a kill leaves, from a journal that was fetched, and from what storage has of it.

    A journal that is whole there becomes pieces.

    Args:
        objects: of the experiment.
        path: of the journal; it need not be there.

    Returns:
        Its length.
    """
    length = 0
    if path.exists():
        with path.open("rb+") as file:
            length = file.read().rfind(b"\n") + 1
            file.truncate(length)
    if objects.has(WHOLE):
        put_journal(objects, path, 0, length)
        objects.remove([WHOLE])
    stamps = objects.listed(FOLDER)
    needed = -(-length // CHUNK)
    kept = {chunk_key(number) for number in range(needed)}
    # From the end, so that a kill leaves a beginning.
    for key in sorted(stamps.keys() - kept, reverse=True):
        objects.remove([key])
    if needed and stamps[chunk_key(needed - 1)].nbytes != length - (needed - 1) * CHUNK:
        objects.put(chunk_key(needed - 1), _piece(path, (needed - 1) * CHUNK, length))
    return length


def chunk_key(number: int) -> str:
    """Key of a piece, by its number from 0 on."""
    return f"{FOLDER}{number:08d}.journal"


def _in_order(keys: Collection[str]) -> list[str]:
    """Keys of pieces from the first on, as far as none is missing."""
    found: list[str] = []
    while (key := chunk_key(len(found))) in keys:
        found.append(key)
    return found


def _piece(path: Path, begin: int, end: int) -> bytes:
    with path.open("rb") as file:
        file.seek(begin)
        return file.read(end - begin)
