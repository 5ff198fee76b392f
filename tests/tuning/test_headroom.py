"""What is left for learning is between the best rule and the bound."""

from pathlib import Path

import pytest

from tuning.headroom import Row, left, main


def row(name: str, score: float, co2: float, cost: float) -> Row:
    return Row(name, score, co2, cost, None, None)


BEFORE = row("uncontrolled", 0.0, 100.0, 200.0)
RULE = row("rule: any", 0.05, 93.0, 180.0)


def bounds(score: float, co2: float, cost: float) -> list[Row]:
    return [row("bound of score", score, 0.0, 0.0), row("bound of co2", 0.0, co2, 0.0), row("bound of cost", 0.0, 0.0, cost)]


def test_what_is_left_is_told_for_each_objective() -> None:
    score, co2, cost = left([BEFORE, RULE, *bounds(0.08, 92.9, 170.0)], BEFORE)
    assert "left for learning: +0.0300" in score
    assert "-7.0%" in co2
    assert "nothing worth the while" in co2
    assert "left for learning: 5.0%" in cost


def test_without_a_rule_the_uncontrolled_site_is_what_there_is() -> None:
    score, *_ = left([BEFORE, *bounds(0.08, 92.0, 170.0)], BEFORE)
    assert "the best rule gives +0.0000" in score


def test_a_small_site(small_schema: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["--scenario", str(small_schema)]) == 0
    said = capsys.readouterr().out
    for name in ("uncontrolled", "no PV, no battery", "rule: PV first", "bound of score", "left for learning"):
        assert name in said


def test_a_site_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--scenario", "nowhere"]) == 2
    assert "no scenario" in capsys.readouterr().err
