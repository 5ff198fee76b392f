"""Stretches, slots and elapsed time follow from reports."""

from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest

from results.analysis import memory, time_spent, timeline
from results.analysis.times import elapsed, stretches
from tests.results.made import BEGIN, reports, row, search, tables


def test_a_pause_begins_another_stretch_and_the_first_free_slot_is_taken(tmp_path: Path) -> None:
    paused = reports(0, 0.1)
    for own in paused[2:]:
        own["time"] += timedelta(seconds=100)
    trials = [row(0, 0.1), row(1, 0.2, "pruned"), row(2, 0.3)]
    results = tables(tmp_path, trials, [*paused, *reports(1, 0.2, begin=10), *reports(2, 0.3, begin=25)])
    found = timeline(results)
    assert found["trial"].tolist() == [0, 1, 2, 0]
    assert found["stretch"].tolist() == [1, 1, 1, 2]
    assert found["slot"].tolist() == [0, 1, 0, 0]
    assert found["state"].tolist() == ["frozen", "pruned", "complete", "complete"]
    assert found["seconds"].tolist() == [20.0, 40.0, 40.0, 20.0]
    assert [(own - BEGIN).total_seconds() for own in found["begin"]] == [0, 10, 25, 120]
    assert found[["from_steps", "to_steps"]].iloc[3].tolist() == [2000, 4000]


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


def test_time_is_told_by_cause_and_adds_up(tmp_path: Path) -> None:
    results = search(tmp_path, 3)
    found = time_spent(results)
    assert found["share"].sum() == pytest.approx(1.0)
    assert found.groupby("cause")["seconds"].sum().to_dict() == {
        "environment": 30.0, "learner": 60.0, "evaluation": 15.0, "rest": 15.0,
    }  # fmt: skip
    assert (found["role"] == "search").all()


def test_stretches_without_times_are_none(tmp_path: Path) -> None:
    without = [{**own, "time": None} for own in reports(0, 0.1)]
    assert stretches(tables(tmp_path, [row(0, 0.1)], without).reports).empty


def test_each_kind_of_memory_that_was_predicted_has_a_row(tmp_path: Path) -> None:
    card = {"predicted_vram_bytes": 100, "granted_vram_bytes": 110, "peak_process_vram_bytes": 150}
    refused = row(3, None, "oom", peak_rss_bytes=None)
    trials = [row(0, 0.1), row(1, 0.2, **card, out_of_memory=1), row(2, 0.1, same_as=0), refused]
    found = memory(tables(tmp_path, trials))
    assert found[["trial", "kind"]].to_numpy().tolist() == [[0, "host"], [1, "host"], [1, "card"], [3, "host"]]
    assert found["ratio"].tolist()[:3] == pytest.approx([1.2, 1.2, 1.5])
    assert found["exceeded"].tolist() == [False, False, True, False]
    assert found["out_of_memory"].tolist() == [0, 1, 1, 0]
    assert found["measured_bytes"].isna().tolist() == [False, False, False, True]


def test_without_a_prediction_there_is_no_row(tmp_path: Path) -> None:
    assert memory(tables(tmp_path, [row(0, 0.1, predicted_ram_bytes=None)])).empty
