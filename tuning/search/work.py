"""What a budget of steps is expected to take, weighed by what steps cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuning.search.confirmation import NOT_TRIED
from tuning.search.costs import Costs
from tuning.search.last_part import LastPart
from tuning.search.ledger import Ledger


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
        confirming, numbers = self.last_part.expected() if self.last_part else (0.0, [])
        return (self.ledger.steps_left() - confirming) * self.done() / used + confirming * self._of_contenders(numbers)

    def _of_contenders(self, numbers: Sequence[int]) -> float:
        """Mean cost of a step of these assignments; see `LastPart.expected`."""
        if not self.last_part or not numbers:
            return 1.0
        trials, default = self.ledger.memory.trials(), self.last_part.confirmation.default
        each = [
            self.costs.of_assignment(default) if number == NOT_TRIED else self.costs.of(trials[number]) for number in numbers
        ]
        return sum(each) / len(each)

    def _steps(self) -> dict[int, int]:
        return self.ledger.memory.used_steps(self.ledger.rung_steps)
