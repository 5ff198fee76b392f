"""Statistics of cases computed by hand, and intervals that contain the truth as often as they should."""

from collections.abc import Callable

import numpy as np
import pytest

from results.statistics import Interval, bootstrap, iqm, mean, paired_mean


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([7.0], 7.0),
        ([1.0, 3.0], 2.0),
        ([0.0, 1.0, 2.0, 900.0], 1.5),
        # 1.25 are cut from each end: of 1 and 3 three quarters are left, 2 counts whole.
        ([-900.0, 1.0, 2.0, 3.5, 900.0], (0.75 * 1.0 + 2.0 + 0.75 * 3.5) / 2.5),
        ([[5.0, 1.0], [3.0, 2.0], [4.0, 0.0], [90.0, -90.0]], 2.5),
    ],
)
def test_the_interquartile_mean_is_that_of_the_middle_half(scores: list[float], expected: float) -> None:
    assert iqm(np.array(scores)) == pytest.approx(expected)


def test_the_interquartile_mean_is_a_mean() -> None:
    random = np.random.default_rng(0)
    for count in range(1, 30):
        scores = random.standard_normal(count)
        assert iqm(np.full(count, 3.0)) == pytest.approx(3.0)
        assert iqm(2.0 * scores + 1.0) == pytest.approx(2.0 * iqm(scores) + 1.0)
        assert np.quantile(scores, 0.2) <= iqm(scores) <= np.quantile(scores, 0.8)


def test_runs_are_drawn_within_their_task() -> None:
    # Tasks differ wildly and runs do not: drawn across tasks, the mean would vary.
    scores = np.tile([0.0, 1e6], (5, 1))
    found = bootstrap(scores, lambda drawn: float(drawn.mean()), np.random.default_rng(0), 50)
    assert found == Interval(5e5, 5e5, 5e5)


def test_a_generator_repeats_a_result() -> None:
    scores = np.random.default_rng(0).standard_normal((6, 2))
    one, two, other = (bootstrap(scores, iqm, np.random.default_rng(seed), 100) for seed in (5, 5, 6))
    assert one == two
    assert one != other


@pytest.mark.parametrize("statistic", [iqm, lambda drawn: float(drawn.mean())])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_hold_the_truth_as_often_as_they_say(statistic: Callable[[np.ndarray], float], confidence: float) -> None:
    random, held, times = np.random.default_rng(0), 0, 200
    for _ in range(times):
        # Two tasks of different difficulty, around a truth of 0 for the mean and, symmetric, for the IQM.
        scores = random.standard_normal((20, 2)) * [1.0, 0.3]
        held += not bootstrap(scores, statistic, random, 200, confidence).excludes(0.0)
    # Percentile intervals of twenty runs are a little too short; three deviations of the count are left on each side.
    deviation = 3.0 * np.sqrt(confidence * (1.0 - confidence) / times)
    assert confidence - 0.03 - deviation < held / times < confidence + deviation


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: iqm(np.array([])), "no scores"),
        (lambda: iqm(np.array([1.0, np.nan])), "not finite"),
        (lambda: bootstrap(np.ones((1, 3)), iqm, np.random.default_rng(0)), "at least two runs"),
        (lambda: bootstrap(np.ones(5), iqm, np.random.default_rng(0)), "at least two runs"),
    ],
)
def test_scores_without_a_statistic_are_an_error(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_the_mean_of_pairs_by_hand() -> None:
    # Differences 1, 2, 3: mean 2, deviation 1, and Student's 97.5 % point with two degrees of freedom is 4.30265.
    found = paired_mean(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    half = 4.302652729911275 / np.sqrt(3.0)
    assert (found.low, found.value, found.high) == pytest.approx((2.0 - half, 2.0, 2.0 + half))


@pytest.mark.parametrize("runs", [3, 5])
def test_intervals_of_few_pairs_hold_the_truth_where_a_bootstrap_does_not(runs: int) -> None:
    random = np.random.default_rng(3)
    held = {"student": 0, "bootstrap": 0}
    repetitions = 400
    for _ in range(repetitions):
        first, second = random.standard_normal((2, runs))
        held["student"] += not paired_mean(first, second).excludes(0.0)
        drawn = bootstrap((first - second)[:, np.newaxis], lambda own: float(own.mean()), random, 200)
        held["bootstrap"] += not drawn.excludes(0.0)
    # Three standard deviations of what 400 repetitions find of 95 %.
    assert abs(held["student"] / repetitions - 0.95) < 3.0 * np.sqrt(0.95 * 0.05 / repetitions)
    assert held["bootstrap"] / repetitions < 0.9


def test_the_mean_of_runs_is_that_of_pairs_with_zeros() -> None:
    values = np.array([0.3, 0.5, 0.9])
    assert mean(values, 0.9) == paired_mean(values, np.zeros(3), 0.9)
    with pytest.raises(ValueError, match="at least two runs"):
        mean(values[:1])


@pytest.mark.parametrize("pair", [([1.0], [2.0]), ([1.0, 2.0], [1.0]), ([1.0, np.nan], [1.0, 2.0])])
def test_what_is_no_set_of_pairs_is_an_error(pair: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ValueError, match=r"pairs|not finite"):
        paired_mean(*(np.array(values) for values in pair))
