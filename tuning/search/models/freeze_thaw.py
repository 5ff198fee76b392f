"""Freeze-thaw search: continue a frozen trial by one rung, or begin a new one.

Everything here is a function of its arguments: of evaluations and of expected costs, never of the clock. The page
docs/search.md has the model and the rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution

from envs.objective.aim import Aim
from tuning.search.models.curve_model import CurveModel, Evaluations, Scale, encode, expected_improvement, thinned

Array = NDArray[np.float64]
FIT_EVALUATIONS, EVALUATIONS = 100, 1000  # most that decide the model's hyperparameters, and that it predicts from
ALL_FIT, FIT_TRIALS = 200, 100  # of more trials than the first the second number decides them
FIRST = 0.2  # part of the most steps that a trial gets first; costly trials get what this part costs with the default
Curves = Sequence[tuple[tuple[int, float], ...]]  # of each trial the steps and the rating of each evaluation, by steps
MOST_TRIALS = 400  # that the model knows
_OF_FROZEN, _OF_ALL = 100, 100  # the best of the frozen ones, and of all others; the rest are spread evenly


@dataclass(frozen=True)
class Curve:
    """What is known of one trial."""

    number: int  # of the trial
    point: Mapping[str, float | int | str]  # inner values by inner name, as Optuna's `params`
    evaluations: tuple[tuple[int, float], ...]  # due steps and rating of each, by steps; may be empty
    # Expected seconds of a step in units of the default's, above 0. It comes from a formula, as decisions must not depend
    # on the clock.
    cost: float
    # An ended trial (complete, pruned, failed) is not continued; its evaluations still teach.
    state: Literal["running", "frozen", "ended"]

    @property
    def steps(self) -> int:
        """Due steps of the last evaluation; 0 before the first."""
        return self.evaluations[-1][0] if self.evaluations else 0


def predicted_ends(curves: Sequence[Curve], distributions: Mapping[str, BaseDistribution], most_steps: int) -> dict[int, float]:
    """Rating that each trial is expected to have after the most steps, by number.

    Those of trials without evaluations are predicted from the others.

    Returns:
        Empty where no trial has an evaluation. Of more trials than the model knows, those without evaluations are not in it.
    """
    is_known = any(curve.evaluations for curve in curves)
    return Outlook(curves, distributions, most_steps, most_steps).ends if is_known else {}


class Outlook:
    """What a model expects of a search at one moment, for several decisions soon after it. It is fitted when it is needed.

    Where hundreds of trials run at once, evaluations come faster than a model can be fitted. Each decision still knows all
    evaluations of the trial that it is about. Those of others it knows as of that moment.
    """

    def __init__(
        self,
        curves: Sequence[Curve],
        distributions: Mapping[str, BaseDistribution],
        most_steps: int,
        rung_steps: int,
        candidate: Curve | None = None,
    ) -> None:
        self._all, self._distributions, self._most_steps, self._rung_steps = curves, distributions, most_steps, rung_steps
        kept = considered([curve.evaluations for curve in curves], [curve.state == "frozen" for curve in curves])
        self._curves = [curves[place] for place in kept]
        everyone = [*self._curves, *([candidate] if candidate else [])]
        self._rows = {curve.number: row for row, curve in enumerate(everyone)}
        self._points = encode([curve.point for curve in everyone], distributions)

    @cached_property
    def ends(self) -> dict[int, float]:
        """See `predicted_ends`; an evaluation at least is known."""
        known = np.arange(len(self._curves))
        mean, _ = self._at(known, np.full(len(known), self._most_steps))
        ratings = self._scale.ratings(mean)
        ends = {curve.number: float(rating) for curve, rating in zip(self._curves, ratings, strict=True)}
        if len(self._curves) < len(self._all):
            rough = zip(self._all, rough_ends([curve.evaluations for curve in self._all]).tolist(), strict=True)
            ends = {**{curve.number: end for curve, end in rough if curve.evaluations}, **ends}
        return ends

    def decide(
        self, curves: Sequence[Curve], candidate: Curve | None, seed: int, steps_left: float, as_frozen: int | None = None
    ) -> int | None:
        """Decide what a free slot does, in three steps; the page docs/search.md says why.

        1. A trial that has begun gets its first `FIRST` of the most steps: before, curves say little. One with costly steps
           gets as many rungs as cost no less than that part does at the default's cost.
        2. The option with the greatest expected improvement of its end over the best expected end, per cost of a step, gets a
           rung.
        3. Where the budget just suffices to finish the trial with the best expected end, that one goes on, if it is expected to
           exceed the best rating so far. Else the option that is expected to gain most over it with all that is left.

        Args:
            curves: all trials by now; running ones count with their expected next evaluation.
            candidate: the trial that would begin; None where none may.
            seed: of this decision; it decides between equal values.
            steps_left: of the budget, in steps of the default's cost.
            as_frozen: number of a frozen trial of which the model may lack evaluations.

        Returns:
            Number of the frozen trial that goes on by one rung; None to begin the candidate, or for nothing without one.
        """
        frozen = [curve for curve in curves if curve.state == "frozen" and curve.steps < self._most_steps]
        if young := [curve for curve in frozen if curve.steps * max(curve.cost, 1.0) < FIRST * self._most_steps]:
            return max(young, key=lambda curve: (curve.steps, -curve.number)).number
        known = [curve for curve in frozen if curve.number in self._rows]
        if not known:
            return None
        late = next((curve for curve in known if curve.number == as_frozen), None)
        outlook = self._beside(candidate) if candidate and candidate.number not in self._rows else self
        return outlook._chosen(known, candidate, seed, steps_left, late)

    def _chosen(
        self, frozen: Sequence[Curve], candidate: Curve | None, seed: int, steps_left: float, late: Curve | None
    ) -> int | None:
        """Steps two and three of `decide`."""
        beginning = [] if candidate is None else [candidate]
        options = [*frozen, *beginning]
        rows = np.array([self._rows[option.number] for option in options])
        begun = np.array([option.steps for option in options])
        costs = np.array([option.cost for option in options])
        ends, deviation = self._at(rows, np.full(len(options), self._most_steps), late)
        leader = int(ends[: len(frozen)].argmax())
        first = sum(max(FIRST * self._most_steps * min(each.cost, 1.0), self._rung_steps * each.cost) for each in beginning)
        if steps_left < costs[leader] * (self._most_steps - begun[leader]) + first:
            if ends[leader] > self._best:
                return frozen[leader].number
            reached = np.minimum(begun + np.maximum(steps_left / costs, self._rung_steps), self._most_steps)
            values = expected_improvement(*self._at(rows, reached, late), self._best)
        else:
            values = expected_improvement(ends, deviation, self._best_end()) / costs
        # Equal values are drawn: no trial is favoured by its number.
        best = np.flatnonzero(values == values.max())
        chosen = options[int(np.random.default_rng(seed).choice(best))]
        return None if chosen is candidate else chosen.number

    @cached_property
    def _scale(self) -> Scale:
        return Scale.of(_ratings(self._all))

    @cached_property
    def _best(self) -> float:
        return float(self._scale.scaled(_ratings(self._all)).max())

    @cached_property
    def _alone(self) -> CurveModel:
        observed = [(row, steps) for row, curve in enumerate(self._curves) for steps, _ in curve.evaluations]
        data = Evaluations(
            np.array([row for row, _ in observed], dtype=np.int64),
            np.log([steps for _, steps in observed]),
            self._scale.scaled(_ratings(self._curves)),
        )
        fitted = CurveModel.fitted(self._points, _of_few(data), FIT_EVALUATIONS)
        return CurveModel(self._points, thinned(data, EVALUATIONS), fitted.logs)

    @cached_property
    def _model(self) -> CurveModel:
        """The model in which what runs has given its predicted evaluation (Ginsbourger et al. 2010, "kriging believer").

        So nothing else is begun in order to learn the same.
        """
        running = [(row, curve.steps) for row, curve in enumerate(self._curves) if curve.state == "running"]
        running = [(row, steps) for row, steps in running if steps < self._most_steps]
        if not running:
            return self._alone
        at = np.array([row for row, _ in running])
        logs = np.log([min(steps + self._rung_steps, self._most_steps) for _, steps in running])
        believed, _ = self._alone.predict(at, logs)
        known = self._alone.data
        data = Evaluations(
            np.concatenate([known.trial, at]),
            np.concatenate([known.log_steps, logs]),
            np.concatenate([known.ratings, believed]),
        )
        return replace(self._alone, data=data)

    def _beside(self, candidate: Curve) -> Outlook:
        model = self._model.with_points(encode([candidate.point], self._distributions))
        outlook = copy(self)
        outlook._rows, outlook.__dict__["_model"] = {**self._rows, candidate.number: len(self._points)}, model
        return outlook

    def _best_end(self) -> float:
        """The best rating that there is, or that a trial is expected to have at its end, scaled."""
        rows = np.array([row for row, curve in enumerate(self._curves) if curve.state != "ended"], dtype=np.int64)
        if not len(rows):
            return self._best
        mean, _ = self._at(rows, np.full(len(rows), self._most_steps))
        return max(self._best, float(mean.max()))

    def _at(self, rows: NDArray[np.int64], steps: NDArray[Any], late: Curve | None = None) -> tuple[Array, Array]:
        """Mean and standard deviation of scaled ratings of trials after some steps.

        `late` is a trial that is predicted with all of its evaluations, also where they came later than the model.
        """
        mean, deviation = self._model.predict(rows, np.log(steps))
        if late is None:
            return mean, deviation
        row = self._rows[late.number]
        if new := [(taken, rating) for taken, rating in late.evaluations if taken > self._curves[row].steps]:
            place = int(np.flatnonzero(rows == row)[0])
            logs = np.log([taken for taken, _ in new])
            ratings = self._scale.scaled(np.array([rating for _, rating in new]))
            at = float(np.log(steps[place]))
            mean[place], deviation[place] = self._alone.predict_after(row, logs, ratings, at)
        return mean, deviation


def _ratings(curves: Sequence[Curve]) -> Array:
    return np.array([rating for curve in curves for _, rating in curve.evaluations])


def _of_few(data: Evaluations) -> Evaluations:
    """Evaluations of all trials, or of `FIT_TRIALS` of more than `ALL_FIT`, spread evenly."""
    trials = np.unique(data.trial)
    if len(trials) <= ALL_FIT:
        return data
    kept = np.isin(data.trial, trials[np.linspace(0, len(trials) - 1, FIT_TRIALS).round().astype(np.int64)])
    return Evaluations(data.trial[kept], data.log_steps[kept], data.ratings[kept])


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


def rough_ends(curves: Curves) -> Array:
    """Rating that each trial would have at the end, if it gained from now on what trials usually gain.

    Usual is the median of all trials that have two evaluations in a row, from the first to the second.

    Returns:
        Shape (trials,); NaN where there is no evaluation.
    """
    counts = np.array([len(curve) for curve in curves], dtype=np.int64)
    ends = np.full(len(counts), np.nan)
    if not counts.sum():
        return ends
    steps = np.array([taken for curve in curves for taken, _ in curve], dtype=np.int64)
    ratings = np.array([rating for curve in curves for _, rating in curve])
    levels, level = np.unique(steps, return_inverse=True)
    follows = np.ones(len(steps), dtype=bool)
    first = np.cumsum(counts) - counts
    follows[first[counts > 0]] = False
    gains = np.diff(ratings, prepend=ratings[0])
    usual = np.zeros(len(levels))
    for place in range(len(levels)):
        gained = gains[follows & (level == place)]
        usual[place] = np.median(gained) if len(gained) else 0.0
    still = np.cumsum(usual[::-1])[::-1] - usual  # from each level to the end
    last = (first + counts - 1)[counts > 0]
    ends[counts > 0] = ratings[last] + still[level[last]]
    return ends


def considered(curves: Curves, frozen: Sequence[bool]) -> list[int]:
    """Places of the trials that the model knows, rising: all of them, or `MOST_TRIALS` of more.

    A model of all takes time with the cube of their number. Few of many matter to a decision: those that may yet be best, and
    enough others to say what is usual.
    """
    if len(curves) <= MOST_TRIALS:
        return list(range(len(curves)))
    ends = rough_ends(curves)
    may_go_on = np.array(frozen, dtype=bool)
    order = np.argsort(-ends, kind="stable")  # those without an evaluation last
    order = order[~np.isnan(ends[order])]
    of_frozen = order[may_go_on[order]][:_OF_FROZEN]
    others = order[~np.isin(order, of_frozen)]
    best = np.concatenate([of_frozen, others[:_OF_ALL]])
    rest = np.sort(others[_OF_ALL:])
    room = min(MOST_TRIALS - len(best), len(rest))
    spread = rest[np.linspace(0, len(rest) - 1, room).round().astype(np.int64)] if room else rest[:0]
    return np.sort(np.concatenate([best, spread])).tolist()
