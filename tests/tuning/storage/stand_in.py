"""Moments before each change of a storage in a folder, whichever object makes it."""

from collections.abc import Callable
from typing import Any

import pytest

from common.files import NEW
from common.storage.stores import LocalStore


class KilledError(BaseException):
    """In place of a kill: nothing catches it."""


class Changes(list[str]):
    """Keys in the order in which they were written (`+`) and removed (`-`), without those that tell of runs.

    Attributes:
        before: called before each change with its text, such as `+results/trials/00000.parquet`, also those of runs.
    """

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.before: Callable[[str], None] = lambda change: None
        for name, sign in (("put", "+"), ("create", "+"), ("remove", "-")):
            patched.setattr(LocalStore, name, self._watched(getattr(LocalStore, name), sign))

    def _watched(self, function: Any, sign: str) -> Any:
        def changed(store: LocalStore, key: str, *content: Any) -> Any:
            if not key.endswith(NEW):
                self.before(sign + key)
            result = function(store, key, *content)
            if not key.endswith(NEW) and not key.startswith("runs/"):
                self.append(sign + key)
            return result

        return changed

    def die_at(self, number: int) -> None:
        """Let a process die before one of its next changes, counted from 0."""
        left = number

        def before(change: str) -> None:
            nonlocal left
            if not left:
                raise KilledError
            left -= 1

        self.before = before
