"""The command prints baselines, bounds and the remaining headroom, or one line that says what is wrong."""

from pathlib import Path

import pytest

from envs.objective.evaluate import ValidityError
from envs.task import SiteTask
from envs.yardsticks.baselines import UNCONTROLLED, baselines
from envs.yardsticks.bound import BoundError
from tests.envs.schema_changes import edited, put
from tests.envs.tanks import with_tank
from tuning.headroom import main

STATED = ("--train", "0-9", "--validation", "10-12", "--test", "20-22")


def test_a_small_site(small_schema: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--scenario", str(small_schema), "--mpc", "seven-days"]) == 0
    said = capsys.readouterr().out
    said = said[said.index("amounts of") :]  # after the lines that say what it does
    names = ("uncontrolled", "no PV, no battery", "rule: PV first", "MPC: seven days", "bound of score", "remaining headroom")
    assert [said.index(name) for name in names] == sorted(said.index(name) for name in names)
    assert "MPC: yesterday" not in said
    for name in names:
        assert name in said
    task = SiteTask(str(small_schema))
    before = baselines(task, task.site.windows("validation"))[UNCONTROLLED][0].kpis
    for value in (before["co2_kg"] / 1e3 * 8760 / 192, before["bill"] / 1e3 * 8760 / 192):
        assert f"{value:,.0f}" in said
    assert "\N{HORIZONTAL ELLIPSIS}" not in said


def test_a_ratio_of_a_site_with_thermal_storages_is_told_by_citylearn(
    small_schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = with_tank(small_schema, tmp_path)
    assert main(["--scenario", str(path), *STATED, "--objective", "citylearn_cost_total"]) == 0
    said = capsys.readouterr().out
    assert "citylearn_cost_total: the best controller without learning reaches" in said


def test_stated_splits_are_in_the_title(small_schema: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stated = [*STATED, "--split", "test"]
    assert main(["--scenario", str(small_schema), *stated, "--mpc", "none"]) == 0
    assert f"{small_schema.parent.name}, test (days 20-22): 71 hours" in " ".join(capsys.readouterr().out.split())
    assert main(["--scenario", str(small_schema), *STATED[:-1], "9"]) == 2
    error = capsys.readouterr().err
    assert "--train and --test share day 9 of building mall" in error
    assert error.count("\n") == 1


def test_without_a_bound_the_baselines_are_shown_and_why(
    small_schema: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envs.environments.fit.why_no_bound", lambda site: "this site has [thermal] storages")
    assert main(["--scenario", str(small_schema), "--mpc", "none"]) == 0
    said = capsys.readouterr().out
    assert "no bound, so the remaining headroom is not known: this site has [thermal] storages" in said
    assert "uncontrolled" in said
    assert "\nbound of" not in said
    assert "score: the best controller without learning reaches" in said


def test_a_site_without_model_predictive_control_has_its_bound_and_the_reason_once(
    small_schema: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envs.environments.fit.why_no_mpc", lambda site: "its segments differ")
    assert main(["--scenario", str(small_schema), "--mpc", "yesterday"]) == 0
    said = capsys.readouterr().out
    assert said.count("no model predictive control: its segments differ") == 1
    assert "bound of score" in said
    assert "MPC" not in said
    assert main(["--scenario", str(small_schema), "--mpc", "none"]) == 0
    assert "no model predictive control" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("at", "error"),
    [
        ("tuning.judging.headroom.bound_rows", BoundError("no optimum")),
        ("tuning.judging.headroom.baseline_rows", ValidityError("no share")),
    ],
)
def test_what_cannot_be_is_one_line_and_no_traceback(
    small_schema: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, at: str, error: Exception
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(at, refuse)
    assert main(["--scenario", str(small_schema), "--mpc", "none"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert str(error) in line


def test_a_site_that_only_citylearn_steps_has_baselines_and_no_bound(
    small_schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = edited(small_schema, tmp_path / "site", put("community_market", value={"enabled": True}))
    assert main(["--scenario", str(path), *STATED]) == 0
    said = capsys.readouterr().out
    for name in ("uncontrolled", "no PV, no battery", "rule: PV first", "CityLearn: BasicRBC"):
        assert name in said
    assert "no bound and no model predictive control, so the remaining headroom is not known" in said
    assert said.count("'community_market' of the schema") == 1
    assert "rules are compared alone" in said
