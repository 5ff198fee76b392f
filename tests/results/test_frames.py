"""Frames have the rows and types that Arrow gives, in order, and can be changed in place."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from results import frames
from results.frames import is_sorted, joined, to_frame

NAMES = ("trial", "update")


def table(trials: list[int], updates: list[int], **more: list[object]) -> pa.Table:
    return pa.table({"trial": pa.array(trials, pa.int64()), "update": pa.array(updates, pa.int64()), **more})


def test_tables_follow_each_other_by_their_first_rows() -> None:
    tables = [table([2, 2], [1, 2]), table([], []), table([0, 1], [1, 1])]
    whole = joined(tables, NAMES)
    assert tables == []
    assert whole["trial"].to_pylist() == [0, 1, 2, 2]
    assert is_sorted(whole, NAMES)


@pytest.mark.parametrize("second", [table([0, 1], [1, 1]), table([1, 3], [2, 1])], ids=["a row twice", "one within the other"])
def test_tables_that_overlap_stay_as_they_are(second: pa.Table) -> None:
    """Rows with the same numbers keep the order of their files when they are sorted."""
    whole = joined([table([1, 2], [1, 1]), second], NAMES)
    assert whole["trial"].to_pylist()[:2] == [1, 2]
    assert not is_sorted(whole, NAMES)


def test_a_column_that_a_table_lacks_is_empty() -> None:
    whole = joined([table([1], [1], score=[0.5]), table([0], [1])], NAMES)
    assert whole["score"].to_pylist() == [None, 0.5]


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_long_frame_is_as_arrow_makes_it_and_can_be_changed(pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LONG", 5)
    part = table([1, 2], [1, 2], score=[0.5, 1.5], empty=[None, 2.0], text=["a", None], flag=[True, False])
    part = part.append_column("time", pa.array([1, 2], pa.timestamp("us", tz="UTC")))
    part = part.append_column("plain", pa.array([1, 2], pa.timestamp("us"))).append_column(
        "small", pa.array([1, 2], pa.int32())
    )
    content = pa.concat_tables([part] * 3)
    content = content.combine_chunks() if pieces == 1 else content
    expected = content.to_pandas()
    columns = dict(zip(content.column_names, content.columns, strict=True))
    frame = to_frame(columns)
    assert columns == {}
    pd.testing.assert_frame_equal(frame, expected)
    for name in ("trial", "score", "empty", "small"):
        frame.loc[0, name] = 7
    for name in ("time", "plain"):
        frame.loc[0, name] = frame.loc[1, name]
    for column in ("small", "plain"):
        frame[column].array[1] = frame.loc[0, column]  # in place
    assert list(frame.loc[0, ["trial", "score", "empty"]]) == [7, 7.0, 7.0]


def test_a_long_column_in_one_piece_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LONG", 5)
    column = pa.chunked_array([pa.array(np.empty(0)), pa.array([0.5] * 6)])
    address = column.chunk(1).buffers()[1].address
    frame = to_frame({"score": column})
    assert frame["score"].to_numpy().__array_interface__["data"][0] == address
