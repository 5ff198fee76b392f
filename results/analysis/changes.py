"""From the default to the best, one change at a time: which change paid?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.analysis import gaussian_process
from results.analysis.searched import acts, admissible, best_trial, default_trial, frame, ranges_of, searched
from results.experiment_file import Facts, Range, read_facts, text_of
from results.loader import Results
from results.schema import GIVEN

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

LEAST_TRIALS = 6
MOST_TRIALS = 200  # that the regression is fitted to
_NORMAL = 1.959964  # quantile of the standard normal distribution for 95 %
_LOWEST = 3.0  # ratings count as at least this many times as far below the lower quartile as the best lies above it
TRAINED = "steps"  # how far trials were trained, as another dimension


def default_to_best(results: Results, start: int | None = None) -> pd.DataFrame:
    """What each change from the default to the best brought, by a regression over all trials.

    A Gaussian process is fitted to the last ratings over the searched hyperparameters and the steps trained. From the default,
    the change that is expected to gain most is made first, then the next, until the assignment of the best is reached. Both
    ends are taken at the best's steps. So the gains add up to the predicted difference; `total` of the last row is that.

    The intervals are those of the process for the function without noise, at fixed length scales. They do not hold together
    for all rows, and do not count that the best was chosen for its rating. Gains depend on the order where changes interact.

    Args:
        results: of one experiment. Without a winner, a start, a difference between both, and `LEAST_TRIALS` rated trials that
            meet the requirements, the frame is empty.
        start: number of the trial to begin at; None for the default.

    Returns:
        A row a change, in the order in which they are made: `step` (from 1), `hyperparameter`, `before` and `after` (texts,
        numbers with six significant digits), `gain`, `gain_low`, `gain_high` (rating; 95 % interval), `total`, `total_low`,
        `total_high` (of all changes so far) and
        `predicted` (rating after the change). Differences in what was not searched, such as between presets, are left out.
    """
    import numpy as np

    facts = read_facts(results.single.folder)
    trials = admissible(searched(results))
    begin = default_trial(results, facts) if start is None else start
    best = best_trial(results)
    types = {"step": "int64", "hyperparameter": "object", "before": "object", "after": "object"}
    numbers = ("gain", "gain_low", "gain_high", "total", "total_low", "total_high", "predicted")
    types |= dict.fromkeys(numbers, "float64")
    known = set(trials["trial"])
    if len(trials) < LEAST_TRIALS or trials["rating"].nunique() < 2 or begin not in known or best not in known:
        return frame([], types)
    space = _Space.of(trials, facts)
    first, last = (trials.index[trials["trial"] == number][0] for number in (begin, best))
    points = space.points(trials)
    different = [place for place in range(len(space.ranges)) if not np.isclose(points[first, place], points[last, place])]
    if not different:
        return frame([], types)
    kept = _kept(trials, [int(first), int(last)])
    process = gaussian_process.fit(points[kept], _bounded(trials["rating"].to_numpy(float), int(first))[kept], space.is_choice)
    now = points[first].copy()
    now[-1] = points[last, -1]
    path, order = [now], []
    while different:
        tried = np.repeat(path[-1][np.newaxis], len(different), axis=0)
        tried[np.arange(len(different)), different] = points[last, different]
        chosen = int(process.predict(tried)[0].argmax())
        path.append(tried[chosen])
        order.append(different.pop(chosen))
    predicted, covariance = process.predict(np.array(path))
    rows = []
    for step, place in enumerate(order, 1):
        name = space.ranges[place].name
        row: dict[str, object] = {"step": step, "hyperparameter": name, "predicted": predicted[step]}
        row |= {key: _text(trials.loc[index, GIVEN + name]) for key, index in (("before", first), ("after", last))}
        for prefix, since in (("gain", step - 1), ("total", 0)):
            value = predicted[step] - predicted[since]
            variance = covariance[step, step] + covariance[since, since] - 2.0 * covariance[step, since]
            half = _NORMAL * float(np.sqrt(max(variance, 0.0)))
            row |= {prefix: value, f"{prefix}_low": value - half, f"{prefix}_high": value + half}
        rows.append(row)
    return frame(rows, types)


def _text(value: object) -> str:
    """A value as a text, and a number with a fraction with six significant digits."""
    text = text_of(value)
    return f"{value:.6g}" if isinstance(value, float) and "." in text else text


class _Space:
    """Dimensions of the regression: hyperparameters that differ between trials, and last how far these were trained."""

    def __init__(self, ranges: list[Range]) -> None:
        import numpy as np

        self.ranges = ranges
        self.is_choice = np.array([*(bool(own.choices) for own in ranges), False])

    @classmethod
    def of(cls, trials: pd.DataFrame, facts: Facts) -> _Space:
        ranges = ranges_of(trials, facts).values()
        return cls([own for own in ranges if trials[GIVEN + own.name].map(text_of).nunique() > 1])

    def points(self, trials: pd.DataFrame) -> np.ndarray:
        """Shape (trials, dimensions), from 0 to 1; what does not act, or is no choice that is drawn, lies below the others."""
        import numpy as np

        steps = np.log(np.maximum(trials["steps"].to_numpy(float), 1.0))
        widest = max(float(np.ptp(steps)), 1e-9)
        columns = []
        for own in self.ranges:
            places = np.clip(own.positions(trials[GIVEN + own.name]), 0.0, 1.0)
            columns.append(np.where(acts(trials, own) & ~np.isnan(places), places, -1.0))
        return np.column_stack([*columns, (steps - steps.min()) / widest])


def _kept(trials: pd.DataFrame, ends: list[int]) -> np.ndarray:
    """Trials that the regression is fitted to: both ends, the best third of the places, and others evenly by number."""
    import numpy as np

    if len(trials) <= MOST_TRIALS:
        return np.arange(len(trials))
    order = np.argsort(-trials["rating"].to_numpy(float), kind="stable")
    best = set(order[: MOST_TRIALS // 3].tolist()) | set(ends)
    rest = np.array([index for index in range(len(trials)) if index not in best])
    even = rest[np.linspace(0, len(rest) - 1, MOST_TRIALS - len(best)).round().astype(int)]
    return np.array(sorted(best | set(even.tolist())))


def _bounded(values: np.ndarray, start: int) -> np.ndarray:
    """Ratings without the depth of the worst: a trial that diverged would decide the whole fit.

    Args:
        values: ratings, shape (trials,).
        start: index of the trial that keeps its rating in any case.
    """
    import numpy as np

    quarter, best = float(np.quantile(values, 0.25)), float(values.max())
    return np.maximum(values, min(quarter - _LOWEST * (best - quarter), values[start]))
