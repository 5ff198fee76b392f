"""The process fits by the gradient of its posterior, and knows what it does not know."""

import numpy as np
import pytest

from results.analysis.gaussian_process import _inverted, _kernel, _squares, fit


def test_the_kernels_slope_is_its_derivative_by_the_log_of_a_length() -> None:
    points = np.random.default_rng(0).uniform(size=(5, 3))
    squares = _squares(points, points, np.array([False, False, True]))
    logs, step = np.log([0.3, 0.7, 2.0]), 1e-6
    _, slope, scaled = _kernel(squares, np.exp(logs))
    for dimension in range(3):
        moved = [_kernel(squares, np.exp(logs + sign * step * np.eye(3)[dimension]))[0] for sign in (1, -1)]
        assert (moved[0] - moved[1]) / (2 * step) == pytest.approx(slope * scaled[dimension], abs=1e-7)


def test_choices_are_equal_or_not() -> None:
    squares = _squares(np.array([[0.0], [0.5]]), np.array([[0.0], [1.0]]), np.array([True]))
    assert squares[0].tolist() == [[0.0, 1.0], [1.0, 1.0]]


def test_inverse_and_determinant() -> None:
    inverse, log_determinant = _inverted(np.array([[2.0, 1.0], [1.0, 3.0]]))
    assert inverse == pytest.approx(np.array([[0.6, -0.2], [-0.2, 0.4]]))
    assert log_determinant == pytest.approx(np.log(5.0))


def test_far_from_all_points_it_is_as_uncertain_as_before() -> None:
    random = np.random.default_rng(2)
    points = random.uniform(size=(20, 1)) * 0.2
    own = fit(points, np.sin(30 * points[:, 0]), np.array([False]))
    mean, covariance = own.predict(np.array([[0.1], [50.0]]))
    assert covariance[0, 0] < 0.05 * covariance[1, 1]
    assert covariance[1, 1] == pytest.approx(own.signal)
    assert mean[1] == pytest.approx(own.mean)


def test_two_points_suffice() -> None:
    own = fit(np.array([[0.0], [1.0]]), np.array([0.0, 1.0]), np.array([False]))
    assert own.predict(np.array([[0.5]]))[0][0] == pytest.approx(0.5)
