"""What a step of a trial is expected to cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from search_spaces import Assignment, SearchSpace
from tuning.experiment.budget import Budget
from tuning.search.record.trials import HYPERPARAMETERS, OfTrials


@dataclass(frozen=True)
class Costs:
    """Expected seconds of a step, in units of the default's.

    They come from a formula, as decisions must not depend on the clock.

    Attributes:
        space: of the experiment.
        of_assignment: cost of a whole assignment, above 0.
    """

    space: SearchSpace
    of_assignment: Callable[[Assignment], float] = lambda assignment: 1.0

    @classmethod
    def under(cls, budget: Budget | None, space: SearchSpace, of_assignment: Callable[[Assignment], float]) -> Self:
        """Costs by a budget: a budget of steps, or none, counts each step alike.

        Args:
            budget: of the search.
            space: see the class, as for the following.
            of_assignment: see there.
        """
        return cls(space, of_assignment) if budget and budget.is_time else cls(space)

    @cached_property
    def assignment(self) -> OfTrials[Assignment]:
        """Whole assignment of a trial."""
        return OfTrials(lambda trial: self.space.whole(trial.user_attrs[HYPERPARAMETERS]))

    @cached_property
    def of(self) -> OfTrials[float]:
        """Cost of a trial."""
        return OfTrials(lambda trial: self.of_assignment(self.assignment(trial)))
