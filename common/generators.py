"""States of NumPy's random generators that come from files: checked, as NumPy itself takes some that never end or crash."""

from __future__ import annotations

from typing import Any

import numpy as np

_WORDS = 624  # of a Mersenne Twister


def set_generator(generator: np.random.Generator, state: Any) -> None:
    """Let a generator go on from a state of its own kind.

    Args:
        generator: with PCG64, as `numpy.random.default_rng` makes it.
        state: of `generator.bit_generator.state`.

    Raises:
        ValueError: if it is no such state.
    """
    own = state.get("state") if isinstance(state, dict) else None
    if not isinstance(own, dict) or state.get("bit_generator") != "PCG64":
        raise ValueError("a random generator's state is none of PCG64")
    numbers = [own.get("state"), own.get("inc")]
    # An even increment has a short period; with 0 the same number comes for ever.
    if not all(type(number) is int and 0 <= number < 2**128 for number in numbers) or not own["inc"] % 2:
        raise ValueError("a random generator's state has numbers that PCG64 never has")
    generator.bit_generator.state = state


def check_twister(words: Any, position: Any) -> None:
    """Check the state of a Mersenne Twister, or of several.

    Args:
        words: shape (..., 624), uint32.
        position: of the next word, a whole number from 0 to 624 for each.

    Raises:
        ValueError: if it is no such state; one of zeros alone gives the same number for ever.
    """
    if not isinstance(words, np.ndarray) or words.dtype != np.uint32 or words.shape[-1:] != (_WORDS,):
        raise ValueError("the words of a random generator are no 624 numbers of uint32")
    places = np.asarray(position)
    if places.dtype.kind not in "iu" or not ((places >= 0) & (places <= _WORDS)).all() or not words.any(axis=-1).all():
        raise ValueError("a random generator's state has numbers that a Mersenne Twister never has")
