"""A stopwatch adds up what it timed, and begins anew when it is read."""

import pytest

from tests.tuning.clock import Clock
from tuning.runtime.stopwatch import Stopwatch


def test_times_add_up_until_they_are_taken(clock: Clock) -> None:
    watch = Stopwatch()
    for seconds in (1.0, 2.0):
        with watch.running():
            clock.now += seconds
        clock.now += 10.0  # between them nothing is timed
    assert watch.seconds == 3.0
    assert watch.take() == 3.0
    assert watch.take() == 0.0


def test_time_counts_where_what_is_timed_fails(clock: Clock) -> None:
    watch = Stopwatch()

    @watch.running()
    def fail() -> None:
        clock.now += 4.0
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert watch.take() == 4.0
