"""Which trial goes on: an adapter from the study to freeze-thaw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from common.streams import Stream, stream_seed
from envs.objective.aim import Aim
from search_spaces import Assignment, SearchSpace
from search_spaces.earlier import in_todays_names
from tuning.search.confirmation import CONFIRMS
from tuning.search.drawing import HYPERPARAMETERS, REFUSED, SAME_AS
from tuning.search.freeze_thaw import Curve, decide, predicted_ends
from tuning.search.study import StudyMemory
from tuning.search.two_aims import FINISHED, chebyshev, gains_of, weight


@dataclass(frozen=True)
class Thawing:
    """Decides between frozen trials and a new one. All that it knows is in the study.

    Attributes:
        memory: the study.
        space: of the experiment.
        distributions: that are drawn from, by inner name, see `SearchSpace.distributions`.
        steps: most of a trial.
        rung_steps: between two evaluations.
        cost: expected seconds of a step of an assignment, in units of the default's.
        seed: of the experiment.
        two_aims: whether there are two objectives.
    """

    memory: StudyMemory
    space: SearchSpace
    distributions: Mapping[str, BaseDistribution]
    steps: int
    rung_steps: int
    cost: Callable[[Assignment], float]
    seed: int
    two_aims: bool = False

    def draw(self) -> FrozenTrial:
        """The next proposal of the sampler, which sees of each trial what is expected at its end, in each objective."""
        if not self.two_aims:
            return self.memory.draw(predicted_ends(self._curves(), self.distributions, self.steps))
        first, second = (
            predicted_ends(self._curves(of_first=of_first), self.distributions, self.steps) for of_first in (1.0, 0.0)
        )
        return self.memory.draw({number: (value, second[number]) for number, value in first.items()})

    def choose(self, drawn: FrozenTrial | None, steps_left: float, as_frozen: int | None = None) -> int | None:
        """What a free slot does.

        Args:
            drawn: the trial that would begin; None where none may.
            steps_left: of the budget.
            as_frozen: number of a running trial that is about to give up its slot; it may keep it.

        Returns:
            Number of the trial that goes on; None to begin the one that was drawn, or where there is none at all.
        """
        curves = self._curves(as_frozen)
        candidate = None if drawn is None else self._curve(drawn, "frozen")
        rungs = sum(len(curve.evaluations) for curve in curves)
        if self.two_aims:
            # One direction for half a trial's rungs: in fewer, what it chooses gets nowhere.
            turn = rungs // max(1, self.steps // (2 * self.rung_steps))
            curves, steps_left = self._curves(as_frozen, weight(turn)), steps_left / FINISHED
        seed = stream_seed(Stream.DECISION, self.seed, len(curves), rungs)
        return decide(curves, candidate, self.distributions, self.steps, self.rung_steps, seed, steps_left)

    def _curves(self, as_frozen: int | None = None, of_first: float | None = None) -> list[Curve]:
        """All curves; with a weight of the first of two objectives, of both as one number."""
        trials = [trial for trial in self.memory.trials() if not {REFUSED, SAME_AS} & trial.user_attrs.keys()]
        found = []
        for trial in trials:
            state = "frozen" if trial.number == as_frozen else _state(trial)
            found.append(self._curve(trial, state))
        return comparable(found if of_first is None else _weighted(found, trials, of_first))

    def _curve(self, trial: FrozenTrial, state: Literal["running", "frozen", "ended"]) -> Curve:
        evaluations = tuple(sorted(trial.intermediate_values.items()))
        assignment = self.space.whole(in_todays_names(trial.user_attrs[HYPERPARAMETERS]))
        point = self.space.point(assignment, self.distributions)
        return Curve(trial.number, point, evaluations, self.cost(assignment), state)


def _weighted(curves: list[Curve], trials: Sequence[FrozenTrial], of_first: float) -> list[Curve]:
    """Curves with both gains as one number. Evaluations that miss requirements keep their ratings, which say by how much.

    Args:
        curves: of the trials.
        trials: of the study, in the same order.
        of_first: weight of the first objective; at 0 and 1 the number is the gain of one objective.
    """
    places = [
        (row, place, gains_of(trial)[steps])
        for row, (curve, trial) in enumerate(zip(curves, trials, strict=True))
        for place, (steps, rating) in enumerate(curve.evaluations)
        if not Aim.is_missed(rating)
    ]
    if not places:
        return curves
    gains = np.array([pair for _, _, pair in places])
    values = gains[:, 0 if of_first else 1] if of_first in (0.0, 1.0) else chebyshev(gains, of_first)
    evaluations = [list(curve.evaluations) for curve in curves]
    for (row, place, _), value in zip(places, values, strict=True):
        evaluations[row][place] = (evaluations[row][place][0], float(value))
    return [replace(curve, evaluations=tuple(own)) for curve, own in zip(curves, evaluations, strict=True)]


def comparable(curves: list[Curve]) -> list[Curve]:
    """Curves with ratings on one scale: one that misses requirements lies below all that meet them, by how much it misses."""
    ratings = [rating for curve in curves for _, rating in curve.evaluations]
    met = [rating for rating in ratings if not Aim.is_missed(rating)]
    if len(met) == len(ratings):
        return curves
    spread = max(met) - min(met) if len(set(met)) > 1 else 1.0
    lowest = min(met, default=0.0)

    def of(rating: float) -> float:
        return lowest - spread * (1.0 + min(Aim.shortfall_of(rating), 1.0)) if Aim.is_missed(rating) else rating

    return [replace(curve, evaluations=tuple((steps, of(rating)) for steps, rating in curve.evaluations)) for curve in curves]


def _state(trial: FrozenTrial) -> Literal["running", "frozen", "ended"]:
    if trial.state is TrialState.WAITING:
        # One that confirms another is no part of the search, and only teaches.
        return "ended" if CONFIRMS in trial.user_attrs else "frozen"
    return "running" if trial.state is TrialState.RUNNING else "ended"
