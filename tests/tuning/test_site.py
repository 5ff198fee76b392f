"""The command that makes a site says what it made, and what to do next."""

from pathlib import Path

import pandas as pd
import pytest

from envs.environments.fit import check_stays
from envs.scenarios.scenario import Splits, scenario
from tuning.site import main


def test_a_site_that_was_made_leads_to_the_next_two_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "hood"), "--example"]) == 0
    printed = capsys.readouterr().out.splitlines()
    schema = tmp_path / "hood" / "schema.json"
    assert printed[0].startswith(f"{schema}: 3 buildings")
    assert printed[-2].endswith(f"python -m tuning.headroom --scenario {schema}")
    assert printed[-1].endswith(f"python -m tuning.run --algo ppo --scenario {schema}")


def test_few_weeks_with_vehicles_lead_to_commands_with_splits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hours = pd.date_range("2025-03-01", periods=30 * 24 - 5, freq="h")
    pd.DataFrame({"time": hours, "a (kWh)": 1.0}).to_csv(tmp_path / "load.csv", index=False)
    nights = (f"2025-03-{day:02d} 20:00,2025-03-{day + 1:02d} 06:00,20\n" for day in range(1, 29))
    sessions = "".join(["arrival,departure,energy_kwh\n", *nights])
    (tmp_path / "sessions.csv").write_text(sessions, encoding="utf-8")
    files = ["--load", str(tmp_path / "load.csv"), "--sessions", str(tmp_path / "sessions.csv")]
    assert main([str(tmp_path / "home"), *files, "--vehicle-kwh", "50", "--charger-kw", "7"]) == 0
    out = capsys.readouterr().out
    assert "19 hours at the ends left out" in out
    assert out.count(" --train 0-13 --validation 14-20 --test 21-28\n") == 2
    splits = Splits(train=("0-13",), validation=("14-20",), test=("21-28",))
    check_stays(scenario(str(tmp_path / "home" / "schema.json"), splits=splits), "validation")


def test_a_site_that_cannot_be_made_gets_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "site"), "--load", str(tmp_path / "none.csv")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "site").exists()
