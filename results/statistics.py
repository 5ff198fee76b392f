"""Statistics of few, noisy runs, with intervals, as functions of arrays. A score that is not finite is a ValueError.

Of several contenders the luckiest seems best, so those are compared simultaneously: the intervals of a family contain all true
values with the stated confidence, and so does that of a contender which was chosen among them. Each is the narrower of two,
which share the error equally (`OWN` is the part of the first):

- Student's, from the comparison's own deviation, with Bonferroni's correction. It holds however contenders' deviations differ.
- By the maximum of moderated t statistics (max-t): a deviation is not taken to be less than the pooled one of all contenders.
  Of three runs a deviation is often small by chance, and Bonferroni's correction has to allow for that.

The pooled deviation alone, as in Tukey's and Dunnett's tests, fails where deviations differ, as those of algorithms do. The
critical value is the greatest of several cases with normal scores: 1, 2, ... or all contenders have noise, the others little
or none. Tests look for more errors than promised. Scores are then arrays of shape (runs,) by contender, in the order of the
seeds, which all contenders share: what a seed has in common for all cancels in differences.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal

import numpy as np

from common.measure import signed

CONFIDENCE = 0.95
NORMAL = 1.959964  # quantile of the standard normal distribution for 95 %


@dataclass(frozen=True)
class Interval:
    """A statistic with the ends of its confidence interval."""

    low: float
    value: float
    high: float

    def __str__(self) -> str:
        size = max(abs(self.low), abs(self.high))
        return f"{signed(self.value, size)} ({signed(self.low, size)} to {signed(self.high, size)})"


def iqm(scores: np.ndarray) -> float:
    """Interquartile mean: the mean of the middle half, with parts of the numbers at its borders (Agarwal et al. 2021, 4.3)."""
    flat = np.sort(_checked(scores), axis=None)
    cut = flat.size / 4.0
    # Part of each number that lies within the middle half of the weight.
    position = np.arange(flat.size)
    weights = np.clip(position + 1 - cut, 0.0, 1.0) - np.clip(position + 1 - (flat.size - cut), 0.0, 1.0)
    return float(np.average(flat, weights=weights))


def mean(values: np.ndarray, confidence: float = CONFIDENCE) -> Interval:
    """Mean of at least two runs with Student's interval (Student 1908).

    A bootstrap is too narrow: of its 95 % intervals of five normal numbers, 84 % contain the mean, and of three 73 % (3,000
    simulations). Of Student's intervals 95 % do; a test simulates it.
    """
    from scipy.stats import t

    checked = _checked(values)
    if checked.ndim != 1 or len(checked) < 2:
        raise ValueError(f"values of shape {checked.shape}: an interval takes at least two runs")
    runs = len(checked)
    half = float(t.ppf((1.0 + confidence) / 2.0, runs - 1) * checked.std(ddof=1) / np.sqrt(runs))
    middle = float(checked.mean())
    return Interval(middle - half, middle, middle + half)


def known_mean(values: np.ndarray) -> Interval:
    """The mean as far as it is known: one value has no interval, and where a value is not finite all is NaN."""
    if not np.isfinite(values).all():
        return Interval(np.nan, np.nan, np.nan)
    return mean(values) if len(values) > 1 else Interval(np.nan, float(values.mean()), np.nan)


def paired_mean(first: np.ndarray, second: np.ndarray, confidence: float = CONFIDENCE) -> Interval:
    """Mean of the differences of pairs with Student's interval, see `mean`; positive where the first is better."""
    if np.ndim(first) != 1 or np.shape(first) != np.shape(second) or len(first) < 2:
        raise ValueError(f"values of shape {np.shape(first)} and {np.shape(second)}: it takes at least two pairs")
    return mean(_checked(first) - _checked(second), confidence)


def _checked(scores: np.ndarray) -> np.ndarray:
    array = np.asarray(scores, np.float64)
    if not array.size:
        raise ValueError("there are no scores")
    if not np.isfinite(array).all():
        raise ValueError("a score is not finite: leave out runs that failed, and say so")
    return array


Family = Literal["value", "pairs"]

OWN = 0.5  # part of the error that the intervals from their own deviations take
SIMULATIONS = 20_000  # of a critical value, which is within about 2 % then
_AT_ONCE = 2_000  # of them, so that memory stays small


def compared_with_value(scores: Mapping[str, np.ndarray], value: float, confidence: float = CONFIDENCE) -> dict[str, Interval]:
    """By how much each contender is better than a number that is known, such as the score of a rule."""
    return dict(zip(scores, _intervals(_table(scores) - value, "value", confidence), strict=True))


def compared_in_pairs(scores: Mapping[str, np.ndarray], confidence: float = CONFIDENCE) -> dict[tuple[str, str], Interval]:
    """By how much each contender is better than each other, by two names in both orders: the first less the second."""
    pairs = dict(zip(combinations(scores, 2), _intervals(_table(scores), "pairs", confidence), strict=True))
    turned = {names[::-1]: Interval(-ends.high, -ends.value, -ends.low) for names, ends in pairs.items()}
    return pairs | turned


def _table(scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """Scores of all contenders, shape (contenders, runs)."""
    if len({*map(np.shape, scores.values())}) != 1:
        raise ValueError("contenders are compared over the same runs, so their numbers of scores must not differ")
    table = np.array([*scores.values()], np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError(f"scores of shape {table.shape[1:]}: it takes at least two runs of each contender")
    return _checked(table)


def _intervals(table: np.ndarray, family: Family, confidence: float) -> list[Interval]:
    means, widths = simultaneous(table, family, confidence)
    return [Interval(float(mean - width), float(mean), float(mean + width)) for mean, width in zip(means, widths, strict=True)]


def simultaneous(table: np.ndarray, family: Family, confidence: float = CONFIDENCE) -> tuple[np.ndarray, np.ndarray]:
    """Mean differences with the half widths of their intervals, each of shape (..., comparisons).

    Args:
        table: scores, shape (..., contenders, runs).
        family: contenders are compared with the value 0, or each with each later one.
        confidence: with which all intervals hold together.
    """
    from scipy.stats import t

    contenders, runs = table.shape[-2:]
    means, variances, pooled = _estimates(table, family)
    error, comparisons = 1.0 - confidence, means.shape[-1]
    if comparisons < 2:
        return means, float(t.ppf(1.0 - error / 2.0, runs - 1)) * np.sqrt(variances / runs)
    student = float(t.ppf(1.0 - OWN * error / 2.0 / comparisons, runs - 1)) * np.sqrt(variances)
    moderated = critical_value(family, contenders, runs, 1.0 - (1.0 - OWN) * error) * np.sqrt(np.maximum(variances, pooled))
    return means, np.minimum(student, moderated) / np.sqrt(runs)


def _estimates(table: np.ndarray, family: Family) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean differences, their variances between runs, and the pooled variance, each of shape (..., comparisons)."""
    contenders, runs = table.shape[-2:]
    averages = table.mean(axis=-1)
    residuals = table - averages[..., np.newaxis]
    covariance = residuals @ residuals.swapaxes(-1, -2) / (runs - 1)
    variance = covariance.diagonal(axis1=-2, axis2=-1)
    total = variance.sum(axis=-1, keepdims=True)
    if family == "value":
        return averages, variance, np.broadcast_to(total / contenders, variance.shape)
    first, second = np.triu_indices(contenders, 1)
    variances = np.maximum(variance[..., first] + variance[..., second] - 2.0 * covariance[..., first, second], 0.0)
    # Randomised blocks: what a seed has in common for all contenders is in no difference.
    of_seeds = covariance.sum(axis=(-2, -1))[..., np.newaxis] / contenders
    pooled = 2.0 * np.maximum(total - of_seeds, 0.0) / max(contenders - 1, 1)
    return averages[..., first] - averages[..., second], variances, np.broadcast_to(pooled, variances.shape)


@lru_cache(maxsize=256)
def critical_value(family: Family, contenders: int, runs: int, confidence: float) -> float:
    """What the greatest moderated t statistic of a family exceeds with a probability of at most 1 - `confidence`."""
    noise = np.random.default_rng(0).standard_normal((SIMULATIONS, contenders, runs))
    return max(float(np.quantile(_greatest(noise, family, scale), confidence)) for scale in _deviations(contenders))


def _deviations(contenders: int) -> list[np.ndarray]:
    """Deviations of the contenders in the cases that are simulated, each of shape (contenders,)."""
    cases = [np.ones(contenders)]
    for noisy in {1, 2, 3, 4, contenders // 2} & {*range(1, contenders)}:
        # A little noise of the others makes many nearly equal comparisons, of which one may seem exact by chance.
        cases += [np.where(np.arange(contenders) < noisy, 1.0, rest) for rest in ((0.0, 0.1, 0.2) if noisy < 4 else (0.0,))]
    return cases


def _greatest(noise: np.ndarray, family: Family, scale: np.ndarray) -> np.ndarray:
    """Greatest moderated t statistic of each simulation, shape (simulations,), of noise (simulations, contenders, runs)."""
    greatest = []
    for start in range(0, len(noise), _AT_ONCE):
        means, variances, pooled = _estimates(noise[start : start + _AT_ONCE] * scale[:, np.newaxis], family)
        moderated = np.sqrt(np.maximum(variances, pooled) / noise.shape[-1])
        greatest.append((np.abs(means) / moderated).max(axis=-1))
    return np.concatenate(greatest)
