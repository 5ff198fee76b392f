"""Objects of a location: whole or not at all, with attempts that outlast faults of network and server."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from common.files import NEW, replace
from common.storage.faults import StorageLostError, persistently
from common.storage.local_store import LocalStore
from common.storage.location import Location, StorageError, checked_key
from common.storage.remote_store import RemoteStore
from common.storage.store import Content, Stamp, Store, length, pieces
from common.texts import printable
from common.units import MIB

__all__ = ["PATIENCE", "THREADS", "Objects", "Stamp", "StorageError", "StorageLostError"]

T = TypeVar("T")
R = TypeVar("R")

PATIENCE: Final = 60.0  # seconds of attempts at one operation, until storage counts as lost
THREADS: Final = 16  # requests at once
PIECE: Final = 32 * MIB  # bytes that one request reads; larger objects are read in pieces
_MOST_REQUEST: Final = 20.0  # seconds without an answer, after which a request failed
_MOST_CHANGES: Final = 20  # times that an object may be replaced while it is read
_OWN: Final = ".storage-"  # begins names of this module's own objects and unfinished files


class Objects:
    """Objects below a location, by their keys: paths with `/`.

    An operation that fails by a fault that may pass is tried again with growing pauses. When it takes more than the patience,
    it raises `StorageLostError`. A fault that does not pass raises `StorageError` at once. One instance serves many threads.
    """

    def __init__(self, place: Location, patience: float = PATIENCE) -> None:
        """Nothing is looked up.

        Args:
            place: of the objects.
            patience: seconds after which no other attempt at an operation begins.
        """
        self.location = place
        self.patience = patience
        folder = place.folder
        self._store: Store = LocalStore(folder) if folder else RemoteStore(place, max(1.0, min(_MOST_REQUEST, patience)))
        self._guards: set[type] = (
            {bytes, Path} if folder else set()
        )  # kinds of content that are created with a guard, as was seen

    def listed(self, prefix: str = "") -> dict[str, Stamp]:
        """All objects with keys that begin with a text, sorted; none where there is no such place.

        Raises:
            StorageError: if the bucket is missing, or may not be listed, or a key is no path on every system.
        """
        found = self._tried(f'listing "{prefix}"', lambda: self._store.listed(prefix))
        return {checked_key(key, self.location): stamp for key, stamp in found.items() if not _is_own(key)}

    def folders(self, prefix: str = "") -> list[str]:
        """Names of the folders directly in one, sorted.

        Args:
            prefix: of the folder, with a slash at its end; "" for the location.

        Raises:
            StorageError: see `listed`.
        """
        return sorted(self._tried(f'listing "{prefix}"', lambda: self._store.folders(prefix)))

    def has(self, key: str) -> bool:
        """Whether there is an object of a key."""
        return self.stamp(key) is not None

    def stamp(self, key: str) -> Stamp | None:
        """Stamp of an object; None without it."""
        with suppress(FileNotFoundError):
            return self._tried(_quoted("looking at", key), lambda: self._store.stamp(key))
        return None

    def read(self, key: str) -> bytes:
        """Content of an object.

        Raises:
            FileNotFoundError: if there is none.
            StorageError: if storage cannot be read.
        """
        content = bytearray()
        self._fetch(key, None, content.extend, content.clear)
        return bytes(content)

    def fetch(self, key: str, path: Path, stamp: Stamp | None = None) -> Stamp:
        """Write an object into a file, which appears as a whole and replaces an existing one.

        Args:
            key: of the object.
            path: of the file; missing folders are made.
            stamp: of the object, where it was listed: it saves a request.

        Returns:
            Stamp of what was fetched, or an older one.

        Raises:
            FileNotFoundError: if there is no such object.
            StorageError: if storage cannot be read.
            OSError: if the file cannot be written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.parent / f"{_OWN}{uuid.uuid4().hex}{NEW}"
        try:
            with new.open("xb") as file:

                def restart() -> None:
                    file.seek(0)
                    file.truncate()

                found = self._fetch(key, stamp, file.write, restart)
            replace(new, path)
        except BaseException:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            raise
        return found

    def put(self, key: str, content: Content) -> None:
        """Write an object; an existing one is replaced as a whole.

        Raises:
            StorageError: if storage cannot be written to.
        """
        with self._told_without_folder(content):
            self._tried(_quoted("writing", key), lambda: self._store.put(key, content))

    def create(self, key: str, content: Content) -> bool:
        """Write an object where there is none.

        A call that is repeated after a lost answer finds its own object. It knows that by the content, so of several writers
        each has a content of its own: a token in it.

        Returns:
            Whether the object has this content, written by this call; False where another one is there.

        Raises:
            StorageError: if storage cannot be written to, or knows no such write.
        """
        self._see_guard(type(content) if isinstance(content, bytes) else Path)
        try:
            with self._told_without_folder(content):
                self._tried(_quoted("creating", key), lambda: self._store.create(key, content))
        except FileExistsError:
            return self._holds(key, content)
        return True

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects; those that are not there are passed over.

        Raises:
            StorageError: if storage does not allow it.
        """
        self._at_once(lambda key: self._tried(_quoted("removing", key), lambda: self._store.remove(key)), keys)

    def fetch_all(self, pairs: Iterable[tuple[str, Path]], stamps: Mapping[str, Stamp] | None = None) -> dict[str, Stamp]:
        """Write objects into files, many at once; see `fetch`.

        Args:
            pairs: keys, and paths of the files.
            stamps: of the objects, as they were listed.

        Returns:
            Stamps of what was fetched. Objects that are gone are left out.
        """
        known = stamps or {}

        def one(pair: tuple[str, Path]) -> tuple[str, Stamp | None]:
            with suppress(FileNotFoundError):
                return pair[0], self.fetch(*pair, known.get(pair[0]))
            return pair[0], None

        return {key: stamp for key, stamp in self._at_once(one, pairs) if stamp}

    def put_all(self, pairs: Iterable[tuple[str, Content]]) -> None:
        """Write objects, many at once and in no order; see `put`."""
        self._at_once(lambda pair: self.put(*pair), pairs)

    @contextmanager
    def _told_without_folder(self, content: Content) -> Iterator[None]:
        """Tell in a line that a folder for an object cannot be made, as below `/proc`."""
        try:
            yield
        except FileNotFoundError:
            if isinstance(content, Path) and not content.exists():
                raise
            raise StorageError(f"{self.location}: there is no such folder, and none can be made; correct the URI") from None

    def _tried(self, what: str, attempt: Callable[[], T]) -> T:
        return persistently(self.location, what, attempt, self._store.errors, self.patience)

    def _at_once(self, call: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Call for all items in threads; the first error ends it."""
        given = list(items)
        if len(given) < 2:
            return [call(item) for item in given]
        with ThreadPoolExecutor(min(THREADS, len(given)), "storage") as pool:
            try:
                return list(pool.map(call, given))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _fetch(self, key: str, stamp: Stamp | None, write: Callable[[bytes], object], restart: Callable[[], object]) -> Stamp:
        """Read an object of one stamp from its beginning to its end; begin again when it is replaced in between."""
        for _ in range(_MOST_CHANGES):
            now = stamp or self._tried(_quoted("reading", key), lambda: self._store.stamp(key))
            try:
                for piece in self._pieces(key, now):
                    write(piece)
            except _ReplacedError:
                stamp = None
                restart()
            else:
                return now
        raise StorageLostError(f'{self.location}: "{printable(key)}" is replaced faster than it can be read; try again later')

    def _pieces(self, key: str, stamp: Stamp) -> Iterator[bytes]:
        """Pieces of an object; their lengths are those of its stamp.

        Raises:
            _ReplacedError: if another object is there.
        """
        for start in range(0, stamp.nbytes, PIECE):
            due = min(PIECE, stamp.nbytes - start)
            # One byte beyond the end, so that a longer object is not taken for this one.
            end = start + due + (start + due == stamp.nbytes)

            def attempt(start: int = start, end: int = end, due: int = due) -> bytes:
                content = self._store.read(key, start, end)
                if len(content) != due:
                    if self._store.stamp(key) != stamp:
                        raise _ReplacedError
                    raise ConnectionError(f"{len(content)} bytes came in place of {due}")
                return content

            yield self._tried(_quoted("reading", key), attempt)
        if stamp.nbytes > PIECE and self._tried(_quoted("reading", key), lambda: self._store.stamp(key)) != stamp:
            raise _ReplacedError

    def _holds(self, key: str, content: Content) -> bool:
        """Whether an object has a content."""
        found = self.stamp(key)
        if found is None or found.nbytes != length(content):
            return False
        try:
            there = self._pieces(key, found)
            return all(a == b for a, b in zip(there, pieces(content, PIECE), strict=True))
        except (FileNotFoundError, _ReplacedError):
            return False

    def _see_guard(self, kind: type) -> None:
        """See that an object is not created twice: some file systems and servers ignore the condition.

        Raises:
            StorageError: if it is.
        """
        if kind in self._guards:
            return
        key = f"{_OWN}{uuid.uuid4().hex}"
        content: Content = key.encode() if kind is bytes else Path(__file__)
        try:
            for _ in range(2):
                try:
                    self._tried("creating an object", lambda: self._store.create(key, content))
                except FileExistsError:
                    self._guards.add(kind)
                except (NotImplementedError, TypeError, ValueError):  # what file systems say to a mode that they do not know
                    break
        finally:
            self._tried("removing an object", lambda: self._store.remove(key))
        if kind not in self._guards:
            raise StorageError(
                f"{self.location}: this storage does not refuse to create an object twice, so two runs could work on one "
                f"experiment; use one that does, such as S3, Google Cloud Storage or file:///"
            )


class _ReplacedError(StorageError):
    """An object was replaced while it was read."""


def _is_own(key: str) -> bool:
    return key.rpartition("/")[2].startswith(_OWN)


def _quoted(what: str, key: str) -> str:
    return f'{what} "{printable(key)}"'
