"""What is left for learning is between the best that does not learn and the bound."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from envs.objective.validity import ValidityError
from envs.scenarios.scenario import Window, scenario
from envs.yardsticks.baselines import UNCONTROLLED, baselines
from envs.yardsticks.bound import Bound, BoundError, bound
from tuning.headroom import Row, check_baselines, left, main, tables


def row(name: str, score: float | None, co2: float, cost: float, served: float | None = None) -> Row:
    return Row(name, score, co2, cost, None, served)


BEFORE = row(UNCONTROLLED, 0.0, 100.0, 200.0)
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
    assert "the best without learning gives +0.0000 (uncontrolled)" in score


def test_a_rule_that_is_worse_than_nothing_leaves_nothing_to_learn() -> None:
    worse = row("rule: any", -0.03, 110.0, 210.0)
    for line in left([BEFORE, worse, *bounds(0.002, 99.9, 199.9)], BEFORE):
        assert "nothing worth the while" in line
        assert "uncontrolled" in line


def test_citylearns_controllers_count_if_they_serve_the_vehicles() -> None:
    before = replace(BEFORE, served=0.9)
    rows = [before, row("CityLearn: a", 0.06, 92.0, 178.0, 0.88), row("CityLearn: b", 0.07, 90.0, 171.0, 0.3)]
    score, co2, cost = left([*rows, *bounds(0.08, 90.0, 170.0)], before)
    for line, gives in ((score, "+0.0600"), (co2, "-8.0%"), (cost, "-11.0%")):
        assert f"gives {gives} (CityLearn: a)" in line


def test_another_site_does_not_count() -> None:
    score, co2, cost = left([BEFORE, row("no PV, no battery", None, 10.0, 10.0), *bounds(0.0, 100.0, 200.0)], BEFORE)
    assert all("uncontrolled" in line for line in (score, co2, cost))


@pytest.mark.parametrize(
    ("co2", "cost", "shown"),
    [
        (3_028_557.0, 4_044_713.0, ("3,028.6", "4,044.7", "CO2, t", "bill, 1000")),
        (867.1, 1_611.6, ("867.1", "1,611.6", "CO2, kg", "bill")),
        (9_876_543_210.0, 98_765_432_109.0, ("9,876,543.2", "98,765,432.1")),
    ],
)
def test_all_figures_fit_80_columns(co2: float, cost: float, shown: tuple[str, ...]) -> None:
    name = "CityLearn: BasicElectricVehicleRBC_ReferenceController"
    rows = [Row(name, -0.0820, co2, cost, 2_990.0, 0.911)]
    console = Console(width=80, record=True)
    for table in tables("iquitos, validation: 8,760 hours", rows, rows[0]):
        console.print(table)
    text = console.export_text()
    for figure in (*shown, "-0.0820", "91.1%", "+0.0%", "2,990"):
        assert figure in text
    assert "\N{HORIZONTAL ELLIPSIS}" not in text


def test_a_baseline_above_the_bound_of_its_year_stops(small_schema: Path) -> None:
    site, windows = scenario(str(small_schema)), [Window(0, 0, 48), Window(0, 100, 24)]
    found = baselines(site, windows)
    limits = [bound(site, window, "score") for window in windows]
    check_baselines(found, limits, windows)
    planted = replace(found[UNCONTROLLED][0], score=max(own.score for own in limits) + 0.01)
    with pytest.raises(ValidityError, match=r"uncontrolled, year 0: a score of .* above the bound"):
        check_baselines(found | {UNCONTROLLED: [planted]}, limits, windows)


def test_windows_of_a_year_count_by_their_hours(small_schema: Path) -> None:
    site, windows = scenario(str(small_schema)), [Window(0, 0, 72), Window(0, 100, 24)]
    base = bound(site, windows[0], "score")
    limits = [replace(base, score=0.04), replace(base, score=0.08)]
    (own,) = baselines(site, windows)[UNCONTROLLED]
    check_baselines({"a": [replace(own, score=0.05)]}, limits, windows)
    with pytest.raises(ValidityError, match=r"\+0\.050000"):
        check_baselines({"a": [replace(own, score=0.0501)]}, limits, windows)


def test_a_small_site(small_schema: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--scenario", str(small_schema)]) == 0
    said = capsys.readouterr().out
    for name in ("uncontrolled", "no PV, no battery", "rule: PV first", "bound of score", "left for learning"):
        assert name in said
    site = scenario(str(small_schema))
    before = baselines(site, site.windows("validation"))[UNCONTROLLED][0].kpis
    for value in (before["co2_kg"] / 1e3, before["bill"] / 1e3):
        assert f"{value:,.1f}" in said
    assert "\N{HORIZONTAL ELLIPSIS}" not in said


def other_site(small_schema: Path, folder: Path, **building: object) -> Path:
    """The small site with something else in its building."""
    schema = json.loads(small_schema.read_text(encoding="utf-8"))
    schema["root_directory"] = str(small_schema.parent)
    (own,) = schema["buildings"].values()
    own.update(building)
    path = folder / "schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return path


def test_without_a_bound_the_baselines_are_shown_and_why(
    small_schema: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envs.yardsticks.bound.why_no_bound", lambda site: "this site has [thermal] storages")
    assert main(["--scenario", str(small_schema)]) == 0
    said = capsys.readouterr().out
    assert "no bound, so what is left for learning is not known: this site has [thermal] storages" in said
    assert "uncontrolled" in said
    assert "bound of" not in said


@pytest.mark.parametrize(
    ("at", "error"),
    [
        ("envs.yardsticks.bound.bound", BoundError("no optimum")),
        ("envs.yardsticks.baselines.baselines", ValidityError("no share")),
    ],
)
def test_what_cannot_be_is_one_line_and_no_traceback(
    small_schema: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, at: str, error: Exception
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(at, refuse)
    assert main(["--scenario", str(small_schema)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert str(error) in line


def test_a_bound_below_a_baseline_is_told_as_what_cannot_be(
    small_schema: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "envs.yardsticks.bound.bound", lambda site, window, objective: Bound(objective, -0.5, 0.0, 0.0, 0.0, 0.0, 0.0)
    )
    assert main(["--scenario", str(small_schema)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "above the bound of -0.500000" in line


def test_a_site_that_only_citylearn_steps_has_baselines_and_no_bound(
    small_schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = other_site(small_schema, tmp_path, something_new=True)
    assert main(["--scenario", str(path)]) == 0
    said = capsys.readouterr().out
    for name in ("uncontrolled", "no PV, no battery", "rule: PV first", "CityLearn: BasicRBC"):
        assert name in said
    assert "no bound, so what is left for learning is not known" in said
    assert "something new" in said


def test_a_site_whose_score_would_praise_doing_without_is_refused(
    small_schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = other_site(small_schema, tmp_path)
    schema = json.loads(path.read_text(encoding="utf-8"))
    schema["actions"]["cooling_device"] = {"active": True}
    path.write_text(json.dumps(schema), encoding="utf-8")
    assert main(["--scenario", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "cooling_device" in line


def test_a_site_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--scenario", "nowhere"]) == 2
    assert "no scenario" in capsys.readouterr().err
