"""The last part of a search: its best assignments and the default are trained again with fresh seeds.

The best of many trials is lucky too: its score is higher than that of another training with the same hyperparameters. So part
of the budget trains the best few again, each beside the default with the same seeds, and their means are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import optuna
from optuna.trial import FrozenTrial, TrialState

from search_spaces import Assignment, SearchSpace
from search_spaces.earlier import in_todays_names
from tuning.experiment.settings import LEAST_CONFIRMING_RUNS
from tuning.search.drawing import HYPERPARAMETERS, REFUSED, SAME_AS
from tuning.search.of_trials import OfTrials
from tuning.search.two_aims import on_front

# User attributes of a trial that confirms.
CONFIRMS = "confirms"  # number of the trial with the same assignment
RUN = "confirm_run"  # number of its seed, from 0
ROLE = "confirm_role"  # whether it has the default's assignment or one of the best

MOST_CONTENDERS = 2  # beside the default
MOST_OF_A_FRONT = 3  # likewise, with two objectives
NOT_TRIED = -1  # in place of a number: of the default, where no trial of the search had it


@dataclass(frozen=True)
class Confirmation:
    """Says which assignment is trained again next, with which seed. It knows nothing but the trials of the study.

    Attributes:
        space: of the experiment.
        default: assignment that the best are compared with.
        steps: of a trial.
        rung_steps: between two evaluations of it.
    """

    space: SearchSpace
    default: Assignment
    steps: int
    rung_steps: int

    def next(self, trials: Sequence[FrozenTrial], steps_left: float) -> FrozenTrial | None:
        """The next trial that confirms.

        A round trains the default and each contender with one seed. It begins only where the budget pays for all of it.

        Args:
            trials: of the study, by number; no trial of the search runs any more.
            steps_left: of the budget, after what running trials take to their next evaluations.

        Returns:
            A trial without a number; None where nothing more is confirmed.
        """
        confirming = [trial for trial in trials if CONFIRMS in trial.user_attrs]
        running = [trial for trial in confirming if trial.state is TrialState.RUNNING]
        left = steps_left - sum(max(0, self.steps - _taken(trial) - self.rung_steps) for trial in running)
        contenders = self.contenders(trials, steps_left)
        done = {(trial.user_attrs[CONFIRMS], trial.user_attrs[RUN]) for trial in confirming}
        for run in range(len(confirming) + 1):
            missing = [number for number in contenders if (number, run) not in done]
            # A round that was begun was paid for.
            if missing and (len(missing) < len(contenders) or left >= len(missing) * self.steps):
                return self._trial(trials, missing[0], run)
            if missing:
                return None
        return None

    def contenders(self, trials: Sequence[FrozenTrial], steps_left: float) -> list[int]:
        """Numbers of the trials with the assignments that are trained again, the default's first; empty for none.

        Args:
            trials: of the study, by number.
            steps_left: see `next`.
        """
        steps = steps_left + sum(self._counted(trial) for trial in trials if CONFIRMS in trial.user_attrs)
        searched = [
            trial for trial in trials if CONFIRMS not in trial.user_attrs and not {REFUSED, SAME_AS} & trial.user_attrs.keys()
        ]
        rated = [trial for trial in searched if trial.intermediate_values and trial.state is not TrialState.FAIL]
        control = [*(trial.number for trial in searched if self._assignment(trial) == self.default), NOT_TRIED][:1]
        others = [trial for trial in rated if self._assignment(trial) != self.default]
        front = on_front(rated)
        # Two objectives: those that stand for the front. Where that is the default alone, the best others by their mean gain.
        members = [trial for trial in front if self._assignment(trial) != self.default]
        others.sort(key=lambda trial: (-trial.intermediate_values[max(trial.intermediate_values)], trial.number))
        others = members or others
        different: list[FrozenTrial] = []
        for trial in others:
            if len(different) == max(MOST_CONTENDERS, MOST_OF_A_FRONT):
                break
            if all(self._assignment(trial) != self._assignment(one) for one in different):
                different.append(trial)
        for count in range(MOST_OF_A_FRONT if members else MOST_CONTENDERS, 0, -1):
            if steps >= LEAST_CONFIRMING_RUNS * (count + len(control)) * self.steps:
                return [*control, *(trial.number for trial in different[:count])] if different else []
        return []

    def _counted(self, trial: FrozenTrial) -> int:
        """Steps that the budget has given a trial so far."""
        going_on = self.rung_steps if trial.state is TrialState.RUNNING and _taken(trial) < self.steps else 0
        return _taken(trial) + going_on

    @cached_property
    def _assignment(self) -> OfTrials[Assignment]:
        """Assignments of trials, each made once."""
        return OfTrials(lambda trial: self.space.whole(in_todays_names(trial.user_attrs[HYPERPARAMETERS])))

    def _trial(self, trials: Sequence[FrozenTrial], number: int, run: int) -> FrozenTrial:
        assignment = self.default if number == NOT_TRIED else self._assignment(trials[number])
        distributions = trials[max(number, 0)].distributions
        role = "default" if assignment == self.default else "best"
        return optuna.trial.create_trial(
            state=TrialState.RUNNING,
            params=self.space.point(assignment, distributions),
            distributions=distributions,
            user_attrs={HYPERPARAMETERS: assignment, CONFIRMS: number, RUN: run, ROLE: role},
        )


def _taken(trial: FrozenTrial) -> int:
    return max(trial.intermediate_values, default=0)
