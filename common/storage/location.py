"""URIs of storage: which texts are one, and what a URI may hold."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from common.errors import UserError
from common.paths import shortened
from common.texts import printable
from common.uris import is_uri, without_credentials

_LOCAL = ("file", "local")
# Schemes of fsspec that hold nothing for other machines, or take no writes.
_UNFIT = {
    "memory": "keeps objects in one process",
    "http": "takes no writes",
    "https": "takes no writes",
    "data": "holds one text",
}
# Extra of this project, and package, that a scheme needs.
_EXTRAS = {"s3": ("s3", "s3fs"), "s3a": ("s3", "s3fs"), "gs": ("gcs", "gcsfs"), "gcs": ("gcs", "gcsfs")}
_PATTERN = re.compile(r"[*?\[\]]")


class StorageError(UserError):
    """A place that a URI names cannot be used. The message names it, what is wrong and the remedy, and no credentials."""


@dataclass(frozen=True)
class Location:
    """A place that a URI names, without a slash at the end."""

    uri: str

    def __str__(self) -> str:
        return printable(self.uri)

    def __truediv__(self, key: str) -> Location:
        """The place of a key below this one; StorageError if the key leads elsewhere."""
        return Location(f"{self.uri}/{checked_key(key.strip('/'), self)}")

    @property
    def name(self) -> str:
        """Last part of the path: an experiment's name."""
        return self.uri.rpartition("/")[2]

    @property
    def parent(self) -> Location:
        """The place that this one lies in; a bucket has itself."""
        above, _, _ = self.uri.rpartition("/")
        return self if above.endswith("/") else Location(above)

    @property
    def scheme(self) -> str:
        """What stands before `://`, in small letters."""
        return self.uri.partition("://")[0].lower()

    @property
    def folder(self) -> Path | None:
        """The folder of a `file://` URI; None for others."""
        if self.scheme not in _LOCAL:
            return None
        return Path(url2pathname(self.uri.partition("://")[2].removeprefix("localhost")))


def location(given: str) -> Location:
    """The place that a URI names, such as `s3://bucket/experiments/ppo-1` or `file:///mnt/share`. Nothing is looked up there.

    Raises a StorageError for an unknown scheme, a package that is not installed, credentials, a query, or no place at all.
    """
    shown = f'"{printable(shortened(without_credentials(given)))}"'
    if not is_uri(given):
        raise StorageError(f"{shown} is no URI; write it as s3://bucket/folder")
    scheme, _, rest = given.partition("://")
    scheme = scheme.lower()
    place = rest.partition("/")[0]
    port = re.fullmatch(r"[^:]*:[0-9]+", place) and "@" not in rest
    # Secrets may hold slashes, so an `@` after them may be in a later part.
    if "@" in place or (scheme not in _LOCAL and ":" in place and not port):
        raise StorageError(
            f"{shown} holds credentials: take them out of the URI, and put them into the environment or give the machine a role"
        )
    if "?" in rest or "#" in rest:
        raise StorageError(f'{shown} has a query or a fragment, after "?" or "#"; write scheme, bucket and folder alone')
    if _PATTERN.search(rest):
        raise StorageError(f"{shown} is a pattern of several places; name one")
    if not rest.isprintable() or "\\" in rest:
        raise StorageError(f"{shown} has a character that no URI has: write letters, digits, dashes, dots and slashes")
    if scheme in _LOCAL:
        _check_local(place, rest, shown)
    elif not place:
        raise StorageError(f"{shown} names no bucket; write {scheme}://bucket/folder")
    else:
        _check_scheme(scheme, shown)
    clean = rest.rstrip("/")
    # A `file://` path is decoded.
    parts = unquote(clean) if scheme in _LOCAL else clean
    if not parts.isprintable():
        raise StorageError(f"{shown} has a character that no path has: write letters, digits, dashes, dots and slashes")
    for part in re.split(r"[/\\]" if os.name == "nt" else "/", parts)[1:]:
        if part in ("", ".", ".."):
            raise StorageError(f'{shown} has "{part}" between two slashes; write the whole path')
    return Location(f"{scheme}://{clean}")


def _check_local(place: str, rest: str, shown: str) -> None:
    """See that a `file://` URI names a folder of this machine by its whole path."""
    if place not in ("", "localhost"):
        raise StorageError(f'{shown} names the machine "{place}"; write file:/// and the path of a folder on this machine')
    drive = re.match(r"/[A-Za-z]:(/|$)", rest.removeprefix("localhost"))
    if (os.name == "nt") != bool(drive):
        example = "file:///C:/experiments" if os.name == "nt" else "file:///home/me/experiments"
        raise StorageError(f"{shown} is no whole path on this system; write it as {example}")
    if not rest.removeprefix("localhost").strip("/"):
        raise StorageError(f"{shown} names no folder; write file:///folder")


def _check_endpoint(shown: str) -> None:
    """See that the address of a server that speaks S3 is one, where a variable gives it."""
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        given = os.environ.get(name, "")
        try:
            parts = urlsplit(given)
            is_sound = not given or (
                parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port)
            )
        except ValueError:  # brackets or a port that are none
            is_sound = False
        if not is_sound:
            raise StorageError(f"{shown}: {name}={printable(given)} is no address of a server, such as http://localhost:9000")


def _check_scheme(scheme: str, shown: str) -> None:
    if scheme in _UNFIT:
        raise StorageError(f"{shown}: {scheme}:// {_UNFIT[scheme]}, so no search can use it; use s3://, gs:// or file://")
    if scheme in ("s3", "s3a"):
        _check_endpoint(shown)
    import fsspec

    try:
        fsspec.get_filesystem_class(scheme)
    except ImportError as error:
        extra, package = _EXTRAS.get(scheme, ("", "a package that is not installed"))
        remedy = f"uv sync --extra {extra}, or pip install {package}" if extra else str(error)
        raise StorageError(f"{shown}: {scheme}:// needs {package}: {remedy}") from None
    except ValueError:
        raise StorageError(f'{shown}: no file system has the scheme "{scheme}"; use s3://, gs:// or file://') from None


def checked_key(key: str, place: Location) -> str:
    """A key that leads to a file below a folder, on every system; StorageError for another one."""
    parts = key.split("/")
    if any(part in ("", ".", "..") for part in parts) or re.search(r"[\\:]", key) or not key.isprintable():
        raise StorageError(f'{place} holds "{printable(key)}", which is no name of a file here; remove that object')
    return key
