"""Frames have the rows and types that the files have, in order, and can be changed in place."""

import threading
from pathlib import Path

import pandas as pd
import pytest

from results import frames
from results.frames import read_frame
from results.table_files import add_rows, read_rows, write_rows


def test_rows_are_in_order_whatever_the_names_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, trial 100000 comes before trial 99999; and files are put together some at a time."""
    monkeypatch.setattr(frames, "_AT_ONCE", 2)
    for trial in (99_999, 100_000, 7):
        write_rows(tmp_path, "reports", trial, [{"trial": trial, "update": own, "steps": own} for own in (2, 1)])
    found = read_frame(tmp_path, "reports").frame
    assert found["trial"].tolist() == [7, 7, 99_999, 99_999, 100_000, 100_000]
    assert found["update"].tolist() == [1, 2] * 3
    assert found.index.tolist() == list(range(6))


def test_a_frame_can_be_changed_in_place(tmp_path: Path) -> None:
    write_rows(tmp_path, "reports", 0, [{"trial": 0, "update": own, "steps": own, "score": 0.5} for own in (1, 2)])
    found = read_frame(tmp_path, "reports").frame
    for name, value in (("trial", 7), ("score", 7.0), ("time", pd.Timestamp("2026-01-01", tz="UTC"))):
        found.loc[0, name] = value
    assert found.loc[0, ["trial", "score"]].tolist() == [7, 7.0]


def test_a_table_is_read_while_its_files_are_written(tmp_path: Path) -> None:
    """Each reading has some first rows of the trial, without a warning."""
    write_rows(tmp_path, "reports", 0, [{"trial": 0, "update": 1, "steps": 1}])

    def write() -> None:
        for update in range(2, 30):
            add_rows(tmp_path, "reports", 0, [{"trial": 0, "update": update, "steps": update}])

    writing = threading.Thread(target=write)
    writing.start()
    while writing.is_alive():
        read = read_frame(tmp_path, "reports")
        assert not read.skipped
        assert read.frame["update"].tolist() == list(range(1, len(read.frame) + 1))
    writing.join()
    assert len(read_rows(tmp_path, "reports", 0)) == 29
