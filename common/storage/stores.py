"""What each kind of storage can do, so that `Objects` knows no kind. Each call is one attempt; errors are the file system's."""

from __future__ import annotations

import errno
import inspect
import logging
import os
import shutil
import uuid
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from common.files import NEW, sync_folder, write_whole
from common.storage.location import Location, StorageError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

Content = bytes | Path  # of an object: bytes, or a file that holds them

CONNECTIONS = 32  # at once to one server
SLOWEST = 10_000  # bytes per second that a server takes of each content, of many at once
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP)  # of a share, or a drive, whose file system has none
_OPEN_ELSEWHERE = 5  # of Windows: not permitted, and also that another process has a file open which is removed
# What a file system's entry calls that which changes when an object is replaced, the best first.
_VERSIONS = (
    "ETag", "generation", "etag", "md5Hash", "checksum", "ino", "mtime", "LastModified", "last_modified", "updated", "created",
)  # fmt: skip


@dataclass(frozen=True)
class Stamp:
    """What tells one content of an object from another."""

    nbytes: int  # length in bytes
    version: str  # changes whenever the object is replaced: ETag, generation, or time and inode of a file


class LocalStore:
    """Files below a folder, such as one of a share. A file appears under its name when it is whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def listed(self, prefix: str) -> dict[str, Stamp]:
        """See `RemoteStore`."""
        top, _, _ = prefix.rpartition("/")
        stamps = {}
        for parent, _, names in os.walk(self._folder / top):
            for path in (Path(parent, name) for name in names if not name.endswith(NEW)):
                key = path.relative_to(self._folder).as_posix()
                if key.startswith(prefix):
                    with suppress(FileNotFoundError):  # removed since
                        stamps[key] = _stamp_of_file(path)
        return dict(sorted(stamps.items()))

    def folders(self, prefix: str) -> list[str]:
        """See `RemoteStore`."""
        folder = self._folder / prefix
        return [path.name for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []

    def stamp(self, key: str) -> Stamp:
        """See `RemoteStore`."""
        return _stamp_of_file(self._file(key))

    def read(self, key: str) -> bytes:
        """See `RemoteStore`."""
        return self._file(key).read_bytes()

    def put(self, key: str, content: Content) -> None:
        """See `RemoteStore`."""
        path = self._folder / key
        path.parent.mkdir(parents=True, exist_ok=True)

        def write(file: BinaryIO) -> None:
            if isinstance(content, bytes):
                file.write(content)
            else:
                with content.open("rb") as source:
                    shutil.copyfileobj(source, file)

        # Two processes may put one object at once.
        write_whole(path, write, suffix=f".{uuid.uuid4().hex}{NEW}")
        sync_folder(path.parent)

    def create(self, key: str, content: bytes) -> None:
        """See `RemoteStore`. The name appears at once with the whole content, and only where there is none."""
        path, new = self._folder / key, f"{key}.{uuid.uuid4().hex}{NEW}"
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        self.put(new, content)
        try:
            if os.name == "nt":
                (self._folder / new).rename(path)  # Windows replaces nothing by it
            else:
                _link(self._folder / new, path)
        finally:
            (self._folder / new).unlink(missing_ok=True)
        sync_folder(path.parent)

    def remove(self, key: str) -> None:
        """See `RemoteStore`."""
        try:
            (self._folder / key).unlink(missing_ok=True)
        except PermissionError as error:
            if getattr(error, "winerror", None) != _OPEN_ELSEWHERE:
                raise
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(self._folder / key)) from error

    def _file(self, key: str) -> Path:
        path = self._folder / key
        if path.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return path


def _link(new: Path, path: Path) -> None:
    """Give a whole file its name, where there is none; StorageError if the file system has no hard links."""
    try:
        path.hardlink_to(new)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        raise StorageError(
            f"{path.parent}: the file system of this folder has no hard links, so an object could be created twice; "
            f"take a folder on another one, or s3:// or gs://"
        ) from error


def _stamp_of_file(path: Path) -> Stamp:
    """A renamed file has another inode, and on systems without inodes another time."""
    status = path.stat()
    return Stamp(status.st_size, f"{status.st_mtime_ns:x}-{status.st_ino:x}")


class RemoteStore:
    """Objects in a bucket, or in any other place that fsspec opens. Credentials are found by its packages and never seen here.

    A server may take so many seconds to accept a connection, and between two pieces of an answer.
    """

    def __init__(self, location: Location, request_seconds: float) -> None:
        self._location, self._request_seconds = location, request_seconds

    @property
    def _system(self) -> AbstractFileSystem:
        # Servers and credentials may come from any of its variables.
        return _file_system(self._location.scheme, self._request_seconds, os.getpid(), frozenset(os.environ.items()))

    def _path(self, key: str) -> str:
        return f"{self._location.uri}/{key}" if key else self._location.uri

    def listed(self, prefix: str) -> dict[str, Stamp]:
        """All objects with keys that begin with a text; FileNotFoundError where there is no such place."""
        system = self._system
        folder, _, begins = prefix.rpartition("/")
        # Servers of objects look for the beginning of a key; others list the folder.
        takes_prefix = "prefix" in inspect.signature(getattr(system, "_find", system.find)).parameters
        options = {"prefix": begins} if takes_prefix and begins else {}
        entries = system.find(self._path(folder), detail=True, **options)
        above = system._strip_protocol(self._location.uri).rstrip("/") + "/"
        stamps = {}
        for name, entry in entries.items():
            key = name.removeprefix(above)
            if key != name and key.startswith(prefix) and not key.endswith("/") and entry.get("type") != "directory":
                stamps[key] = _stamp_of_entry(entry)
        return dict(sorted(stamps.items()))

    def folders(self, prefix: str) -> list[str]:
        """Names of the folders directly in one, whose prefix ends with a slash; FileNotFoundError if there is no such place."""
        entries = self._system.ls(self._path(prefix).rstrip("/"), detail=True)
        return [entry["name"].rstrip("/").rpartition("/")[2] for entry in entries if entry.get("type") == "directory"]

    def stamp(self, key: str) -> Stamp:
        """Stamp of an object; FileNotFoundError without it."""
        entry = self._system.info(self._path(key))
        if entry.get("type") == "directory":
            raise FileNotFoundError(key)
        return _stamp_of_entry(entry)

    def read(self, key: str) -> bytes:
        """Content of an object; FileNotFoundError without it."""
        return bytes(self._system.cat_file(self._path(key)))

    def put(self, key: str, content: Content) -> None:
        """Write an object; an existing one is replaced as a whole."""
        if isinstance(content, bytes):
            self._system.pipe_file(self._path(key), content, **self._bound(len(content)))
        else:
            self._system.put_file(str(content), self._path(key), **self._bound(content.stat().st_size))

    def create(self, key: str, content: bytes) -> None:
        """Write an object that must not exist; FileExistsError if it does."""
        self._system.pipe_file(self._path(key), content, mode="create", **self._bound(len(content)))

    def _bound(self, nbytes: int) -> dict[str, float]:
        # A client waits without end for a server's leave to send a content, and for room to send more.
        return {"timeout": self._request_seconds + nbytes / SLOWEST} if self._system.async_impl else {}

    def remove(self, key: str) -> None:
        """Remove an object; FileNotFoundError without it, where the server tells."""
        self._system.rm_file(self._path(key))


@lru_cache(maxsize=8)
def _file_system(scheme: str, request_seconds: float, process: int, environment: frozenset[tuple[str, str]]) -> Any:
    """A file system, kept for a process, as connections are not shared with a fork: a client of S3 takes tenths of a second."""
    import fsspec

    del process, environment
    options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
    if scheme in ("s3", "s3a"):
        for client in map(logging.getLogger, ("aiobotocore", "botocore")):
            client.setLevel(client.level or logging.WARNING)  # CityLearn's import lets all packages tell how they are
        options["max_concurrency"] = 1  # parts that are read at once may be of two contents
        options["config_kwargs"] = {
            "connect_timeout": request_seconds,
            "read_timeout": request_seconds,
            "max_pool_connections": CONNECTIONS,
            "retries": {"max_attempts": 0},  # `Objects` tries again, within one bound for all
        }
    system = fsspec.filesystem(scheme, **options)
    if scheme in ("s3", "s3a"):
        system.retries = 1
    return system


def _stamp_of_entry(entry: dict[str, Any]) -> Stamp:
    version = next((str(entry[name]) for name in _VERSIONS if entry.get(name) not in (None, "")), "")
    return Stamp(int(entry["size"] or 0), version)
