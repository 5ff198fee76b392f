"""Draw the next trial of a study. Everything here is a function of the trials before it; nothing is written."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from common.generators import Stream, stream, stream_seed
from search_spaces import Assignment, SearchSpace
from tuning.experiment.option_values import SAMPLERS, SCHEDULERS, startup_trials
from tuning.experiment.settings import Settings
from tuning.search.proposals.plan import PLAN
from tuning.search.proposals.prior import Point, propose
from tuning.search.proposals.sampler_view import Values, as_seen, point_in
from tuning.search.proposals.transfer import LearnedExperiment, LearnedTrial, Source, Transfer
from tuning.search.record.study import StudyMemory, pace, with_outcome_of
from tuning.search.record.trials import AT_ANY_COST, Affordable, Key, OfTrials

# Bytes that an assignment lacks to fit into memory, below 0 if it fits, and why.
Excess = Callable[[Assignment], tuple[int, str]]


Draw = TypeVar("Draw")


class Attempt(NamedTuple):
    """One draw of a trial."""

    study: optuna.Study  # a copy, of which the trial is the last one
    trial: optuna.Trial  # running
    assignment: Assignment  # that it has


def first_affordable(draws: Iterable[Draw], cost: Callable[[Draw], float], most: float) -> Draw:
    """The first draw that costs no more than it may; the cheapest of all where each costs more.

    None is drawn after the first that costs no more.
    """
    priced: list[tuple[float, Draw]] = []
    for draw in draws:
        priced.append((cost(draw), draw))
        if priced[-1][0] <= most:
            return draw
    return min(priced, key=lambda each: each[0])[1]


@dataclass(frozen=True)
class Drawing:
    """How trials of an experiment are drawn."""

    settings: Settings  # of the experiment: sampler, pruner, seed and budget
    space: SearchSpace  # of its algorithm
    fixed: Assignment  # values that are not searched
    limits: Mapping[str, float]  # what conditions of the space may name beside hyperparameters
    starts: Sequence[Assignment] = ()  # full assignments of the first trials
    excess: Excess | None = None  # of an assignment; None where memory does not matter
    learned: Sequence[LearnedExperiment] = ()  # other experiments that it learns from

    def draw(
        self,
        known: Sequence[FrozenTrial],
        study_name: str,
        values: Values = MappingProxyType({}),
        pace: float = math.nan,
        affordable: Affordable = AT_ANY_COST,
        without_plan: bool = False,
    ) -> FrozenTrial:
        """The next trial, running, with its assignment.

        Its parameters are the point of the assignment, or the nearest one where that lies outside of what is searched.

        Args:
            known: all trials before it, by number.
            study_name: name of their study; Hyperband assigns trials to its brackets by it.
            values: of known trials, see `tuning.search.proposals.sampler_view.as_seen`.
            pace: see `Settings.expected_trials`.
            affordable: what it may cost. What costs more is drawn anew. After the sampler's `attempts` the
                cheapest one is taken. A start costs what it costs: each of its attempts is the start.
            without_plan: whether it is to act without a plan, whatever is drawn of one. A start is as it was named.
        """
        number, settings = len(known), self.settings
        startup = startup_trials(settings.expected_trials(pace))  # trials before the sampler's model
        objectives = len(settings.aim.objectives)
        sampler = SAMPLERS[settings.sampler]
        by_number = SCHEDULERS[settings.scheduler].by_number or sampler.by_number
        most = math.inf if by_number else sampler.most_shown
        seen = as_seen(known, self._point_of, self.distributions, values, objectives, most)
        start = self.starts[number] if number < len(self.starts) else None
        numbers = ((number,), *((number, again) for again in range(1, sampler.attempts)))
        fixed = {**self.fixed, PLAN: "none"} if without_plan else self.fixed
        attempts = (self._attempt(each, start, startup, seen, study_name, fixed) for each in numbers)
        study, trial, assignment = first_affordable(
            attempts, lambda attempt: affordable.cost(attempt.assignment), affordable.most
        )
        trial.set_user_attr(Key.HYPERPARAMETERS, assignment)
        if self.excess:
            excess, why = self.excess(assignment)
            trial.set_constraint(Key.PREDICTED, max(excess, 0))
            if excess > 0:
                trial.set_user_attr(Key.REFUSED, why)
        drawn = deepcopy(study.get_trials(deepcopy=False)[-1])
        drawn.number = number
        drawn.params = self._point(assignment)
        return drawn

    def _attempt(
        self,
        numbers: tuple[int, ...],
        start: Assignment | None,
        startup: int,
        seen: Sequence[FrozenTrial],
        study_name: str,
        fixed: Assignment,
    ) -> Attempt:
        """One draw.

        `numbers` are those of its random streams: the trial's, and from the second attempt on which one it is. `fixed` values
        hold whatever the sampler says.
        """
        settings = self.settings
        point = self._point(start) if start is not None else self._beside_the_sampler(numbers, startup, seen)
        # A new sampler for each attempt. So a draw depends on the experiment's seed, the trial's number and the trials before
        # it, and not on earlier draws of this process. Where the point is known it only hands that over.
        name = settings.sampler if point is None else "random"
        study = optuna.create_study(
            study_name=study_name,
            directions=["maximize"] * len(settings.aim.objectives),
            sampler=SAMPLERS[name].build(stream_seed(Stream.SAMPLER, settings.seed, *numbers), startup),
            pruner=SCHEDULERS[settings.scheduler].build(settings.steps, settings.evaluations),
        )
        study.add_trials(seen)
        if point is not None:
            study.enqueue_trial(point)
        trial = study.ask(dict(self.distributions))
        # A start is exactly what was named, also where the search would not draw it.
        assignment = {**start, **self.fixed} if start else self.space.assignment(trial.params, fixed, self.limits)
        return Attempt(study, trial, assignment)

    def _beside_the_sampler(self, numbers: tuple[int, ...], startup: int, seen: Sequence[FrozenTrial]) -> Point | None:
        """A point around what is known to work or of the whole space; None where the sampler draws."""
        if SAMPLERS[self.settings.sampler].draws_alone:
            return None
        learned = self._transfer.draw(seen, np.random.default_rng(stream(Stream.TRANSFER, self.settings.seed, *numbers)))
        if learned is not None:
            return learned
        random = np.random.default_rng(stream(Stream.PRIOR, self.settings.seed, *numbers))
        return propose(numbers[0], startup, seen, [self._point(start) for start in self.starts], self.distributions, random)

    def _point(self, assignment: Assignment) -> Point:
        return self.space.point(assignment, self.distributions)

    @cached_property
    def distributions(self) -> Mapping[str, BaseDistribution]:
        """What is drawn from, by inner name; see `SearchSpace.distributions`."""
        return self.space.distributions(self.fixed, self.limits)

    @cached_property
    def _point_of(self) -> OfTrials[Mapping[str, float | int | str] | None]:
        return OfTrials(partial(point_in, space=self.space, distributions=self.distributions))

    @cached_property
    def _transfer(self) -> Transfer:
        def point(trial: LearnedTrial) -> Point:
            inside = self._point(self.space.whole(trial.hyperparameters))
            return self._point(self.space.assignment(inside, self.fixed, self.limits))

        sources = [
            Source([point(trial) for trial in each.trials], [trial.rank for trial in each.trials]) for each in self.learned
        ]
        return Transfer(sources, self.distributions)


def already_tried(drawn: FrozenTrial, known: Sequence[FrozenTrial]) -> FrozenTrial | None:
    """The first ended trial of the search with the same assignment that did not fail.

    None if there is none, or if the space has nothing to search.
    """
    if not drawn.params:
        return None
    ended = (trial for trial in known if trial.state in (TrialState.COMPLETE, TrialState.PRUNED))
    # An assignment that was refused may fit now: on another card, or by a better prediction. What confirms is no trial of the
    # search: its seed is not to choose anything.
    tried = (trial for trial in ended if not {Key.REFUSED, Key.CONFIRMS} & trial.user_attrs.keys())
    assignment = drawn.user_attrs[Key.HYPERPARAMETERS]
    same = (trial for trial in tried if trial.user_attrs[Key.HYPERPARAMETERS] == assignment)
    return next(same, None)


@dataclass(frozen=True)
class Draws:
    """Draws trials of a study, from what is in it."""

    memory: StudyMemory
    drawing: Drawing
    plans_wait: Callable[[int | None], bool] = lambda as_frozen: False

    def draw(self, values: Values = MappingProxyType({}), affordable: Affordable = AT_ANY_COST) -> FrozenTrial:
        """Draw the next trial. As long as the study stays as it is, the next call draws the same.

        One that does not fit into memory has ended, with a violated constraint. One with an assignment that has been tried has
        ended with the known outcome.
        """
        known = self.memory.trials()
        drawn = self.drawing.draw(known, self.memory.name, values, pace(self.memory), affordable, self.plans_wait(None))
        if drawn.user_attrs.get(Key.REFUSED):
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
        return [trial for trial in self.memory.trials() if Key.CONFIRMS not in trial.user_attrs]

    def _is_in_vain(self, trial: FrozenTrial) -> bool:
        if Key.REFUSED not in trial.user_attrs:
            return Key.SAME_AS in trial.user_attrs
        # It was refused on the machine of then.
        excess = self.drawing.excess
        return excess is not None and excess(self.memory.proposal(trial.number).hyperparameters)[0] > 0
