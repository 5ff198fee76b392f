"""What an algorithm consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from search_spaces import Assignment, SearchSpace
from search_spaces.presets import preset

if TYPE_CHECKING:
    from tuning.algorithms.memory import Problem, Term, Workload
    from tuning.algorithms.trainer import Setup, Trainer

DEFAULT = "default"  # the preset that every algorithm has: the first trial of a search, and the control of a judgement


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
        """Full assignment of a preset. Raises `SpaceError` if there is no such name, or if values contradict each other."""
        return preset(self.name, self.presets, name, self.space, given, limits)
