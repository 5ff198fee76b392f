"""The last part of a search: its best assignments and the default are trained again with fresh seeds.

The best of many trials is lucky too: its score is higher than that of another training with the same hyperparameters. So part
of the budget trains the best few again, in two stages:

1. Candidates. The best of the search are trained once more, all with one seed. Their mean of both ratings chooses.
2. Rounds. The chosen few and the default are trained with the same further seeds, and their means are told. These seeds chose
   nothing, so the means are not lucky.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import optuna
from optuna.trial import FrozenTrial, TrialState

from results.schema import CANDIDATE
from search_spaces import Assignment
from tuning.experiment.settings import LEAST_CONFIRMING_RUNS
from tuning.search.record.trials import (
    CAN_BE_BEST,
    CONFIRM_AFTER,
    CONFIRM_ROLE,
    CONFIRM_RUN,
    CONFIRM_STEPS,
    CONFIRMS,
    HYPERPARAMETERS,
    REFUSED,
    SAME_AS,
    Costs,
    alike,
    on_front,
)

DEFAULT, BEST = "default", "best"  # roles of a trial that confirms, or CANDIDATE

MOST_CANDIDATES = 8
CANDIDATES_PART = 0.4  # most of what the budget pays for
MOST_CONTENDERS = 2  # in the rounds, beside the default
MOST_OF_A_FRONT = 3  # likewise, with two objectives
NOT_TRIED = -1  # in place of a number: of the default, where no trial of the search had it


@dataclass(frozen=True)
class _Stages:
    """Trials of a study by what they are for, each by number.

    Those that confirmed with other steps, before an experiment was continued with these, are left out: they are not comparable.
    """

    search: list[FrozenTrial]  # those of the search that ran, or were to run
    candidates: list[FrozenTrial]  # those that trained a candidate
    rounds: list[FrozenTrial]  # those that trained a contender or the default
    since: frozenset[int]  # numbers of the candidates and rounds that began after all that the search did so far
    evaluations: int  # of the search

    @classmethod
    def of(cls, trials: Sequence[FrozenTrial], steps: int) -> Self:
        """The stages of a study, of which a trial has so many steps."""
        search = [trial for trial in trials if CONFIRMS not in trial.user_attrs]
        confirming = [trial for trial in trials if trial.user_attrs.get(CONFIRM_STEPS) == steps]
        ran = [trial for trial in search if not {REFUSED, SAME_AS} & trial.user_attrs.keys()]
        last = max((trial.number for trial in ran), default=-1)
        # A search goes on with a new trial, or with evaluations of a thawed one.
        evaluations = sum(len(trial.intermediate_values) for trial in ran)
        now = (trial for trial in confirming if trial.user_attrs[CONFIRM_AFTER] == evaluations)
        return cls(
            ran,
            [trial for trial in confirming if trial.user_attrs[CONFIRM_ROLE] == CANDIDATE],
            [trial for trial in confirming if trial.user_attrs[CONFIRM_ROLE] != CANDIDATE],
            frozenset(trial.number for trial in now if trial.number > last),
            evaluations,
        )

    @property
    def rated(self) -> list[FrozenTrial]:
        """Those of the search that may be among the best."""
        return [trial for trial in self.search if trial.intermediate_values and trial.state in CAN_BE_BEST]

    @property
    def by_seed(self) -> dict[tuple[int, int], FrozenTrial]:
        """Rounds by the number of the trial with their assignment, and that of their seed."""
        return {(trial.user_attrs[CONFIRMS], trial.user_attrs[CONFIRM_RUN]): trial for trial in self.rounds}

    @property
    def running(self) -> list[FrozenTrial]:
        """Candidates and rounds that run."""
        return [trial for trial in [*self.candidates, *self.rounds] if trial.state is TrialState.RUNNING]


@dataclass(frozen=True)
class _Look:
    stages: _Stages  # what has been
    # Trials that train a candidate once more, but for frozen ones of what is no candidate any more.
    candidates: list[FrozenTrial]
    untried: list[int]  # numbers of the candidates that have not been trained once more, the best first
    contenders: list[int]  # see `Confirmation.contenders`


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

        A round trains the default and each contender with one seed. It begins only where the budget pays for all of it, and
        where all candidates have ended. Once one has begun, the least of them follow, though a pace that falls may not pay.

        Args:
            trials: of the study, by number; no trial of the search runs any more.
            steps_left: of the budget, in steps of the default, after what running trials take to their next evaluations.

        Returns:
            A frozen trial of the study, or one without a number that is to begin; None where nothing more is confirmed, or not
            yet.
        """
        look = self._look(trials, steps_left)
        stages = look.stages
        if frozen := [trial for trial in look.candidates if _is_frozen(trial)]:
            return frozen[0]
        left = steps_left - sum(self._left(trial) for trial in stages.running)
        if look.untried and left >= self._training(trials, look.untried[0]):
            return self._trial(trials, stages, look.untried[0], 0, CANDIDATE)
        if not all(trial.state.is_finished() for trial in look.candidates):
            return None
        done = stages.by_seed
        for run in range(len(stages.rounds) + 1):
            begun = [done[number, run] for number in look.contenders if (number, run) in done]
            if frozen := [trial for trial in begun if _is_frozen(trial)]:
                return frozen[0] if run < LEAST_CONFIRMING_RUNS or left >= self._left(frozen[0]) else None
            missing = [number for number in look.contenders if (number, run) not in done]
            # A round that was begun in this part of the budget was paid for, and so is the least of all.
            is_paid = run < LEAST_CONFIRMING_RUNS or any(trial.number in stages.since for trial in begun)
            if missing and (is_paid or left >= self._trainings(trials, missing)):
                # The longest first: where several run at once, it would else end alone, after the budget.
                longest = max(missing, key=lambda number: self._training(trials, number))
                return self._trial(trials, stages, longest, run, BEST)
            if missing:
                return None
        return None

    def contenders(self, trials: Sequence[FrozenTrial], steps_left: float) -> list[int]:
        """Numbers of the trials with the assignments that are trained in rounds, the default's first; empty for none."""
        return self._look(trials, steps_left).contenders

    def least(self, trials: Sequence[FrozenTrial]) -> float:
        """What the least confirmation yet takes, of the best of today and the default; 0 where there is nothing to confirm."""
        stages = _Stages.of(trials, self.steps)
        first = (self._of_front(stages) or self._best(stages))[:1]
        return self._missing(trials, stages, [*self._control(stages), *first]) if first else 0.0

    def is_under_way(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether a trial that confirms has begun, and the search has not gone on since."""
        return bool(_Stages.of(trials, self.steps).since)

    def _look(self, trials: Sequence[FrozenTrial], steps_left: float) -> _Look:
        stages = _Stages.of(trials, self.steps)
        chosen = self._of_front(stages)
        most, candidates, untried = MOST_OF_A_FRONT, list[FrozenTrial](), list[int]()
        if not chosen:
            best = self._best(stages)
            named = best[: self._candidates(trials, stages, steps_left, best)]
            candidates = [trial for trial in stages.candidates if _goes_on(trial, stages.since, named)]
            again = {trial.user_attrs[CONFIRMS]: trial for trial in candidates}
            untried = [number for number in named if number not in again]
            in_stage = bool(untried) or any(trial.number in stages.since for trial in candidates)
            chosen, most = _by_both(trials, best, again, in_stage), MOST_CONTENDERS
        to_candidates = self._trainings(trials, untried) + sum(
            self._left(trial) for trial in candidates if not trial.state.is_finished()
        )
        contenders = self._of_rounds(trials, stages, chosen[:most], steps_left - to_candidates)
        return _Look(stages, candidates, untried, contenders)

    def _of_front(self, stages: _Stages) -> list[int]:
        """With two objectives, numbers of those that stand for the front; empty where that is the default alone."""
        return self._different(on_front(stages.rated))

    def _best(self, stages: _Stages) -> list[int]:
        """Numbers of the best, with two objectives by their mean gain."""
        return self._different(sorted(stages.rated, key=lambda trial: (-_last_rating(trial), trial.number)))

    def _control(self, stages: _Stages) -> list[int]:
        """Number of the trial that had the default, in a list."""
        # That of its trainings so far, as the search may have tried it since.
        trained = [trial.user_attrs[CONFIRMS] for trial in stages.rounds if trial.user_attrs[CONFIRM_ROLE] == DEFAULT]
        tried = [trial.number for trial in stages.search if self.costs.assignment(trial) == self.default]
        return [*trained, *tried, NOT_TRIED][:1]

    def _candidates(self, trials: Sequence[FrozenTrial], stages: _Stages, steps_left: float, best: Sequence[int]) -> int:
        """How many of the best are candidates; 0 where the budget pays for the rounds alone.

        The rounds have to be paid for, whichever are chosen. What an earlier part of the budget paid for does not count, where
        the search went on since.
        """
        if any(trial.number in stages.since for trial in stages.rounds):
            return 0  # contenders have been chosen; a pace that changes adds no candidate
        since = [trial for trial in stages.candidates if trial.number in stages.since]
        steps = steps_left + sum(map(self._counted, since))
        for count in range(min(MOST_CANDIDATES, len(best)), MOST_CONTENDERS, -1):
            each = sorted(self._training(trials, number) for number in best[:count])
            rounds = LEAST_CONFIRMING_RUNS * (self._training(trials, NOT_TRIED) + sum(each[-MOST_CONTENDERS:]))
            if sum(each) <= min(CANDIDATES_PART * steps, steps - rounds):
                return count
        return 0

    def _of_rounds(self, trials: Sequence[FrozenTrial], stages: _Stages, chosen: Sequence[int], steps: float) -> list[int]:
        """The default and as many of these as so many steps pay for; of what has begun one at least."""
        for count in range(len(chosen), 0, -1):
            contenders = [*self._control(stages), *chosen[:count]]
            if steps >= self._missing(trials, stages, contenders):
                return contenders
        # The pace may have fallen since it began. A search that went on for what little is left would waste what it has.
        begun = {trial.user_attrs[CONFIRMS] for trial in stages.rounds if trial.number in stages.since}
        goes_on = [*(number for number in chosen if number in begun), *chosen][:1]
        return [*self._control(stages), *goes_on] if begun and goes_on else []

    def _missing(self, trials: Sequence[FrozenTrial], stages: _Stages, contenders: Sequence[int]) -> float:
        """What is yet to be paid so that these have the least rounds, and that what runs beside ends."""
        least = {(number, run) for number in contenders for run in range(LEAST_CONFIRMING_RUNS)}
        begun = stages.by_seed
        goes_on = [one for key, one in begun.items() if one.state is TrialState.RUNNING or (key in least and _is_frozen(one))]
        return self._trainings(trials, [number for number, _ in sorted(least - begun.keys())]) + sum(map(self._left, goes_on))

    def _different(self, ranked: Sequence[FrozenTrial]) -> list[int]:
        """Numbers of the first trials with different assignments that do not do the same, none of them the default's."""
        different: list[FrozenTrial] = []
        repeats = alike(sorted(ranked, key=lambda trial: trial.number))
        for trial in ranked:
            if len(different) == max(MOST_CANDIDATES, MOST_OF_A_FRONT):
                break
            assignment = self.costs.assignment(trial)
            is_new = trial.number not in repeats and all(assignment != self.costs.assignment(one) for one in different)
            if is_new and assignment != self.default:
                different.append(trial)
        return [trial.number for trial in different]

    def _training(self, trials: Sequence[FrozenTrial], number: int) -> float:
        """What a whole training of a trial's assignment takes, or of the default; as the following, in steps of the default."""
        cost = self.costs.of_assignment(self.default) if number == NOT_TRIED else self.costs.of(trials[number])
        return self.steps * cost

    def _trainings(self, trials: Sequence[FrozenTrial], numbers: Sequence[int]) -> float:
        return sum(self._training(trials, number) for number in numbers)

    def _counted(self, trial: FrozenTrial) -> float:
        """What the budget has given a trial so far."""
        return self._steps_given(trial) * self.costs.of(trial)

    def _left(self, trial: FrozenTrial) -> float:
        """What the budget is yet to give a trial, so that it ends."""
        return max(0, self.steps - self._steps_given(trial)) * self.costs.of(trial)

    def _steps_given(self, trial: FrozenTrial) -> int:
        going_on = self.rung_steps if trial.state is TrialState.RUNNING and _taken(trial) < self.steps else 0
        return _taken(trial) + going_on

    def _trial(self, trials: Sequence[FrozenTrial], stages: _Stages, number: int, run: int, role: str) -> FrozenTrial:
        assignment = self.default if number == NOT_TRIED else self.costs.assignment(trials[number])
        role = DEFAULT if assignment == self.default else role
        distributions = trials[max(number, 0)].distributions
        return optuna.trial.create_trial(
            state=TrialState.RUNNING,
            params=self.costs.space.point(assignment, distributions),
            distributions=distributions,
            user_attrs={
                HYPERPARAMETERS: assignment,
                CONFIRMS: number,
                CONFIRM_RUN: run,
                CONFIRM_ROLE: role,
                CONFIRM_STEPS: self.steps,
                CONFIRM_AFTER: stages.evaluations,
            },
        )


def _taken(trial: FrozenTrial) -> int:
    return max(trial.intermediate_values, default=0)


def _last_rating(trial: FrozenTrial) -> float:
    return trial.intermediate_values[max(trial.intermediate_values)]


def _is_frozen(trial: FrozenTrial) -> bool:
    return trial.state is TrialState.WAITING


def _goes_on(candidate: FrozenTrial, since: Collection[int], named: Collection[int]) -> bool:
    """Whether a candidate's trial counts: a frozen one does where the search has not gone on, or would choose it anew."""
    return not _is_frozen(candidate) or candidate.number in since or candidate.user_attrs[CONFIRMS] in named


def _by_both(
    trials: Sequence[FrozenTrial], best: Sequence[int], again: Mapping[int, FrozenTrial], are_compared: bool
) -> list[int]:
    """The best by the mean of both ratings, or by the only one.

    Args:
        trials: of the study, by number.
        best: numbers of some of them, the best first.
        again: those that trained some of them once more, by the number of the first one.
        are_compared: whether the best of today were trained once more. Then those with one rating come last, as one is luckier.
            Where only some were, before the search went on, a new one that is better may not lose its place to them.
    """
    return sorted(
        best,
        key=lambda number: (
            are_compared and number not in again,
            -(_mean_rating(trials[number], again[number]) if number in again else _last_rating(trials[number])),
        ),
    )


def _mean_rating(trial: FrozenTrial, again: FrozenTrial) -> float:
    """Mean of the ratings of both trainings of a candidate; the lowest where the second one failed."""
    if again.state is TrialState.FAIL or not again.intermediate_values:
        return -math.inf
    return (_last_rating(trial) + _last_rating(again)) / 2.0
