"""Texts that name a place by a URI, and folders on this machine that stand for one."""

import re
from pathlib import Path, PurePath

# Two letters at least: one is a drive of Windows. Colons belong to chains such as simplecache::s3, which are refused by name.
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.:_-]+)://")
_FLATTENED = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # first part of what `Path` makes of a URI
_STANDING: dict[str, str] = {}  # URIs by the folders on this machine that stand for them


def is_uri(given: object) -> bool:
    """Whether a text names storage: it begins with a scheme and `://`. Paths and drives of Windows do not."""
    return isinstance(given, str) and _URI.match(given) is not None


def is_flattened(given: object) -> bool:
    """Whether a path was made from a URI, which it cannot hold: its two slashes became one."""
    parts = given.parts if isinstance(given, PurePath) else ()
    return len(parts) > 1 and _FLATTENED.fullmatch(parts[0].rstrip("\\/")) is not None


def without_credentials(text: str) -> str:
    """A text with `***` in place of credentials and queries of URIs, also of those that became paths.

    After a colon in the first part, up to the last `@`: secrets may hold slashes.
    """
    text = re.sub(r"(://[^\s?]*\?)\S+?(?=\"?(?:\s|$))", r"\1***", text)
    return re.sub(r"([A-Za-z0-9+.-]{2}:[\\/]{1,2})(?:[^\\/\s:]*:\S*|[^\\/\s]*)@", r"\1***@", text)


def stand_for(folder: Path, uri: str) -> None:
    """From now on a folder stands for a URI in what this process tells."""
    for path in (folder, folder.resolve()):
        _STANDING[str(path)] = uri


def uri_of(folder: Path) -> str | None:
    """The URI that a folder stands for; None for the user's own folders."""
    return _STANDING.get(str(folder))


def with_uris(text: str) -> str:
    """A text with URIs in place of the folders that stand for them."""
    for folder in sorted(_STANDING, key=len, reverse=True):
        if folder in text:
            # What follows is a key, and keys have slashes on every system.
            whole = re.compile(re.escape(folder) + r"(?![A-Za-z0-9_-]|\.[A-Za-z0-9])([\\/][^\s:;,\"'()\]]*)?")
            text = whole.sub(lambda match, uri=_STANDING[folder]: uri + (match[1] or "").replace("\\", "/"), text)  # type: ignore[misc]
    return text
