"""Objects of a location: whole or not at all, with attempts that outlast faults of network and server."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from common.files import NEW, write_whole
from common.storage.faults import persistently
from common.storage.location import Location, StorageError, checked_key
from common.storage.stores import Content, LocalStore, RemoteStore, Stamp
from common.texts import printable

T = TypeVar("T")
R = TypeVar("R")

PATIENCE: Final = 60.0  # seconds of attempts at one operation, until storage counts as lost
_THREADS: Final = 16  # requests at once
_MOST_REQUEST: Final = 20.0  # seconds without an answer, after which a request failed
_OWN: Final = ".storage-"  # begins names of this module's own objects


class Objects:
    """Objects below a location, by their keys: paths with `/`. Nothing is looked up when it is made.

    An operation that fails by a fault that may pass is tried again with growing pauses. When it takes more seconds than the
    patience, it raises `StorageLostError`. A fault that does not pass raises `StorageError` at once. One serves many threads.
    """

    def __init__(self, place: Location, patience: float = PATIENCE) -> None:
        self.location, self._patience = place, patience
        self._store: LocalStore | RemoteStore = (
            LocalStore(place.folder) if place.folder else RemoteStore(place, max(1.0, min(_MOST_REQUEST, patience)))
        )
        self._refuses_twice = place.folder is not None

    def listed(self, prefix: str = "") -> dict[str, Stamp]:
        """All objects with keys that begin with a text, sorted; none where there is no such place."""
        stamps = self._tried_or(dict[str, Stamp](), "listing", prefix, lambda: self._store.listed(prefix))
        keys = [key for key in stamps if not key.rpartition("/")[2].startswith(_OWN)]
        return {checked_key(key, self.location): stamps[key] for key in keys}

    def folders(self, prefix: str = "") -> list[str]:
        """Names of the folders directly in one, whose prefix ends with a slash or is empty, sorted; none without the place."""
        return sorted(self._tried_or(list[str](), "listing", prefix, lambda: self._store.folders(prefix)))

    def has(self, key: str) -> bool:
        """Whether there is an object of a key."""
        return self.stamp(key) is not None

    def stamp(self, key: str) -> Stamp | None:
        """Stamp of an object; None without it."""
        return self._tried_or(None, "looking at", key, lambda: self._store.stamp(key))

    def read(self, key: str) -> bytes:
        """Content of an object; FileNotFoundError if there is none."""
        return self._tried("reading", key, lambda: self._store.read(key))

    def fetch(self, key: str, path: Path) -> None:
        """Write an object into a file, which appears as a whole and replaces an existing one; see `read`."""
        content = self.read(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content, suffix=f".{uuid.uuid4().hex}{NEW}")

    def put(self, key: str, content: Content) -> None:
        """Write an object; an existing one is replaced as a whole."""
        with self._told_without_folder(content):
            self._tried("writing", key, lambda: self._store.put(key, content))

    def create(self, key: str, content: bytes) -> bool:
        """Write an object where there is none; whether it has this content, written by this call.

        A call that is repeated after a lost answer finds its own object. It knows that by the content, so of several writers
        each has a content of its own: a token in it.
        """
        if not self._refuses_twice:
            self._see_that_it_refuses()
        try:
            with self._told_without_folder(content):
                self._tried("creating", key, lambda: self._store.create(key, content))
        except FileExistsError:
            # Another writer may remove its object at this moment.
            with suppress(FileNotFoundError):
                return self.read(key) == content
            return False
        return True

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects; those that are not there are passed over."""
        at_once(lambda key: self._tried_or(None, "removing", key, lambda: self._store.remove(key)), keys)

    def fetch_all(self, pairs: Iterable[tuple[str, Path]]) -> set[str]:
        """Write objects into files, many at once; keys of those that were there."""

        def fetched(pair: tuple[str, Path]) -> set[str]:
            with suppress(FileNotFoundError):
                self.fetch(*pair)
                return {pair[0]}
            return set()

        return set().union(*at_once(fetched, pairs))

    def put_all(self, pairs: Iterable[tuple[str, Content]]) -> None:
        """Write objects, many at once and in no order; see `put`."""
        at_once(lambda pair: self.put(*pair), pairs)

    @contextmanager
    def _told_without_folder(self, content: Content) -> Iterator[None]:
        """Tell in a line that a folder for an object cannot be made, as below `/proc`."""
        try:
            yield
        except FileNotFoundError:
            if isinstance(content, Path) and not content.exists():
                raise
            raise StorageError(f"{self.location}: there is no such folder, and none can be made; correct the URI") from None

    def _tried(self, what: str, key: str, attempt: Callable[[], T]) -> T:
        return persistently(self.location, f'{what} "{printable(key)}"', attempt, self._patience)

    def _tried_or(self, nothing: R, what: str, key: str, attempt: Callable[[], T]) -> T | R:
        """The same; `nothing` where there is no such object, or no such place in a bucket."""
        with suppress(FileNotFoundError):
            return self._tried(what, key, attempt)
        return nothing

    def _see_that_it_refuses(self) -> None:
        """See that an object is not created twice: some file systems and servers ignore the condition."""
        key = f"{_OWN}{uuid.uuid4().hex}"
        is_there = False
        try:
            for _ in range(2):
                try:
                    self._tried("creating", key, lambda: self._store.create(key, key.encode()))
                    is_there = True
                except FileExistsError:
                    self._refuses_twice = is_there = True
                except (NotImplementedError, TypeError, ValueError):  # what file systems say to a mode that they do not know
                    break
        finally:
            if is_there:
                self.remove([key])
        if not self._refuses_twice:
            raise StorageError(
                f"{self.location}: this storage does not refuse to create an object twice, so two runs could work on one "
                f"experiment; use one that does, such as S3, Google Cloud Storage or file:///"
            )


def at_once(call: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Call for all items in threads; the first error ends it."""
    given = list(items)
    if len(given) < 2:
        return [call(item) for item in given]
    with ThreadPoolExecutor(min(_THREADS, len(given)), "storage") as pool:
        try:
            return list(pool.map(call, given))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
