"""The command that makes a site says what it made, and what to do next."""

from pathlib import Path

import pytest

from tuning.site import main


def test_a_site_that_was_made_leads_to_the_next_two_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "hood"), "--example"]) == 0
    printed = capsys.readouterr().out.splitlines()
    schema = tmp_path / "hood" / "schema.json"
    assert printed[0].startswith(f"{schema}: 3 buildings")
    assert printed[-2].endswith(f"python -m tuning.headroom --scenario {schema}")
    assert printed[-1].endswith(f"python -m tuning.run --algo ppo --scenario {schema}")


def test_a_site_that_cannot_be_made_gets_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "site"), "--load", str(tmp_path / "none.csv")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "site").exists()
