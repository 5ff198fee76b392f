"""Signals that end a command become an interrupt, and afterwards mean what they meant before."""

import signal
import subprocess
import sys
import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from tuning.runtime import processes
from tuning.runtime.processes import own_stop_signals, stop_signals_as_interrupts, stop_signals_later

NUMBERS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_is_an_interrupt_also_where_a_shell_ignored_it(number: int) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), stop_signals_as_interrupts():
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_a_signal_that_is_sent_twice_interrupts_once_and_ctrl_c_each_time() -> None:
    with stop_signals_as_interrupts():
        for number, again in ((signal.SIGTERM, False), (signal.SIGINT, True)):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
            # What is cleaned up then goes on.
            with pytest.raises(KeyboardInterrupt) if again else nullcontext():
                signal.raise_signal(number)
            if not again:
                signal.raise_signal(number)


def test_a_signal_while_something_closes_interrupts_afterwards() -> None:
    closed: list[bool] = []

    def close(interrupts: int) -> None:
        for _ in range(interrupts):
            signal.raise_signal(signal.SIGINT)
        closed.append(True)

    for interrupts in (1, 2):  # who presses twice does not want to wait
        with pytest.raises(KeyboardInterrupt), stop_signals_later():
            close(interrupts)
    assert len(closed) == 1
    with stop_signals_later():
        pass


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no such signal")
@pytest.mark.parametrize("ignored", [False, True])
def test_a_terminal_that_closes_interrupts_unless_nohup_ignores_it(ignored: bool) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        with nullcontext() if ignored else pytest.raises(KeyboardInterrupt), stop_signals_as_interrupts():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def as_ray_does() -> None:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))
    signal.raise_signal(signal.SIGTERM)


def test_what_ray_does_at_a_signal_while_it_starts_is_an_interrupt_and_its_handler_does_not_stay() -> None:
    with stop_signals_as_interrupts():
        ours = signal.getsignal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt), own_stop_signals():
            as_ray_does()
        assert signal.getsignal(signal.SIGTERM) is ours


def test_another_thread_leaves_signals_alone() -> None:
    seen: list[object] = []

    def within() -> None:
        with stop_signals_as_interrupts():
            seen.extend(signal.getsignal(number) for number in NUMBERS)

    before = [signal.getsignal(number) for number in NUMBERS]
    thread = threading.Thread(target=within)
    thread.start()
    thread.join()
    assert seen == before


PARENT = """
import subprocess, sys, time
code = (
    "import time; from tuning.runtime.processes import end_with_parent; end_with_parent(); "
    "end_with_parent(); print('watching', flush=True); time.sleep(100)"
)
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(100)
"""


def test_a_process_ends_soon_after_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = psutil.Process(int(parent.stdout.readline()))
        assert child.is_running()
        parent.kill()
    gone, _ = psutil.wait_procs([child], timeout=20.0)
    assert gone


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        (psutil.STATUS_SLEEPING, False),
        (psutil.STATUS_ZOMBIE, True),
        (psutil.NoSuchProcess(1), True),
        (psutil.AccessDenied(1), False),
    ],
)
def test_a_parent_that_ends_between_two_questions_has_ended(status: Any, ended: bool) -> None:
    class Parent:
        def is_running(self) -> bool:
            return True

        def status(self) -> str:
            if isinstance(status, psutil.Error):
                raise status
            return str(status)

    parent: Any = Parent()
    assert processes._has_ended(parent) is ended


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        (["uv", "raylet", "systemd"], "raylet"),
        ([psutil.NoSuchProcess(1), "raylet", "systemd"], "raylet"),
        (["uv", psutil.AccessDenied(1), "systemd"], "hidden"),
    ],
)
def test_the_process_above_uv_is_watched(parents: list[Any], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Above:
        def __init__(self, name: Any) -> None:
            self._name = name

        def name(self) -> str:
            if isinstance(self._name, psutil.Error):
                raise self._name
            return str(self._name)

        def is_running(self) -> bool:
            watched.append("hidden" if isinstance(self._name, psutil.Error) else self._name)
            return False

    def at_once(target: Any, **options: Any) -> Any:
        target()
        return SimpleNamespace(start=lambda: None)

    watched, ended = list[str](), list[int]()
    monkeypatch.setattr("psutil.Process.parents", lambda self: [*map(Above, parents)])
    monkeypatch.setattr("os._exit", ended.append)
    monkeypatch.setattr(processes.threading, "Thread", at_once)
    processes.end_with_parent.__wrapped__()
    assert (watched, ended) == ([expected], [1])
