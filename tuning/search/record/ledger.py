"""What a search has used of its budget, and what the rest pays for."""

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from optuna.trial import TrialState

from tuning.experiment.option_values import Budget
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import Costs, Key, has_plan, was_run


@dataclass
class Ledger:
    """Adds up steps or time, over all runs of an experiment.

    Steps are those at which evaluations were due, so that the sum depends on the study alone. A trial that runs counts up to
    its next evaluation. Time of earlier runs is in the study, as of their last evaluation.
    """

    memory: StudyMemory  # the study
    budget: Budget | None  # None for no limit
    rung_steps: int  # between two evaluations of a trial
    clock: Callable[[], float] = time.monotonic  # time, seconds
    most_steps: float = math.inf  # of a trial; one that has them takes no more, although its process may not have ended
    costs: Costs | None = None  # of trials; None where all cost the same
    _begun: float = field(init=False)
    _before: float = field(init=False)

    def __post_init__(self) -> None:
        self._begun, self._before = self.clock(), self.memory.seconds

    @property
    def seconds(self) -> float:
        """Wall time of all runs."""
        return self._before + self.clock() - self._begun

    def steps(self, running: Collection[int] = ()) -> float:
        """Steps of all trials. Those that run count up to their next evaluation."""
        return sum(self._steps_of(running).values())

    def _steps_of(self, running: Collection[int]) -> dict[int, int]:
        used = dict(self.memory.used_steps(self.rung_steps))
        for number in running:
            if used.get(number, 0) < self.most_steps:
                used[number] = used.get(number, 0) + self.rung_steps
        return used

    def _default_steps(self, running: Collection[int]) -> float:
        used = self._steps_of(running)
        return sum(steps * cost for steps, cost in zip(used.values(), self._costs_of(used), strict=True))

    def used(self) -> float:
        """What was used, in the budget's unit; without one steps."""
        return self.seconds if self.budget and self.budget.is_time else self.steps()

    def is_spent(self, running: Collection[int] = (), part: float = 1.0) -> bool:
        """Whether the budget does not pay for one evaluation more."""
        if self.budget is None:
            return False
        if self.budget.is_time:
            return self.seconds >= part * self.budget.amount
        # A rung's steps are rounded down where they do not divide those of a trial.
        return self.steps(running) + self.rung_steps > part * self.budget.amount + 0.5 * self.rung_steps

    def steps_left(self, running: Collection[int] = (), part: float = 1.0) -> float:
        """Steps of the default that a part of the budget still pays for; infinite where that is not known.

        A budget of time pays for as many as its pace so far promises. A search can have tried what costs several times as much
        as the default, so steps of trials are weighed by what they cost.
        """
        if self.budget is None:
            return math.inf
        if not self.budget.is_time:
            return max(0.0, part * self.budget.amount - self.steps(running))
        steps = self._default_steps(running)
        return max(0.0, part * self.budget.amount - self.seconds) * steps / self.seconds if steps else math.inf

    def steps_in_all(self, running: Collection[int] = ()) -> float:
        """Steps of the default that all of the budget pays for; infinite where that is not known."""
        return self._paid(self.seconds, running)

    def steps_promised(self) -> float:
        """Steps of the default that all of the budget pays for, at the pace up to the last evaluation.

        It follows from the study alone: `steps_in_all` looks at the clock. Infinite where that is not known.
        """
        return self._paid(self.memory.seconds, ())

    def _paid(self, seconds: float, running: Collection[int]) -> float:
        """Steps of the default that all of the budget pays for, where those so far took so many seconds."""
        if self.budget is None:
            return math.inf
        if not self.budget.is_time:
            return self.budget.amount
        steps = self._default_steps(running)
        return self.budget.amount * steps / seconds if steps and seconds else math.inf

    def steps_ahead(self, running: Collection[int] = ()) -> float:
        """Steps of the default until those that run, and one that may begin beside them, are evaluated.

        A budget of steps counts theirs as used already.

        Returns:
            For a budget of steps the half of a rung that `is_spent` rounds away.
        """
        if self.budget is None or not self.budget.is_time:
            return 0.5 * self.rung_steps
        steps = self.steps(running)
        usual = self._default_steps(running) / steps if steps else 1.0
        return self.rung_steps * (usual + sum(self._costs_of(running)))

    def _costs_of(self, numbers: Collection[int]) -> list[float]:
        if self.costs is None:
            return [1.0] * len(numbers)
        trials = self.memory.trials()
        return [self.costs.of(trials[number]) for number in numbers]

    def note_time(self) -> None:
        """Write the time so far into the study."""
        self.memory.seconds = self.seconds


PLANS = 0.5  # part of what a search uses that policies with a plan may have, where it draws whether they have one


def plans_wait(memory: StudyMemory, costs: Costs, rung_steps: int, as_frozen: int | None = None) -> bool:
    """Whether policies that start from a plan wait, as one more evaluation of theirs would be more than their part.

    On many sites a plan is hard to improve and quick to follow, so without this nearly all of a search would follow it. A trial
    that runs counts up to its next evaluation, but `as_frozen`, which is about to give up its slot. What confirms is no part of
    the search.
    """
    used, planned, whole = memory.used_steps(rung_steps), 0.0, 0.0
    for trial in memory.trials():
        if not was_run(trial) or Key.CONFIRMS in trial.user_attrs:
            continue
        coming = rung_steps if trial.state is TrialState.RUNNING and trial.number != as_frozen else 0
        cost = (used.get(trial.number, 0) + coming) * costs.of(trial)
        whole += cost
        planned += cost if has_plan(costs.assignment(trial)) else 0.0
    return planned + rung_steps > PLANS * (whole + rung_steps)
