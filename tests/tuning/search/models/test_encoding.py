import numpy as np
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from tuning.search.models.encoding import encode

SPACE: dict[str, BaseDistribution] = {
    "rate": FloatDistribution(1e-5, 1e-3, log=True),
    "size": IntDistribution(6, 10),
    "net": CategoricalDistribution(["small", "large"]),
}


def test_a_range_goes_from_0_to_1_on_the_scale_on_which_it_is_drawn() -> None:
    points = [{"rate": 1e-5, "size": 6}, {"rate": 1e-4, "size": 8}, {"rate": 1e-3, "size": 10}]
    found = encode(points, {name: SPACE[name] for name in ("rate", "size")})
    assert found == pytest.approx(np.array([[0, 0], [0.5, 0.5], [1, 1]]))


def test_two_choices_are_as_far_apart_as_both_ends_of_a_range() -> None:
    small, large = encode([{"net": "small"}, {"net": "large"}], {"net": SPACE["net"]})
    assert np.linalg.norm(small - large) == pytest.approx(1.0)


def test_a_value_outside_its_range_counts_as_the_nearest_end() -> None:
    inside, outside = encode([{"rate": 1e-5}, {"rate": 0.0}], {"rate": SPACE["rate"]})
    assert inside == pytest.approx(outside)


def test_a_point_without_a_hyperparameter_differs_from_all_that_have_it() -> None:
    found = encode([{"size": 8}, {}], {"size": SPACE["size"]})
    assert found.shape == (2, 2)
    assert np.linalg.norm(found[0] - found[1]) == pytest.approx(1.0)


def test_what_cannot_differ_has_no_column() -> None:
    assert encode([{"size": 8}], {"size": IntDistribution(8, 8)}).shape == (1, 0)
