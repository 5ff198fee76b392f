"""The table of a trial's states."""

from itertools import product

import pytest

from tuning.search.run.phases import (
    LIVE,
    MOST_LOSSES,
    TRANSITIONS,
    Event,
    Losses,
    Phase,
    Write,
    after,
    next_attempt,
)

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


def test_losses_are_counted_anew_once_there_is_another_checkpoint() -> None:
    assert Losses().another(steps=0) == Losses(1, 0)
    losses = Losses()
    for _ in range(MOST_LOSSES):
        losses = losses.another(steps=100)
        assert not losses.are_too_many
    assert losses.another(steps=100).are_too_many
    assert losses.another(steps=200) == Losses(1, 200)


def test_a_trial_that_ran_out_of_memory_alone_is_not_tried_again_unless_it_may_save_some() -> None:
    assert [next_attempt(times, adapt=False) for times in (1, 2)] == ["next it is alone on the machine", None]
