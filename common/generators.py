"""Random numbers: seeds of streams that share none, and states of NumPy's generators that come from files."""

import enum
from typing import Any

import numpy as np

_WORDS = 624  # of a Mersenne Twister


class Stream(enum.IntEnum):
    """What random numbers are for. A key is never used again for something else, as results would change.

    NumPy takes `SeedSequence([s, n])` and `SeedSequence([s, n, 0])` for the same, so seeds made of an experiment's seed and
    other numbers may coincide by chance. Here each purpose has a key, which goes into the seed apart from the numbers.

    A trial's own seed has no key here, see `tuning.trial.records.trial_seed`.
    """

    SAMPLER = 1  # Optuna's sampler, for one draw
    PRIOR = 2  # draws around what is known to work
    FRESH = 3  # runs of a judgement
    DECISION = 4  # which trial goes on, where several would gain alike
    CONFIRM = 5  # trainings with fresh seeds at the end of a search
    TRANSFER = 6  # draws from what other experiments found good
    CANDIDATE = 7  # trainings that choose what is trained with fresh seeds at the end of a search


def stream(purpose: Stream, *numbers: int) -> np.random.SeedSequence:
    """Source of the seeds of a stream, from numbers of 0 or more, such as the experiment's seed and a trial's number."""
    return np.random.SeedSequence(numbers, spawn_key=(purpose.value,))


def stream_seed(purpose: Stream, *numbers: int) -> int:
    """Seed of a stream, below 2^32; see `stream`."""
    return int(stream(purpose, *numbers).generate_state(1)[0])


def set_generator(generator: np.random.Generator, state: Any) -> None:
    """Let a generator with PCG64 go on from a state, or raise a ValueError: NumPy takes some that give one number for ever."""
    inner = state.get("state") if isinstance(state, dict) else None
    if not isinstance(inner, dict) or state.get("bit_generator") != "PCG64":
        raise ValueError("a random generator's state is none of PCG64")
    numbers = [inner.get("state"), inner.get("inc")]
    # An even increment has a short period; with 0 the same number comes for ever.
    if not all(type(number) is int and 0 <= number < 2**128 for number in numbers) or not inner["inc"] % 2:
        raise ValueError("a random generator's state has numbers that PCG64 never has")
    generator.bit_generator.state = state


def check_twister(words: Any, position: Any) -> None:
    """Check the state of one or several Mersenne Twisters. One of zeros alone gives the same number for ever.

    Args:
        words: shape (..., 624), uint32.
        position: of the next word, a whole number from 0 to 624 for each.

    Raises:
        ValueError: if it is no such state.
    """
    if not isinstance(words, np.ndarray) or words.dtype != np.uint32 or words.shape[-1:] != (_WORDS,):
        raise ValueError("the words of a random generator are no 624 numbers of uint32")
    places = np.asarray(position)
    if places.dtype.kind not in "iu" or not ((places >= 0) & (places <= _WORDS)).all() or not words.any(axis=-1).all():
        raise ValueError("a random generator's state has numbers that a Mersenne Twister never has")
