"""Whether and how a trial that did not reach its end is tried again."""

from __future__ import annotations

from dataclasses import dataclass

from tuning.memory.planner import FALLBACKS, Fallback

# A process may die with its node, or be killed by the system, any number of times as long as its trial gets new checkpoints.
MOST_LOSSES = 5  # in a row without a new checkpoint


@dataclass(frozen=True)
class Losses:
    """Losses of a trial's process in a row, without a new checkpoint between them.

    Attributes:
        times: how many.
        steps: of the newest checkpoint at the last one.
    """

    times: int = 0
    steps: int = -1

    def another(self, steps: int) -> Losses:
        """One loss more.

        Args:
            steps: of the newest checkpoint now.
        """
        return Losses(self.times + 1 if steps == self.steps else 1, steps)

    @property
    def are_too_many(self) -> bool:
        """Whether the trial fails and is not tried again."""
        return self.times > MOST_LOSSES


def memory_saving(times_out_of_memory: int) -> Fallback:
    """How a trial saves memory after it ran out of it some times.

    The first time other trials ran beside it, the second time it was alone. It saves memory only after that.
    """
    return FALLBACKS[min(max(times_out_of_memory - 1, 0), len(FALLBACKS) - 1)]


def next_attempt(times_out_of_memory: int, adapt: bool) -> str | None:
    """The next attempt of a trial that ran out of memory, in words; None if there is none.

    Args:
        times_out_of_memory: how often it ran out of memory, at least once.
        adapt: whether it may save memory, see `tuning.memory.planner`.
    """
    if times_out_of_memory == 1:
        return "next it is alone on the machine"
    if adapt and times_out_of_memory < len(FALLBACKS) + 1:
        return f"next with {FALLBACKS[times_out_of_memory - 1].name}"
    return None
