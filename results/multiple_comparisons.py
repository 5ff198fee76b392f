"""Simultaneous confidence intervals: several contenders are compared at once, and all intervals hold together.

The best of several contenders is the luckiest too, so an interval of its mean alone is too favourable. The intervals of a
family all contain the true values with the stated confidence. So does that of a contender which was chosen among them.

Each interval is the narrower of two, which share the error equally (`OWN` is the part of the first):

- Student's, from the comparison's own deviation, with Bonferroni's correction. It holds however contenders' deviations differ.
- By the maximum of moderated t statistics (max-t): a deviation is not taken to be less than the pooled one of all contenders.
  Of three runs a deviation is often small by chance, and Bonferroni's correction has to allow for that.

The pooled deviation alone, as in Tukey's and Dunnett's tests, fails where deviations differ, as those of algorithms do. A
moderated statistic takes its own deviation where that is greater. Its critical value is the greatest of several cases with
normal scores: 1, 2, ... or all contenders have noise, the others little or none. Tests look for more errors than promised.

Scores are arrays of shape (runs,) by contender, in the order of the seeds, which all contenders share. What a seed has in
common for all cancels in differences. True values are means over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations
from typing import Literal

import numpy as np

from results.statistics import CONFIDENCE, Interval

Family = Literal["value", "pairs"]

OWN = 0.5  # part of the error that the intervals from their own deviations take
SIMULATIONS = 20_000  # of a critical value, which is within about 2 % then
_AT_ONCE = 2_000  # of them, so that memory stays small


def compared_with_value(scores: Mapping[str, np.ndarray], value: float, confidence: float = CONFIDENCE) -> dict[str, Interval]:
    """By how much each contender is better than a number that is known, such as the score of a rule.

    Raises:
        ValueError: for fewer runs, different numbers of runs, or a score that is not finite.
    """
    return dict(zip(scores, _intervals(_table(scores) - value, "value", confidence), strict=True))


def compared_in_pairs(scores: Mapping[str, np.ndarray], confidence: float = CONFIDENCE) -> dict[tuple[str, str], Interval]:
    """By how much each contender is better than each other, by two names in both orders: the first less the second."""
    found = dict(zip(combinations(scores, 2), _intervals(_table(scores), "pairs", confidence), strict=True))
    turned = {(second, first): Interval(-own.high, -own.value, -own.low) for (first, second), own in found.items()}
    return found | turned


def _table(scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """Scores of all contenders, shape (contenders, runs)."""
    if len({np.shape(own) for own in scores.values()}) != 1:
        raise ValueError("contenders are compared over the same runs, so their numbers of scores must not differ")
    table = np.array([*scores.values()], np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError(f"scores of shape {table.shape[1:]}: it takes at least two runs of each contender")
    if not np.isfinite(table).all():
        raise ValueError("a score is not finite: leave out runs that failed, and say so")
    return table


def _intervals(table: np.ndarray, family: Family, confidence: float) -> list[Interval]:
    means, widths = simultaneous(table, family, confidence)
    return [Interval(float(mean - width), float(mean), float(mean + width)) for mean, width in zip(means, widths, strict=True)]


def simultaneous(table: np.ndarray, family: Family, confidence: float = CONFIDENCE) -> tuple[np.ndarray, np.ndarray]:
    """Comparisons of a family with the half widths of their intervals.

    Args:
        table: scores, shape (..., contenders, runs).
        family: contenders are compared with the value 0, or each with each later one.
        confidence: with which all intervals hold together.

    Returns:
        Mean differences and half widths, each of shape (..., comparisons).
    """
    from scipy.stats import t

    contenders, runs = table.shape[-2:]
    means, variances, pooled = _estimates(table, family)
    error, comparisons = 1.0 - confidence, means.shape[-1]
    if comparisons < 2:
        return means, float(t.ppf(1.0 - error / 2.0, runs - 1)) * np.sqrt(variances / runs)
    own = float(t.ppf(1.0 - OWN * error / 2.0 / comparisons, runs - 1)) * np.sqrt(variances)
    moderated = critical_value(family, contenders, runs, 1.0 - (1.0 - OWN) * error) * np.sqrt(np.maximum(variances, pooled))
    return means, np.minimum(own, moderated) / np.sqrt(runs)


def _estimates(table: np.ndarray, family: Family) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean differences, their variances between runs, and the pooled variance, each of shape (..., comparisons)."""
    contenders, runs = table.shape[-2:]
    averages = table.mean(axis=-1)
    residuals = table - averages[..., np.newaxis]
    covariance = residuals @ residuals.swapaxes(-1, -2) / (runs - 1)
    own = covariance.diagonal(axis1=-2, axis2=-1)
    total = own.sum(axis=-1, keepdims=True)
    if family == "value":
        return averages, own, np.broadcast_to(total / contenders, own.shape)
    first, second = np.triu_indices(contenders, 1)
    variances = np.maximum(own[..., first] + own[..., second] - 2.0 * covariance[..., first, second], 0.0)
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
    found = []
    for start in range(0, len(noise), _AT_ONCE):
        means, variances, pooled = _estimates(noise[start : start + _AT_ONCE] * scale[:, np.newaxis], family)
        moderated = np.sqrt(np.maximum(variances, pooled) / noise.shape[-1])
        found.append((np.abs(means) / moderated).max(axis=-1))
    return np.concatenate(found)
