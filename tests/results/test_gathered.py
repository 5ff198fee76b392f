"""Rows of trials that were gathered are those of their part files, whatever is written meanwhile."""

import json
import os
import time
import warnings
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from results import gathered, load
from results.compaction import compact
from results.gathered import gathered_path
from results.parts import STAMPS
from results.writer import part_path, write_part
from tests.results.trials import KINDS, trial


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment of which three rows were gathered."""
    monkeypatch.setattr(gathered, "FEWEST", 2)
    for number in (0, 1, 2):
        write(tmp_path, number, 0.1 * number)
    assert (compact(tmp_path)[-1].trials, compact(tmp_path)[-1].after) == (3, 1)
    return tmp_path


def write(folder: Path, number: int, score: float, seconds: float = 10.0) -> None:
    """Write a row that is some seconds old."""
    path = part_path(folder, "trials", number)
    write_part(path, "trials", [trial(number, score)], KINDS)
    old = time.time() - seconds
    os.utime(path, (old, old))


def read(folder: Path) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "skipped")
        return load(folder).read("trials")


def test_rows_that_were_gathered_are_those_of_the_parts_and_open_none(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(many)
    with monkeypatch.context() as patched:
        patched.setattr("results.loader.read_piece", None)
        pd.testing.assert_frame_equal(read(many), found)
    gathered_path(many).unlink()
    pd.testing.assert_frame_equal(read(many), found)


def test_a_row_that_is_written_anew_or_is_new_or_gone_is_as_its_part(many: Path) -> None:
    write(many, 1, 0.7, seconds=0.0)
    write(many, 3, 0.8)
    part_path(many, "trials", 0).unlink()
    assert read(many)["score"].tolist() == [0.7, 0.2, 0.8]
    assert read(many)["trial"].tolist() == [1, 2, 3]
    compact(many)
    assert read(many)["score"].tolist() == [0.7, 0.2, 0.8]


def test_a_row_that_was_written_just_now_is_not_gathered(many: Path) -> None:
    """One more write within the grain of the clock might leave its time and its size as they are."""
    write(many, 1, 0.7, seconds=0.0)
    compact(many)
    listing = json.loads(pq.read_schema(gathered_path(many)).metadata[STAMPS.encode()])
    assert sorted(listing) == ["0", "2"]


def test_a_part_that_changes_while_it_is_gathered_is_left_out(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = gathered.read_piece

    def late(path: Path, table: str) -> object:
        found = original(path, table)
        write(many, 1, 0.9, seconds=5.0)
        return found

    write(many, 1, 0.7)
    write(many, 0, 0.6)
    with monkeypatch.context() as patched:
        patched.setattr(gathered, "read_piece", lambda path, table, *rest: late(path, table))
        compact(many)
    assert read(many)["score"].tolist() == [0.6, 0.9, 0.2]


def test_a_damaged_file_is_named_and_the_parts_are_read(many: Path) -> None:
    found = read(many)
    path = gathered_path(many)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(UserWarning, match=r"trials-gathered\.parquet: .*: delete this file, which is a copy"):
        results = load(many)
    pd.testing.assert_frame_equal(results.trials, found)
    assert results.skipped == (path,)
