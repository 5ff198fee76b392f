"""How long a search will still take, from what its trials have reported and from what their steps cost."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from search_spaces import Assignment
from tuning.experiment.option_values import Budget
from tuning.search.promotion.choosing import LastPart
from tuning.search.promotion.confirmation import NOT_TRIED
from tuning.search.record.ledger import Ledger
from tuning.search.record.trials import Costs

LEAST_SECONDS = 60.0  # that a pace is measured over
T = TypeVar("T", float, NDArray[np.float64])


@dataclass
class _Trial:
    """A trial that runs.

    Attributes:
        steps: that it has taken.
        takes_over: whether it has the process of one that ended.
        reported: when it had taken these; None before its first report.
        measured_steps: between its first report and its last one.
        measured_seconds: for these.
    """

    steps: int
    takes_over: bool
    reported: float | None = None
    measured_steps: int = 0
    measured_seconds: float = 0.0

    def pace(self, default: float) -> float:
        """Seconds a step; the default, if it has not been measured."""
        return self.measured_seconds / self.measured_steps if self.measured_steps else default


class TimeLeft:
    """Estimates the time from the pace of trials, each its own, which is measured between two reports of a trial.

    What the first report of a trial took longer than by this pace is the time in which it was built. Trials that have not begun
    will take it too, but not as long as the first ones, for which processes imported torch and compiled code. Before there are
    two reports, the first ones give the pace: too slow a one, as it includes building.

    Attributes:
        measured_steps: of all trials, between the first report of each and its last one.
        measured_seconds: for these.
    """

    def __init__(
        self, trials: int, steps: int, ended_steps: list[int], unfinished: dict[int, int], clock: Callable[[], float]
    ) -> None:
        """Begin with what earlier runs have left.

        Args:
            trials: number of trials of the search.
            steps: budget of each.
            ended_steps: that each ended trial has taken.
            unfinished: steps that each of the other trials has taken, by number.
            clock: time, seconds.
        """
        self._trials, self._steps, self._clock = trials, steps, clock
        self._ended_steps, self._waiting = list(ended_steps), dict(unfinished)
        self._running: dict[int, _Trial] = {}
        self._at_once = 1  # trials; the most so far
        self._firsts: list[tuple[int, float]] = []  # steps and seconds of first reports
        self._later_firsts: list[tuple[int, float]] = []  # those of trials that took over a process
        self.measured_steps, self.measured_seconds = 0, 0.0

    def on_start(self, number: int) -> None:
        """A trial was started."""
        self._running[number] = _Trial(self._waiting.pop(number, 0), bool(self._firsts) and len(self._running) < self._at_once)
        self._at_once = max(self._at_once, len(self._running))

    def on_report(self, number: int, steps: int, seconds: float) -> None:
        """A trial has taken so many steps, and so many seconds since its function began in its process."""
        now, trial = self._clock(), self._running.get(number)
        if trial is None:
            return
        taken = steps - trial.steps
        if trial.reported is None:
            self._firsts.append((taken, seconds))
            if trial.takes_over:
                self._later_firsts.append((taken, seconds))
        elif taken > 0:
            for whole in (self, trial):
                whole.measured_steps += taken
                whole.measured_seconds += now - trial.reported
        trial.steps, trial.reported = steps, now

    def on_left(self, number: int) -> None:
        """A trial has stopped running and will be continued."""
        if trial := self._running.pop(number, None):
            self._waiting[number] = trial.steps

    def on_ended(self, number: int) -> None:
        """A trial has ended."""
        trial = self._running.pop(number, None)
        self._ended_steps.append(trial.steps if trial else self._waiting.pop(number, 0))

    def seconds(self) -> float | None:
        """Time until the last trial ends; None before the first report with a step.

        Trials that have not begun are expected to take as many steps as those that ended. Pruned ones take fewer.
        """
        pace = self._pace()
        if pace is None:
            return None
        later = [max(0.0, seconds - taken * pace) for taken, seconds in self._later_firsts]
        building = sum(later) / len(later) if later else 0.0
        now = self._clock()
        ends = [
            max(
                0.0,
                (self._steps - trial.steps) * trial.pace(pace) + (building if trial.reported is None else trial.reported - now),
            )
            for trial in self._running.values()
        ]
        unseen = max(0, self._trials - len(self._ended_steps) - len(self._running) - len(self._waiting))
        expected = sum(self._ended_steps) / len(self._ended_steps) if self._ended_steps else self._steps
        waiting = [max(0, self._steps - steps) for steps in self._waiting.values()]
        ends += [0.0] * (self._at_once - len(ends))
        heapq.heapify(ends)
        for steps in [*waiting, *[min(expected, self._steps)] * unseen]:
            heapq.heapreplace(ends, ends[0] + building + steps * pace)
        return max(ends)

    @property
    def is_bound(self) -> bool:
        """Whether the estimate is only known not to be too low."""
        return not self.measured_steps

    def _pace(self) -> float | None:
        """Seconds a step of a trial; None before the first report with a step."""
        if self.measured_steps:
            return self.measured_seconds / self.measured_steps
        steps = sum(taken for taken, _ in self._firsts)
        return sum(seconds for _, seconds in self._firsts) / steps if steps else None


class Spent(Protocol):
    """Knows what a search has used of its budget, and what that costs."""

    def used(self) -> float:
        """In the budget's unit, over all its runs."""

    def done(self) -> float:
        """Steps of all trials so far, weighed by what they cost."""

    def ahead(self) -> float:
        """Steps that a budget of steps has left, weighed by what they are expected to cost."""


class BudgetLeft:
    """Estimates the time until a budget is spent; for steps by the pace of all trials together.

    The pace is that of the last half of the time, as it changes: a machine gets busier, and trials have to be built.
    Steps are weighed by what they cost, so it does not change with what the trials of that half cost.

    Attributes:
        is_bound: whether the estimate is only known not to be too low.
    """

    is_bound = False

    def __init__(self, budget: Budget, spent: Spent, clock: Callable[[], float]) -> None:
        """Begin to measure.

        Args:
            budget: of the search.
            spent: what was used of it so far.
            clock: time, seconds.
        """
        self._budget, self._spent, self._clock = budget, spent, clock
        self._used = 0.0  # at the last evaluation
        self._samples: list[tuple[float, float]] = []  # time, and what was done then
        self._ahead = 0.0  # then

    def on_start(self, number: int) -> None:
        """A trial was started."""

    def on_report(self, number: int, steps: int, seconds: float) -> None:
        """A trial has reported."""
        used = self._spent.used()
        # Before the first evaluation processes started, which is no pace.
        if not self._budget.is_time and used > self._used:
            self._used, self._ahead = used, self._spent.ahead()
            self._samples.append((self._clock(), self._spent.done()))

    def on_left(self, number: int) -> None:
        """A trial has stopped running and will be continued."""

    def on_ended(self, number: int) -> None:
        """A trial has ended."""

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
