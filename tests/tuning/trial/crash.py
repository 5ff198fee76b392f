"""A process that is killed between two disk operations, or in the middle of one."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


_OPERATIONS = ((os, "fsync"), (Path, "replace"), (Path, "rename"), (Path, "unlink"), (Path, "mkdir"), (shutil, "rmtree"))


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, operation: int, after: bool) -> Iterator[Callable[[], int]]:
    """Kill the code within before or after one of its disk operations; before a sync, half of the file is lost.

    Yields:
        The number of operations so far.
    """
    done = 0

    def killing(name: str, function: Any) -> Any:
        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal done
            done += 1
            now = done == operation
            if now and not after:
                if name == "fsync" and os.fstat(arguments[0]).st_mode & 0o100000:
                    os.ftruncate(arguments[0], os.fstat(arguments[0]).st_size // 2)
                raise Killed
            result = function(*arguments, **named)
            if now:
                raise Killed
            return result

        return counted

    with monkeypatch.context() as patched:
        for owner, name in _OPERATIONS:
            patched.setattr(owner, name, killing(name, getattr(owner, name)))
        yield lambda: done
