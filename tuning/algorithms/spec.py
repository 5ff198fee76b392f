"""What an algorithm consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from common.texts import hint
from search_spaces import Assignment, SearchSpace, SpaceError

if TYPE_CHECKING:
    from tuning.algorithms.memory import Problem, Term, Workload
    from tuning.algorithms.trainer import Setup, Trainer

DEFAULT = "default"  # the preset that every algorithm has: the first trial of a search, and the control of a judgement
# What is known to work, rather than what somebody ran: these values give way to the budget and to given ones, as defaults do.
RECOMMENDED = (DEFAULT, "several-buildings", "planned")


@dataclass(frozen=True)
class AlgorithmSpec:
    """An algorithm: everything that the rest of the tuner has to know of it.

    Attributes:
        copies: number of copies of the site that it steps at once, from a full assignment and an upper bound.
        memory: its own terms of the predicted memory: networks, gradients, what it stores. It gets a full assignment.
        seconds: expected seconds of an environment step on one core, from a full assignment. Only ratios between assignments
            matter; by default all cost the same.

    Raises:
        ValueError: if there is no preset `default`.
    """

    name: str  # on the command line, in results and in messages
    space: SearchSpace
    presets: Mapping[str, Assignment]  # named assignments; each sets some hyperparameters, `default` usually none
    build: Callable[[Setup], Trainer]  # builds its trainer; imports what is heavy
    copies: Callable[[Assignment, int], int]
    memory: Callable[[Assignment, Workload, Problem], Sequence[Term]]
    seconds: Callable[[Assignment, Problem], float] = lambda assignment, problem: 1.0
    can_be_taught: bool = False  # whether its policies can begin as a copy of a teacher, see `Trainer.imitate`

    def __post_init__(self) -> None:
        if DEFAULT not in self.presets:
            raise ValueError(f"{self.name} has no preset {DEFAULT}")

    def preset(
        self, name: str, given: Assignment | None = None, limits: Mapping[str, float] = MappingProxyType({})
    ) -> Assignment:
        """Full assignment of a preset.

        Args:
            name: of the preset.
            given: values that override the preset's.
            limits: see `SearchSpace.check`.

        Raises:
            SpaceError: if there is no such preset, with the nearest name; or if the values contradict each other.
        """
        if name not in self.presets:
            raise SpaceError(f"no preset {name} of {self.name}: {hint(name, self.presets)}")
        own, given = self.presets[name], given or {}
        gives_way = name in RECOMMENDED
        values = self.space.complete(given if gives_way else {**own, **given}, limits, own if gives_way else None)
        self.space.check(values, limits)
        return values
