"""What ends a process: signals, and the end of the process that started it."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

TOGETHER_SECONDS = 1.0  # in which several SIGTERM are one
LOOK_SECONDS = 1.0  # between two checks whether the parent runs

DIED = "its process died without an error; the system kills processes when memory runs out"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after a line has said what there is and how it continues."""


def stop_signals() -> list[signal.Signals]:
    """Signals that ask a command to stop: Ctrl-C, a cluster that takes a node away, a terminal that closes.

    Ctrl-C does so also where a shell had it ignored, and a closing terminal does not where `nohup` had that ignored.
    """
    known = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
    return [each for each in known if each.name != "SIGHUP" or signal.getsignal(each) is not signal.SIG_IGN]


@contextmanager
def stop_signals_as_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt for each of `stop_signals`.

    While trials run, `tuning.search.run.run_control` handles them instead.
    """

    def interrupt(count: int) -> None:
        raise KeyboardInterrupt

    with on_stop_signals(interrupt):
        yield


@contextmanager
def own_stop_signals() -> Iterator[None]:
    """Keep what happens at `stop_signals` while Ray starts, which sets a handler of its own: it ends the process in silence."""
    try:
        with _handled(signal.getsignal):
            yield
    except SystemExit as error:
        if threading.current_thread() is not threading.main_thread():
            raise  # no signal comes there
        raise KeyboardInterrupt from error


@contextmanager
def on_stop_signals(act: Callable[[int], None]) -> Iterator[None]:
    """Act at each of `stop_signals`, given how many there were. Only the main thread gets signals; elsewhere nothing happens.

    Clusters stop all processes of a job, and `uv run` passes its own signal on, so several within a moment are one. Ctrl-C is
    typed, and each counts.
    """
    came: list[float] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if came and number != signal.SIGINT and time.monotonic() - came[0] < TOGETHER_SECONDS:
            return
        came.append(time.monotonic())
        act(len(came))

    with _handled(lambda number: signal.signal(number, handle)):
        yield


@contextmanager
def stop_signals_later() -> Iterator[None]:
    """Raise a KeyboardInterrupt for the first of `stop_signals` at the end, as something closes, and for the second at once."""
    came = 0

    def act(count: int) -> None:
        nonlocal came
        came = count
        if count > 1:
            raise KeyboardInterrupt

    with on_stop_signals(act):
        yield
    if came:
        raise KeyboardInterrupt


@contextmanager
def _handled(begin: Callable[[int], Any]) -> Iterator[None]:
    """Begin with each of `stop_signals`, in the main thread alone, and have afterwards the handlers that `begin` gave."""
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: begin(number) for number in stop_signals()} if is_main else {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_uv(process: psutil.Process) -> bool:
    try:
        return Path(process.name()).stem == "uv"
    except psutil.NoSuchProcess:
        return True  # it has ended: the one above it is watched
    except psutil.Error:
        return False  # one of another user


def _has_ended(process: psutil.Process) -> bool:
    try:
        # A killed process stays as a zombie until its own parent waits for it.
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True  # it ended between the two questions
    except psutil.AccessDenied:
        return False  # one of another user, which runs


@cache
def end_with_parent() -> None:
    """End this process when its parent ends. Later calls do nothing.

    Ray's workers notice only between two tasks that their node is gone. A task may train for hours, on a card that the next
    run needs. `uv run` between this process and its node's does not end with the node.
    """
    parent = next((process for process in psutil.Process().parents() if not _is_uv(process)), None)

    def watch() -> None:
        # After its end the system gives this process another parent.
        while parent is not None and not _has_ended(parent):
            time.sleep(LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()
