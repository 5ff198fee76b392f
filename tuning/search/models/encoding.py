"""Points of a search as numbers between 0 and 1, for models over hyperparameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

Point = Mapping[str, float | int | str]
_UNKNOWN = 0.5  # middle of a range
_SIDE = math.sqrt(0.5)  # two different choices are then 1 apart, as both ends of a range


def encode(points: Sequence[Point], distributions: Mapping[str, BaseDistribution]) -> NDArray[np.float64]:
    """Points as rows of numbers.

    A range has one column from 0 (low) to 1 (high), on the log scale where it is drawn so. A choice has one column for each of
    its values. A hyperparameter that some points lack has one more column: 1 where it is there, 0 where it is not.
    Columns that are equal in all rows remain, so that a row means the same beside other points.

    Args:
        points: inner values by inner name, as Optuna's `params`; values outside a range count as its nearest end.
        distributions: by inner name; other values of a point are ignored.

    Returns:
        Array of shape (points, columns).
    """
    columns: list[list[float]] = []
    for name in sorted(distributions):
        distribution = distributions[name]
        if distribution.single():
            continue
        values = [point.get(name) for point in points]
        if isinstance(distribution, CategoricalDistribution):
            columns += [[_SIDE * (value == choice) for value in values] for choice in distribution.choices]
        else:
            columns.append([_share(distribution, value) for value in values])
        if any(value is None for value in values):
            columns.append([float(value is not None) for value in values])
    return np.array(columns, dtype=np.float64).T.reshape(len(points), len(columns))


def _share(distribution: BaseDistribution, value: float | int | str | None) -> float:
    """Where a value lies between low and high of a range."""
    if value is None or isinstance(value, str) or not isinstance(distribution, FloatDistribution | IntDistribution):
        return _UNKNOWN
    low, high, inner = float(distribution.low), float(distribution.high), float(value)
    inner = min(max(inner, low), high)
    if distribution.log:
        low, high, inner = math.log(low), math.log(high), math.log(inner)
    return (inner - low) / (high - low)
