"""Sentences about the course of a search, on tables with a known answer."""

import pandas as pd
import pytest

from results.report.figures import course


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
            "Probably yes: the last third of 6 min raised the best from +0.100 to +0.200, 100 % of what the search gained "
            "after its first score, +0.100.",
        ),
        (
            [0.1, 0.2, 0.2, 0.2, 0.2, 0.2],
            NONE,
            "Probably not: the best, +0.200, has hardly risen in the last 4 min of 6 min of trials; no earlier wait was longer "
            "than 1 min.",
        ),
        (
            # As long without a rise as it waited before.
            [0.1, 0.1, 0.1, 0.2, 0.2, 0.2],
            NONE,
            "Open: the best, +0.200, has hardly risen in the last 2 min of 6 min of trials, but it has waited 3 min before, "
            "and then rose again.",
        ),
        (
            [0.1, 0.2, 0.2, 0.2, 0.2, 0.201],
            default(0.15),
            "Probably not: the best, +0.201, has hardly risen in the last 4 min of 6 min",
        ),
        ([0.1, 0.1, 0.1, 0.1, 0.1, 0.2], default(0.3), "Perhaps: after 6 min no trial is better than the default with +0.300."),
    ],
)
def test_whether_more_budget_pays_follows_from_the_last_third(
    values: list[float], references: pd.DataFrame, begin: str
) -> None:
    assert course.best_so_far(line(values), references, 20).answer.startswith(begin)


def test_few_trials_say_nothing_about_the_budget() -> None:
    assert course.best_so_far(line([0.1, 0.2]), NONE, 2).answer == "It cannot be said from 2 trials; it takes at least 5."
    assert "none has a score" in course.best_so_far(line([0.1]).head(0), NONE, 3).answer


def curves(ends: dict[int, tuple[str, list[float]]]) -> pd.DataFrame:
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
    rising = curves({0: ("complete", [0.0, 0.1, 0.2, 0.3])})
    assert course.curves(rising, MEANS, 0).answer.startswith("The best, trial 0, was still rising: 33.3 % of its gain")
    flat = curves({0: ("complete", [0.0, 0.3, 0.3, 0.3])})
    assert course.curves(flat, MEANS, 0).answer == "The best, trial 0, no longer rose in its last quarter."


def test_stopped_trials_are_compared_with_the_winner_at_the_same_evaluation() -> None:
    own = curves({0: ("complete", [0.1, 0.2, 0.3, 0.3]), 1: ("pruned", [0.0, 0.1]), 2: ("frozen", [0.15])})
    assert course.curves(own, MEANS, 0).answer.endswith(
        "Of 2 trials that were stopped or frozen, 1 lay behind it at the same evaluation."
    )
    assert course.curves(own.head(0), MEANS, None).answer == "It cannot be said: no trial was evaluated."


def ranks(trials: int, correlation: float, low: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "rung": [1], "against": [4], "part": [0.25], "against_part": [1.0], "trials": [trials],
            "correlation": [correlation], "low": [low], "high": [0.99], "kept": [0.2], "is_last": [True],
        }
    )  # fmt: skip


def test_early_order_is_trusted_with_enough_trials_and_a_sure_correlation_alone() -> None:
    assert course.rungs(ranks(20, 0.9, 0.7)).answer == (
        "Yes, after 25.0 % of the training: the order of trials there is much like that of the last evaluation, "
        "and the later best was among the best 20.0 % (rank correlation 0.900 (+0.700 to +0.990); 1 is the same order)."
    )
    # Without enough trials at the end nothing is known of the end.
    assert course.rungs(ranks(20, 0.9, 0.7).assign(is_last=False)).answer.startswith(
        "Perhaps, after 25.0 % of the training: the order of trials there is much like that of evaluation 4 (the latest that"
    )
    assert course.rungs(ranks(20, 0.4, -0.1)).answer.startswith("That cannot be shown: with 20 trials no early order is surely")
    assert (
        course.rungs(ranks(4, 1.0, 1.0)).answer == "It cannot be said from 4 trials with two evaluations; it takes at least 8."
    )
