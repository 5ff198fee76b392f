"""Signals that end a command."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after a line has said what there is and how it continues."""


@contextmanager
def stop_signals_as_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt for SIGTERM and SIGINT, also where a shell had Ctrl-C ignored.

    Clusters send SIGTERM before they take a node away. While trials run, `tuning.search.run.run_control` handles both instead.
    Outside the main thread, which alone gets signals, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.default_int_handler) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
