"""Which trial goes on: an adapter from the study to freeze-thaw.

The study of a search with two objectives has one value for each evaluation: the mean of both gains. What each objective gained
is an attribute of the trial. A decision looks at them from one direction: it weights the objectives, and the weights follow a
fixed sequence (ParEGO, Knowles 2006). So all parts of the front get their turn, and a decision depends on the study alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from common.generators import Stream, stream_seed
from envs.objective.aim import Aim
from tuning.search.models.freeze_thaw import MOST_TRIALS, Curve, Outlook, comparable, predicted_ends
from tuning.search.proposals.sampler_view import Values
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import Affordable, Costs, Key, OfTrials, Standing, gains_of, has_plan, repeats, was_run
from tuning.trial.evaluations import GIVEN_UP, kept_plan

LAGGING = 16  # trials that run, for each evaluation that a decision may lack
FINISHED = 3  # members of the front that the end of a budget pays for: both ends and the middle
_AUGMENTATION = 0.05  # how much the weighted sum counts beside the greatest weighted distance
_FIRST_WEIGHTS = (0.5, 0.0, 1.0)  # the middle and both ends
MOST_PART, ALWAYS = 0.1, 10.0  # of the budget, and times the default's cost: what a draw may cost, the greater of both


@dataclass
class Thawing:
    """Decides between frozen trials and a new one. All that it knows is in the study.

    Where many trials run at once, the last proposal and what the model expects are used for several decisions.
    """

    memory: StudyMemory  # the study
    costs: Costs  # of trials
    distributions: Mapping[str, BaseDistribution]  # that are drawn from, by inner name, see `SearchSpace.distributions`
    steps: int  # most of a trial
    rung_steps: int  # between two evaluations
    seed: int  # of the experiment
    steps_promised: Callable[[], float]  # steps of the default that the whole budget pays for; infinite where that is not known
    two_aims: bool = False  # whether there are two objectives
    # Whether policies with a plan have had their part of the budget, see `tuning.search.record.ledger`.
    plans_wait: Callable[[int | None], bool] = lambda as_frozen: False
    # The last proposal, with the number of trials and evaluations before it.
    _drawn: tuple[int, int, FrozenTrial] | None = field(default=None, init=False)
    # The last ones by direction, each with the evaluations at that moment.
    _outlooks: dict[float | None, tuple[int, Outlook]] = field(default_factory=dict, init=False)

    def draw(self, draw: Callable[[Values, Affordable], FrozenTrial]) -> FrozenTrial:
        """The next proposal of the sampler, which sees of each trial what is expected at its end, in each objective.

        One that would cost more than a tenth of the budget as a whole training is drawn anew, but not below ten of the default.
        `draw` is given what trials count by number, and what it may cost.
        """
        kept, number = self._drawn, len(self.memory.trials())
        if self._lag and kept and kept[0] == number and not self._is_old(kept[1]):
            return kept[2]
        affordable = Affordable(self.costs.of_assignment, max(ALWAYS, MOST_PART * self.steps_promised() / self.steps))
        first = self._ends(1.0 if self.two_aims else None)
        if self.two_aims:
            second = self._ends(0.0)
            if first.keys() != second.keys():
                # A decision has renewed one of them alone, and trials have been evaluated for the first time between them.
                self._outlooks.clear()
                first, second = self._ends(1.0), self._ends(0.0)
            drawn = draw({number: (value, second[number]) for number, value in first.items()}, affordable)
        else:
            drawn = draw(first, affordable)
        self._drawn = number, self._rungs, drawn
        return drawn

    def choose(self, drawn: FrozenTrial | None, steps_left: float, as_frozen: int | None = None) -> int | None:
        """What a free slot does.

        Args:
            drawn: the trial that would begin; None where none may.
            steps_left: of the budget, in steps of the default's cost.
            as_frozen: number of a running trial that is about to give up its slot; it may keep it.

        Returns:
            Number of the trial that goes on; None to begin the one that was drawn, or where there is none at all.
        """
        of_first, rungs = None, self._rungs
        if self.two_aims:
            # One direction for half a trial's rungs: in fewer, what it chooses gets nowhere.
            of_first = weight(rungs // max(1, self.steps // (2 * self.rung_steps)))
            steps_left = steps_left / FINISHED
        curves = self._curves(as_frozen, of_first)
        if drawn is None and all(curve.state != "frozen" for curve in curves):
            curves = self._curves(as_frozen, of_first, with_plans=True)  # nothing else could have the slot
        candidate = None if drawn is None else replace(self._curve_of(drawn), state="frozen")
        seed = stream_seed(Stream.DECISION, self.seed, len(curves), rungs)
        lags = self._lag and rungs
        known = self._outlook(curves, of_first) if lags else self._new_outlook(curves, candidate)
        return known.decide(curves, candidate, seed, steps_left, as_frozen)

    def given_up(self) -> dict[int, str]:
        """Trials that are not continued, each with what its policy does: all the time what its plan or an earlier trial does.

        A policy that starts from a plan can keep it for ever, as one that does nothing can. It is given up as late as that.
        """
        trials, least = [trial for trial in self._ran() if Key.CONFIRMS not in trial.user_attrs], GIVEN_UP * self.steps
        same = "policy is rated exactly as trial {} after all of its evaluations"
        repeating = {number: same.format(first) for number, first in repeats(trials, least).items()}
        keeping = (trial for trial in trials if Standing.of(trial).keeps_plan and max(trial.intermediate_values) >= least)
        return {**repeating, **{trial.number: kept_plan(len(trial.intermediate_values)) for trial in keeping}}

    def _ends(self, of_first: float | None) -> Mapping[int, float]:
        curves = self._curves(of_first=of_first)
        if self._lag and self._rungs:
            return self._outlook(curves, of_first).ends
        return predicted_ends(curves, self.distributions, self.steps)

    @property
    def _lag(self) -> int:
        """Evaluations that a decision may lack.

        Where hundreds of trials run at once, they come faster than a model can be fitted. That many come within a sixteenth of
        the time between two evaluations of a trial. With few trials, or few at once, it lacks none.
        """
        trials = self.memory.trials()
        if len(trials) <= MOST_TRIALS:
            return 0
        return sum(trial.state is TrialState.RUNNING for trial in trials) // LAGGING

    @property
    def _rungs(self) -> int:
        return sum(len(trial.intermediate_values) for trial in self._ran())

    def _is_old(self, rungs: int) -> bool:
        return self._rungs - rungs > self._lag

    def _outlook(self, curves: list[Curve], of_first: float | None) -> Outlook:
        """What the model expects, as of now or a little before; with an evaluation at least."""
        known = self._outlooks.get(of_first)
        if known is None or self._is_old(known[0]):
            known = self._outlooks[of_first] = self._rungs, self._new_outlook(curves)
        return known[1]

    def _new_outlook(self, curves: list[Curve], candidate: Curve | None = None) -> Outlook:
        return Outlook(curves, self.distributions, self.steps, self.rung_steps, candidate)

    @property
    def _planned(self) -> list[int]:
        return [trial.number for trial in self._ran() if has_plan(self.costs.assignment(trial))]

    def _ran(self) -> list[FrozenTrial]:
        return [trial for trial in self.memory.trials() if was_run(trial)]

    def _curves(self, as_frozen: int | None = None, of_first: float | None = None, with_plans: bool = False) -> list[Curve]:
        """All curves; with a weight of the first of two objectives, of both as one number.

        Frozen trials that add nothing do not go on, and those with a plan wait while their part is used up.
        """
        trials = self._ran()
        curves = [self._curve_of(trial) for trial in trials]
        curves = [replace(curve, state="frozen") if curve.number == as_frozen else curve for curve in curves]
        waits = not with_plans and self.plans_wait(as_frozen)
        waiting = {*self.given_up(), *(self._planned if waits else ())}
        curves = [
            replace(curve, state="ended") if curve.state == "frozen" and curve.number in waiting else curve for curve in curves
        ]
        return comparable(curves if of_first is None else _weighted(curves, trials, of_first))

    @cached_property
    def _curve_of(self) -> OfTrials[Curve]:
        return OfTrials(self._curve)

    def _curve(self, trial: FrozenTrial) -> Curve:
        evaluations = tuple(sorted(trial.intermediate_values.items()))
        point = self.costs.space.point(self.costs.assignment(trial), self.distributions)
        return Curve(trial.number, point, evaluations, self.costs.of(trial), _state(trial))


def _weighted(curves: list[Curve], trials: Sequence[FrozenTrial], of_first: float) -> list[Curve]:
    """Curves with both gains as one number. Evaluations that miss requirements keep their ratings, which say by how much.

    `of_first` is the weight of the first objective; at 0 and 1 the number is the gain of one objective.
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
    return [replace(curve, evaluations=tuple(weighted)) for curve, weighted in zip(curves, evaluations, strict=True)]


def _state(trial: FrozenTrial) -> Literal["running", "frozen", "ended"]:
    if trial.state is TrialState.WAITING:
        # One that confirms another is no part of the search, and only teaches.
        return "ended" if Key.CONFIRMS in trial.user_attrs else "frozen"
    return "running" if trial.state is TrialState.RUNNING else "ended"


def weight(number: int) -> float:
    """Weight of the first objective: 1/2, 0, 1, then 1/4, 3/4, 1/8, 5/8, ... (van der Corput's sequence)."""
    if number < len(_FIRST_WEIGHTS):
        return _FIRST_WEIGHTS[number]
    value, part, rest = 0.0, 0.5, number - 1
    while rest:
        value, part, rest = value + part * (rest % 2), part / 2.0, rest // 2
    return value


def chebyshev(gains: NDArray[np.float64], of_first: float) -> NDArray[np.float64]:
    """Gains as one number: the augmented Chebyshev scalarisation of ParEGO (Knowles 2006), turned so that more is better.

    Each objective is scaled first: its median becomes 0, its best value 1. Shape (evaluations,), at most 0.

    Args:
        gains: of all evaluations, shape (evaluations, 2).
        of_first: weight of the first objective, from 0 to 1.
    """
    best, middle = gains.max(axis=0), np.median(gains, axis=0)
    width = np.where(best > middle, best - middle, 1.0)
    weighted = (best - gains) / width * (of_first, 1.0 - of_first)
    return -(weighted.max(axis=1) + _AUGMENTATION * weighted.sum(axis=1))
