"""Objects in memory, in place of a storage, with a moment before and after each of their changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from common.storage.location import Location
from common.storage.store import Stamp


class KilledError(BaseException):
    """In place of a kill: nothing catches it."""


class ObjectsInMemory:
    """What `common.storage.objects.Objects` does, at once and without faults.

    Attributes:
        contents: of all objects, by key.
        changes: keys in the order in which they were written (`+`) and removed (`-`).
        before: called before each change with its text, such as `+results/trials/00000.parquet`.
    """

    def __init__(self) -> None:
        self.location = Location("s3://bucket/experiments/one")
        self.contents: dict[str, bytes] = {}
        self.changes: list[str] = []
        self.before: Callable[[str], None] = lambda change: None
        self._versions: dict[str, int] = {}

    def listed(self, prefix: str = "") -> dict[str, Stamp]:
        return {
            key: Stamp(len(content), str(self._versions[key]))
            for key, content in sorted(self.contents.items())
            if key.startswith(prefix)
        }

    def has(self, key: str) -> bool:
        return key in self.contents

    def stamp(self, key: str) -> Stamp | None:
        return self.listed(key).get(key)

    def read(self, key: str) -> bytes:
        if key not in self.contents:
            raise FileNotFoundError(key)
        return self.contents[key]

    def fetch(self, key: str, path: Path, stamp: Stamp | None = None) -> Stamp:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.read(key))
        return self.listed(key)[key]

    def fetch_all(self, pairs: Iterable[tuple[str, Path]], stamps: Mapping[str, Stamp] | None = None) -> dict[str, Stamp]:
        return {key: self.fetch(key, path) for key, path in pairs}

    def put(self, key: str, content: bytes | Path) -> None:
        self._change(f"+{key}")
        self.contents[key] = content if isinstance(content, bytes) else content.read_bytes()
        self._versions[key] = len(self.changes)

    def put_all(self, pairs: Iterable[tuple[str, bytes | Path]]) -> None:
        for key, content in pairs:
            self.put(key, content)

    def create(self, key: str, content: bytes | Path) -> bool:
        if key in self.contents:
            return False
        self.put(key, content)
        return True

    def remove(self, keys: Iterable[str]) -> None:
        for key in list(keys):
            if key in self.contents:
                self._change(f"-{key}")
                del self.contents[key]

    def _change(self, change: str) -> None:
        self.before(change)
        self.changes.append(change)


def in_memory() -> Any:
    """Objects in memory."""
    return ObjectsInMemory()


def dies_at(objects: Any, number: int) -> None:
    """Let a process die before one of its next changes."""
    left = number

    def before(change: str) -> None:
        nonlocal left
        if not left:
            raise KilledError
        left -= 1

    objects.before = before
