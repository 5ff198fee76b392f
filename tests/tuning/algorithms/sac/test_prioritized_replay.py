"""Prioritised drawing against its definition."""

import numpy as np
import pytest

from tuning.algorithms.sac.prioritized_replay import EPSILON, Priorities, Prioritization, SumTree


@pytest.mark.parametrize("count", [1, 2, 5, 64, 100])
def test_the_tree_finds_the_place_where_a_running_sum_passes(count: int) -> None:
    rng = np.random.default_rng(0)
    tree, values = SumTree(count), np.zeros(count)
    for _ in range(5):
        places = np.append(rng.integers(count, size=count), 0)  # one that is not 0, at least
        values[places] = new = rng.random(count + 1) * (rng.random(count + 1) < 0.7) + (places == 0)
        tree.set(places, new)
        np.testing.assert_array_equal(tree.leaves, values)
        assert tree.total == pytest.approx(values.sum())
        masses = rng.random(200) * tree.total
        found = tree.find(np.minimum(masses, np.nextafter(tree.total, 0.0)))
        np.testing.assert_array_equal(found, np.searchsorted(values.cumsum(), masses, side="right"))


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_chances_and_weights_follow_the_errors(alpha: float) -> None:
    errors = np.array([0.1, 1.0, 2.0, 4.0])
    priorities = Priorities(4, Prioritization(alpha, beta=0.7))
    places = np.arange(4)
    priorities.add(places, np.ones(4, bool))
    priorities.update(places, errors)
    drawn, weights = priorities.sample(20_000, 4, np.random.default_rng(0))
    chances = (errors + EPSILON) ** alpha / ((errors + EPSILON) ** alpha).sum()
    np.testing.assert_allclose(np.bincount(drawn) / 20_000, chances, rtol=0.02)
    wanted = (4 * chances) ** -0.7
    np.testing.assert_allclose(weights, (wanted / wanted.max())[drawn], rtol=1e-6)


def test_new_transitions_have_the_greatest_priority_and_dropped_ones_none() -> None:
    priorities = Priorities(4, Prioritization(1.0, 1.0))
    priorities.add(np.arange(2), np.array([True, True]))
    priorities.update(np.arange(2), np.array([7.0, 3.0]))
    priorities.add(np.array([2, 3]), np.array([True, False]))
    np.testing.assert_allclose(priorities.tree.leaves, [7.0, 3.0, 7.0, 0.0], rtol=1e-5)
    priorities.drop(np.array([0]))
    assert set(priorities.sample(1000, 2, np.random.default_rng(0))[0]) == {1, 2}
