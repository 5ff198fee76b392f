"""The command packs experiments, and names what it cannot pack."""

from pathlib import Path

import pytest

from results.compact import main


def test_a_line_tells_of_each_table(experiment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(experiment)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{experiment} reports: 2 trials packed, 3 files are 1 now",
        f"{experiment} evaluations: 0 trials packed, 0 files are 0 now",
        f"{experiment} trials: 0 trials gathered, 4 files are read as 4 now",
    ]


def test_a_folder_that_is_no_experiment_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"error: no results of a search in {tmp_path}: give the folder of an experiment\n"
    assert list(tmp_path.iterdir()) == []
