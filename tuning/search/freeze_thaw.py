"""Freeze-thaw search: continue a frozen trial by one rung, or begin a new one.

Everything here is a function of its arguments: of evaluations and of expected costs, never of the clock. The page
docs/search.md has the model and the rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution

from tuning.search.curve_model import CurveModel, Evaluations, Scale, thinned
from tuning.search.encoding import encode
from tuning.search.gain import expected_improvement

Array = NDArray[np.float64]
FIT_EVALUATIONS, EVALUATIONS = 100, 1000  # most that decide the model's hyperparameters, and that it predicts from
FIRST = 0.2  # part of the most steps that every trial gets


@dataclass(frozen=True)
class Curve:
    """What is known of one trial.

    Attributes:
        number: of the trial.
        point: inner values by inner name, as Optuna's `params`.
        evaluations: due steps and rating of each, by steps; may be empty.
        cost: expected seconds of a step in units of the default's, above 0. It comes from a formula, as decisions must not
            depend on the clock.
        state: an ended trial (complete, pruned, failed) is not continued; its evaluations still teach.
    """

    number: int
    point: Mapping[str, float | int | str]
    evaluations: tuple[tuple[int, float], ...]
    cost: float
    state: Literal["running", "frozen", "ended"]

    @property
    def steps(self) -> int:
        """Due steps of the last evaluation; 0 before the first."""
        return self.evaluations[-1][0] if self.evaluations else 0


def decide(
    curves: Sequence[Curve],
    candidate: Curve | None,
    distributions: Mapping[str, BaseDistribution],
    most_steps: int,
    rung_steps: int,
    seed: int,
    steps_left: float,
) -> int | None:
    """Decide what a free slot does, in three steps; the page docs/search.md says why.

    1. A trial that has begun gets its first `FIRST` of the most steps: before, curves say little.
    2. The option with the greatest expected improvement of its end over the best expected end, per cost of a step, gets a rung.
    3. Where the budget just suffices to finish the trial with the best expected end, that one goes on, if it is expected to
       exceed the best rating so far. Else the option that is expected to gain most over it with all that is left.

    Args:
        curves: all trials so far; running ones count with their expected next evaluation.
        candidate: the trial that would begin; None where none may.
        distributions: of the space, by inner name.
        most_steps: most that a trial may learn.
        rung_steps: steps of one rung.
        seed: of this decision; it decides between equal values.
        steps_left: of the budget, in steps of the default's cost.

    Returns:
        Number of the frozen trial that goes on by one rung; None to begin the candidate, or for nothing without one.
    """
    frozen = [curve for curve in curves if curve.state == "frozen" and curve.steps < most_steps]
    if not frozen:
        return None
    young = [curve for curve in frozen if curve.steps < FIRST * most_steps]
    if young:
        return max(young, key=lambda curve: (curve.steps, -curve.number)).number
    beginning = [] if candidate is None else [candidate]
    model = _Model(curves, beginning, distributions, most_steps, rung_steps)
    options = [*frozen, *beginning]
    rows = np.array([model.rows[option.number] for option in options])
    begun = np.array([option.steps for option in options])
    costs = np.array([option.cost for option in options])
    ends, deviation = model.at(rows, np.full(len(options), most_steps))
    leader = int(ends[: len(frozen)].argmax())
    first = FIRST * most_steps * sum(each.cost for each in beginning)
    if steps_left < costs[leader] * (most_steps - begun[leader]) + first:
        if ends[leader] > model.best:
            return frozen[leader].number
        reached = np.minimum(begun + np.maximum(steps_left / costs, rung_steps), most_steps)
        values = expected_improvement(*model.at(rows, reached), model.best)
    else:
        values = expected_improvement(ends, deviation, model.best_end()) / costs
    # Equal values are drawn: no trial is favoured by its number.
    best = np.flatnonzero(values == values.max())
    chosen = options[int(np.random.default_rng(seed).choice(best))]
    return None if chosen is candidate else chosen.number


def predicted_ends(curves: Sequence[Curve], distributions: Mapping[str, BaseDistribution], most_steps: int) -> dict[int, float]:
    """Rating that each trial is expected to have after the most steps, by number.

    Args:
        curves: all trials; those without evaluations are predicted from the others.
        distributions: see `decide`.
        most_steps: see there.

    Returns:
        Empty where no trial has an evaluation.
    """
    if not any(curve.evaluations for curve in curves):
        return {}
    model = _Model(curves, [], distributions, most_steps, most_steps)
    mean, _ = model.at(np.arange(len(curves)), np.full(len(curves), most_steps))
    ratings = model.scale.ratings(mean)
    return {curve.number: float(rating) for curve, rating in zip(curves, ratings, strict=True)}


class _Model:
    """The posterior over all curves and candidates of one decision."""

    def __init__(
        self,
        curves: Sequence[Curve],
        candidates: Sequence[Curve],
        distributions: Mapping[str, BaseDistribution],
        most_steps: int,
        rung_steps: int,
    ) -> None:
        everyone = [*curves, *candidates]
        self.rows = {curve.number: row for row, curve in enumerate(everyone)}
        observed = [(row, steps, rating) for row, curve in enumerate(curves) for steps, rating in curve.evaluations]
        ratings = np.array([rating for _, _, rating in observed])
        self.scale = Scale.of(ratings)
        scaled = self.scale.scaled(ratings)
        self.best = float(scaled.max())  # scaled rating
        self._curves, self._most_steps = curves, most_steps
        data = Evaluations(
            np.array([row for row, _, _ in observed], dtype=np.int64),
            np.log([steps for _, steps, _ in observed]),
            scaled,
        )
        points = encode([curve.point for curve in everyone], distributions)
        model = CurveModel.fitted(points, data, FIT_EVALUATIONS)
        model = model.with_data(thinned(data, EVALUATIONS))
        running = [(row, curve) for row, curve in enumerate(curves) if curve.state == "running" and curve.steps < most_steps]
        if running:
            # What runs is expected to give its predicted evaluation (Ginsbourger et al. 2010, "kriging believer"), so that
            # nothing else is begun in order to learn the same.
            at = np.array([row for row, _ in running])
            logs = np.log([min(curve.steps + rung_steps, most_steps) for _, curve in running])
            believed, _ = model.predict(at, logs)
            known = model.data
            model = model.with_data(
                Evaluations(
                    np.concatenate([known.trial, at]),
                    np.concatenate([known.log_steps, logs]),
                    np.concatenate([known.ratings, believed]),
                )
            )
        self._model = model

    def best_end(self) -> float:
        """The best rating that there is, or that a trial is expected to have at its end, scaled."""
        rows = np.array([row for row, curve in enumerate(self._curves) if curve.state != "ended"], dtype=np.int64)
        if not len(rows):
            return self.best
        mean, _ = self.at(rows, np.full(len(rows), self._most_steps))
        return max(self.best, float(mean.max()))

    def at(self, rows: NDArray[np.int64], steps: NDArray[Any]) -> tuple[Array, Array]:
        """Mean and standard deviation of scaled ratings of trials after some steps."""
        return self._model.predict(rows, np.log(steps))
