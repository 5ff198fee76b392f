"""Freeze-thaw search: continue a frozen trial by one rung, or begin a new one.

Everything here is a function of its arguments: of evaluations and of expected costs, never of the clock. The page
docs/search.md has the model and the rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution

from tuning.search.curve_model import CurveModel, Evaluations, Scale, thinned
from tuning.search.encoding import encode
from tuning.search.gain import expected_improvement

Array = NDArray[np.float64]
FIT_EVALUATIONS, EVALUATIONS = 250, 1000  # most that decide the model's hyperparameters, and that it predicts from
HORIZONS = 8  # of one option


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


@dataclass(frozen=True)
class Decision:
    """What a free slot does next.

    Attributes:
        continue_: number of the frozen trial that goes on by one rung; None begins the candidate.
    """

    continue_: int | None


def decide(
    curves: Sequence[Curve],
    candidate: Curve | None,
    distributions: Mapping[str, BaseDistribution],
    most_steps: int,
    rung_steps: int,
    seed: int,
    steps_left: float,
) -> Decision:
    """Decide what a free slot does: the option with the greatest expected gain of the best rating per second.

    An option is a trial with a horizon: a number of rungs that it might go on. Its gain is the expected improvement of the best
    rating at that horizon. The option with the greatest gain per cost wins, and its trial gets one rung.

    Args:
        curves: all trials so far; running ones count with their expected next evaluation.
        candidate: the trial that would begin; None where none may.
        distributions: of the space, by inner name.
        most_steps: most that a trial may learn.
        rung_steps: steps of one rung.
        seed: of this decision; breaks ties.
        steps_left: of the budget, in steps of the default's cost.
    """
    frozen = [curve for curve in curves if curve.state == "frozen" and curve.steps < most_steps]
    if not any(curve.evaluations for curve in curves):
        return Decision(frozen[0].number if frozen else None)
    if not frozen:
        return Decision(None)
    begun = [] if candidate is None else [candidate]
    model = _Model(curves, begun, distributions, most_steps, rung_steps)
    options = [*frozen, *begun]
    steps = [_horizons(option.steps, most_steps, rung_steps) for option in options]
    rows = np.repeat([model.rows[option.number] for option in options], [len(each) for each in steps])
    owners = np.repeat(np.arange(len(options)), [len(each) for each in steps])
    ahead = np.concatenate(steps)
    mean, deviation = model.at(rows, ahead)
    costs = np.array([option.cost for option in options])[owners]
    spent = costs * (ahead - np.array([option.steps for option in options])[owners])
    gains = expected_improvement(mean, deviation, model.incumbent())
    affordable = spent <= max(steps_left, spent.min())
    rates = np.where(affordable, gains / spent, -1.0)
    # Equal rates, as 0 where nothing is expected, are drawn: no trial is favoured by its number.
    best = np.flatnonzero(rates == rates.max())
    chosen = options[owners[np.random.default_rng(seed).choice(best)]]
    return Decision(None if chosen is candidate else chosen.number)


def best_candidate(
    curves: Sequence[Curve],
    candidates: Sequence[Curve],
    distributions: Mapping[str, BaseDistribution],
    most_steps: int,
    rung_steps: int,
    seed: int,
) -> int:
    """The most promising of several draws: the greatest expected gain of the best end per cost.

    Args:
        curves: all trials so far.
        candidates: draws; at least one, each with a number of its own that no curve has.
        distributions: see `decide`.
        most_steps: see there.
        rung_steps: see there.
        seed: see there.

    Returns:
        Index among the candidates; without any evaluation the first.
    """
    if not any(curve.evaluations for curve in curves):
        return 0
    model = _Model(curves, candidates, distributions, most_steps, rung_steps)
    rows = np.array([model.rows[candidate.number] for candidate in candidates])
    mean, deviation = model.at(rows, np.full(len(candidates), most_steps))
    gains = expected_improvement(mean, deviation, model.incumbent())
    rates = gains / np.array([candidate.cost for candidate in candidates])
    return int(np.random.default_rng(seed).choice(np.flatnonzero(rates == rates.max())))


def predicted_ends(
    curves: Sequence[Curve], distributions: Mapping[str, BaseDistribution], most_steps: int, seed: int
) -> dict[int, float]:
    """Rating that each trial is expected to have after the most steps, by number.

    Args:
        curves: all trials; those without evaluations are predicted from the others.
        distributions: see `decide`.
        most_steps: see there.
        seed: the model has no chance in it, so this changes nothing.

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
        self._best = float(self.scale.scaled(ratings).max())
        data = Evaluations(
            np.array([row for row, _, _ in observed], dtype=np.int64),
            np.log([steps for _, steps, _ in observed]),
            self.scale.scaled(ratings),
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
            self._best = max(self._best, float(believed.max()))
            known = model.data
            model = model.with_data(
                Evaluations(
                    np.concatenate([known.trial, at]),
                    np.concatenate([known.log_steps, logs]),
                    np.concatenate([known.ratings, believed]),
                )
            )
        self._model = model

    def incumbent(self) -> float:
        """The best scaled rating that there is, or that running trials are expected to have next."""
        return self._best

    def at(self, rows: NDArray[np.int64], steps: NDArray[np.int64]) -> tuple[Array, Array]:
        """Mean and standard deviation of scaled ratings of trials after some steps."""
        return self._model.predict(rows, np.log(steps))


def _horizons(steps: int, most_steps: int, rung_steps: int) -> NDArray[np.int64]:
    """Steps after one rung more, after all rungs, and at most `HORIZONS` numbers of rungs between."""
    count = math.ceil((most_steps - steps) / rung_steps)
    rungs = np.unique(np.round(np.geomspace(1, count, HORIZONS)).astype(np.int64))
    return np.minimum(steps + rung_steps * rungs, most_steps)
