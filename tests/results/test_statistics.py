"""Statistics of cases computed by hand, and intervals that contain the truth as often as they should."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import t

from results.statistics import (
    OWN,
    Family,
    Interval,
    compared_in_pairs,
    compared_with_value,
    iqm,
    mean,
    paired_mean,
    simultaneous,
)


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: iqm(np.array([])), "no scores"),
        (lambda: iqm(np.array([1.0, np.nan])), "not finite"),
        (lambda: mean(np.ones(1)), "at least two runs"),
        (lambda: mean(np.ones((2, 2))), "at least two runs"),
        (lambda: paired_mean(np.ones(1), np.ones(1)), "at least two pairs"),
        (lambda: paired_mean(np.ones(2), np.ones(1)), "at least two pairs"),
        (lambda: paired_mean(np.array([1.0, np.nan]), np.ones(2)), "not finite"),
        (lambda: compared_in_pairs({"a": np.ones(2), "b": np.ones(1)}), "must not differ"),
        (lambda: compared_in_pairs({"a": np.ones(1), "b": np.ones(1)}), "at least two runs"),
        (lambda: compared_in_pairs({"a": np.array([1.0, np.nan]), "b": np.ones(2)}), "not finite"),
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


REPETITIONS = 6_000
# Deviations of contenders: alike, one noisy among quiet ones, half of them, all different.
NOISE = {
    "alike": lambda n: np.ones(n),
    "one noisy": lambda n: np.r_[1.0, np.full(n - 1, 1e-6)],
    "one noisier": lambda n: np.r_[1.0, np.full(n - 1, 0.1)],
    "half noisy": lambda n: np.where(np.arange(n) < n // 2, 1.0, 0.05),
    "all differ": lambda n: 2.0 ** -np.arange(n),
}


def most(rate: float) -> float:
    """Greatest part that repetitions find of a rate: three standard deviations of the count above it."""
    return rate + 3.0 * np.sqrt(rate * (1.0 - rate) / REPETITIONS)


def drawn(contenders: int, runs: int, noise: str, seed: int = 0, common: float = 0.0) -> np.ndarray:
    """Scores of equally good contenders, shape (REPETITIONS, contenders, runs); `common` is what a seed has for all."""
    random = np.random.default_rng(seed)
    own = random.standard_normal((REPETITIONS, contenders, runs)) * NOISE[noise](contenders)[:, np.newaxis]
    return own + common * random.standard_normal((REPETITIONS, 1, runs))


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize(("contenders", "runs"), [(2, 3), (6, 3), (6, 5)])
@pytest.mark.parametrize("family", ["value", "pairs"])
def test_all_intervals_of_a_family_hold_together_however_noise_differs(
    family: Family, contenders: int, runs: int, noise: str
) -> None:
    means, widths = simultaneous(drawn(contenders, runs, noise), family)
    assert (np.abs(means) > widths).any(axis=-1).mean() < most(0.05)


@pytest.mark.parametrize("common", [0.0, 1.0])
@pytest.mark.parametrize(("contenders", "runs"), [(1, 5), (4, 3), (6, 5)])
def test_the_best_of_equals_seems_better_than_a_rule_in_no_more_than_one_case_of_forty(
    contenders: int, runs: int, common: float
) -> None:
    scores = drawn(contenders, runs, "alike", 1, common)
    means, widths = simultaneous(scores, "value")
    best = means.argmax(axis=-1)[:, np.newaxis]
    better = np.take_along_axis(means - widths, best, axis=-1) > 0.0
    assert better.mean() < most(0.025)
    # An interval of the best alone does not know that it was chosen.
    alone = t.ppf(0.975, runs - 1) * scores.std(axis=-1, ddof=1) / np.sqrt(runs)
    chosen = np.take_along_axis(means - alone, best, axis=-1) > 0.0
    assert bool(chosen.mean() > 0.05) is (contenders > 1)


def test_what_a_seed_has_in_common_for_all_changes_no_difference() -> None:
    alone, together = (simultaneous(drawn(4, 5, "all differ", 2, common), "pairs") for common in (0.0, 100.0))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize(("contenders", "runs", "narrower"), [(4, 3, 1.3), (6, 3, 1.8), (6, 5, 1.2)])
def test_pooled_noise_makes_intervals_narrower_where_noise_is_alike(contenders: int, runs: int, narrower: float) -> None:
    scores, pairs = drawn(contenders, runs, "alike", 3), contenders * (contenders - 1) // 2
    _, widths = simultaneous(scores, "pairs")
    first, second = np.triu_indices(contenders, 1)
    deviations = (scores[:, first] - scores[:, second]).std(axis=-1, ddof=1)
    bonferroni = t.ppf(1.0 - 0.025 / pairs, runs - 1) * deviations / np.sqrt(runs)
    assert np.median(bonferroni) > narrower * np.median(widths)


def test_a_noisy_contender_hides_no_difference_of_quiet_ones() -> None:
    quiet = 0.07 + np.array([0, 1, -1, 1, -1]) * 1e-5
    scores = {"noisy": np.array([0.0, 0.065, 0.0, 0.06, 0.0]), "a": quiet, "b": quiet[::-1] - 0.001}
    assert compared_in_pairs(scores)["a", "b"].low > 0.0
    assert compared_with_value(scores, 0.069)["a"].low > 0.0
    # By Student's interval with Bonferroni's correction, on which `OWN` of the error is spent.
    alone = paired_mean(quiet, quiet[::-1] - 0.001, 1.0 - 0.05 * OWN / 3)
    assert (compared_in_pairs(scores)["a", "b"].low) == pytest.approx(alone.low)


def test_one_comparison_is_students() -> None:
    first, second = np.array([0.3, 0.5, 0.4, 0.8]), np.array([0.1, 0.4, 0.5, 0.2])
    found, expected = compared_in_pairs({"a": first, "b": second})["a", "b"], paired_mean(first, second)
    assert (found.low, found.value, found.high) == pytest.approx((expected.low, expected.value, expected.high))
    expected = mean(first - 0.2)
    assert compared_with_value({"a": first}, 0.2) == {"a": expected}


def test_pairs_are_given_in_both_orders() -> None:
    random = np.random.default_rng(4)
    scores = {name: random.standard_normal(4) for name in "abc"}
    found = compared_in_pairs(scores)
    assert len(found) == 6
    assert found["a", "c"].value == pytest.approx(float(np.mean(scores["a"] - scores["c"])))
    assert (found["c", "a"].low, found["c", "a"].high) == (-found["a", "c"].high, -found["a", "c"].low)


def test_the_ends_of_an_interval_have_as_many_decimals_as_its_value_needs() -> None:
    assert str(Interval(-29.2, -11.6478, 5.9116)) == "-11.6 (-29.2 to +5.9)"
    assert str(Interval(0.01, 0.02, 0.03)) == "+0.0200 (+0.0100 to +0.0300)"
    assert str(Interval(np.nan, 512.25, np.nan)) == "+512.2 (+nan to +nan)"
