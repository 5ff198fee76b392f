"""The states of a trial in the driver, and what leads from one to the other: one table."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """Where a trial is, as this run sees it."""

    WAITING = "waiting"  # to be handed out
    RUNNING = "running"  # handed out: it has a process, or waits for a place
    LEAVING = "leaving"  # told to write a checkpoint and end, as its node goes
    WITHDRAWN = "withdrawn"  # to be taken back from Ray Tune, where it waits for a place
    STOPPING = "stopping"  # told by the pruner to stop for good
    YIELDING = "yielding"  # told to stop, as another trial goes on in its place
    FROZEN = "frozen"
    LEFT = "left to the next run"
    ENDED = "ended"


class Event(StrEnum):
    """What happens to a trial."""

    HANDED_OUT = "is handed out"
    SENT_AWAY = "is told to leave its node"
    WITHDRAWN = "is withdrawn"
    BEGAN = "began before it was withdrawn"
    STOPPED = "is stopped for good"
    YIELDED = "gives way"
    REFUSED = "fits no node any more"
    # Its process ended:
    DONE = "came to the end of what it was to do"
    DIVERGED = "came to its end without a value"
    PUT_ASIDE = "was stopped as the search is over"
    RETURNED = "was taken back before it began"
    INTERRUPTED = "was stopped with the run"
    TRIED_AGAIN = "did not get to its end, and may try again"
    FAILED = "did not get to its end, and may not try again"
    TOO_LARGE = "ran out of memory, and may not try again"


class Write(StrEnum):
    """What is written of it."""

    NOTHING = "nothing"
    BEGIN = "begin"
    LEAVE = "leave"  # the study has it as running
    FREEZE = "freeze"
    COMPLETE = "complete"
    PRUNE = "prune"
    FAIL = "fail"
    OUT_OF_MEMORY = "out of memory"


LIVE = (Phase.RUNNING, Phase.LEAVING, Phase.WITHDRAWN, Phase.STOPPING, Phase.YIELDING)
_TRAINS = (Phase.RUNNING, Phase.LEAVING, Phase.WITHDRAWN)

# From which phases, to which, and what is written.
_ROWS: dict[Event, tuple[tuple[Phase, ...], Phase, Write]] = {
    Event.HANDED_OUT: ((Phase.WAITING,), Phase.RUNNING, Write.BEGIN),
    Event.SENT_AWAY: ((Phase.RUNNING,), Phase.LEAVING, Write.NOTHING),
    Event.WITHDRAWN: ((Phase.RUNNING,), Phase.WITHDRAWN, Write.NOTHING),
    Event.BEGAN: ((Phase.WITHDRAWN,), Phase.RUNNING, Write.NOTHING),
    Event.STOPPED: (_TRAINS, Phase.STOPPING, Write.NOTHING),
    Event.YIELDED: (_TRAINS, Phase.YIELDING, Write.NOTHING),
    Event.REFUSED: ((Phase.WAITING,), Phase.ENDED, Write.OUT_OF_MEMORY),
    Event.DONE: (_TRAINS, Phase.ENDED, Write.COMPLETE),
    Event.DIVERGED: (_TRAINS, Phase.ENDED, Write.FAIL),
    Event.PUT_ASIDE: (LIVE, Phase.FROZEN, Write.FREEZE),
    Event.RETURNED: (LIVE, Phase.WAITING, Write.NOTHING),
    Event.INTERRUPTED: (LIVE, Phase.LEFT, Write.LEAVE),
    Event.TRIED_AGAIN: (LIVE, Phase.WAITING, Write.LEAVE),
    Event.FAILED: (LIVE, Phase.ENDED, Write.FAIL),
    Event.TOO_LARGE: (LIVE, Phase.ENDED, Write.OUT_OF_MEMORY),
}
TRANSITIONS: dict[tuple[Phase, Event], tuple[Phase, Write]] = {
    (phase, event): (after, write) for event, (before, after, write) in _ROWS.items() for phase in before
} | {
    (Phase.STOPPING, Event.DONE): (Phase.ENDED, Write.PRUNE),
    (Phase.YIELDING, Event.DONE): (Phase.FROZEN, Write.FREEZE),
    (Phase.STOPPING, Event.DIVERGED): (Phase.ENDED, Write.PRUNE),
    (Phase.YIELDING, Event.DIVERGED): (Phase.FROZEN, Write.FREEZE),
}


def after(phase: Phase, event: Event) -> tuple[Phase, Write]:
    """The next phase of a trial, and what is written.

    Raises:
        ValueError: where that cannot happen.
    """
    if (phase, event) not in TRANSITIONS:
        raise ValueError(f"a trial that is {phase} cannot be one that {event}")
    return TRANSITIONS[phase, event]
