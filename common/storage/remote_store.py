"""Objects in a bucket, or in any other place that fsspec opens. Credentials are found by its packages and never seen here."""

from __future__ import annotations

import inspect
import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from common.storage.location import Location
from common.storage.store import Content, Stamp

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

CONNECTIONS = 32  # at once to one server
# Beginnings of the names of variables from which packages take servers and credentials.
_CONNECTING = (
    "AWS_",
    "GOOGLE_",
    "GCS",
    "GCE_",
    "CLOUDSDK_",
    "AZURE_",
    "FSSPEC_",
    "STORAGE_",
    "HTTP",
    "NO_PROXY",
    "ALL_PROXY",
    "HOME",
)
# What a file system's entry calls that which changes when an object is replaced, the best first.
_VERSIONS = (
    "ETag",
    "generation",
    "etag",
    "md5Hash",
    "checksum",
    "ino",
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "created",
)
_ERRORS = {
    "botocore.exceptions": ("BotoCoreError", "ClientError"),
    "aiohttp": ("ClientError",),
    "gcsfs.retry": ("HttpError",),
    "google.auth.exceptions": ("GoogleAuthError",),
    "requests": ("RequestException",),
    "azure.core.exceptions": ("AzureError",),
}


class RemoteStore:
    """Objects below a location, by a file system of fsspec."""

    def __init__(self, location: Location, request_seconds: float) -> None:
        """Nothing is looked up.

        Args:
            location: of the objects.
            request_seconds: that a server may take to accept a connection, and between two pieces of an answer.
        """
        self._location = location
        self._request_seconds = request_seconds

    @property
    def _system(self) -> AbstractFileSystem:
        environment = frozenset((name, value) for name, value in os.environ.items() if name.upper().startswith(_CONNECTING))
        return _file_system(self._location.scheme, self._request_seconds, os.getpid(), environment)

    def _path(self, key: str) -> str:
        return f"{self._location.uri}/{key}" if key else self._location.uri

    def listed(self, prefix: str) -> dict[str, Stamp]:
        """See `Store`."""
        system = self._system
        folder, _, begins = prefix.rpartition("/")
        # Servers of objects look for the beginning of a key; others list the folder.
        takes_prefix = "prefix" in inspect.signature(getattr(system, "_find", system.find)).parameters
        options = {"prefix": begins} if takes_prefix and begins else {}
        try:
            entries = system.find(self._path(folder), detail=True, **options)
        except FileNotFoundError as error:
            if is_missing_place(error):
                raise
            return {}
        above = system._strip_protocol(self._location.uri).rstrip("/") + "/"
        found = {}
        for name, entry in entries.items():
            key = name.removeprefix(above)
            if key != name and key.startswith(prefix) and not key.endswith("/") and entry.get("type") != "directory":
                found[key] = _stamp(entry)
        return dict(sorted(found.items()))

    def folders(self, prefix: str) -> list[str]:
        """See `Store`."""
        try:
            entries = self._system.ls(self._path(prefix).rstrip("/"), detail=True)
        except FileNotFoundError as error:
            if is_missing_place(error):
                raise
            return []
        return [entry["name"].rstrip("/").rpartition("/")[2] for entry in entries if entry.get("type") == "directory"]

    def stamp(self, key: str) -> Stamp:
        """See `Store`."""
        entry = self._system.info(self._path(key))
        if entry.get("type") == "directory":
            raise FileNotFoundError(key)
        return _stamp(entry)

    def read(self, key: str, start: int, end: int) -> bytes:
        """See `Store`."""
        return bytes(self._system.cat_file(self._path(key), start=start, end=end))

    def put(self, key: str, content: Content) -> None:
        """See `Store`."""
        self._write(key, content, "overwrite")

    def create(self, key: str, content: Content) -> None:
        """See `Store`."""
        self._write(key, content, "create")

    def _write(self, key: str, content: Content, mode: str) -> None:
        system = self._system
        if isinstance(content, bytes):
            system.pipe_file(self._path(key), content, mode=mode)
        else:
            system.put_file(str(content), self._path(key), mode=mode)

    def remove(self, key: str) -> None:
        """See `Store`."""
        try:
            self._system.rm_file(self._path(key))
        except FileNotFoundError as error:
            if is_missing_place(error):
                raise

    def errors(self) -> tuple[type[Exception], ...]:
        """See `Store`."""
        known = [(sys.modules.get(module), names) for module, names in _ERRORS.items()]
        found = tuple(getattr(module, name) for module, names in known if module for name in names if hasattr(module, name))
        return (OSError, EOFError, *found)


@lru_cache(maxsize=8)
def _file_system(scheme: str, request_seconds: float, process: int, environment: frozenset[tuple[str, str]]) -> Any:
    """A file system, kept for a process: a client of S3 takes some tenths of a second to make.

    Args:
        scheme: of the URI.
        request_seconds: see `RemoteStore`.
        process: its id; a connection is not shared with a forked one.
        environment: from which the packages take servers and credentials.
    """
    import fsspec

    del process, environment
    options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
    if scheme in ("s3", "s3a"):
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


def is_missing_place(error: BaseException) -> bool:
    """Whether an error says that a bucket is missing, not an object in it."""
    texts = " ".join(str(part) for part in (error, error.__cause__) if part)
    return "NoSuchBucket" in texts or "specified bucket does not exist" in texts


def _stamp(entry: dict[str, Any]) -> Stamp:
    version = next((str(entry[name]) for name in _VERSIONS if entry.get(name) not in (None, "")), "")
    return Stamp(int(entry["size"] or 0), version)
