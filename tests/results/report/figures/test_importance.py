"""Which hyperparameters matter."""

import pandas as pd
import pytest

from results.report.figures.importance import importance


def important(low: float, beyond: bool) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "hyperparameter": ["gamma", "n_steps"], "importance": [0.8, 0.2], "low": [low, 0.0], "high": [0.9, 0.3],
            "divergence": [1.0, 0.1], "chance": [0.2, 0.2], "beyond_chance": [beyond, False], "trials": 30, "best_trials": 3,
        }
    )  # fmt: skip


def test_importance_is_said_as_surely_as_it_is_known() -> None:
    assert importance(important(0.5, True)).answer == (
        "gamma matters most: 80.0 % of what sets the best apart (50.0 % to 90.0 %)."
    )
    assert (
        importance(important(0.0, True)).answer
        == "None surely. Most likely gamma (80.0 % of what sets the best apart); but 30 trials are too few: "
        "the part of each may be 0, and that of gamma up to 90.0 %."
    )
    assert importance(important(0.0, False)).answer.startswith("None surely: with 30 trials no importance")


def test_the_longest_bar_is_never_passed_over_in_silence() -> None:
    both = important(0.0, True).assign(low=[0.0, 0.1], beyond_chance=[True, True])
    assert importance(both).answer == (
        "Surely n_steps matters. gamma may matter more, 80.0 % of what sets the best apart, but from 30 trials that can be "
        "chance (0.0 % to 90.0 %)."
    )
    likely = both.assign(low=[0.0, 0.0], beyond_chance=[False, True])
    assert importance(likely).answer.endswith(" The longer bar of gamma is no more than chance gives.")


@pytest.mark.parametrize(
    ("low", "beyond", "kinds"), [(0.5, True, "surely"), (0.0, True, "perhaps"), (0.0, False, "as by chance")]
)
def test_bars_of_importance_are_as_sure_as_the_sentence(low: float, beyond: bool, kinds: str) -> None:
    (panel,) = importance(important(low, beyond)).panels
    assert panel.spec["layer"][0]["data"]["values"][0]["kind"] == kinds


def test_the_note_names_what_the_search_hardly_varied() -> None:
    fixed = pd.DataFrame({"hyperparameter": ["shared_policy"], "value": ["True"], "trials": [20], "of": [24]})
    told = "Hardly varied: shared_policy (20 of 24 trials True); what a search settles early looks unimportant here."
    assert told in importance(important(0.5, True), fixed).note
    assert "Hardly varied" not in importance(important(0.5, True), fixed.head(0)).note
