"""The sentence about several experiments."""

import numpy as np
import pandas as pd

from results.report.figures.comparison import comparison

TABLE = pd.DataFrame(
    {
        "experiment": ["a", "b"], "algorithm": ["ppo", "sac"], "scenario": "made", "reward": "improvement", "aim": "",
        "trials": 3, "total_steps": 9, "elapsed_seconds": [60.0, 30.0], "best_rating": [0.1, 0.2],
        "default_rating": 0.0, "gain": [0.1, 0.2],
    }
)  # fmt: skip
LINES = pd.DataFrame({"experiment": ["a", "b"], "elapsed_seconds": [60.0, 30.0], "best": [0.1, 0.2]})


def test_the_furthest_is_named_if_scores_can_be_compared() -> None:
    assert comparison(TABLE, LINES).answer == "b, with +0.2000 after 30 s, before a with +0.1000."
    elsewhere = comparison(TABLE.assign(scenario=["made", "other"]), LINES)
    assert elsewhere.answer == "Their ratings cannot be compared: sites or environments differ."
    assert comparison(TABLE.assign(best_rating=np.nan), LINES.head(0)) is None


def test_experiments_of_other_aims_are_not_ranked_and_stand_in_charts_of_their_own() -> None:
    found = comparison(TABLE.assign(aim=["", "objective bill"]), LINES)
    assert found.answer == "Their ratings cannot be compared: aims or splits differ."
    assert [panel.title for panel in found.panels] == ["a", "b (objective bill)"]
    domains = [panel.spec["layer"][0]["encoding"]["color"]["scale"]["domain"] for panel in found.panels]
    assert domains == [["a"], ["b"]]
    assert [panel.title for panel in comparison(TABLE, LINES).panels] == [""]
    assert comparison(TABLE.assign(aim=["", "objective bill"], best_rating=[0.1, np.nan]), LINES).answer.startswith("a, with")


def test_a_line_of_the_best_that_falls_is_explained() -> None:
    falls = pd.DataFrame({"experiment": ["a", "a", "b"], "elapsed_seconds": [10.0, 60.0, 30.0], "best": [0.3, 0.1, 0.2]})
    assert comparison(TABLE, falls).note == "The line falls where the leading trial does worse after more training."
    assert comparison(TABLE, LINES).note == ""
