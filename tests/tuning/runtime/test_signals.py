"""Signals that end a command become an interrupt, and afterwards mean what they meant before."""

import signal
import threading

import pytest

from tuning.runtime.signals import stop_signals_as_interrupts

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
