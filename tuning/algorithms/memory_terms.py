"""What the predicted memory of a trial consists of: the terms that algorithms give and those that they share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from common.units import FLOAT, MIB

Place = Literal["vram", "ram"]
PLACES: tuple[Place, ...] = ("vram", "ram")

WRITE_BYTES: Final = 16 * MIB  # of an array that NumPy copies at once on its way to a file


@dataclass(frozen=True)
class Term:
    """One thing that takes memory.

    Attributes:
        name: what it is.
        place: where it lies.
        nbytes: how much of it.
        formula: where the number comes from, in words or as a product.
        lever: hyperparameter or option that makes it smaller; empty where there is none.
        passing: whether it is there only while gradients are computed.
    """

    name: str
    place: Place
    nbytes: int
    formula: str
    lever: str = ""
    passing: bool = False


@dataclass(frozen=True)
class Workload:
    """What of a trial's settings its memory depends on beside the hyperparameters.

    Attributes:
        num_envs: copies of the site, as many as the trial steps.
        steps: budget in environment steps.
        reports: evaluations.
        windows: of an evaluation, stepped side by side.
        gpu: whether the learner uses a GPU.
        parts: pieces that a minibatch's gradient is summed up from.
        lessons: hours of each run that a teacher demonstrates before it learns on; none without a teacher.
    """

    num_envs: int
    steps: int
    reports: int
    windows: int
    gpu: bool
    parts: int = 1
    lessons: tuple[int, ...] = ()

    @property
    def learner(self) -> Place:
        """Where the learner's tensors lie."""
        return "vram" if self.gpu else "ram"


def total(terms: Iterable[Term], place: Place) -> int:
    """Sum of the terms of a place, bytes."""
    return sum(term.nbytes for term in terms if term.place == place)


def network_terms(parameters: int, trained: int, slots: int, targets: int, place: Place) -> list[Term]:
    """Networks with their gradients and optimizers.

    Args:
        parameters: numbers in the networks.
        trained: of these, numbers that an optimizer moves.
        slots: numbers that the optimizer keeps for each: 1 for RMSprop, 2 for Adam.
        targets: numbers in target networks.
        place: where they lie.
    """
    optimizer = {1: "RMSprop: squares", 2: "Adam: means and squares"}[slots]
    lever = "hidden_sizes"
    terms = [
        Term("weights", place, FLOAT * parameters, f"{parameters:,} x 4 B", lever),
        Term("gradients", place, FLOAT * trained, f"{trained:,} x 4 B", lever),
        Term("optimizer", place, FLOAT * slots * trained, f"{slots} x {trained:,} x 4 B ({optimizer})", lever),
    ]
    return terms + ([Term("target networks", place, FLOAT * targets, f"{targets:,} x 4 B", lever)] if targets else [])


def checkpoint_term(numbers: int, new: int, terms: Sequence[Term]) -> Term:
    """What a checkpoint takes above what gradients take at other times: the two never come together.

    Args:
        numbers: in the saved networks and optimizers.
        new: bytes of transitions that are written.
        terms: of the algorithm so far.
    """
    # New transitions are copied and written in pieces, then the networks are copied.
    own = max(FLOAT * numbers, new + min(new, WRITE_BYTES))
    passing = total((term for term in terms if term.passing), "ram")
    words = f"the larger of {numbers:,} x 4 B and {new:,} B of new transitions with what is on its way to the file"
    return Term("checkpoint", "ram", max(0, own - passing), f"{words}, above activations, working memory and batches")
