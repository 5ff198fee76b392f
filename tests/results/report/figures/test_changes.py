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
        "None surely: gamma is expected to bring most, +0.0500 (-0.0100 to +0.100)"
    )


def test_without_a_way_the_reason_is_said() -> None:
    empty = found(0.0).head(0)
    assert changes(empty, 9, 0, 0).answer == "None: the default, trial 0, is the best so far."
    assert changes(empty, 2, None, 0).answer == "It cannot be said from 2 trials: no trial has won."
    assert changes(empty, 9, 1, None).answer == "It cannot be said from 9 trials: the default was not tried."
