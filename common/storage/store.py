"""What each kind of storage can do, so that the layers above it know no kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

Content = bytes | Path  # of an object: bytes, or a file that holds them


@dataclass(frozen=True)
class Stamp:
    """What tells one content of an object from another.

    Attributes:
        nbytes: length in bytes.
        version: changes whenever the object is replaced: ETag, generation, or time and inode of a file.
    """

    nbytes: int
    version: str


class Store(Protocol):
    """Objects below one location. Each call is one attempt; errors are those of the file system."""

    def listed(self, prefix: str) -> dict[str, Stamp]:
        """All objects with keys that begin with a text; none where there is no such place."""

    def folders(self, prefix: str) -> list[str]:
        """Names of the folders directly in one; none where there is no such place.

        Args:
            prefix: of the folder, with a slash at its end; "" for the location.
        """

    def stamp(self, key: str) -> Stamp:
        """Stamp of an object; FileNotFoundError without it."""

    def read(self, key: str, start: int, end: int) -> bytes:
        """Bytes of an object between two positions, fewer where it ends before; FileNotFoundError without it."""

    def put(self, key: str, content: Content) -> None:
        """Write an object; an existing one is replaced as a whole."""

    def create(self, key: str, content: Content) -> None:
        """Write an object that must not exist; FileExistsError if it does."""

    def remove(self, key: str) -> None:
        """Remove an object, if it exists."""

    def errors(self) -> tuple[type[Exception], ...]:
        """Types of the errors that these calls raise."""


def length(content: Content) -> int:
    """Bytes of a content."""
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def pieces(content: Content, size: int) -> Iterator[bytes]:
    """A content in pieces of at most a number of bytes."""
    if isinstance(content, bytes):
        yield from (content[at : at + size] for at in range(0, len(content), size))
        return
    with content.open("rb") as file:
        while piece := file.read(size):
            yield piece
