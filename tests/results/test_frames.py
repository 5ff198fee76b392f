"""Frames have the rows that meet conditions, in order, and can be changed in place; a condition that has no form is named."""

import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from results import ResultsError, load
from results.frames import checked_conditions, read_frame
from results.table_files import add_rows, judged_path, read_rows, rows_path, write_file, write_rows


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
    "filters",
    [
        [("trial", "in", 3)], ("trial", "==", 1), [("trial", "==")], [("steps", ["=="], 3)], [("steps", "~", 3)], "trial", 3,
        [("steps", "==", ["a\nb" * 99, 3])], [("trial", "==", 10**30)],
    ],
)  # fmt: skip
def test_a_malformed_condition_is_one_line(filters: Any) -> None:
    with pytest.raises(ResultsError) as error:
        checked_conditions("reports", filters)
    text = str(error.value)
    assert text.startswith("filters of reports: ")
    assert text.endswith('give a list of conditions, each such as ("trial", "in", [0, 3]) or ("steps", ">", 10_000)')
    assert "\n" not in text
    assert len(text) < 200


def begin(folder: Path, number: int, state: str = "complete", **columns: Any) -> None:
    """Write all rows of a trial with four updates, of which every second is evaluated."""
    row = {"trial": number, "state": state, "score": 0.4, "updates": 4, **columns}
    write_rows(folder, "trials", number, [row])
    rows = [{"trial": number, "update": own, "steps": own * 10, "score": None if own % 2 else own / 10} for own in (1, 2, 3, 4)]
    write_rows(folder, "reports", number, rows)
    write_rows(folder, "evaluations", number, [{"trial": number, "steps": steps, "year": 1} for steps in (20, 40)])


def told(folder: Path) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(folder)
    lines = [str(warning.message).removeprefix(f"{folder / 'results'}: ") for warning in caught]
    assert all(line.endswith("; restore its files from a copy") for line in lines)
    return [line.partition(";")[0] for line in lines]


def write_trial(folder: Path, number: int, **columns: Any) -> None:
    write_rows(folder, "trials", number, [{"trial": number, "state": "complete", "score": 0.4, "updates": 4, **columns}])


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (lambda folder: None, []),
        (lambda folder: write_trial(folder, 3, updates=0, same_as=0), []),
        (lambda folder: rows_path(folder, "trials", 0).unlink(), ["trials lacks the row of trial 0 to 2"]),
        (lambda folder: rows_path(folder, "evaluations", 1).unlink(), ["trial 1: it lacks the evaluation at 20 steps"]),
        (lambda folder: rows_path(folder, "reports", 0).unlink(), ["trial 0: it has 0 reports, and its row counts 4"]),
        # Of a trial that runs, a kill may have taken anything.
        (lambda folder: [rows_path(folder, table, 2).unlink() for table in ("evaluations", "reports")], []),
        # A row of another experiment has another score.
        (lambda folder: write_trial(folder, 0, score=0.9), ["trial 0: its row has the score 0.9, its report 0.4"]),
        (lambda folder: write_trial(folder, 0, score=0.2, kept_steps=20), []),
        (lambda folder: write_trial(folder, 0, kept_steps=20), ["trial 0: its row has the score 0.4, its report 0.2"]),
    ],
)
def test_what_is_not_there_is_told(tmp_path: Path, change: Callable[[Path], object], lines: list[str]) -> None:
    for number, state in enumerate(("complete", "pruned", "running")):
        begin(tmp_path, number, state)
    change(tmp_path)
    assert told(tmp_path) == lines


def judge(folder: Path, number: int, *years: int) -> Path:
    path = judged_path(folder, f"e-0-{number:03d}", "batch")
    write_file(path, [{"contender": "e 0", "trial": number, "year": year, "backend": "batch"} for year in years])
    return path


def test_a_judgement_that_lacks_runs_or_years_is_told(tmp_path: Path) -> None:
    write_file(judged_path(tmp_path, "baselines", "batch"), [{"contender": "rule", "year": year} for year in (3, 6)])
    paths = [judge(tmp_path, number, 3, 6) for number in range(3)]
    assert told(tmp_path) == []
    judge(tmp_path, 2, 3)
    assert told(tmp_path) == ["e 0 lacks years or episodes in the evaluation of run 2 by batch"]
    judge(tmp_path, 2, 3, 6)
    paths[1].unlink()
    assert told(tmp_path) == ["e 0 lacks the evaluation of run 1 by batch"]


def test_what_a_file_says_of_itself_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    rows = [{"contender": "e 0", "trial": 0, "year": 3, "backend": "\x1b[2J"}]
    write_file(judged_path(tmp_path, "e-0-000", "batch"), rows)
    with pytest.warns(UserWarning, match=r"it was evaluated by \\x1b\[2J, not batch"):
        load(tmp_path)


def test_huge_numbers_take_neither_memory_nor_time_and_many_gaps_are_counted(tmp_path: Path) -> None:
    huge = 10**15
    write_trial(tmp_path / "trials", huge, updates=10**12)
    assert set(told(tmp_path / "trials")) == {
        f"trials lacks the row of trial 0 to {huge - 1}", f"trial {huge}: it has 0 reports, and its row counts {10**12}"
    }  # fmt: skip
    judge(tmp_path / "judged", 10**12, 3)
    assert told(tmp_path / "judged") == [f"e 0 lacks the evaluation of run 0 to {10**12 - 1} by batch"]
    for number in range(0, 50, 2):
        write_trial(tmp_path / "gaps", number, state="running")
    assert told(tmp_path / "gaps") == [f"trials lacks the row of trial {', '.join(map(str, range(1, 40, 2)))}, and 4 more"]
