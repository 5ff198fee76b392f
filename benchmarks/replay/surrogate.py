"""A landscape that answers any proposal: a model of recorded curves says what a training of it would give.

A table of fixed assignments leaves a sampler little to find, as each proposal becomes the nearest of them. Surrogate benchmarks
(Eggensperger, Hutter, Hoos and Leyton-Brown 2015) have no such limit. The model here is of the family that freeze-thaw decides
with, fitted to all that was recorded. So it compares rules of freeze-thaw with each other better than freeze-thaw with others.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.replay.landscape import Landscape, within
from tuning.search.models.curve_model import CurveModel, Evaluations, Point, Scale, encode, thinned

Array = NDArray[np.float64]
FIT_EVALUATIONS, FIT_ITERATIONS, EVALUATIONS = 600, 60, 1500  # a search has less of each: here it is done once
_LUCK = 7  # apart from other random streams of a replay


@dataclass(frozen=True)
class Surrogate:
    """What a model expects of any point, fitted to a landscape.

    Attributes:
        landscape: that was recorded. Its curves may end early.
        scale: of the ratings that the models see.
        curves: model of the recorded curves.
        costs: model of the logarithm of costs; its ratings are standardised.
    """

    landscape: Landscape
    scale: Scale
    curves: CurveModel
    costs: CurveModel

    @classmethod
    def of(cls, landscape: Landscape) -> Self:
        """Fit both models.

        Args:
            landscape: with at least two evaluations.
        """
        points = encode([within(point, landscape.distributions) for point in landscape.points], landscape.distributions)
        assignment, seed, at = np.nonzero(~np.isnan(landscape.ratings))
        # Each training is a trial of its own, at the point of its assignment.
        trainings, trial = np.unique(np.stack([assignment, seed]), axis=1, return_inverse=True)
        ratings = landscape.ratings[assignment, seed, at]
        scale = Scale.of(ratings)
        data = Evaluations(trial, np.log(landscape.steps[at]), scale.scaled(ratings))
        logs = np.log(landscape.costs)
        own = Evaluations(np.arange(len(logs)), np.zeros(len(logs)), (logs - logs.mean()) / (logs.std() or 1.0))
        return cls(landscape, scale, _fitted(points[trainings[0]], data), _fitted(points, own))

    @property
    def name(self) -> str:
        """Name of what was recorded, and that this is its surrogate."""
        return f"surrogate of {self.landscape.name}"

    @property
    def steps(self) -> NDArray[np.int64]:
        """At which a training is evaluated."""
        return self.landscape.steps

    def describe(self) -> str:
        """Name and size in words."""
        return f"surrogate of {self.landscape.describe()}"

    def expected(self, rows: Array) -> Array:
        """Ratings of points along the steps, without what a seed adds.

        Args:
            rows: encoded points.

        Returns:
            Shape (points, evaluations).
        """
        evaluations = len(self.steps)
        known = len(self.curves.points)
        trial = np.repeat(np.arange(known, known + len(rows)), evaluations)
        mean, _ = self.curves.with_points(rows).predict(trial, np.tile(np.log(self.steps), len(rows)))
        return self.scale.ratings(mean).reshape(len(rows), evaluations)

    def training(self, row: Array, random: np.random.Generator) -> Array:
        """Ratings of one training: what is expected, what its seed adds, and noise of each evaluation.

        Args:
            row: encoded point.
            random: source of chance.

        Returns:
            Shape (evaluations,).
        """
        scaled = self.scale.scaled(self.expected(row[None, :])[0])
        count = len(self.steps)
        luck = self._luck @ random.standard_normal(count) + np.sqrt(self.curves.noise) * random.standard_normal(count)
        return self.scale.ratings(scaled + luck)

    def cost(self, row: Array) -> float:
        """Seconds a step of an encoded point, in units of the default's."""
        logs = np.log(self.landscape.costs)
        mean, _ = self.costs.with_points(row[None, :]).predict(np.array([len(self.costs.points)]), np.zeros(1))
        return float(np.exp(logs.mean() + (logs.std() or 1.0) * mean[0]))

    def opened(self) -> Open:
        """The landscape for one replay."""
        return Open(self)

    @cached_property
    def ends(self) -> Array:
        """Expected end of each recorded assignment."""
        points = [within(point, self.landscape.distributions) for point in self.landscape.points]
        return self.expected(encode(points, self.landscape.distributions))[:, -1]

    @cached_property
    def _luck(self) -> Array:
        """Cholesky factor of the covariance that a seed adds along the steps."""
        covariance = self.curves.seeds_covariance(np.log(self.steps))
        return np.linalg.cholesky(covariance + 1e-9 * np.eye(len(covariance)))


class Open:
    """What one replay searches: it has as many assignments as were proposed.

    Attributes:
        points: proposals so far, after the starts.
        costs: of each, see `Landscape.costs`.
        starts: see there.
    """

    def __init__(self, surrogate: Surrogate) -> None:
        self._surrogate = surrogate
        land = surrogate.landscape
        self.name, self.steps, self.distributions = surrogate.name, land.steps, land.distributions
        self.points: list[Point] = []
        self.costs: list[float] = []
        self._unit = 1.0  # the model's cost of the default
        self.starts = tuple(self.nearest(within(land.points[start], land.distributions), []) for start in land.starts)
        if self.starts:
            self._unit = self.costs[0]
            self.costs = [cost / self._unit for cost in self.costs]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def default(self) -> int | None:
        """See there."""
        return self.starts[0] if self.starts else None

    def untried(self, begun: Container[int]) -> list[int]:
        """The next proposal: there is always one more."""
        return [len(self.points)]

    def nearest(self, point: Point, free: Sequence[int]) -> int:
        """A proposal is an assignment itself."""
        self.points.append(point)
        self.costs.append(self._surrogate.cost(self._row(len(self.points) - 1)) / self._unit)
        return len(self.points) - 1

    def trainings(self, seed: int) -> tuple[Curves, Curves]:
        """One training of each assignment, and what is expected of each."""
        surrogate = self._surrogate

        def one(assignment: int) -> Array:
            return surrogate.training(self._row(assignment), np.random.default_rng([seed, assignment, _LUCK]))

        return Curves(one), Curves(lambda assignment: surrogate.expected(self._row(assignment)[None, :])[0])

    def regret(self, rating: float) -> float:
        """As of a landscape, from expected ends of what was recorded; below 0 where a rating is better than all of them."""
        best, median = self._surrogate.ends.max(), np.median(self._surrogate.ends)
        return float(min((best - rating) / (best - median), 2.0))

    def _row(self, assignment: int) -> Array:
        return encode([self.points[assignment]], self.distributions)[0]


class Curves:
    """Curves that are made when they are first read; indexed as an array of shape (assignments, evaluations)."""

    def __init__(self, make: Callable[[int], Array]) -> None:
        self._make = make
        self._made: dict[int, Array] = {}

    def __getitem__(self, place: tuple[int, int]) -> float:
        assignment, evaluation = place
        if assignment not in self._made:
            self._made[assignment] = self._make(assignment)
        return float(self._made[assignment][evaluation])


def _fitted(points: Array, data: Evaluations) -> CurveModel:
    logs = CurveModel.fitted(points, data, FIT_EVALUATIONS, FIT_ITERATIONS).logs
    return CurveModel(points, thinned(data, EVALUATIONS), logs)
