"""Measures the time and the memory of a process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import psutil

P = ParamSpec("P")
T = TypeVar("T")


class Stopwatch:
    """Adds up wall time."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time the code within."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start

    def take(self) -> float:
        """Seconds so far; the watch begins anew at 0."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds

    def timing(self, function: Callable[P, T]) -> Callable[P, T]:
        """The function, with each call timed."""

        def timed(*args: P.args, **kwargs: P.kwargs) -> T:
            with self.running():
                return function(*args, **kwargs)

        return timed


def rss_bytes() -> int:
    """Host memory of this process, bytes."""
    return int(psutil.Process().memory_info().rss)
