"""Draws from what earlier experiments found good, as often as their ranks agree with the trials of this one.

Scores of two sites do not compare, so only ranks within each experiment count. The page docs/search.md has the rule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial
from scipy.special import ndtri

from search_spaces.parameter import Value
from tuning.search.models.curve_model import Array, CurveModel, Evaluations, encode
from tuning.search.proposals.prior import Point, feasible

SHARE = 0.8  # of the draws, where an earlier experiment agrees
TRUST = 1.0  # an earlier experiment counts as if so many trials had agreed already
GOOD_PART = 0.25  # of an earlier experiment's trials: what is drawn
FIT_TRIALS = 100  # that decide the hyperparameters of the model of an earlier experiment
MODEL_TRIALS = 300  # that the model predicts from; its time grows with their cube, and it is asked at each draw
_ROUNDING = 1e-9  # of a part of a range
_APART = 2.0 / np.sqrt(np.pi)  # mean distance of two standard normal numbers


@dataclass(frozen=True)
class Source:
    """Trials of an earlier experiment."""

    points: Sequence[Point]  # of the trials, within the distributions of this experiment
    ranks: Sequence[float]  # of each among them, from 1 for the best; equal ones share a rank

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """Places of the trials, the best first."""
        return np.argsort(np.array(self.ranks), kind="stable")

    @cached_property
    def standings(self) -> Array:
        """Ranks as normal scores: 0 in the middle, the best highest."""
        return np.asarray(ndtri(1.0 - (np.array(self.ranks) - 0.5) / len(self.ranks)))

    @cached_property
    def modelled(self) -> NDArray[np.int64]:
        """Places of the trials that the model knows: all, or of many an even part of the ranks."""
        spread = np.linspace(0, len(self.ranks) - 1, min(len(self.ranks), MODEL_TRIALS)).round().astype(np.int64)
        return np.sort(self._order[spread])

    @cached_property
    def best(self) -> Sequence[Point]:
        """The good part of the points, the best first."""
        return [self.points[int(row)] for row in self._order[: max(1, round(GOOD_PART * len(self.ranks)))]]


@dataclass(frozen=True)
class Transfer:
    """What is drawn from earlier experiments. All of it follows from its arguments."""

    sources: Sequence[Source]
    distributions: Mapping[str, BaseDistribution]

    def draw(self, seen: Sequence[FrozenTrial], random: np.random.Generator) -> Point | None:
        """A point for the next trial; None where earlier experiments give none.

        These are the best of a source as they are. What they gave is the best of this experiment then, and others are drawn
        around it, see `tuning.search.proposals.prior`.
        """
        if not self.sources:
            return None
        weights = np.array(self.weights(seen))
        if random.random() >= SHARE * weights.max():
            return None
        source = self.sources[int(random.choice(len(weights), p=weights / weights.sum()))]
        for point, is_new in zip(source.best, self._are_new(source.best, [trial.params for trial in seen]), strict=True):
            if is_new:
                return dict(point)
        return None

    def _are_new(self, points: Sequence[Point], tried: Sequence[Point]) -> list[bool]:
        """Of each point, whether no trial has it; values that differ by rounding are the same."""
        rows = encode([*points, *tried], self.distributions)
        new, others = rows[: len(points)], rows[len(points) :]
        return [not (np.abs(others - row) < _ROUNDING).all(axis=1).any() for row in new]

    def weights(self, seen: Sequence[FrozenTrial]) -> list[float]:
        """How far each source is believed, from 0 to 1, after the trials of this experiment.

        Those count that are complete and violate nothing.
        """
        rated = feasible(seen)
        # With two objectives the mean gain, which ranks trials elsewhere too.
        ratings = np.array([np.mean(trial.values) for trial in rated], dtype=np.float64)
        points = [trial.params for trial in rated]
        return [believed(self._expected(number, points), ratings) for number in range(len(self.sources))]

    def _expected(self, number: int, points: Sequence[Point]) -> Array:
        """Standings that a source lets expect of points: of its Gaussian process."""
        if not points:
            return np.zeros(0)
        model = self._models[number]
        known, whole = len(model.points), np.concatenate([model.points, encode(points, self.distributions)])
        mean, _ = replace(model, points=whole).predict(np.arange(known, len(whole)), np.zeros(len(points)))
        return mean

    @cached_property
    def _models(self) -> list[CurveModel]:
        """The Gaussian process of each source, which knows its trials as vectors, and their standings."""
        models = []
        for source in self.sources:
            places = source.modelled
            rows = encode([source.points[place] for place in places], self.distributions)
            data = Evaluations(np.arange(len(places)), np.zeros(len(places)), source.standings[places])
            models.append(CurveModel.fitted(rows, data, FIT_TRIALS))
        return models


def believed(expected: Array, ratings: Array) -> float:
    """How far an earlier experiment is believed.

    All pairs of trials are compared. A pair counts by how far the earlier experiment expects the two apart, and for or against
    by whether they are in that order. So pairs that it takes for alike say nothing.

    Returns:
        1 before anything is known and where all pairs agree; 0 where it is contradicted more than it is trusted at first.
    """
    apart = expected[:, None] - expected[None, :]
    if not (total := float(np.abs(apart).sum())):
        return 1.0
    agreement = float((apart * np.sign(ratings[:, None] - ratings[None, :])).sum()) / total
    pairs = total / (len(expected) * _APART)  # in trials: n random ones have n - 1
    return max(0.0, (TRUST + pairs * agreement) / (TRUST + pairs))


@dataclass(frozen=True)
class LearnedTrial:
    """A trial of another experiment."""

    trial: int  # its number there
    rank: float  # among the trials of that experiment that are used, from 1 for the best; equal ones share a rank
    hyperparameters: dict[str, Value]  # full assignment, by the names of the version that wrote the file


@dataclass(frozen=True)
class LearnedExperiment:
    """Another experiment that is learned from."""

    folder: str  # where it was: a path or a URI
    summary: str  # how many of its trials are used, and why the others are not
    trials: tuple[LearnedTrial, ...]  # those that are used
