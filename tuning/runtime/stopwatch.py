"""Measures the time of a process."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up wall time."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time the code within; as a decorator, each call of a function."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start

    def take(self) -> float:
        """Seconds so far; the watch begins anew at 0."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds
