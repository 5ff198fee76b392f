"""What a budget of steps is expected to take, weighed by what steps cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from search_spaces import Assignment
from tuning.search.promotion.confirmation import NOT_TRIED
from tuning.search.promotion.last_part import LastPart
from tuning.search.record.costs import Costs
from tuning.search.record.ledger import Ledger

T = TypeVar("T", float, NDArray[np.float64])


def weighed(left: T, usual: T, confirming: T, of_confirming: T) -> T:
    """Steps of the default that cost as much as what is left of a budget of steps; numbers, or arrays of one shape.

    Args:
        left: steps of the budget.
        usual: mean cost of a step of the search.
        confirming: those of the steps left that confirm.
        of_confirming: mean cost of a step of these.
    """
    return (left - confirming) * usual + confirming * of_confirming


@dataclass(frozen=True)
class Work:
    """Weighs the steps of a search by what they cost. It tells the time that is left, and decides nothing.

    A budget of steps counts each step alike, and so do decisions under it. The time that a step takes differs all the same, by
    a formula. So the pace is that of weighed steps, and what is known of the steps to come counts with its own cost: the last
    part of the budget trains the default and the best again.

    Attributes:
        ledger: of the budget.
        costs: of trials by formula, whatever the budget counts.
        last_part: that confirms; None where none does.
    """

    ledger: Ledger
    costs: Costs
    last_part: LastPart | None = None

    def used(self) -> float:
        """What was used of the budget, in its unit."""
        return self.ledger.used()

    def done(self) -> float:
        """Steps of the default that would have cost as much as those of all trials so far."""
        trials = self.ledger.memory.trials()
        return sum(steps * self.costs.of(trials[number]) for number, steps in self._steps().items())

    def ahead(self) -> float:
        """Steps of the default that are expected to cost as much as what is left of a budget of steps.

        Those of the confirmation cost what its trainings cost. Those of the search cost what all so far do on average: draws to
        come are not known.
        """
        used = sum(self._steps().values())
        if not used:
            return self.ledger.steps_left()
        confirming, costs = 0.0, list[float]()
        if self.last_part:
            confirming, contenders = self.last_part.expected()
            costs = self._of_contenders(contenders, self.last_part.confirmation.default)
        usual = self.done() / used
        return weighed(self.ledger.steps_left(), usual, confirming, sum(costs) / len(costs) if costs else usual)

    def _of_contenders(self, numbers: Sequence[int], default: Assignment) -> list[float]:
        """Cost of a step of each of these trials, or of the default; see `LastPart.expected`."""
        trials = self.ledger.memory.trials()
        return [
            self.costs.of_assignment(default) if number == NOT_TRIED else self.costs.of(trials[number]) for number in numbers
        ]

    def _steps(self) -> dict[int, int]:
        return self.ledger.memory.used_steps(self.ledger.rung_steps)
