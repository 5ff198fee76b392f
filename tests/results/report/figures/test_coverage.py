"""What was not tried."""

import numpy as np
import pandas as pd

from results.report.figures.coverage import coverage


def test_gaps_wider_than_a_fifth_and_untried_choices_are_named() -> None:
    found = pd.DataFrame(
        {
            "hyperparameter": ["gamma", "sizes"], "low": [0.9, np.nan], "high": [1.0, np.nan], "trials": 9, "values": [9, 1],
            "parts": [10, 2], "tried": [0.5, 0.5], "expected": 0.6, "gap_low": [0.92, np.nan], "gap_high": [0.96, np.nan],
            "gap": [0.4, np.nan], "untried": ["", "64,64"],
        }
    )  # fmt: skip
    assert coverage(found).answer == (
        "On average 50.0 % of a range was tried; the widest gap is gamma between 0.920 and 0.960, 40.0 % of its range "
        "and sizes=64,64."
    )
    assert coverage(found.assign(gap=0.1, untried="")).answer.endswith("no gap is wider than a fifth of a range.")
