"""Draws the next trial of a search, as its study is now. Nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from optuna.trial import FrozenTrial, TrialState

from tuning.search.proposals.drawing import Affordable, Drawing, already_tried
from tuning.search.proposals.sampler_view import Values
from tuning.search.record.ledger import TimeNotes
from tuning.search.record.study import StudyMemory, with_outcome_of
from tuning.search.record.trials import CONFIRMS, REFUSED, SAME_AS


@dataclass(frozen=True)
class Draws:
    """Draws trials of a study, from what is in it.

    Attributes:
        memory: the study.
        drawing: how trials are drawn.
    """

    memory: StudyMemory
    drawing: Drawing

    def draw(self, values: Values = MappingProxyType({}), affordable: Affordable | None = None) -> FrozenTrial:
        """Draw the next trial. As long as the study stays as it is, the next call draws the same.

        One that does not fit into memory has ended, with a violated constraint. One with an assignment that has been tried has
        ended with the known outcome.

        Args:
            values: see `tuning.search.proposals.sampler_view.as_seen`.
            affordable: see `Drawing.draw`.
        """
        known = self.memory.trials()
        drawn = self.drawing.draw(known, self.memory.name, values, TimeNotes(self.memory).pace, affordable)
        if drawn.user_attrs.get(REFUSED):
            drawn.state, drawn.datetime_complete = TrialState.PRUNED, datetime.now()
        elif (same := already_tried(drawn, known)) is not None:
            return with_outcome_of(drawn, same)
        return drawn

    @property
    def searched(self) -> int:
        """Number of all trials of the search itself, in any state."""
        return len(self._of_search())

    @property
    def in_vain(self) -> int:
        """How many of the last trials of the search have nothing to run.

        They repeat another one, or do not fit into the memory of now.
        """
        trials = self._of_search()
        return next((count for count, trial in enumerate(reversed(trials)) if not self._is_in_vain(trial)), len(trials))

    def _of_search(self) -> list[FrozenTrial]:
        return [trial for trial in self.memory.trials() if CONFIRMS not in trial.user_attrs]

    def _is_in_vain(self, trial: FrozenTrial) -> bool:
        if REFUSED not in trial.user_attrs:
            return SAME_AS in trial.user_attrs
        # It was refused on the machine of then.
        excess = self.drawing.excess
        return excess is not None and excess(self.memory.proposal(trial.number).hyperparameters)[0] > 0
