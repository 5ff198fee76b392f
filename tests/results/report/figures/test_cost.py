"""Which trial is nearly as good for less."""

import pandas as pd

from results.report.figures.cost import cost


def board(ratings: list[float], seconds: list[float]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "trial": range(len(ratings)), "rating": ratings, "seconds": seconds, "state": "complete", "peak_rss_bytes": 2.0**30,
            "peak_process_vram_bytes": 0, "is_best": [place == 0 for place in range(len(ratings))],
        }
    )  # fmt: skip


def test_a_cheaper_trial_that_is_nearly_as_good_is_named() -> None:
    assert cost(board([0.2, 0.199, 0.1], [100.0, 25.0, 1.0])).answer == (
        "Trial 1 has +0.199 after 25 s, 25.0 % of the time of the best, trial 0 with +0.200."
    )
    assert cost(board([0.2, 0.1], [100.0, 1.0])).answer == "None: no other trial comes within 5.0 % of trial 0 with +0.200."
    assert cost(board([0.2, 0.199], [1.0, 9.0])).answer.endswith("of trial 0 took longer.")
    assert cost(board([0.2], [1.0])).answer == "It cannot be said from 1 rated trial."
