"""Boosted trees as arrays: trained by scikit-learn, kept as data, and evaluated by compiled code."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numba import njit

TREES, LEAVES, RATE = 80, 15, 0.06
LEAST_SAMPLES = 200  # of a leaf: the samples of one day differ little, so small leaves would learn single days by heart


@dataclass(frozen=True)
class Forest:
    """Decision trees as plain arrays; the forecast is the sum of their values. A pickle could run code of the file."""

    first: np.ndarray  # index of each tree's root among all nodes, shape (trees,)
    feature: np.ndarray  # that a node looks at, -1 in a leaf, shape (nodes,)
    threshold: np.ndarray  # up to which it goes left
    missing_left: np.ndarray  # whether it goes left where the feature is not known
    left: np.ndarray  # nodes below
    right: np.ndarray
    value: np.ndarray
    base: np.ndarray  # to which the trees add

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Values of samples, shape (samples,), of features, shape (samples, features), NaN where one is not known."""
        return _predict(np.ascontiguousarray(features, dtype=np.float32), *self.arrays().values())

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, for a file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def no_forest() -> Forest:
    """A forest without trees: what it adds is zero."""
    none, numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
    return Forest(none, none, numbers, np.zeros(0, dtype=bool), none, none, numbers, np.zeros(1))


def train_forest(features: np.ndarray, target: np.ndarray) -> Forest:
    """Fit scikit-learn's histogram gradient boosting to the mean of a target, shape (samples,); see `Forest.predict`."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingRegressor(
        max_iter=TREES, max_leaf_nodes=LEAVES, learning_rate=RATE, min_samples_leaf=LEAST_SAMPLES, early_stopping=False,
        random_state=0,
    )  # fmt: skip
    # Threads that wait for one another on busy cores take a hundred times as long.
    with threadpool_limits(1):
        model.fit(features, target)
    return _as_arrays(model)


def _as_arrays(model: Any) -> Forest:
    nodes = [tree.nodes for (tree,) in model._predictors]
    sizes = [len(own) for own in nodes]
    first = np.cumsum([0, *sizes[:-1]])
    offset, all_nodes = np.repeat(first, sizes), np.concatenate(nodes)
    leaf = all_nodes["is_leaf"].astype(bool)
    return Forest(
        first=first.astype(np.int64),
        feature=np.where(leaf, -1, all_nodes["feature_idx"]).astype(np.int64),
        threshold=all_nodes["num_threshold"].astype(np.float64),
        missing_left=all_nodes["missing_go_to_left"].astype(bool),
        left=(all_nodes["left"] + offset).astype(np.int64),
        right=(all_nodes["right"] + offset).astype(np.int64),
        value=all_nodes["value"].astype(np.float64),
        base=np.asarray(model._baseline_prediction, dtype=np.float64).reshape(1),
    )


@njit(cache=True)
def _predict(
    features: np.ndarray, first: np.ndarray, feature: np.ndarray, threshold: np.ndarray, missing_left: np.ndarray,
    left: np.ndarray, right: np.ndarray, value: np.ndarray, base: np.ndarray,
) -> np.ndarray:  # fmt: skip
    found = np.full(features.shape[0], base[0])
    # Tree by tree, so that its nodes stay in the processor's cache.
    for root in first:
        for i in range(features.shape[0]):
            node = root
            while feature[node] >= 0:
                seen = features[i, feature[node]]
                goes_left = missing_left[node] if np.isnan(seen) else seen <= threshold[node]
                node = left[node] if goes_left else right[node]
            found[i] += value[node]
    return found
