from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from tuning.search.models.curve_model import (
    _NAMES,
    CurveModel,
    Evaluations,
    Scale,
    _Objective,
    _priors,
    encode,
    expected_improvement,
    thinned,
)

STEPS = np.log(np.array([1.0, 2.0, 4.0, 8.0]))
SPACE: dict[str, BaseDistribution] = {
    "rate": FloatDistribution(1e-5, 1e-3, log=True),
    "size": IntDistribution(6, 10),
    "net": CategoricalDistribution(["small", "large"]),
}


def evaluations(curves: list[list[float]]) -> Evaluations:
    """Curves at 1, 2, 4 and 8 steps, each as far as it goes."""
    trial = np.repeat(np.arange(len(curves)), [len(curve) for curve in curves])
    logs = np.concatenate([STEPS[: len(curve)] for curve in curves])
    return Evaluations(trial, logs, np.concatenate([np.array(curve) for curve in curves]))


def test_the_scale_keeps_order_and_gives_back_what_it_was_given() -> None:
    ratings = np.array([-30.0, -2.0, 0.0, 0.1, 0.12, 0.15, 0.2])
    scale = Scale.of(ratings)
    scaled = scale.scaled(ratings)
    assert np.all(np.diff(scaled) > 0)
    assert scaled.max() == pytest.approx(1.0)
    assert scaled.min() > -10.0  # -30 would be at -301 without the logarithm
    assert scale.ratings(scaled) == pytest.approx(ratings)


def test_the_gradient_is_that_of_the_value() -> None:
    rng = np.random.default_rng(0)
    trial, logs = np.repeat(np.arange(5), 4), np.tile(STEPS, 5)
    start, spread = _priors(3)
    objective = _Objective(rng.random((5, 3)), Evaluations(trial, logs, rng.normal(size=20)), start, spread)
    at = start + 0.3 * rng.normal(size=len(start))
    steps = 1e-5 * np.eye(len(at))
    differences = [(objective(at + step)[0] - objective(at - step)[0]) / 2e-5 for step in steps]
    assert objective(at)[1] == pytest.approx(differences, abs=1e-3)


def test_a_rising_trial_is_expected_to_rise_further_where_others_did() -> None:
    points = np.linspace(0, 1, 5)[:, None]
    data = evaluations([[0.0, 1.0, 2.0, 3.0], [0.1, 1.1, 2.1, 3.1], [0.0, 1.0, 2.1, 3.0], [0.1, 1.0]])
    model = CurveModel.fitted(points, data, 100)
    (mean,), (deviation,) = model.predict(np.array([3]), STEPS[3:])
    assert mean == pytest.approx(3.0, abs=0.4)
    assert deviation < 0.8


def test_near_points_are_predicted_alike_and_far_ones_with_less_certainty() -> None:
    points = np.array([[0.0], [0.5], [0.02], [1.0]])
    data = evaluations([[1.0, 1.1, 1.2, 1.3], [-1.0, -0.9, -0.8, -0.7]])
    model = CurveModel.fitted(points, data, 100)
    mean, deviation = model.predict(np.array([2, 3]), np.repeat(STEPS[3:], 2))
    assert mean[0] == pytest.approx(1.2, abs=0.4)
    assert deviation[0] < deviation[1]


def test_trials_with_the_same_assignment_keep_curves_of_their_own() -> None:
    points = np.array([[0.5], [0.5], [0.1]])
    data = evaluations([[0.0, 0.5, 1.0], [0.0, 0.1, 0.2], [0.0, 0.3, 0.6, 0.9]])
    mean, _ = CurveModel.fitted(points, data, 100).predict(np.array([0, 1]), np.repeat(STEPS[3:], 2))
    assert mean[0] > mean[1] + 0.5


def test_noise_is_told_from_differences_between_trials() -> None:
    rng = np.random.default_rng(1)
    level = rng.normal(size=12)
    noisy = evaluations([list(level[i] + 0.3 * rng.normal(size=4)) for i in range(12)])
    clean = evaluations([[level[i]] * 4 for i in range(12)])
    points = rng.random((12, 2))
    noise = len(points[0]) + _NAMES.index("noise")
    found = [np.exp(CurveModel.fitted(points, data, 100).logs[noise]) for data in (noisy, clean)]
    assert found[0] > 10 * found[1]


def test_thinning_keeps_every_trial_and_its_last_evaluation() -> None:
    data = evaluations([[0.0, 1.0, 2.0, 3.0]] * 6)
    few = thinned(data, 12)
    assert len(few) == 12
    assert np.bincount(few.trial).tolist() == [2] * 6
    assert np.count_nonzero(few.log_steps == STEPS[-1]) == 6
    assert len(thinned(data, 2)) == 6  # never none of a trial


def test_later_evaluations_of_a_trial_give_the_posterior_that_all_together_give() -> None:
    rng = np.random.default_rng(3)
    points = rng.random((6, 2))
    trial = np.repeat(np.arange(6), 3)
    data = Evaluations(trial, np.log(np.tile([100.0, 200.0, 300.0], 6)), rng.normal(size=18))
    model = CurveModel.fitted(points, data, 18, iterations=3)
    logs, ratings = np.log([400.0, 500.0]), np.array([0.3, 0.5])
    more = Evaluations(np.append(trial, [2, 2]), np.append(data.log_steps, logs), np.append(data.ratings, ratings))
    whole = replace(model, data=more)
    mean, deviation = whole.predict(np.array([2]), np.log([1000.0]))
    assert model.predict_after(2, logs, ratings, float(np.log(1000.0))) == pytest.approx((mean[0], deviation[0]), rel=1e-6)


def test_more_points_change_no_prediction_of_the_others() -> None:
    rng = np.random.default_rng(4)
    data = Evaluations(np.arange(5), np.log(np.full(5, 100.0)), rng.normal(size=5))
    points, more = rng.random((5, 3)), rng.random((2, 3))
    model = CurveModel.fitted(points, data, 5, iterations=2)
    at, logs = np.arange(5), np.log(np.full(5, 900.0))
    beside = model.with_points(more)
    for one, other in zip(model.predict(at, logs), beside.predict(at, logs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    new = CurveModel(np.vstack([points, more]), data, model.logs).predict(np.array([6]), logs[:1])
    np.testing.assert_allclose(beside.predict(np.array([6]), logs[:1]), new, rtol=1e-9)


def test_expected_improvement_is_the_mean_of_what_draws_exceed_the_best_by() -> None:
    mean, deviation = np.array([-1.0, 0.0, 2.0]), np.array([0.5, 1.0, 0.3])
    draws = np.random.default_rng(0).normal(mean, deviation, size=(400_000, 3))
    expected = np.maximum(draws - 0.5, 0.0).mean(axis=0)
    assert expected_improvement(mean, deviation, 0.5) == pytest.approx(expected, abs=0.004)
    # What is certain improves by its distance, and never below 0.
    assert expected_improvement(np.array([1.0, -9.0]), np.full(2, 1e-6), 0.25) == pytest.approx([0.75, 0.0])


def test_a_range_goes_from_0_to_1_on_the_scale_on_which_it_is_drawn() -> None:
    points = [{"rate": 1e-5, "size": 6}, {"rate": 1e-4, "size": 8}, {"rate": 1e-3, "size": 10}]
    found = encode(points, {name: SPACE[name] for name in ("rate", "size")})
    assert found == pytest.approx(np.array([[0, 0], [0.5, 0.5], [1, 1]]))


@pytest.mark.parametrize(
    ("name", "one", "other", "distance"),
    [
        ("net", {"net": "small"}, {"net": "large"}, 1.0),  # as both ends of a range
        ("rate", {"rate": 1e-5}, {"rate": 0.0}, 0.0),  # outside counts as the nearest end
        ("size", {"size": 8}, {}, 1.0),  # without it, a point differs from all that have it
    ],
)
def test_points_are_as_far_apart_as_their_values(name: str, one: Any, other: Any, distance: float) -> None:
    found = encode([one, other], {name: SPACE[name]})
    assert np.linalg.norm(found[0] - found[1]) == pytest.approx(distance)


def test_what_cannot_differ_has_no_column() -> None:
    assert encode([{"size": 8}], {"size": IntDistribution(8, 8)}).shape == (1, 0)
