"""Seeds of random streams that share no numbers.

NumPy takes `SeedSequence([s, n])` and `SeedSequence([s, n, 0])` for the same, so seeds made of an experiment's seed and other
numbers may coincide by chance. Here each purpose has a key of its own, which goes into the seed apart from the numbers.
"""

from __future__ import annotations

import enum

import numpy as np


class Stream(enum.IntEnum):
    """What random numbers are for. A key is never used again for something else, as results would change.

    A trial's own seed has no key here, see `tuning.trial.records.trial_seed`.
    """

    SAMPLER = 1  # Optuna's sampler, for one draw
    PRIOR = 2  # draws around what is known to work
    FRESH = 3  # runs of a judgement
    DECISION = 4  # which trial goes on, where several would gain alike
    CONFIRM = 5  # trainings with fresh seeds at the end of a search
    TRANSFER = 6  # draws from what other experiments found good
    CANDIDATE = 7  # trainings that choose what is trained with fresh seeds at the end of a search


def stream(of: Stream, *numbers: int) -> np.random.SeedSequence:
    """Source of the seeds of a stream.

    Args:
        of: what they are for.
        numbers: such as the experiment's seed and a trial's number, each 0 or more.
    """
    return np.random.SeedSequence(numbers, spawn_key=(of.value,))


def stream_seed(of: Stream, *numbers: int) -> int:
    """Seed of a stream, below 2^32; see `stream`."""
    return int(stream(of, *numbers).generate_state(1)[0])
