"""A process that is killed between two of its dealings with the disk, or in the middle of one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


_DEALINGS = ((os, "fsync"), (Path, "replace"), (Path, "rename"), (Path, "unlink"), (Path, "mkdir"), (shutil, "rmtree"))


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, dealing: int, after: bool) -> Iterator[Callable[[], int]]:
    """Kill what stands within before or after one of its dealings with the disk; before a sync, half of the file is lost.

    Yields:
        How many dealings there were so far.
    """
    done = 0

    def killing(name: str, function: Any) -> Any:
        def dealt(*arguments: Any, **named: Any) -> Any:
            nonlocal done
            done += 1
            now = done == dealing
            if now and not after:
                if name == "fsync" and os.fstat(arguments[0]).st_mode & 0o100000:
                    os.ftruncate(arguments[0], os.fstat(arguments[0]).st_size // 2)
                raise Killed
            result = function(*arguments, **named)
            if now:
                raise Killed
            return result

        return dealt

    with monkeypatch.context() as patched:
        for owner, name in _DEALINGS:
            patched.setattr(owner, name, killing(name, getattr(owner, name)))
        yield lambda: done
