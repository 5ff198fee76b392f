"""What a prediction consists of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Place = Literal["vram", "ram"]
PLACES: tuple[Place, ...] = ("vram", "ram")

KIB, MIB, GIB = 2**10, 2**20, 2**30


@dataclass(frozen=True)
class Term:
    """One thing that takes memory.

    Attributes:
        name: what it is.
        place: where it lies.
        nbytes: how much of it.
        formula: where the number comes from, in words or as a product.
        lever: hyperparameter or option that makes it smaller; empty where there is none.
    """

    name: str
    place: Place
    nbytes: int
    formula: str
    lever: str = ""


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
        return sum(term.nbytes for term in self.terms if term.place == place)

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


def total(terms: Iterable[Term], place: Place) -> int:
    """Sum of the terms of a place, bytes."""
    return sum(term.nbytes for term in terms if term.place == place)
