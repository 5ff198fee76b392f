"""Which hyperparameters decide whether a trial is among the best: PED-ANOVA with intervals.

PED-ANOVA (Watanabe, Bansal and Hutter, IJCAI 2023) compares where the best trials lie with where all lie, for each
hyperparameter by itself: the Pearson divergence of two densities on a grid. Optuna has the same measure. Here it is computed
for all subsamples at once, as the interval needs hundreds of them; a test holds the values to Optuna's.
"""

import warnings

import numpy as np
import pandas as pd

from common.texts import counted
from results.analysis.searched import acts, admissible, frame, ranges_of, searched
from results.experiment_file import Range, text_of
from results.loader import Results
from results.schema import GIVEN
from results.statistics import NORMAL

LEAST_TRIALS = 8
BEST = 0.1  # part of the trials that count as the best
FEW = 10  # trials that count as the best where there are fewer than 100, or half of all
GRID = 50  # points of a range
SETTLED = 0.75  # part of the trials with the same value from which on a hyperparameter hardly varied
LEFT_OUT = 0.2  # part of the trials that a subsample leaves out
REPETITIONS = 200
_SHARPEST = 0.5 / 1.64  # least bandwidth, grid points: nine of ten of a kernel lie on its own point
_TINY = 1e-12


def importance(results: Results, repetitions: int = REPETITIONS) -> pd.DataFrame:
    """Importance of each hyperparameter that was searched, the greatest first; of at least `LEAST_TRIALS` rated trials.

    Each trial counts with its last rating, so what makes trials slow to rise counts as bad, and what a search settled early has
    little left. A divergence of few trials is large by chance, more for numbers than for choices; what shuffled ratings give on
    average is subtracted first. The interval is normal, with the variance of the jackknife that leaves out a fifth of the
    trials (Shao and Wu 1989). A bootstrap is of no use: copies of a trial look like a sharp density.

    Returns:
        A row a hyperparameter: `hyperparameter`, `importance` (its part of the sum of all), `low` and `high` (95 % interval,
        cut at 0 and 1), `divergence` (of PED-ANOVA, nothing subtracted), `chance` (that shuffled ratings exceed in 5 % of
        cases), `beyond_chance`, `trials` (that are compared) and `best_trials` (of them the best).
    """
    trials = admissible(searched(results)).sort_values("rating", ascending=False, kind="stable", ignore_index=True)
    ranges = ranges_of(trials, results.facts)
    count = len(trials)
    columns = "hyperparameter importance low high divergence chance beyond_chance trials best_trials"
    if count < LEAST_TRIALS or not ranges or trials["rating"].nunique() < 2:
        few = f"{counted(count, 'rated trial')}, and it takes {LEAST_TRIALS}" if count < LEAST_TRIALS else ""
        warnings.warn(f"importance is not known: {few or 'nothing was searched, or all ratings are alike'}", stacklevel=2)
        return frame([], columns)
    best = max(round(BEST * count), min(FEW, count // 2))
    random = np.random.default_rng(0)
    ranks = np.arange(count)[np.newaxis]
    every = random.permuted(np.repeat(ranks, repetitions, axis=0), axis=1)
    kept = count - round(LEFT_OUT * count)
    some = np.sort(every[:, :kept], axis=1)
    points = [_points(trials, each) for each in ranges.values()]

    def divergences(order: np.ndarray) -> np.ndarray:
        few = max(1, round(best * order.shape[1] / count))
        return np.array([_divergences(*each, order, few) for each in points])

    actual, shuffled = divergences(ranks), divergences(every)
    parts = _shares(actual - shuffled.mean(axis=1, keepdims=True))[:, 0]
    by_chance = divergences(random.permuted(some, axis=1)).mean(axis=1, keepdims=True)
    spread = _shares(divergences(some) - by_chance).std(axis=1, ddof=1) * np.sqrt(kept / (count - kept))
    low, high = np.maximum(parts - NORMAL * spread, 0.0), np.minimum(parts + NORMAL * spread, 1.0)
    chance = np.quantile(shuffled, 0.95, axis=1)
    divergence = actual[:, 0]
    told = (list(ranges), parts, low, high, divergence, chance, divergence > chance, count, best)
    table = frame(dict(zip(columns.split(), told, strict=True)), columns)
    return table.sort_values(["importance", "divergence"], ascending=False, kind="stable", ignore_index=True)


def settled(results: Results) -> pd.DataFrame:
    """Hyperparameters that have one value in `SETTLED` of the trials in which they act, so that `importance` cannot see them.

    Returns:
        `hyperparameter`, `value` (a text), `trials` (with it) and `of` (in which it acts).
    """
    trials = admissible(searched(results))
    rows = []
    for name, hyperparameter in ranges_of(trials, results.facts).items() if len(trials) >= LEAST_TRIALS else ():
        counts = trials.loc[acts(trials, hyperparameter), GIVEN + name].map(text_of).value_counts()
        if len(counts) and counts.iloc[0] >= SETTLED * counts.sum():
            rows.append({"hyperparameter": name, "value": counts.index[0], "trials": counts.iloc[0], "of": counts.sum()})
    return frame(rows, "hyperparameter value trials of", value="object")


def _shares(values: np.ndarray) -> np.ndarray:
    """Parts of the sum of each column, shape (hyperparameters, cases); what is negative counts as 0."""
    positive = np.maximum(values, 0.0)
    total = positive.sum(axis=0)
    return positive / np.where(total > 0.0, total, 1.0)


def _points(trials: pd.DataFrame, hyperparameter: Range) -> tuple[np.ndarray, int, bool]:
    """Grid points of the trials, shape (trials,); the number of points; and whether they are choices, without an order.

    A point of -1 is that of a trial in which the hyperparameter does not act, or has a choice that is not drawn.
    """
    number = min(GRID, hyperparameter.values or GRID)
    places = hyperparameter.positions(trials[GIVEN + hyperparameter.name])
    known = acts(trials, hyperparameter) & ~np.isnan(places)
    # Between two points the lower one, as Optuna rounds.
    points = np.ceil(np.clip(np.where(known, places, 0.0), 0.0, 1.0) * (number - 1) - 0.5 - 1e-9).astype(int)
    return np.where(known, points, -1), number, bool(hyperparameter.choices)


def _divergences(points: np.ndarray, number: int, is_choice: bool, order: np.ndarray, best: int) -> np.ndarray:
    """Pearson divergence of the best trials' density from that of all, for each order, shape (orders,).

    Args:
        points: grid points of the trials, the best trial first, shape (trials,).
        number: of points.
        is_choice: whether points have no order.
        order: trials, the best first, shape (orders, trials).
        best: how many of each are the best.
    """
    if number < 2:
        return np.zeros(len(order))
    best_counts, counts = (_counted(points[part], number) for part in (order[:, :best], order))
    density = _choice_density if is_choice else _density
    above, everywhere = density(best_counts) + _TINY, density(counts) + _TINY
    divergence: np.ndarray = (everywhere * (above / everywhere - 1.0) ** 2).sum(axis=1)
    # Without best trials in which it acts there is nothing to compare.
    return np.where(best_counts.sum(axis=1) > 0, divergence, 0.0)


def _counted(points: np.ndarray, number: int) -> np.ndarray:
    """How often each point occurs in each row, shape (rows, points)."""
    rows = np.arange(len(points))[:, np.newaxis] * (number + 1)
    counted = np.bincount((points + 1 + rows).ravel(), minlength=len(points) * (number + 1))
    return counted.reshape(len(points), number + 1)[:, 1:].astype(float)


def _choice_density(counts: np.ndarray) -> np.ndarray:
    """Smoothed shares of choices, from counts (rows, choices): one trial more, spread evenly, and each trial's share alike."""
    number = counts.shape[1]
    distinct = (counts > 0).sum(axis=1, keepdims=True)
    kernels = distinct + 1.0
    even = 1.0 / kernels
    # Sum of a kernel's weights: `even` of each choice, and 1 more of its own.
    width = 1.0 + number * even
    total = counts.sum(axis=1, keepdims=True)
    density = (counts * (1.0 + even) + (total - counts) * even) / width + 1.0 / number
    return density / (total + 1.0)


def _density(counts: np.ndarray) -> np.ndarray:
    """Kernel density of counts (rows, points): a truncated normal at each trial, with Scott's bandwidth, and a flat one."""
    from scipy.special import ndtr

    number = counts.shape[1]
    grid = np.arange(number)
    total = counts.sum(axis=1)
    safe = np.maximum(total, 1.0)
    middle = counts @ grid / safe
    spread = np.sqrt((counts * (grid - middle[:, np.newaxis]) ** 2).sum(axis=1) / np.maximum(1.0, total - 1.0))
    reached = counts.cumsum(axis=1)
    # Quartiles by counted trials.
    lower = (reached < (total // 4)[:, np.newaxis]).sum(axis=1)
    upper = (reached <= (total * 3 // 4)[:, np.newaxis]).sum(axis=1)
    present = counts > 0
    lowest = _at_or_after(present, lower)
    highest = _at_or_after(present, upper)
    quartiles = (highest - lowest) / 1.34
    width = np.maximum(1.059 * np.minimum(quartiles, spread) * safe**-0.2, _SHARPEST)
    edges = np.arange(number + 1) - 0.5
    # Normal distribution of each kernel at the edges of the points, by row: (rows, kernels, edges).
    reach = ndtr((edges - grid[:, np.newaxis]) / width[:, np.newaxis, np.newaxis])
    mass = np.diff(reach, axis=2) / (reach[:, :, -1:] - reach[:, :, :1])
    flat = np.diff(cumulative := ndtr((edges - (number - 1) / 2.0) / number)) / (cumulative[-1] - cumulative[0])
    return (np.einsum("rk,rkp->rp", counts, mass) + flat) / (total + 1.0)[:, np.newaxis]


def _at_or_after(present: np.ndarray, start: np.ndarray) -> np.ndarray:
    """First point from `start` on that has a trial, else the last one that has; shape (rows,)."""
    number = present.shape[1]
    grid = np.arange(number)
    after = np.where(present & (grid >= start[:, np.newaxis]), grid, number).min(axis=1)
    last = np.where(present, grid, 0).max(axis=1)
    return np.where(after < number, after, last)
