"""When the last part of a budget begins, which trains the best again."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from optuna.trial import FrozenTrial

from tuning.search.promotion.confirmation import Confirmation
from tuning.search.record.ledger import Ledger


@dataclass(frozen=True)
class LastPart:
    """Divides a budget between the search and its confirmation.

    The confirmation begins when `least` of the budget is left. Where so much does not pay for two rounds of the best and the
    default, it begins earlier, with up to `most` left: one training of the winner tells little. Where that does not pay either,
    the search has all of the budget.

    Attributes:
        confirmation: trains the best again.
        ledger: of the budget.
        least: part of the budget that is left, as a rule.
        most: largest part that is left.
    """

    confirmation: Confirmation
    ledger: Ledger
    least: float
    most: float

    def has_begun(self, running: Set[int]) -> bool:
        """Whether what is left of the budget is for the confirmation, and pays for one.

        Args:
            running: numbers of the trials that run on.
        """
        return self.ledger.is_spent(running, 1.0 - self._part(running)) and self.pays(running)

    def next(self, running: Set[int]) -> FrozenTrial | None:
        """The next trial that confirms, a frozen one or one that is to begin; None where there is none, or not yet.

        Args:
            running: numbers of the trials that run; all of them confirm.
        """
        return self.confirmation.next(self._trials(), self.ledger.steps_left(running))

    def pays(self, running: Set[int]) -> bool:
        """Whether what is left of the budget pays for a confirmation, or for what one has begun."""
        return bool(self.confirmation.contenders(self._trials(), self.ledger.steps_left(running)))

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
        """Steps that the budget has left for the search itself.

        Args:
            running: numbers of the trials that run on.
        """
        part = self._part(running)
        # A search that goes on when its part is spent has no confirmation that could be paid for, and so has all that is left.
        return self.ledger.steps_left(running, 1.0 if self.ledger.is_spent(running, 1.0 - part) else 1.0 - part)

    def _part(self, running: Set[int]) -> float:
        """Part of the budget that is left for the confirmation."""
        if not self.ledger.is_spent(running, 1.0 - self.most):
            return self.least
        trials = self._trials()
        if self.confirmation.is_under_way(trials):
            return self.most  # the search does not come back because the pace has changed
        # What is decided now shows at the next evaluation.
        needed = self.confirmation.least(trials) + self.ledger.steps_ahead(running)
        part = needed / self.ledger.steps_in_all(running)
        return part if self.least < part <= self.most else self.least

    def _trials(self) -> list[FrozenTrial]:
        return self.ledger.memory.trials()
