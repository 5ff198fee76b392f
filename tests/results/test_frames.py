"""Frames have the rows that meet conditions, in order, and can be changed in place; a condition that has no form is named."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from results import ResultsError
from results.frames import checked_conditions, empty_passes, name_passes, read_frame, trials_wanted
from results.table_files import add_rows, read_rows, write_rows


def test_rows_are_in_order_whatever_the_names_of_files(tmp_path: Path) -> None:
    """By name, trial 100000 comes before trial 99999."""
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


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ([("trial", "==", [1])], "('trial', '==', [1]): == takes one value"),
        ([("trial", "in", 3)], "('trial', 'in', 3): in takes a list of values"),
        ([("trial", "in", "3")], "('trial', 'in', '3'): in takes a list of values"),
        (("trial", "==", 1), "'trial': give a list of conditions, each such as"),
        ([("trial", "==")], "('trial', '=='): give a list of conditions, each such as"),
        ([("trial", "in", ["0"])], "('trial', 'in', ['0']): trials have numbers, such as 3"),
        ([("trial", "==", True)], "('trial', '==', True): trials have numbers, such as 3"),
        ([("trial", "in", [[0]])], "('trial', 'in', [[0]]): trials have numbers, such as 3"),
        ([("steps", ["=="], 3)], "('steps', ['=='], 3): conditions are =, ==, !=, <, <=, >, >=, in, not in"),
        ([("steps", "~", 3)], "('steps', '~', 3): conditions are"),
        ([("experiment", "in", [1])], "('experiment', 'in', [1]): names of experiments are texts"),
        ("trial", "'trial': give a list such as"),
        (3, "3: give a list such as"),
        ([("steps", "==", ["a\nb" * 99])], "...: == takes one value"),
    ],
)
def test_a_malformed_condition_is_one_line(filters: Any, said: str) -> None:
    with pytest.raises(ResultsError) as error:
        checked_conditions("reports", filters)
    text = str(error.value)
    assert text.startswith("filters of reports: ")
    assert said in text
    assert "\n" not in text
    assert len(text) < 200


def test_conditions_that_are_well_formed_stay() -> None:
    given = [("trial", "in", {1}), ["trial", "==", np.int64(2)], ("steps", ">", 10), ("state", "not in", np.array(["oom"]))]
    expected = [("trial", "in", [1]), ("trial", "==", 2), ("steps", ">", 10), ("state", "not in", ["oom"])]
    assert checked_conditions("trials", given) == expected  # type: ignore[arg-type]
    assert checked_conditions("trials", None) == []


def test_trials_that_conditions_name_are_known_before_anything_is_read() -> None:
    assert trials_wanted([("steps", ">", 3), ("trial", "!=", 3)]) is None
    assert trials_wanted([("trial", "in", [1, 2, 3]), ("trial", "==", 2)]) == {2}
    assert trials_wanted([("trial", "=", 10**30)]) == set()


@pytest.mark.parametrize(
    ("sign", "value", "passes"),
    [
        ("==", "b", True),
        ("!=", "b", False),
        ("<", "c", True),
        (">=", "c", False),
        ("in", ["b"], True),
        ("not in", ["b"], False),
    ],
)
def test_conditions_on_names_of_experiments(sign: str, value: object, passes: bool) -> None:
    assert name_passes("b", [("experiment", sign, value)]) == passes


def test_an_empty_cell_passes_by_lists_alone() -> None:
    assert empty_passes([])
    assert empty_passes([("x", "not in", [1]), ("x", "in", [None, 1])])
    for condition in (("x", "not in", [None]), ("x", "in", [1]), ("x", "!=", 1), ("x", "==", None)):
        assert not empty_passes([condition, ("x", "not in", [1])])
