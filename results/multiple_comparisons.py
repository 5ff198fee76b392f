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

Family = Literal["value", "control", "pairs"]

OWN = 0.5  # part of the error that the intervals from their own deviations take
SIMULATIONS = 20_000  # of a critical value, which is within about 2 % then
_AT_ONCE = 2_000  # of them, so that memory stays small


def compared_with_value(scores: Mapping[str, np.ndarray], value: float, confidence: float = CONFIDENCE) -> dict[str, Interval]:
    """By how much each contender is better than a number that is known, such as the score of a rule.

    Args:
        scores: shape (runs,) each, at least two runs.
        value: without noise.
        confidence: with which all intervals hold together.

    Raises:
        ValueError: for fewer runs, different numbers of runs, or a score that is not finite.
    """
    return dict(zip(scores, _intervals(_table(scores) - value, "value", confidence), strict=True))


def compared_with_control(
    scores: Mapping[str, np.ndarray], control: str, confidence: float = CONFIDENCE
) -> dict[str, Interval]:
    """By how much each contender is better than one of them, such as the default preset.

    Args:
        scores: shape (runs,) each, at least two runs.
        control: name of the one that the others are compared with.
        confidence: with which all intervals hold together.

    Raises:
        ValueError: see `compared_with_value`.
    """
    others = [name for name in scores if name != control]
    table = _table({name: scores[name] for name in (control, *others)})
    return dict(zip(others, _intervals(table, "control", confidence), strict=True))


def compared_in_pairs(scores: Mapping[str, np.ndarray], confidence: float = CONFIDENCE) -> dict[tuple[str, str], Interval]:
    """By how much each contender is better than each other.

    Args:
        scores: shape (runs,) each, at least two runs.
        confidence: with which all intervals hold together.

    Returns:
        By two names, in both orders: the first less the second.

    Raises:
        ValueError: see `compared_with_value`.
    """
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
        table: scores, shape (..., contenders, runs); with the family `control`, that is the first contender.
        family: contenders are compared with the value 0, with the first contender, or each with each later one.
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
    """Mean differences, and their variances between runs: their own, and as the pooled variance of all contenders has it.

    Args:
        table: shape (..., contenders, runs).
        family: see `simultaneous`.

    Returns:
        Each of shape (..., comparisons).
    """
    contenders, runs = table.shape[-2:]
    averages = table.mean(axis=-1)
    residuals = table - averages[..., np.newaxis]
    covariance = residuals @ residuals.swapaxes(-1, -2) / (runs - 1)
    own = covariance.diagonal(axis1=-2, axis2=-1)
    total = own.sum(axis=-1, keepdims=True)
    if family == "value":
        return averages, own, np.broadcast_to(total / contenders, own.shape)
    first, second = _compared(family, contenders)
    variances = np.maximum(own[..., first] + own[..., second] - 2.0 * covariance[..., first, second], 0.0)
    # Randomised blocks: what a seed has in common for all contenders is in no difference.
    of_seeds = covariance.sum(axis=(-2, -1))[..., np.newaxis] / contenders
    pooled = 2.0 * np.maximum(total - of_seeds, 0.0) / max(contenders - 1, 1)
    return averages[..., first] - averages[..., second], variances, np.broadcast_to(pooled, variances.shape)


def _compared(family: Family, contenders: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the two contenders in each comparison of a family, shape (comparisons,) each: the first less the second."""
    if family == "control":
        return np.arange(1, contenders), np.zeros(contenders - 1, np.int64)
    return np.triu_indices(contenders, 1)


@lru_cache(maxsize=256)
def critical_value(family: Family, contenders: int, runs: int, confidence: float) -> float:
    """Number that the greatest moderated t statistic of a family exceeds with a probability of at most 1 - `confidence`.

    Args:
        family: see `simultaneous`.
        contenders: at least two.
        runs: of each contender, at least two.
        confidence: below 1.
    """
    noise = np.random.default_rng(0).standard_normal((SIMULATIONS, contenders, runs))
    return max(float(np.quantile(_greatest(noise, family, scale), confidence)) for scale in _deviations(family, contenders))


def _deviations(family: Family, contenders: int) -> list[np.ndarray]:
    """Deviations of the contenders in the cases that are simulated, each of shape (contenders,)."""
    cases = [np.ones(contenders)]
    for noisy in {1, 2, 3, 4, contenders // 2} & {*range(1, contenders)}:
        # A little noise of the others makes many nearly equal comparisons, of which one may seem exact by chance.
        cases += [np.where(np.arange(contenders) < noisy, 1.0, rest) for rest in ((0.0, 0.1, 0.2) if noisy < 4 else (0.0,))]
    if family == "control":
        cases += [case[::-1] for case in cases[1:]]  # the control is among those with less noise
    return cases


def _greatest(noise: np.ndarray, family: Family, scale: np.ndarray) -> np.ndarray:
    """Greatest moderated t statistic of each simulation, without true differences.

    Args:
        noise: normal scores, shape (simulations, contenders, runs).
        family: see `simultaneous`.
        scale: deviations of the contenders, shape (contenders,).

    Returns:
        Shape (simulations,).
    """
    found = []
    for start in range(0, len(noise), _AT_ONCE):
        means, variances, pooled = _estimates(noise[start : start + _AT_ONCE] * scale[:, np.newaxis], family)
        moderated = np.sqrt(np.maximum(variances, pooled) / noise.shape[-1])
        found.append((np.abs(means) / moderated).max(axis=-1))
    return np.concatenate(found)
