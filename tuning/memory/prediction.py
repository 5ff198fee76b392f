"""The predicted memory of a trial: its terms, their sums, and bytes as text."""

from __future__ import annotations

from dataclasses import dataclass

from common.units import GIB, KIB, MIB
from tuning.algorithms.memory_terms import PLACES, Place, Term, total

__all__ = ["PLACES", "Place", "Prediction", "Term", "size"]


@dataclass(frozen=True)
class Prediction:
    """Predicted memory of a trial.

    Attributes:
        terms: of its memory; their sum is what it takes at its worst moment.
        cores: that it uses.
        correction: factor of the terms from earlier trials of this algorithm on this machine, by place.
    """

    terms: tuple[Term, ...]
    cores: int = 1
    correction: tuple[float, float] = (1.0, 1.0)

    def uncorrected(self, place: Place) -> int:
        """Sum of the terms of a place, bytes."""
        return total(self.terms, place)

    def nbytes(self, place: Place) -> int:
        """Bytes of a place: the terms with their correction."""
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
    """Bytes as text: two decimals of a GiB, or one of a MiB or KiB."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB")):
        if abs(nbytes) >= unit:
            return f"{nbytes / unit:,.2f} {name}" if unit == GIB else f"{nbytes / unit:,.1f} {name}"
    return f"{nbytes / KIB:,.1f} KiB"
