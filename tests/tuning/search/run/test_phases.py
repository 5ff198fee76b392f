"""The table of a trial's states."""

from itertools import product

import pytest

from tuning.search.run.phases import LIVE, TRANSITIONS, Event, Phase, Write, after

ENDS = {Write.COMPLETE, Write.PRUNE, Write.FAIL, Write.OUT_OF_MEMORY}


def test_an_end_is_written_where_a_trial_ends_and_nowhere_else() -> None:
    for (_, event), (phase, write) in TRANSITIONS.items():
        assert (phase is Phase.ENDED) == (write in ENDS), event
        assert (phase is Phase.FROZEN) == (write is Write.FREEZE), event


def test_nothing_happens_to_a_trial_that_ended_was_frozen_or_left() -> None:
    for phase, event in product((Phase.ENDED, Phase.FROZEN, Phase.LEFT), Event):
        with pytest.raises(ValueError, match="cannot be one that"):
            after(phase, event)


def test_the_process_of_a_trial_may_end_in_each_phase_in_which_it_has_one() -> None:
    ends = [Event.DONE, Event.DIVERGED, Event.PUT_ASIDE, Event.INTERRUPTED, Event.TRIED_AGAIN, Event.FAILED, Event.TOO_LARGE]
    for phase, event in product(LIVE, ends):
        assert after(phase, event)[0] not in LIVE


def test_a_trial_that_was_told_to_stop_does_not_complete() -> None:
    assert after(Phase.STOPPING, Event.DONE) == (Phase.ENDED, Write.PRUNE)
    assert after(Phase.YIELDING, Event.DONE) == (Phase.FROZEN, Write.FREEZE)
    assert after(Phase.LEAVING, Event.DONE) == (Phase.ENDED, Write.COMPLETE)
