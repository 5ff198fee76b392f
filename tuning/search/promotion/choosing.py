"""What a free slot does: which trial begins or goes on, and whether one that was evaluated keeps its slot. Questions alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass

from optuna.trial import FrozenTrial, TrialState

from tuning.search.promotion.confirmation import Confirmation
from tuning.search.promotion.thawing import Thawing
from tuning.search.proposals.drawing import Draws
from tuning.search.record.ledger import Ledger
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import Key

MOST_IN_VAIN = 20  # trials in a row that repeat others or do not fit; then the space has no more to try


@dataclass(frozen=True)
class Choosing:
    """Chooses from the study alone. A set `running` names the trials that have a slot and keep it."""

    draws: Draws  # draws new trials
    most: float  # trials that the search may have; infinite for any number
    ledger: Ledger  # of the budget
    thawing: Thawing | None = None  # decides which trial goes on; None to let each trial run until it ends
    last_part: LastPart | None = None  # of the budget, in which the best is trained again; None for none

    @property
    def memory(self) -> StudyMemory:
        """The study."""
        return self.draws.memory

    @property
    def is_in_vain(self) -> bool:
        """Whether the last draws of a search without a number of trials had nothing to run, so that it draws no more."""
        return math.isinf(self.most) and self.draws.in_vain >= MOST_IN_VAIN

    def drawn(self) -> FrozenTrial | None:
        """The trial that would begin next, or that would be added as it has ended already; None where none may begin."""
        if self.draws.searched >= self.most or self.is_in_vain:
            return None
        return self.thawing.draw(self.draws.draw) if self.thawing else self.draws.draw()

    def given_up(self) -> Mapping[int, str]:
        """Trials that do not go on, as they add nothing, each with what its policy does."""
        return self.thawing.given_up() if self.thawing else {}

    def is_searching(self, running: Set[int]) -> bool:
        """Whether the search itself may have the slot, and not its confirmation."""
        return self.last_part is None or not self.last_part.has_begun(running)

    def of_search(self, drawn: FrozenTrial | None, running: Set[int]) -> FrozenTrial | None:
        """The trial of the search that takes the slot: a frozen one, or the one that was drawn; None for none."""
        if self.thawing is None:
            waiting = (trial for trial in self.memory.trials() if trial.state is TrialState.WAITING)
            return next((trial for trial in waiting if Key.CONFIRMS not in trial.user_attrs), drawn)
        number = self.thawing.choose(drawn, self._search_steps_left(running))
        return drawn if number is None else self.memory.trial(number)

    def of_confirmation(self, running: Set[int]) -> FrozenTrial | None:
        """The trial that takes the slot to train the best or the default again; None for none, or none yet."""
        if self.last_part is None or not all(map(self.confirms, running)):
            return None  # what runs may yet be among the best
        return self.last_part.next(running)

    def confirms(self, number: int) -> bool:
        """Whether a trial trains another one's assignment again."""
        return Key.CONFIRMS in self.memory.trial(number).user_attrs

    def is_paid(self, number: int, others: Set[int]) -> bool:
        """Whether the budget pays for a trial to go on beside others."""
        return not self.ledger.is_spent(others) and (self.confirms(number) or self.is_searching(others))

    def keeps(self, number: int, drawn: FrozenTrial | None, others: Set[int]) -> bool:
        """Whether no other trial is to have the slot of one that was evaluated."""
        if self.thawing is None:
            return True
        return number == self.thawing.choose(drawn, self._search_steps_left(others), as_frozen=number)

    def _search_steps_left(self, running: Set[int]) -> float:
        return self.last_part.search_steps_left(running) if self.last_part else self.ledger.steps_left(running)


@dataclass(frozen=True)
class LastPart:
    """Divides a budget between the search and its confirmation.

    The confirmation begins when `least` of the budget is left. Where so much does not pay for two rounds of the best and the
    default, it begins earlier, with up to `most` left: one training of the winner tells little. Where that does not pay either,
    the search has all of the budget.
    """

    confirmation: Confirmation  # trains the best again
    ledger: Ledger  # of the budget
    least: float  # part of the budget that is left, as a rule
    most: float  # largest part that is left

    def has_begun(self, running: Set[int]) -> bool:
        """Whether what is left of the budget is for the confirmation, and pays for one or for what one has begun."""
        is_due = self.ledger.is_spent(running, 1.0 - self._part(running))
        return is_due and bool(self.confirmation.contenders(self._trials(), self.ledger.steps_left(running)))

    def next(self, running: Set[int]) -> FrozenTrial | None:
        """The next trial that confirms, a frozen one or one that is to begin; None where there is none, or not yet.

        All trials that run confirm.
        """
        return self.confirmation.next(self._trials(), self.ledger.steps_left(running))

    def expected(self) -> tuple[float, list[int]]:
        """What the confirmation is expected to take of what is left of a budget of steps, before it begins and in it.

        Returns:
            Steps, 0 where nothing will be confirmed; and numbers of the trials with the assignments that it would train as of
            now, see `Confirmation.contenders`.
        """
        trials, left = self._trials(), self.ledger.steps_left()
        for part in (self.least, self.most):
            steps = min(left, part * self.ledger.steps_in_all())
            if contenders := self.confirmation.contenders(trials, steps):
                return steps, contenders
        return 0.0, []

    def search_steps_left(self, running: Set[int]) -> float:
        """Steps that the budget has left for the search itself."""
        part = self._part(running)
        # A search that goes on when its part is spent has no confirmation that could be paid for, and so has all that is left.
        return self.ledger.steps_left(running, 1.0 if self.ledger.is_spent(running, 1.0 - part) else 1.0 - part)

    def _part(self, running: Set[int]) -> float:
        # What is decided now shows at the next evaluation.
        in_all, ahead = self.ledger.steps_in_all(running), self.ledger.steps_ahead(running)
        if not self.ledger.is_spent(running, 1.0 - self.most - ahead / in_all):
            return self.least
        trials = self._trials()
        if self.confirmation.is_under_way(trials):
            return self.most  # the search does not come back because the pace has changed
        needed = self.confirmation.least(trials)
        return max(self.least, (needed + ahead) / in_all) if needed <= self.most * in_all else self.least

    def _trials(self) -> list[FrozenTrial]:
        return self.ledger.memory.trials()
