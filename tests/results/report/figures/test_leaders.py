"""The best trials."""

import numpy as np
import pandas as pd

from results.report.figures.leaders import leaders


def test_leaders_say_how_far_the_best_is_above_the_default() -> None:
    board = pd.DataFrame(
        {
            "rank": [1.0, 2.0], "trial": [3, 0], "state": "complete", "rating": [0.3, 0.2], "kept_steps": [5000, 4000],
            "steps": [6000, 4000], "further_episodes": [0, 0],
            "seconds": 1.0, "is_best": [True, False], "is_default": [False, True], "shortfall": np.nan, "hp_gamma": [0.9, 0.95],
        }
    )  # fmt: skip
    assert (
        leaders(board).answer
        == "Trial 3, with +0.3000 after 5,000 steps, 0.1000 above the default (trial 0, after 4,000 steps)."
    )
    looked_at = leaders(board.assign(further_episodes=[20, 0])).answer
    assert looked_at.endswith("above the default (trial 0, after 4,000 steps, over fewer episodes or weeks).")
    nothing = leaders(board.assign(rating=[-5e-9, -6e-9])).panels[0].spec
    assert [row["rating"] for row in nothing["layer"][0]["data"]["values"]] == [0.0, 0.0]
