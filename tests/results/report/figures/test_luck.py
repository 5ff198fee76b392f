"""Whether the winner was lucky."""

import numpy as np
import pandas as pd

from results.report.figures.luck import luck


def test_luck_compares_the_search_with_fresh_seeds() -> None:
    found = pd.DataFrame(
        {
            "name": ["trial 4"], "trial": [4], "is_default": [False], "split": ["validation"], "measure": ["score"],
            "runs": [3], "search": [0.3], "fresh": [0.2], "low": [0.1], "high": [0.3], "change": [-0.1],
        }
    )  # fmt: skip
    gains = pd.DataFrame({"confirms": [4], "gain": [0.05], "gain_low": [0.01], "gain_high": [0.09], "ended_early": [0]})
    assert luck(found, gains).answer == (
        "With fresh seeds trial 4 is better than the default: +0.0500 (+0.0100 to +0.0900); "
        "the score of trial 4 fell from +0.3000 in the search to +0.2000 on the validation split."
    )
    # The mean of those that reached the end would be lucky.
    short = gains.assign(ended_early=1, gain=np.nan)
    for none in (found.head(0), found.assign(is_default=True)):
        assert luck(none, short) is None
    assert "not surely other than the default" in luck(found, gains.assign(gain_low=-0.01)).answer


def test_luck_has_a_chart_for_scores_and_one_for_ratings() -> None:
    row = {"name": "trial 4", "trial": 4, "is_default": False, "runs": 3, "low": 0.1, "high": 0.3}
    found = pd.DataFrame(
        [
            {**row, "split": "validation", "measure": "rating", "search": -800.0, "fresh": -810.0, "change": -10.0},
            {**row, "split": "test", "measure": "score", "search": 0.3, "fresh": 0.2, "change": -0.1},
        ]
    )
    made = luck(found, pd.DataFrame({"gain": [], "ended_early": []}))
    assert [panel.title for panel in made.panels] == ["Rating", "Score"]
    for panel, most in zip(made.panels, (-800.0, 0.3), strict=True):
        points = panel.spec["layer"][1]["data"]["values"]
        assert max(point["value"] for point in points) == most
