"""The way from the default to the best adds up, and names the change that paid."""

from pathlib import Path

import numpy as np
import pytest

from results.analysis import default_to_best
from results.analysis.changes import MOST_TRIALS, _bounded, _inverted, _kept, _kernel, _squares, fit
from tests.results.made import drawn, row, search, settle, sharing, tables


def test_the_change_that_paid_comes_first_and_gains_add_up_to_the_predicted_difference(tmp_path: Path) -> None:
    results = search(tmp_path, 40, noise=0.005)
    found = default_to_best(results)
    assert found["hyperparameter"].iloc[0] == "shared_policy"
    assert found[["before", "after"]].iloc[0].tolist() == ["False", "True"]
    assert found["gain"].iloc[0] == pytest.approx(0.2, abs=0.02)
    assert found["gain_low"].iloc[0] > 0.1
    assert found["gain"].sum() == pytest.approx(found["total"].iloc[-1])
    start = found["predicted"].iloc[0] - found["gain"].iloc[0]
    assert found["predicted"].iloc[-1] - start == pytest.approx(found["total"].iloc[-1])
    true = sharing(drawn(int(results.best["trial"]))) - sharing(drawn(0))
    assert found["total_low"].iloc[-1] < true < found["total_high"].iloc[-1]


def test_changes_that_matter_little_come_with_an_interval_around_zero(tmp_path: Path) -> None:
    found = default_to_best(search(tmp_path, 40, noise=0.02)).set_index("hyperparameter")
    others = found.drop(index="shared_policy")
    assert (others["gain_low"] <= 0.0).any()
    assert (others["gain"].abs() < 0.05).all()


def test_another_start_may_be_given(tmp_path: Path) -> None:
    results = search(tmp_path, 20)
    other = int(results.trials.loc[results.trials["hp_shared_policy"].astype(bool), "trial"].iloc[-1])
    assert "shared_policy" not in set(default_to_best(results, start=other)["hyperparameter"])


def test_without_a_default_or_a_difference_there_is_no_way(tmp_path: Path) -> None:
    results = search(tmp_path, 20)
    settle(tmp_path, start_from=["wide"])
    assert default_to_best(results).empty
    settle(tmp_path)
    best_default = tables(tmp_path, [row(number, -0.1 * number) for number in range(8)])
    assert default_to_best(best_default).empty


def test_a_trial_that_diverged_does_not_decide_the_fit() -> None:
    values = np.array([-900.0, 0.0, 0.1, 0.2, 0.3])
    assert _bounded(values, 1).tolist() == pytest.approx([-0.9, 0.0, 0.1, 0.2, 0.3])
    assert _bounded(values, 0).tolist() == values.tolist()  # but the start's gain is the question
    assert _bounded(np.array([0.1, 0.1]), 0).tolist() == [0.1, 0.1]


def test_of_many_trials_both_ends_and_the_best_are_kept(tmp_path: Path) -> None:
    trials = tables(tmp_path, [row(number, float(number % 500)) for number in range(1000)]).trials.assign(
        rating=lambda own: own["score"]
    )
    kept = _kept(trials, [0, 501])
    assert len(kept) == len(set(kept)) == MOST_TRIALS
    assert {0, 501, 499, 999} <= set(kept.tolist())


def test_steps_of_training_are_no_change_of_a_hyperparameter(tmp_path: Path) -> None:
    """Trials that stopped early score less; the way is taken at the best's steps."""
    settle(tmp_path)
    trials = []
    for number in range(40):
        steps = 4000 if number % 2 == 0 else 1000
        trials.append(row(number, 0.1 * (steps == 4000) + 0.001 * (number == 38), steps=steps))
    trials[0] = row(0, 0.0, steps=1000)
    found = default_to_best(tables(tmp_path, trials))
    assert abs(found["total"].iloc[-1]) < 0.03


def test_the_process_is_that_of_the_textbook() -> None:
    random = np.random.default_rng(0)
    points = random.uniform(size=(30, 2))
    values = np.sin(4 * points[:, 0]) + 0.01 * random.standard_normal(30)
    own = fit(points, values, np.array([False, False]))
    assert own.lengths[1] > 3 * own.lengths[0]  # what does nothing has a long scale
    fresh = random.uniform(0.1, 0.9, size=(50, 2))
    mean, covariance = own.predict(fresh)
    assert np.abs(mean - np.sin(4 * fresh[:, 0])).max() < 0.1
    assert np.linalg.eigvalsh(covariance).min() > -1e-6


def test_values_have_six_significant_digits(tmp_path: Path) -> None:
    found = default_to_best(search(tmp_path, 40))
    numbers = [text for text in (*found["before"], *found["after"]) if "." in text]
    assert numbers
    assert all(len(text.replace("0.", "").replace("e-05", "").lstrip("0")) <= 7 for text in numbers), numbers


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
