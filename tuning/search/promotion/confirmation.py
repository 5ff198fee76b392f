"""The last part of a search: its best assignments and the default are trained again with fresh seeds.

The best of many trials is lucky too: its score is higher than that of another training with the same hyperparameters. So part
of the budget trains the best few again, in two stages:

1. Candidates. The best of the search are trained once more, all with one seed. Their mean of both ratings chooses.
2. Rounds. The chosen few and the default are trained with the same further seeds, and their means are told. These seeds chose
   nothing, so the means are not lucky.

What the budget pays for changes with its pace. What has begun stays decided until the search goes on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import optuna
from optuna.trial import FrozenTrial, TrialState

from results.schema import CANDIDATE
from search_spaces import Assignment
from tuning.experiment.settings import LEAST_CONFIRMING_RUNS
from tuning.search.record.trials import CAN_BE_BEST, Costs, Key, alike, last_rating, on_front

DEFAULT, BEST = "default", "best"  # roles of a trial that confirms, or CANDIDATE

MOST_CANDIDATES = 8
CANDIDATES_PART = 0.4  # most of what the budget pays for
MOST_CONTENDERS = 2  # in the rounds, beside the default
MOST_OF_A_FRONT = 3  # likewise, with two objectives
NOT_TRIED = -1  # in place of a number: of the default, where no trial of the search had it
CHOOSING = -1  # in place of a round's number: the stage of the candidates, before the first round


class Training(NamedTuple):
    """A training that confirms."""

    number: int  # of the trial with its assignment, or `NOT_TRIED`
    run: int  # of its round, or `CHOOSING`


@dataclass(frozen=True)
class Confirmation:
    """Says which assignment is trained again next, with which seed. It knows nothing but the trials of the study.

    What is left of the budget is told in steps of the default, and so is what a training takes: steps times their cost.
    """

    costs: Costs
    default: Assignment
    steps: int
    rung_steps: int

    def next(self, trials: Sequence[FrozenTrial], steps_left: float) -> FrozenTrial | None:
        """The next trial that confirms. One that was frozen goes on first, if it still trains what is to be trained.

        The first round begins when all candidates have ended. The least rounds are paid for before anything begins. A further
        one begins where the budget pays for all of it. What has begun goes on, though a pace that falls may not pay.

        Args:
            trials: of the study, by number; no trial of the search runs any more.
            steps_left: of the budget, in steps of the default, after what running trials take to their next evaluations.

        Returns:
            A frozen trial of the study, or one without a number that is to begin; None where nothing more is confirmed, or not
            yet.
        """
        known = _Known(self, trials)
        contenders = self._contenders(known, steps_left)
        if not contenders:
            return None
        numbers, run = self._candidates(known, steps_left), CHOOSING
        while not (missing := known.missing(numbers, run)):
            if run == CHOOSING and any(training.run == CHOOSING for training in known.running):
                return None  # who is in the rounds depends on them
            numbers, run = contenders, run + 1
        is_paid = run < LEAST_CONFIRMING_RUNS or any(training.run == run for training in known.since)
        if not is_paid and steps_left < known.left(missing):
            return None
        # Of a round the longest first: where several run at once, it would else end alone, after the budget.
        first = missing[0] if run == CHOOSING else max(missing, key=lambda training: known.whole(training.number))
        return known.again.get(first) or self._trial(known, first)

    def contenders(self, trials: Sequence[FrozenTrial], steps_left: float) -> list[int]:
        """Numbers of the trials with the assignments that are trained in rounds, the default's first; empty for none."""
        return self._contenders(_Known(self, trials), steps_left)

    def least(self, trials: Sequence[FrozenTrial]) -> float:
        """What the least confirmation yet takes, of the best of today and the default; 0 where there is nothing to confirm."""
        known = _Known(self, trials)
        first = (known.front or known.best)[:1]
        return known.left(_least_rounds([known.control, *first])) if first else 0.0

    def is_under_way(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether a trial that confirms has begun, and the search has not gone on since."""
        return bool(_Known(self, trials).since)

    def _candidates(self, known: _Known, steps_left: float) -> list[int]:
        """Numbers of the candidates that have begun or are to begin; none begins once a round has.

        There are as many as the budget pays for beside the least rounds, whoever will be in them.
        """
        begun = [number for number, run in known.since if run == CHOOSING]
        if known.front or len(begun) < len(known.since):
            return begun
        # What the budget paid for when they began.
        steps = steps_left + sum(map(known.given, _stage(begun, CHOOSING)))
        for count in range(len(known.best), MOST_CONTENDERS, -1):
            each = sorted(map(known.whole, known.best[:count]))
            of_a_round = known.whole(NOT_TRIED) + sum(each[-MOST_CONTENDERS:])
            if sum(each) <= min(CANDIDATES_PART * steps, steps - LEAST_CONFIRMING_RUNS * of_a_round):
                return [*begun, *(number for number in known.best[:count] if number not in {*begun, *known.rated_again})]
        return begun

    def _contenders(self, known: _Known, steps_left: float) -> list[int]:
        """The default and as many others as the budget pays for after the candidates; at least one once any has begun."""
        candidates = self._candidates(known, steps_left)
        chosen = known.front[:MOST_OF_A_FRONT] or self._by_both(known, is_compared=bool(candidates))[:MOST_CONTENDERS]
        for count in range(len(chosen), 0, -1):
            contenders = [known.control, *chosen[:count]]
            needed = _stage(candidates, CHOOSING) + _least_rounds(contenders)
            # A search that went on for what little is left would waste what has begun.
            if steps_left >= known.left(needed) or (count == 1 and known.since):
                return contenders
        return []

    def _by_both(self, known: _Known, is_compared: bool) -> list[int]:
        """Numbers of the best by the mean of both ratings, or by the only one.

        Where candidates compare, those with one rating come last, as one is luckier. Where none does today, a new one that is
        better may not lose its place to those that were trained again before the search went on.
        """

        def rank(number: int) -> tuple[bool, float]:
            ratings = [_rating(trial) for trial in (known.trials[number], known.rated_again.get(number)) if trial]
            return is_compared and len(ratings) == 1, -sum(ratings) / len(ratings)

        return sorted(known.best, key=rank)

    def _trial(self, known: _Known, training: Training) -> FrozenTrial:
        number, run = training
        assignment = self.default if number == NOT_TRIED else self.costs.assignment(known.trials[number])
        role = CANDIDATE if run == CHOOSING else BEST
        distributions = known.trials[max(number, 0)].distributions
        return optuna.trial.create_trial(
            state=TrialState.RUNNING,
            params=self.costs.space.point(assignment, distributions),
            distributions=distributions,
            user_attrs={
                Key.HYPERPARAMETERS: assignment,
                Key.CONFIRMS: number,
                Key.CONFIRM_RUN: max(run, 0),
                Key.CONFIRM_ROLE: DEFAULT if assignment == self.default else role,
                Key.CONFIRM_STEPS: self.steps,
                Key.CONFIRM_AFTER: known.progress,
            },
        )


@dataclass(frozen=True)
class _Known:
    """What has been trained, and what more takes."""

    of: Confirmation  # of the search
    trials: Sequence[FrozenTrial]  # of the study, by number

    @cached_property
    def search(self) -> list[FrozenTrial]:
        """Trials of the search that ran, or were to run."""
        return [trial for trial in self.trials if not {Key.CONFIRMS, Key.REFUSED, Key.SAME_AS} & trial.user_attrs.keys()]

    @cached_property
    def rated(self) -> list[FrozenTrial]:
        """Those that may be among the best, none of which does the same as an earlier one."""
        rated = [trial for trial in self.search if trial.intermediate_values and trial.state in CAN_BE_BEST]
        repeats = alike(rated)
        return [trial for trial in rated if trial.number not in repeats]

    @cached_property
    def front(self) -> list[int]:
        """With two objectives, numbers of those that stand for the front; empty where that is the default alone."""
        return self._different(on_front(self.rated))

    @cached_property
    def best(self) -> list[int]:
        """Numbers of the best, with two objectives by their mean gain."""
        return self._different(sorted(self.rated, key=_rating, reverse=True))

    def _different(self, ranked: Sequence[FrozenTrial]) -> list[int]:
        """Numbers of the first trials with different assignments, none of them the default's."""
        different: dict[int, Assignment] = {}
        for trial in ranked:
            assignment = self.of.costs.assignment(trial)
            if len(different) < MOST_CANDIDATES and assignment not in (self.of.default, *different.values()):
                different[trial.number] = assignment
        return list(different)

    @cached_property
    def again(self) -> dict[Training, FrozenTrial]:
        """Trials that confirm. Those with other steps, before an experiment was continued with these, are not comparable."""
        return {_training(trial): trial for trial in self.trials if trial.user_attrs.get(Key.CONFIRM_STEPS) == self.of.steps}

    @cached_property
    def running(self) -> list[Training]:
        """Trainings that run."""
        return [training for training, trial in self.again.items() if trial.state is TrialState.RUNNING]

    @cached_property
    def progress(self) -> int:
        """Of the search: a number that grows with each new trial, and with each evaluation."""
        return sum(1 + len(trial.intermediate_values) for trial in self.search)

    @cached_property
    def since(self) -> dict[Training, FrozenTrial]:
        """Those that confirm and began after all that the search did so far."""
        return {key: trial for key, trial in self.again.items() if trial.user_attrs[Key.CONFIRM_AFTER] == self.progress}

    @cached_property
    def rated_again(self) -> dict[int, FrozenTrial]:
        """Ended trainings of candidates, by the number of the candidate."""
        return {key.number: one for key, one in self.again.items() if key.run == CHOOSING and one.state.is_finished()}

    @cached_property
    def control(self) -> int:
        """Number of the trial that had the default: that of its trainings so far, as the search may have tried it since."""
        trained = [training.number for training, trial in self.again.items() if trial.user_attrs[Key.CONFIRM_ROLE] == DEFAULT]
        tried = [trial.number for trial in self.search if self.of.costs.assignment(trial) == self.of.default]
        return [*trained, *tried, NOT_TRIED][0]

    def missing(self, numbers: Iterable[int], run: int) -> list[Training]:
        """Trainings of a stage that are frozen, or else those that have not begun."""
        trainings = _stage(numbers, run)
        frozen = [one for one in trainings if one in self.again and self.again[one].state is TrialState.WAITING]
        return frozen or [one for one in trainings if one not in self.again]

    def left(self, trainings: Iterable[Training]) -> float:
        """What the budget is yet to give trainings, so that they and all that run end, in steps of the default."""
        named = sorted({*trainings, *self.running})
        unended = [one for one in named if one not in self.again or not self.again[one].state.is_finished()]
        return sum(self.whole(one.number) - self.given(one) for one in unended)

    def given(self, training: Training) -> float:
        """What the budget has given a training; one that runs has been given what it takes to its next evaluation."""
        if training not in self.again:
            return 0.0
        trial = self.again[training]
        ahead = self.of.rung_steps if trial.state is TrialState.RUNNING else 0
        return min(1.0, (max(trial.intermediate_values, default=0) + ahead) / self.of.steps) * self.whole(training.number)

    def whole(self, number: int) -> float:
        """What a training of a trial's assignment takes, or of the default."""
        costs = self.of.costs
        cost = costs.of_assignment(self.of.default) if number == NOT_TRIED else costs.of(self.trials[number])
        return self.of.steps * cost


def _training(trial: FrozenTrial) -> Training:
    is_candidate = trial.user_attrs[Key.CONFIRM_ROLE] == CANDIDATE
    return Training(trial.user_attrs[Key.CONFIRMS], CHOOSING if is_candidate else trial.user_attrs[Key.CONFIRM_RUN])


def _stage(numbers: Iterable[int], run: int) -> list[Training]:
    return [Training(number, run) for number in numbers]


def _least_rounds(contenders: Sequence[int]) -> list[Training]:
    return [training for run in range(LEAST_CONFIRMING_RUNS) for training in _stage(contenders, run)]


def _rating(trial: FrozenTrial) -> float:
    rating = last_rating(trial)
    return -math.inf if rating is None or trial.state is TrialState.FAIL else rating
