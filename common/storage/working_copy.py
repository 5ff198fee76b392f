"""A folder on this machine with some of a location's files, and what keeps both alike."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import filelock

from common.files import write_whole
from common.json_values import checked, read_json
from common.paths import cache_folder, fit_name
from common.storage.location import Location, StorageError
from common.storage.objects import THREADS, Objects, Stamp
from common.uris import stand_for

INDEX: Final = ".storage.json"  # what was fetched, and from where
LOCK: Final = ".storage.lock"
FOLDER: Final = "storage"  # of the cache
FORMAT: Final = 1
LOCK_SECONDS: Final = 600.0  # that another process may fetch into the same folder
_MOST_LISTINGS: Final = 5  # while objects go away between a listing and their fetching


class WorkingCopy:
    """A folder with some of a location's files, under the paths that their keys name.

    Storage holds the truth. `pull` makes files like objects, `push` makes objects like files, `drop` removes both.
    A process pulls no prefix in which it has files that it did not push yet: `pull` would remove them.
    """

    def __init__(self, folder: Path, objects: Objects) -> None:
        """Nothing is fetched or written yet.

        Args:
            folder: of the files; see `working_folder`.
            objects: of the location.
        """
        self.folder = folder
        self.objects = objects

    def key(self, path: Path) -> str:
        """Key of a path: relative to the folder, or in it.

        Raises:
            ValueError: if it leads elsewhere.
        """
        relative = path.relative_to(self.folder) if path.is_absolute() else path
        if ".." in relative.parts:
            raise ValueError(f"{path} is not below {self.folder}")
        return relative.as_posix()

    def path(self, key: str) -> Path:
        """Path of a key's file, whether it is there or not."""
        return self.folder / key

    def pull(self, prefixes: Iterable[str], remove_gone: bool = True, but: Iterable[str] = ()) -> set[str]:
        """Fetch what is new or changed.

        Args:
            prefixes: keys of objects, and folders, which end with `/`; "" for all.
            remove_gone: remove files of these prefixes without an object.
            but: keys and folders below these prefixes that stay as they are.

        Returns:
            Keys of files that were written or removed.

        Raises:
            StorageError: if storage cannot be read, or the folder cannot be written to.
        """
        wanted, spared = tuple(dict.fromkeys(prefixes)), tuple(but)
        with self._held(), self._writable():
            index = self._index()
            changed: set[str] = set()
            before = dict(index)
            for _ in range(_MOST_LISTINGS):
                there = {key: stamp for key, stamp in self._there(wanted).items() if not _within(key, spared)}
                due = {key: stamp for key, stamp in there.items() if not self._has(key, stamp, index)}
                try:
                    fetched = self.objects.fetch_all(((key, self.path(key)) for key in due), due)
                    index |= fetched
                    changed |= fetched.keys()
                    if remove_gone:
                        changed |= self._remove_gone(wanted, spared, there, index)
                finally:
                    if index != before or not (self.folder / INDEX).exists():
                        self._keep(index)
                if len(fetched) == len(due):
                    return changed
            raise StorageError(f"{self.objects.location} changes faster than it can be fetched; try again later")

    def push(self, *paths: Path) -> None:
        """Write objects of files, one after another in the order given.

        Args:
            paths: in the folder, or relative to it.

        Raises:
            FileNotFoundError: if there is no such file.
            StorageError: if storage cannot be written to.
        """
        for key in self._forgotten(paths):
            self.objects.put(key, self.path(key))

    def push_all(self, paths: Iterable[Path]) -> None:
        """Write objects of files, many at once and in no order; see `push`."""
        self.objects.put_all((key, self.path(key)) for key in self._forgotten(paths))

    def drop(self, *prefixes: Path | str) -> None:
        """Remove objects, then their files.

        Args:
            prefixes: paths of files, in the folder or relative to it; keys; and folders as texts, which end with `/`.

        Raises:
            StorageError: if storage does not allow it.
        """
        given = [prefix if isinstance(prefix, str) else self.key(prefix) for prefix in prefixes]
        self.objects.remove(
            key for prefix in given for key in (self.objects.listed(prefix) if _is_folder(prefix) else [prefix])
        )
        with self._held(), self._writable():
            index = self._index()
            for key in [key for prefix in given for key in self._files(prefix)]:
                self._unlink(key)
            self._keep({key: stamp for key, stamp in index.items() if not _within(key, given)})

    def _there(self, prefixes: Iterable[str]) -> dict[str, Stamp]:
        """Objects of keys and folders."""

        def of(prefix: str) -> dict[str, Stamp]:
            if _is_folder(prefix):
                return self.objects.listed(prefix)
            stamp = self.objects.stamp(prefix)
            return {prefix: stamp} if stamp else {}

        found: dict[str, Stamp] = {}
        with ThreadPoolExecutor(THREADS, "storage") as threads:
            for own in threads.map(of, prefixes):
                found |= own
        return found

    def _has(self, key: str, stamp: Stamp, index: dict[str, Stamp]) -> bool:
        """Whether the file of a key is what was fetched by a stamp, as far as its length says."""
        if index.get(key) != stamp:
            return False
        try:
            return self.path(key).stat().st_size == stamp.nbytes
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _files(self, prefix: str) -> Iterator[str]:
        """Keys of the files that are here, of a key or a folder."""
        if not _is_folder(prefix):
            if self.path(prefix).is_file():
                yield prefix
            return
        for parent, _, names in os.walk(self.folder / prefix):
            for name in names:
                if not name.startswith(".storage"):
                    yield Path(parent, name).relative_to(self.folder).as_posix()

    def _remove_gone(
        self, prefixes: Iterable[str], spared: Iterable[str], there: dict[str, Stamp], index: dict[str, Stamp]
    ) -> set[str]:
        """Remove files without an object; their keys."""
        gone = {key for prefix in prefixes for key in self._files(prefix) if not _within(key, spared)} - there.keys()
        for key in gone:
            self._unlink(key)
            index.pop(key, None)
        return gone

    def _unlink(self, key: str) -> None:
        """Remove a file, and folders above it that are empty then."""
        path = self.path(key)
        path.unlink(missing_ok=True)
        with suppress(OSError):
            for folder in path.relative_to(self.folder).parents:
                if folder != Path():
                    (self.folder / folder).rmdir()

    def _forgotten(self, paths: Iterable[Path]) -> list[str]:
        """Keys of files that are about to be written to storage; what was fetched under these keys counts no longer."""
        keys = [self.key(path) for path in paths]
        for key in keys:
            if not self.path(key).is_file():
                raise FileNotFoundError(f"no file {self.path(key)}")
        with self._held(), self._writable():
            index = self._index()
            if known := index.keys() & set(keys):
                self._keep({key: stamp for key, stamp in index.items() if key not in known})
        return keys

    def _index(self) -> dict[str, Stamp]:
        """Stamps of what was fetched; none after damage or from another place, so all is fetched again."""
        try:
            content = checked(read_json(self.folder / INDEX), dict[str, Any], "its content")
            if (content.get("format"), content.get("uri")) != (FORMAT, self.objects.location.uri):
                return {}
            stamps = checked(content.get("stamps"), dict[str, list[int | str]], "its stamps")
            return {key: Stamp(int(nbytes), str(version)) for key, (nbytes, version) in stamps.items()}
        except (OSError, ValueError):
            return {}

    def _keep(self, index: dict[str, Stamp]) -> None:
        stamps = {key: [stamp.nbytes, stamp.version] for key, stamp in sorted(index.items())}
        content = {"format": FORMAT, "uri": self.objects.location.uri, "stamps": stamps}
        write_whole(self.folder / INDEX, lambda file: file.write(json.dumps(content).encode()))

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the folder against other processes, and other threads of this one."""
        with self._writable():
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(self.folder / LOCK)
            try:
                lock.acquire(timeout=LOCK_SECONDS)
            except filelock.Timeout:
                raise StorageError(
                    f"{self.folder}: another process has fetched into this folder for {LOCK_SECONDS:.0f} s; end it first"
                ) from None
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def _writable(self) -> Iterator[None]:
        """Turn errors of the folder's file system into one line."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StorageError(
                f"{self.objects.location} cannot be copied to {self.folder} ({error.strerror or type(error).__name__}); "
                f"make room there, or set BUILDING_TUNER_CACHE to another folder"
            ) from error


def working_folder(place: Location, role: str) -> Path:
    """Folder of a working copy on this machine. It is not made. What this process tells of it names the place instead.

    Args:
        place: that it copies.
        role: what for, such as `read` or `trial-00003`: a process never shares a folder with another role.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", role):
        raise ValueError(f"{role!r} is no role")
    digest = hashlib.sha256(place.uri.encode()).hexdigest()[:16]
    folder = cache_folder() / FOLDER / f"{fit_name(place.name)[:60]}-{digest}-{role}"
    stand_for(folder, str(place))
    return folder


def _is_folder(prefix: str) -> bool:
    return not prefix or prefix.endswith("/")


def _within(key: str, prefixes: Iterable[str]) -> bool:
    """Whether a key is one of some keys, or in one of some folders."""
    return any(key.startswith(prefix) if _is_folder(prefix) else key == prefix for prefix in prefixes)
