"""Whether peaks are cut."""

import numpy as np

from results.report.figures.peaks import duration_curve, peaks
from tests.results.report.made import hours


def test_the_peak_and_the_hundredth_of_hours_are_said() -> None:
    assert peaks(hours(10)).answer.startswith("The highest import falls from 10.0 kW to 5.00 kW;")
    assert "The highest import stays at 10.0 kW" in peaks(hours(10, 1.0)).answer


def test_the_duration_curve_falls_from_the_highest_hour_to_the_lowest() -> None:
    curve = duration_curve(hours(20))
    assert (curve["policy"].iloc[0], curve["policy"].iloc[-1], curve["share"].iloc[-1]) == (5.0, 2.0, 1.0)
    assert (np.diff(curve["policy"]) <= 0).all()
    assert len(curve) <= 200
