"""How long a search with a budget will still take, from what its trials have reported and from what their steps cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tuning.experiment.option_values import Budget
from tuning.search.promotion.choosing import LastPart
from tuning.search.promotion.confirmation import NOT_TRIED
from tuning.search.record.ledger import Ledger
from tuning.search.record.trials import Costs

LEAST_SECONDS = 60.0  # that a pace is measured over
T = TypeVar("T", float, NDArray[np.float64])


class BudgetLeft:
    """Estimates the time until a budget is spent; for steps by the pace of all trials together.

    The pace is that of the last half of the time, as it changes: a machine gets busier, and trials have to be built.
    Steps are weighed by what they cost, so it does not change with what the trials of that half cost.
    """

    def __init__(self, budget: Budget, spent: Work, clock: Callable[[], float]) -> None:
        """Begin to measure."""
        self._budget, self._spent, self._clock = budget, spent, clock
        self._used = 0.0  # at the last evaluation
        self._samples: list[tuple[float, float]] = []  # time, and what was done then
        self._ahead = 0.0  # then

    def on_report(self) -> None:
        """A trial has reported."""
        used = self._spent.used()
        # Before the first evaluation processes started, which is no pace.
        if not self._budget.is_time and used > self._used:
            self._used, self._ahead = used, self._spent.ahead()
            self._samples.append((self._clock(), self._spent.done()))

    def seconds(self) -> float | None:
        """Time until the budget is spent; None before there is a pace."""
        if self._budget.is_time:
            return max(0.0, self._budget.amount - self._spent.used())
        if len(self._samples) < 2:
            return None
        last, done = self._samples[-1]
        begun = last - max(LEAST_SECONDS, (last - self._samples[0][0]) / 2.0)
        since, before = next(
            sample for sample in reversed(self._samples[:-1]) if sample[0] <= begun or sample is self._samples[0]
        )
        # What has passed since the last evaluation is time in which the next ones got nearer.
        return max(0.0, self._ahead * (last - since) / (done - before) - (self._clock() - last))


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
    """

    ledger: Ledger  # of the budget
    costs: Costs  # of trials by formula, whatever the budget counts
    last_part: LastPart | None = None  # that confirms; None where none does

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
            default = self.costs.of_assignment(self.last_part.confirmation.default)
            trials = self.ledger.memory.trials()
            costs = [default if number == NOT_TRIED else self.costs.of(trials[number]) for number in contenders]
        usual = self.done() / used
        return weighed(self.ledger.steps_left(), usual, confirming, sum(costs) / len(costs) if costs else usual)

    def _steps(self) -> dict[int, int]:
        return self.ledger.memory.used_steps(self.ledger.rung_steps)
