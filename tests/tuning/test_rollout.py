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
