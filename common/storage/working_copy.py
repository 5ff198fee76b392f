"""A folder on this machine with some of a location's files: storage holds the truth."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import filelock

from common.json_values import checked, read_json, write_json
from common.paths import FOLDER_VARIABLE, cache_folder, fit_name, remove_empty
from common.storage.location import Location, StorageError
from common.storage.objects import Objects, at_once
from common.storage.stores import Stamp
from common.uris import stand_for

INDEX: Final = ".storage.json"  # what was fetched, and from where
FOLDER: Final = "storage"  # of the cache
_LOCK: Final = ".storage.lock"
_FORMAT: Final = 1
_LOCK_SECONDS: Final = 600.0  # that another process may fetch into the same folder
_MOST_LISTINGS: Final = 5  # while objects go away between a listing and their fetching


class WorkingCopy:
    """A folder with some of a location's files, under the paths that their keys name."""

    def __init__(self, folder: Path, objects: Objects) -> None:
        self.folder, self.objects = folder, objects

    def pull(self, prefixes: Iterable[str], but: Iterable[str] = ()) -> set[str]:
        """Fetch what is new or changed of some keys, and of folders, which end with `/`, and remove what is gone; what changed.

        `but` names keys and folders below these that stay as they are. Raises a StorageError if storage cannot be read, or the
        folder cannot be written to.
        """
        wanted, spared = list(prefixes), tuple(but)
        with self._held():
            index = self._index()
            before, changed = dict(index), set[str]()
            for _ in range(_MOST_LISTINGS):
                there = {key: stamp for key, stamp in self._there(wanted).items() if not _within(key, spared)}
                due = {key: stamp for key, stamp in there.items() if not self._has(key, stamp, index)}
                try:
                    fetched = self.objects.fetch_all((key, self.folder / key) for key in due)
                    index |= {key: due[key] for key in fetched}
                    gone = {key for key in self._files(wanted) if not _within(key, spared)} - there.keys()
                    for key in gone:
                        self._unlink(key)
                        index.pop(key, None)
                    changed |= fetched | gone
                finally:
                    if index != before or not (self.folder / INDEX).exists():
                        self._keep(index)
                if len(fetched) == len(due):
                    return changed
            raise StorageError(f"{self.objects.location} changes faster than it can be fetched; try again later")

    def _there(self, prefixes: Iterable[str]) -> dict[str, Stamp]:
        def listed(prefix: str) -> dict[str, Stamp]:
            if _is_folder(prefix):
                return self.objects.listed(prefix)
            stamp = self.objects.stamp(prefix)
            return {prefix: stamp} if stamp else {}

        return {key: stamp for stamps in at_once(listed, prefixes) for key, stamp in stamps.items()}

    def _has(self, key: str, stamp: Stamp, index: dict[str, Stamp]) -> bool:
        """Whether the file of a key is what was fetched by a stamp, as far as its length says."""
        try:
            return index.get(key) == stamp and (self.folder / key).stat().st_size == stamp.nbytes
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _files(self, prefixes: Iterable[str]) -> Iterator[str]:
        for prefix in prefixes:
            if not _is_folder(prefix):
                yield from [prefix] if (self.folder / prefix).is_file() else []
                continue
            for parent, _, names in os.walk(self.folder / prefix):
                for name in names:
                    if not name.startswith(".storage"):
                        yield Path(parent, name).relative_to(self.folder).as_posix()

    def _unlink(self, key: str) -> None:
        path = self.folder / key
        path.unlink(missing_ok=True)
        remove_empty(tuple(self.folder / folder for folder in path.relative_to(self.folder).parents[:-1]))

    def _index(self) -> dict[str, Stamp]:
        """Stamps of what was fetched; none after damage or from another place, so all is fetched again."""
        try:
            content = checked(read_json(self.folder / INDEX), dict[str, Any], "its content")
            if (content.get("format"), content.get("uri")) != (_FORMAT, self.objects.location.uri):
                return {}
            stamps = checked(content.get("stamps"), dict[str, list[int | str]], "its stamps")
            return {key: Stamp(int(nbytes), str(version)) for key, (nbytes, version) in stamps.items()}
        except (OSError, ValueError):
            return {}

    def _keep(self, index: dict[str, Stamp]) -> None:
        stamps = {key: [stamp.nbytes, stamp.version] for key, stamp in sorted(index.items())}
        write_json(self.folder / INDEX, {"format": _FORMAT, "uri": self.objects.location.uri, "stamps": stamps})

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the folder against other processes, and other threads of this one; errors of its file system become one line."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(self.folder / _LOCK, timeout=_LOCK_SECONDS):
                yield
        except filelock.Timeout:
            raise StorageError(
                f"{self.folder}: another process has fetched into this folder for {_LOCK_SECONDS:.0f} s; end it first"
            ) from None
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StorageError(
                f"{self.objects.location} cannot be copied to {self.folder} ({error.strerror or type(error).__name__}); "
                f"make room there, or set {FOLDER_VARIABLE} to another folder"
            ) from error


def working_folder(place: Location, role: str) -> Path:
    """Folder of a working copy on this machine for a role, which is not made. What is told of it names the place instead."""
    digest = hashlib.sha256(place.uri.encode()).hexdigest()[:16]
    folder = cache_folder() / FOLDER / f"{fit_name(place.name)[:60]}-{digest}-{role}"
    stand_for(folder, str(place))
    return folder


def _is_folder(prefix: str) -> bool:
    return not prefix or prefix.endswith("/")


def _within(key: str, prefixes: Iterable[str]) -> bool:
    return any(key.startswith(prefix) if _is_folder(prefix) else key == prefix for prefix in prefixes)
