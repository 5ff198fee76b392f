"""Stretches and elapsed time follow from reports."""

from datetime import timedelta
from pathlib import Path

import pandas as pd

from results.analysis.times import elapsed, stretches
from tests.results.made import BEGIN, reports, row, tables


def test_a_pause_begins_another_stretch(tmp_path: Path) -> None:
    paused = reports(0, 0.1)
    for own in paused[2:]:
        own["time"] += timedelta(seconds=100)
    found = stretches(tables(tmp_path, [row(0, 0.1), row(1, 0.2)], [*paused, *reports(1, 0.2, begin=10)]).reports)
    assert found["trial"].tolist() == [0, 0, 1]
    assert found["stretch"].tolist() == [1, 2, 1]
    assert found["seconds"].tolist() == [20.0, 20.0, 40.0]
    assert [(own - BEGIN).total_seconds() for own in found["begin"]] == [0, 120, 10]


def test_elapsed_time_counts_what_any_trial_ran_once_and_no_pause() -> None:
    own = pd.DataFrame(
        {
            "begin": pd.to_datetime([0, 5, 100, 102], unit="s", utc=True),
            "end": pd.to_datetime([10, 20, 130, 110], unit="s", utc=True),
        }
    )
    at = pd.Series(pd.to_datetime([0, 7, 20, 60, 105, 130, 200], unit="s", utc=True))
    assert elapsed(own, at).tolist() == [0, 7, 20, 20, 25, 50, 50]
    assert elapsed(own.iloc[:0], at).tolist() == [0.0] * 7


def test_stretches_without_times_are_none(tmp_path: Path) -> None:
    without = [{**own, "time": None} for own in reports(0, 0.1)]
    assert stretches(tables(tmp_path, [row(0, 0.1)], without).reports).empty
