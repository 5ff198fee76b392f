"""A policy with a fixed layout runs on splits with the same observations and actions alone, and sees what a site has."""

import json
import shutil
from pathlib import Path

import pytest

from envs.errors import ScenarioError
from envs.policy_fit import check_one_layout, check_seen
from envs.scenarios.scenario import Splits, scenario
from envs.seen import Seen
from tests.envs.changed_rows import two_buildings

RANGES = ("0-9",), ("20-24",), ("30-39",)


def test_a_split_of_other_devices_is_refused_with_the_remedy(small_schema: Path, tmp_path: Path) -> None:
    path = two_buildings(small_schema, tmp_path / "site")
    site = scenario(str(path), splits=Splits(*RANGES, ("office",), (), ("mall",)))
    with pytest.raises(
        ScenarioError,
        match=r"--test-buildings: test \(days 30-39 of mall\) has .* name as many buildings",
    ):
        check_one_layout(site)
    check_one_layout(scenario(str(path), splits=Splits(*RANGES, ("office",))))
    check_one_layout(scenario(str(path)))


def refused(path: Path, seen: Seen) -> str:
    """The line that says why."""
    with pytest.raises(ScenarioError) as caught:
        check_seen(scenario(str(path)), seen)
    (line,) = str(caught.value).splitlines()
    return line


def test_what_is_seen_further_needs_tables_of_the_batch_backend(small_schema: Path, tmp_path: Path) -> None:
    path = shutil.copytree(small_schema.parent, tmp_path / "site") / "schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**schema, "timezone": "America/Lima"}), encoding="utf-8")
    line = refused(path, Seen(plan="learned"))
    assert line.startswith("plan=learned: a plan is made of the batch backend's tables")
    assert "'timezone' of the schema" in line
    assert line.endswith("leave it out")
    check_seen(scenario(str(path)), Seen(day_peak=True))
    check_seen(scenario(str(small_schema)), Seen(plan="learned"))


def test_a_plan_needs_a_site_with_model_predictive_control(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.policy_fit.why_no_mpc", lambda site: "prices below zero")
    line = refused(small_schema, Seen(plan="yesterday"))
    assert line.startswith("plan=yesterday: ")
    assert "has no model predictive control (prices below zero); leave it out" in line
    check_seen(scenario(str(small_schema)), Seen())
