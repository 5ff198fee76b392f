"""Learning curves."""

import pandas as pd

from results.report.figures.curves import curves


def table(ends: dict[int, tuple[str, list[float]]]) -> pd.DataFrame:
    rows = [
        {
            "trial": trial,
            "rung": rung,
            "steps": 1000 * rung,
            "rating": value,
            "state": state,
            "role": "search",
            "is_last": rung == len(own),
        }
        for trial, (state, own) in ends.items()
        for rung, value in enumerate(own, 1)
    ]
    return pd.DataFrame(rows)


MEANS = pd.DataFrame(columns=["confirms", "role", "rung", "steps", "runs", "mean", "low", "high"])


def test_a_best_that_rises_to_its_end_is_told_and_one_that_does_not() -> None:
    rising = table({0: ("complete", [0.0, 0.1, 0.2, 0.3])})
    assert curves(rising, MEANS, 0).answer.startswith("The best, trial 0, was still rising: 33.3 % of its gain")
    flat = table({0: ("complete", [0.0, 0.3, 0.3, 0.3])})
    assert curves(flat, MEANS, 0).answer == "The best, trial 0, no longer rose in its last quarter."


def test_stopped_trials_are_compared_with_the_winner_at_the_same_evaluation() -> None:
    own = table({0: ("complete", [0.1, 0.2, 0.3, 0.3]), 1: ("pruned", [0.0, 0.1]), 2: ("frozen", [0.15])})
    assert curves(own, MEANS, 0).answer.endswith(
        "Of 2 trials stopped or frozen, 1 had a lower rating than trial 0 after as many steps."
    )
