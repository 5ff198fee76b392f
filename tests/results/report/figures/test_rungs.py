"""Whether trials could be stopped earlier."""

import pandas as pd

from results.report.figures.rungs import rungs


def ranks(trials: int, correlation: float, low: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "rung": [1], "against": [4], "part": [0.25], "against_part": [1.0], "trials": [trials],
            "correlation": [correlation], "low": [low], "high": [0.99], "kept": [0.2], "is_last": [True],
        }
    )  # fmt: skip


def test_early_order_is_trusted_with_enough_trials_and_a_sure_correlation_alone() -> None:
    assert rungs(ranks(20, 0.9, 0.7)).answer == (
        "Yes, after 25.0 % of the training: the order of trials there is much like that of the last evaluation, "
        "and the later best was among the best 20.0 % (rank correlation 0.900 (+0.700 to +0.990); 1 is the same order)."
    )
    # Without enough trials at the end nothing is known of the end.
    assert rungs(ranks(20, 0.9, 0.7).assign(is_last=False)).answer.startswith(
        "Perhaps, after 25.0 % of the training: the order of trials there is much like that of evaluation 4 (the latest that"
    )
    assert rungs(ranks(20, 0.4, -0.1)).answer.startswith("That cannot be shown: with 20 trials no early order is surely")
    assert rungs(ranks(4, 1.0, 1.0)).answer == "It cannot be said from 4 trials with two evaluations; it takes at least 8."
