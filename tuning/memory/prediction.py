"""The predicted memory of a trial: its terms, their sums, and bytes as text."""

from __future__ import annotations

from dataclasses import dataclass

from common.units import GIB, KIB, MIB
from tuning.algorithms.memory_terms import PLACES, Place, Term, total

__all__ = ["PLACES", "Place", "Prediction", "Term", "size"]


@dataclass(frozen=True)
class Prediction:
    """What a trial takes, before it runs.

    Attributes:
        terms: of its memory; their sum is what it takes at its worst moment.
        cores: that it keeps busy.
        correction: factor by which trials of this algorithm on this machine took more or less than their terms, by place.
    """

    terms: tuple[Term, ...]
    cores: int = 1
    correction: tuple[float, float] = (1.0, 1.0)

    def uncorrected(self, place: Place) -> int:
        """Sum of the terms of a place, bytes."""
        return total(self.terms, place)

    def nbytes(self, place: Place) -> int:
        """What it takes of a place, bytes: the terms with their correction."""
        return round(self.uncorrected(place) * self.correction[PLACES.index(place)])

    @property
    def vram(self) -> int:
        """GPU memory, bytes; 0 for a trial without a GPU."""
        return self.nbytes("vram")

    @property
    def ram(self) -> int:
        """Host memory, bytes."""
        return self.nbytes("ram")

    def largest(self, place: Place) -> Term:
        """The term that takes most of a place."""
        return max((term for term in self.terms if term.place == place), key=lambda term: term.nbytes)


def size(nbytes: float) -> str:
    """Bytes for people: two decimals of a GiB, or MiB, or KiB."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB")):
        if abs(nbytes) >= unit:
            return f"{nbytes / unit:,.2f} {name}" if unit == GIB else f"{nbytes / unit:,.1f} {name}"
    return f"{nbytes / KIB:,.1f} KiB"
