"""The sentence about the way from the default to the best."""

import pandas as pd

from results.report.figures.changes import changes


def found(low: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "step": [1], "hyperparameter": ["gamma"], "before": ["0.9900001"], "after": ["0.95"], "gain": [0.05],
            "gain_low": [low], "gain_high": [0.1], "total": [0.05], "total_low": [low], "total_high": [0.1], "predicted": [0.2],
        }
    )  # fmt: skip


def test_a_change_pays_if_its_interval_is_above_zero() -> None:
    assert changes(found(0.01), 30, 4, 0).answer == ("gamma, from 0.990 to 0.950: +0.0500 (+0.0100 to +0.100) by the model.")
    assert changes(found(-0.01), 30, 4, 0).answer.startswith(
        "None surely: the model expects most of gamma, +0.0500 (-0.0100 to +0.100)"
    )


def test_what_was_measured_stands_beside_the_model_with_what_longer_training_explains() -> None:
    # The model starts at 0.2 - 0.05 = 0.15 for the default at the best's steps, and 0.05 was measured.
    rated = pd.DataFrame({"trial": [0, 4], "rating": [0.05, 0.2], "steps": [1000, 9000]})
    assert changes(found(0.01), 30, 4, 0, rated=rated).answer.endswith(
        " Measured, the best is 0.150 above the default; of this the model explains +0.100 by training alone, "
        "as the default ended after 1,000 steps and the best after 9,000."
    )
    alike = changes(found(0.01), 30, 4, 0, rated=rated.assign(steps=9000)).answer
    assert alike.endswith(" Measured, the best is 0.150 above the default.")


def test_an_importance_that_ranks_the_change_otherwise_is_explained() -> None:
    important = pd.DataFrame({"hyperparameter": ["n_steps", "gamma"]})
    assert "By importance gamma is number 2 of 2." in changes(found(0.01), 30, 4, 0, important=important).note
    assert "By importance" not in changes(found(0.01), 30, 4, 0, important=important.iloc[::-1]).note


def test_no_text_at_the_axis_is_as_wide_as_a_name_and_two_values() -> None:
    (panel,) = changes(found(0.01), 30, 4, 0).panels
    assert panel.spec["layer"][0]["data"]["values"][0]["name"].split("\n") == ["gamma", "0.990 → 0.950", "+0.0500"]


def test_without_a_way_the_reason_is_said() -> None:
    empty = found(0.0).head(0)
    assert changes(empty, 9, 0, 0).answer == "None: the default, trial 0, is the best so far."
    assert changes(empty, 2, None, 0).answer == "It cannot be said from 2 trials: no trial has won."
    assert changes(empty, 9, 1, None).answer == "It cannot be said from 9 trials: the default was not tried."
