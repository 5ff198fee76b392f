"""Whether a larger budget is worth it."""

import pandas as pd
import pytest

from results.report.figures.best_so_far import best_so_far


def line(values: list[float]) -> pd.DataFrame:
    count = len(values)
    return pd.DataFrame(
        {
            "elapsed_seconds": [60.0 * (place + 1) for place in range(count)], "total_steps": range(count),
            "best": values, "best_trial": 1, "is_new_best": True,
        }
    )  # fmt: skip


def default(score: float) -> pd.DataFrame:
    row = {"kind": "default", "name": "default (trial 0)", "split": "validation", "score": score, "steps": 4000.0}
    return pd.DataFrame([row])


NONE = default(0.0).head(0)


@pytest.mark.parametrize(
    ("values", "references", "begin"),
    [
        (
            [0.1, 0.1, 0.1, 0.1, 0.1, 0.2],
            NONE,
            "Probably yes: the last third of 6 min raised the best from +0.1000 to +0.2000, 100 % of what the search gained "
            "after its first score, +0.1000.",
        ),
        (
            [0.1, 0.2, 0.2, 0.2, 0.2, 0.2],
            NONE,
            "Probably not: the best, +0.2000, has hardly risen in the last 4 min of 6 min of trials; no earlier wait was "
            "longer than 1 min.",
        ),
        (
            # As long without a rise as it waited before.
            [0.1, 0.1, 0.1, 0.2, 0.2, 0.2],
            NONE,
            "Open: the best, +0.2000, has hardly risen in the last 2 min of 6 min of trials, but it has waited 3 min before, "
            "and then rose again.",
        ),
        (
            [0.1, 0.2, 0.2, 0.2, 0.2, 0.201],
            default(0.15),
            "Probably not: the best, +0.2010, has hardly risen in the last 4 min of 6 min",
        ),
        (
            [0.1, 0.1, 0.1, 0.1, 0.1, 0.2],
            default(0.3),
            "Perhaps: after 6 min no trial is better than the default with +0.3000.",
        ),
    ],
)
def test_whether_more_budget_pays_follows_from_the_last_third(
    values: list[float], references: pd.DataFrame, begin: str
) -> None:
    assert best_so_far(line(values), references).answer.startswith(begin)
