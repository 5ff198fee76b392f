"""The trials of a run and their states: what leads from one to the other, and how often a trial is tried again."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Set
from dataclasses import dataclass, field
from enum import StrEnum

from envs.objective.aim import Outcome
from tuning.memory.planner import FALLBACKS, Fallback
from tuning.trial.protocol import Proposal


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
    """The next phase of a trial, and what is written. Raises a ValueError where that cannot happen."""
    if (phase, event) not in TRANSITIONS:
        raise ValueError(f"a trial that is {phase} cannot be one that {event}")
    return TRANSITIONS[phase, event]


# A process may die with its node, or be killed by the system, any number of times as long as its trial gets new checkpoints. So
# may Ray, as long as any trial takes steps.
MOST_LOSSES = 5  # in a row without that


@dataclass(frozen=True)
class Losses:
    """Losses of a trial's process in a row without a new checkpoint between them, or of Ray without a step."""

    times: int = 0
    steps: int = -1

    def another(self, steps: int) -> Losses:
        """One loss more."""
        return Losses(self.times + 1 if steps == self.steps else 1, steps)

    @property
    def are_too_many(self) -> bool:
        """Whether it is not tried again."""
        return self.times > MOST_LOSSES


def memory_saving(times_out_of_memory: int) -> Fallback:
    """How a trial saves memory after it ran out of it some times.

    The first time other trials ran beside it, the second time it was alone. It saves memory only after that.
    """
    return FALLBACKS[min(max(times_out_of_memory - 1, 0), len(FALLBACKS) - 1)]


def next_attempt(times_out_of_memory: int, adapt: bool) -> str | None:
    """The next attempt of a trial that ran out of memory, in words; None if there is none.

    `adapt` says whether it may save memory.
    """
    if times_out_of_memory == 1:
        return "next it is alone on the machine"
    if adapt and times_out_of_memory < len(FALLBACKS) + 1:
        return f"next with {FALLBACKS[times_out_of_memory - 1].name}"
    return None


NO_OUTCOME = Outcome(math.nan)


@dataclass
class RunningTrial:
    """A trial of this run."""

    proposal: Proposal  # the trial
    phase: Phase = Phase.WAITING  # where it is
    losses: Losses = field(default_factory=Losses)  # of its process, since its last new checkpoint
    is_alone: bool = False  # whether nothing runs beside it, as it ran out of memory
    is_thawed: bool = False  # whether it went on in this run, and was not evaluated again since
    outcome: Outcome = NO_OUTCOME  # of its last evaluation in this run


class RunningTrials:
    """The trials of this run that wait or run, by number."""

    def __init__(self) -> None:
        self._trials: dict[int, RunningTrial] = {}
        self.queue: deque[int] = deque()  # those that wait, in this order

    def __getitem__(self, number: int) -> RunningTrial:
        return self._trials[number]

    def numbers(self, *phases: Phase) -> Set[int]:
        """Numbers of the trials in some phases."""
        return {number for number, trial in self._trials.items() if trial.phase in phases}

    @property
    def are_in_the_way(self) -> bool:
        """Whether the next trial has to wait, as it or one that runs is to be alone."""
        running = self.numbers(*LIVE)
        return bool(running) and any(self._trials[number].is_alone for number in (self.queue[0], *running))

    def wait(self, trial: RunningTrial) -> None:
        """Add a trial to those that wait."""
        self._trials[trial.proposal.number] = trial
        self.queue.append(trial.proposal.number)

    def move(self, number: int, event: Event) -> Write:
        """Something happens to a trial; what is to be written of it."""
        trial = self._trials[number]
        trial.phase, write = after(trial.phase, event)
        return write

    def forget(self, number: int) -> None:
        """Forget a trial that ended or was frozen: Tune asks at each pass of its loop which trials run."""
        if self._trials[number].phase in (Phase.ENDED, Phase.FROZEN):
            del self._trials[number]
