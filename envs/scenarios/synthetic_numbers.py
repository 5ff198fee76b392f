"""Numbers of synthetic years: each holds the version of the recombination, the seed and the index of the year."""

from __future__ import annotations

VERSION = 1  # raise it when a change of the code changes synthetic years
_INDICES, _VERSIONS = 10**5, 10**3
# Years of generated sites are below a million.
_FIRST = _INDICES * _VERSIONS


def synthetic_number(seed: int, index: int) -> int:
    """Number of a synthetic year, as unlike those of real years as of other seeds and versions.

    Args:
        seed: of the experiment.
        index: 0 for the first copy of the first training year; copies of all years follow one another.
    """
    return _FIRST * (seed + 1) + _INDICES * VERSION + index


def is_synthetic(year: int) -> bool:
    """Whether a number is one of `synthetic_number`."""
    return year >= _FIRST


def seed_and_index(year: int) -> tuple[int, int]:
    """Seed and index of a synthetic year."""
    return year // _FIRST - 1, year % _INDICES
