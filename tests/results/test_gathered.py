"""Rows of trials that were gathered are those of their part files, whatever is written meanwhile."""

import json
import os
import shutil
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from common import files
from results import gathered, load
from results.compaction import compact
from results.gathered import gathered_path
from results.packs import BEING_WRITTEN
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


def write(folder: Path, number: int, score: float, seconds: float = 10.0, earlier: str | None = None) -> None:
    """Write a row that is some seconds old, with a hyperparameter of an earlier version."""
    path = part_path(folder, "trials", number)
    more = {f"hp_{earlier}": 1.0} if earlier else {}
    write_part(path, "trials", [trial(number, score) | more], KINDS | ({earlier: float} if earlier else {}))
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


@pytest.mark.parametrize("seconds", [0.0, 5.0])
def test_a_row_that_changes_after_the_file_was_read_is_never_taken_from_it(
    seconds: float, many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was gathered before with other content, so it may not get the stamp that its part has by now."""
    original = gathered.gathered

    def late(*given: Any, **more: Any) -> object:
        found = original(*given, **more)
        write(many, 1, 0.9, seconds=seconds)
        return found

    write(many, 0, 0.6)
    with monkeypatch.context() as patched:
        patched.setattr(gathered, "gathered", late)
        compact(many)
    assert read(many)["score"].tolist() == [0.6, 0.9, 0.2]
    compact(many)
    assert read(many)["score"].tolist() == [0.6, 0.9, 0.2]


def test_a_search_that_goes_on_meanwhile_does_not_remove_the_file_that_is_written(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It removes half-written files of killed runs, see `tuning.search.record.recovery.settle`."""
    original = files.replace

    def late(new: Path, path: Path) -> None:
        for half_written in (many / "results").rglob(f"*{files.NEW}"):
            half_written.unlink()
        original(new, path)

    write(many, 0, 0.6)
    left = gathered_path(many).with_suffix(BEING_WRITTEN)
    left.touch()
    with monkeypatch.context() as patched:
        patched.setattr(files, "replace", late)
        assert compact(many)[-1].trials == 3
    assert read(many)["score"].tolist() == [0.6, 0.1, 0.2]
    assert not left.exists()


def test_a_file_of_another_name_stops_nothing(many: Path) -> None:
    part = part_path(many, "trials", 1)
    shutil.copy2(part, part.with_name("00001 (conflict).parquet"))
    write(many, 0, 0.6)
    assert compact(many)[-1].trials == 3
    with pytest.warns(UserWarning, match="conflict"):
        assert load(many).trials["score"].tolist() == [0.6, 0.1, 0.2]


def test_columns_stay_in_the_order_of_the_trials(many: Path) -> None:
    """Rows of two versions of the package differ in columns."""

    def names() -> list[str]:
        return list(read(many).columns)

    for number in range(12):
        write(many, number, 0.1, earlier=f"gone_{number % 7}")
    gathered_path(many).unlink()
    expected = names()
    compact(many)
    assert names() == expected
    # The first one is of today's version now.
    write(many, 0, 0.6)
    compact(many)
    found = names()
    gathered_path(many).unlink()
    assert found == names() != expected


def test_a_damaged_file_is_named_and_the_parts_are_read(many: Path) -> None:
    found = read(many)
    path = gathered_path(many)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(UserWarning, match=r"trials-gathered\.parquet: .*: delete this file, which is a copy"):
        results = load(many)
    pd.testing.assert_frame_equal(results.trials, found)
    assert results.skipped == (path,)
