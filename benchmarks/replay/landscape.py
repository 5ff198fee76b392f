"""Recorded learning curves of many assignments, to search over without training."""

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    distribution_to_json,
    json_to_distribution,
)

from tuning.search.models.curve_model import Point, encode

Array = NDArray[np.float64]
SITES = ("alike", "unrelated", "opposite")  # kinds of other sites by formula
_SITE = 77  # apart from seeds of landscapes
WHOLE = 100  # assignments; a landscape with fewer is preliminary


@dataclass(frozen=True)
class Landscape:
    """Curves of assignments.

    Attributes:
        name: of the landscape.
        points: inner values of each assignment, by inner name.
        distributions: by inner name.
        steps: at which all were evaluated, rising, evenly spaced.
        ratings: of shape (assignments, seeds, evaluations); NaN where a seed is missing.
        costs: seconds a step of each assignment, in units of the default's, else of the median.
        starts: indices of the assignments that the tuner begins with on this site, as far as they are recorded; the default
            is the first, and every other search begins with it too. Empty where there is none.
        encoded: the points as rows, see `tuning.search.models.curve_model`.
    """

    name: str
    points: Sequence[Point]
    distributions: dict[str, BaseDistribution]
    steps: NDArray[np.int64]
    ratings: Array
    costs: Array
    starts: tuple[int, ...] = ()
    encoded: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoded", encode(self.points, self.distributions))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def default(self) -> int | None:
        """Index of the default; None where it is not recorded."""
        return self.starts[0] if self.starts else None

    @property
    def means(self) -> Array:
        """Mean rating over the seeds, of shape (assignments, evaluations)."""
        return np.nanmean(self.ratings, axis=1)

    @property
    def is_whole(self) -> bool:
        """Whether each assignment has a curve to the end."""
        return bool((~np.isnan(self.ratings).any(axis=2)).any(axis=1).all())

    def untried(self, begun: Container[int]) -> list[int]:
        """Assignments that have not begun."""
        return [index for index in range(len(self)) if index not in begun]

    def trainings(self, seed: int) -> tuple[Array, Array]:
        """One training of each assignment, and the mean of all its seeds; both of shape (assignments, evaluations).

        Args:
            seed: of a replay; it decides which of the recorded seeds each assignment is trained with.
        """
        return self.of_one_seed(np.random.default_rng([seed, 1])), self.means

    def of_one_seed(self, random: np.random.Generator) -> Array:
        """Ratings of one of the recorded seeds of each assignment, of shape (assignments, evaluations).

        Args:
            random: draws the seeds.
        """
        there = ~np.isnan(self.ratings).any(axis=2)
        return self.ratings[np.arange(len(self)), [int(random.choice(np.flatnonzero(each))) for each in there]]

    def nearest(self, point: Point, free: Sequence[int]) -> int:
        """The nearest of some assignments, in the encoded space."""
        row = encode([point, *self.points], self.distributions)[0]
        rows = list(free)
        return rows[int(np.square(self.encoded[rows] - row).sum(axis=1).argmin())]

    def regret(self, rating: float) -> float:
        """How far a rating is from the best mean end: 0 there and above, 1 at the median end; at most 2."""
        ends = self.means[:, -1]
        best, median = ends.max(), np.median(ends)
        return float(np.clip((best - rating) / (best - median), 0.0, 2.0))

    def describe(self) -> str:
        """Name and size in words."""
        preliminary = "" if len(self) >= WHOLE else ", preliminary"
        seeds = (~np.isnan(self.ratings).all(axis=2)).sum(axis=1)
        fewest = "" if seeds.min() == seeds.max() else f"{seeds.min()} to "
        return f"{self.name} ({len(self)} assignments, {fewest}{seeds.max()} seeds{preliminary})"


def gathered(points: Sequence[Point], curves: Array, costs: Array) -> tuple[list[Point], Array, Array]:
    """Assignments of trainings: those of one point are its seeds. A training that is given twice counts once.

    Args:
        points: of each training.
        curves: of shape (trainings, evaluations).
        costs: of each training.

    Returns:
        Points, ratings and mean costs of the assignments, as `Landscape` has them, in the order of their first trainings.
    """
    trainings = dict[str, list[int]]()
    written = curves.astype(np.float32)  # as `save` writes them
    for place, point in enumerate(points):
        known = trainings.setdefault(json.dumps(dict(point), sort_keys=True), [])
        if not any(np.array_equal(written[place], written[other], equal_nan=True) for other in known):
            known.append(place)
    ratings = np.full((len(trainings), max(map(len, trainings.values())), curves.shape[1]), np.nan)
    for assignment, places in enumerate(trainings.values()):
        ratings[assignment, : len(places)] = curves[places]
    return (
        [points[places[0]] for places in trainings.values()],
        ratings,
        np.array([costs[places].mean() for places in trainings.values()]),
    )


def within(point: Point, distributions: Mapping[str, BaseDistribution]) -> dict[str, float | int | str]:
    """A point with the nearest values in the ranges: presets may lie outside."""
    return {name: _within(point[name], each) for name, each in distributions.items() if name in point}


def _within(value: float | int | str, distribution: BaseDistribution) -> float | int | str:
    low, high = getattr(distribution, "low", None), getattr(distribution, "high", None)
    if low is None or high is None or isinstance(value, str):
        return value
    return type(value)(min(max(value, low), high))


def save(landscape: Landscape, path: Path) -> None:
    """Write a landscape as Parquet, one row for each assignment; scores as float32."""
    ratings = landscape.ratings.astype(np.float32)
    table = pa.table(
        {
            "point": pa.array([json.dumps(dict(point), sort_keys=True) for point in landscape.points]),
            "cost": pa.array(landscape.costs.astype(np.float32)),
            "ratings": pa.array(list(ratings.reshape(len(landscape), -1))),
        }
    ).replace_schema_metadata(
        {
            "name": landscape.name,
            "distributions": json.dumps({name: distribution_to_json(d) for name, d in landscape.distributions.items()}),
            "steps": json.dumps(landscape.steps.tolist()),
            "seeds": str(ratings.shape[1]),
            "starts": json.dumps(landscape.starts),
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd")


def load(path: Path) -> Landscape:
    """Read a landscape: a Parquet of `save`, or HPO-RL-Bench's learning curves as CSV."""
    if path.suffix == ".csv":
        return _hpo_rl_bench(path)
    table = pq.read_table(path)
    about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    steps = np.array(json.loads(about["steps"]))
    return Landscape(
        about["name"],
        [json.loads(point) for point in table["point"].to_pylist()],
        {name: json_to_distribution(text) for name, text in json.loads(about["distributions"]).items()},
        steps,
        np.array(table["ratings"].to_pylist(), dtype=np.float64).reshape(len(table), int(about["seeds"]), len(steps)),
        table["cost"].to_numpy().astype(np.float64),
        tuple(json.loads(about["starts"])),
    )


def _hpo_rl_bench(path: Path) -> Landscape:
    """PPO's curves: columns log10_learning_rate, gamma, clip, seed, evaluation, return (Shala et al. 2024)."""
    import pandas as pd

    table = pd.read_csv(path)
    names = ["log10_learning_rate", "gamma", "clip"]
    curves = table.pivot_table(index=[*names, "seed"], columns="evaluation", values="return")
    points = list(dict.fromkeys(index[:3] for index in curves.index))
    seeds = sorted(table["seed"].unique())
    ratings = np.full((len(points), len(seeds), curves.shape[1]), np.nan)
    for index, row in zip(curves.index, curves.to_numpy(), strict=True):
        ratings[points.index(index[:3]), seeds.index(index[3])] = row
    gammas = sorted(table["gamma"].unique())
    distributions: dict[str, BaseDistribution] = {
        "log10_learning_rate": FloatDistribution(-6, -1),
        # Their distances mean little as numbers: .98, .99 and 1 are worlds apart.
        "gamma": FloatDistribution(0, len(gammas) - 1),
        "clip": FloatDistribution(0.2, 0.4),
    }
    values: list[Point] = [{names[0]: p[0], "gamma": gammas.index(p[1]), "clip": p[2]} for p in points]
    # The first evaluation comes after a first part of the training, not before it.
    steps = np.arange(1, curves.shape[1] + 1) * 50_000
    return Landscape("PPO on Enduro", values, distributions, steps, ratings, np.ones(len(points)))


def made(seed: int, assignments: int = 120, columns: int = 10, site: str = "") -> Landscape:
    """A landscape by formula, with what was seen in recorded ones; for tests, and where few are recorded.

    A third never leaves 0. The others end at a plateau less a distance from an optimum. What ends higher tends to rise later.
    Costs differ tenfold. Half of the assignments lie around the default, which is good and not best.

    Args:
        seed: of the landscape.
        assignments: how many.
        columns: numbers in each.
        site: KIND:NUMBER for another site with the same assignments. `alike` moves the optimum by a tenth of the ranges and
            changes a fifth of the weights; `unrelated` draws both anew; `opposite` turns the order of the ends. The number
            draws another one of that kind.
    """
    rng = np.random.default_rng(seed)
    distributions: dict[str, BaseDistribution] = {f"x{i}": FloatDistribution(0, 1) for i in range(columns)}
    distributions["kind"] = CategoricalDistribution(["a", "b"])
    optimum, weights = rng.uniform(0.2, 0.8, columns), rng.dirichlet(np.full(columns, 0.6))
    default = np.clip(optimum + rng.choice((-0.3, 0.3), columns), 0, 1)
    near = np.clip(default + rng.normal(0, 0.2, (assignments // 2, columns)), 0, 1)
    x = np.vstack([default, near, rng.random((assignments - len(near) - 1, columns))])
    kind = np.concatenate([[0], rng.integers(0, 2, assignments - 1)])
    relation, _, number = site.partition(":")
    if site:
        rng = np.random.default_rng([seed, int(number), _SITE])
    if relation == "alike":
        optimum = np.clip(optimum + rng.normal(0, 0.1, columns), 0, 1)
        weights = 0.8 * weights + 0.2 * rng.dirichlet(np.full(columns, 0.6))
    elif relation == "unrelated":
        optimum, weights = rng.uniform(0, 1, columns), rng.dirichlet(np.full(columns, 0.6))
    away = ((x - optimum) ** 2 @ weights) * 6 + 0.15 * kind * x[:, 0]
    if relation == "opposite":
        away = away.max() + away.min() - away
    end = 0.2 - 0.2 * away
    hopeless = away > np.quantile(away, 2 / 3)
    late = np.exp(0.6 * rng.normal(size=assignments) + 3.0 * (x[:, 1] - 0.5) + (end - end.mean()) / (end.std() + 1e-9) * 0.3)
    steps = np.arange(1, 21) * 25_000
    share = steps / steps[-1]
    curves = end[:, None] * (1 - np.exp(-share[None, :] / (0.25 * late[:, None]))) - 0.05 * np.exp(-share / 0.05)
    curves[hopeless] = np.minimum(end[hopeless, None], 0.0) * share
    ratings = curves[:, None, :] + rng.normal(0, 0.002, (assignments, 3, 1)) + rng.normal(0, 0.002, (assignments, 3, 20))
    costs = 10 ** (x[:, 2] - default[2] + 0.3 * kind)
    points: list[Point] = [
        {**{f"x{i}": float(value) for i, value in enumerate(row)}, "kind": "ab"[k]} for row, k in zip(x, kind, strict=True)
    ]
    return Landscape(f"made {seed}{f', {site}' if site else ''}", points, distributions, steps, ratings, costs, (0,))
