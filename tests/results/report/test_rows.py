"""Single rows."""

import pandas as pd

from results.report.rows import each, greatest, least


def test_the_first_of_the_greatest_and_of_the_least_counts_and_gaps_do_not() -> None:
    frame = pd.DataFrame({"name": list("abcd"), "x": [float("nan"), 1.0, 3.0, 3.0]}, index=[9, 9, 9, 9])
    assert (greatest(frame, "x")["name"], least(frame, "x")["name"]) == ("c", "b")
    assert [row.name for row in each(frame)] == list("abcd")
