"""The command prints the paths of its files, or one line that says what is wrong."""

from pathlib import Path

import pandas as pd
import pytest

from tuning.exporting.rollout import Rollout
from tuning.exporting.settings import RolloutSettings
from tuning.rollout import main


def test_the_paths_of_its_files_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    given: list[RolloutSettings] = []

    def roll_out(settings: RolloutSettings) -> Rollout:
        given.append(settings)
        return Rollout(pd.DataFrame(), Path("hours.parquet"), Path("week.png"))

    monkeypatch.setattr("tuning.exporting.rollout.roll_out", roll_out)
    assert main(["experiments/one", "--trial", "3", "--week", "2"]) == 0
    assert capsys.readouterr().out == "hours.parquet\nweek.png\n"
    assert given == [RolloutSettings("experiments/one", trial="3", week=2)]


def test_a_folder_that_holds_no_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    told = f"error: no experiment in {tmp_path}: an experiment's folder holds experiment.json\n"
    assert capsys.readouterr().err == told
    assert not list(tmp_path.iterdir())
