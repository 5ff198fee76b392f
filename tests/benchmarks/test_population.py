"""Populations copy the best and move only what a checkpoint does not fix."""

import numpy as np

from benchmarks.population import MOVABLE, moved, successors
from tuning.algorithms.registry import algorithm

RANDOM = np.random.default_rng(0)


def test_each_of_the_worst_quarter_takes_over_from_one_of_the_best() -> None:
    ratings = {member: float(member) for member in range(8)}
    for _ in range(20):
        found = successors(ratings, RANDOM)
        assert found.keys() == {0, 1}
        assert set(found.values()) <= {6, 7}
    assert successors({0: 1.0, 1: 0.0, 2: 0.5, 3: 0.7}, RANDOM) == {1: 0}
    assert successors({0: 1.0}, RANDOM) == {}


def test_only_what_a_checkpoint_does_not_fix_is_moved() -> None:
    space, limits = algorithm("ppo").space, {"steps": 200_000.0}
    own = space.complete({"hidden_sizes": "64,64", "n_steps": 2048, "gamma": 0.9}, limits)
    changed: set[str] = set()
    for _ in range(50):
        found = moved(own, space, {"gamma": 0.9}, limits, RANDOM)
        space.check(found, limits)
        changed |= {name for name in own if found[name] != own[name]}
    assert changed <= set(MOVABLE) - {"gamma"}
    assert {"learning_rate", "batch_size", "ent_coef"} <= changed
