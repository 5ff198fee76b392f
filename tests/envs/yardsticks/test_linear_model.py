"""The bound and model predictive control need a site that linear programmes describe."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from envs.environments.year_cache import year_tables
from envs.errors import ScenarioError
from envs.scenarios.scenario import Window, scenario
from envs.scenarios.tariff import FILE_NAME
from envs.task import Task
from envs.yardsticks.bound import bound
from envs.yardsticks.linear_model import why_no_bound, why_no_mpc
from tests.envs.tanks import with_tank
from tests.envs.yardsticks.sites import changed


@pytest.mark.parametrize(
    ("name", "column"), [("pricing.csv", "electricity_pricing"), ("carbon_intensity.csv", "carbon_intensity")]
)
def test_a_site_beyond_a_linear_programme_has_neither(small_schema: Path, tmp_path: Path, name: str, column: str) -> None:
    def below_zero(schema: dict[str, Any], folder: Path) -> None:
        series = pd.read_csv(folder / name)
        series.loc[12, column] = -0.1
        series.to_csv(folder / name, index=False)

    site = scenario(str(changed(small_schema, tmp_path, below_zero)))
    assert "below zero" in why_no_bound(site)
    assert "below zero" in why_no_mpc(site)
    with pytest.raises(ScenarioError, match="below zero"):
        bound(Task(site.name), Window(0, 0, 48), "cost")


def test_a_demand_charge_that_rewards_peaks_has_neither(small_schema: Path, tmp_path: Path) -> None:
    def excess(schema: dict[str, Any], folder: Path) -> None:
        tariff = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        tariff["demand_charge"]["peak_price"] = 0.0
        (folder / FILE_NAME).write_text(json.dumps(tariff), encoding="utf-8")

    site = scenario(str(changed(small_schema, tmp_path, excess)))
    assert "demand charge" in why_no_bound(site)
    assert "demand charge" in why_no_mpc(site)
    with pytest.raises(ScenarioError, match="demand charge"):
        bound(Task(site.name), Window(0, 0, 48), "score")


def test_a_plain_site_has_both(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    assert not why_no_bound(site)
    assert not why_no_mpc(site)


def test_what_only_citylearn_steps_has_neither(small_schema: Path, tmp_path: Path) -> None:
    def other_zone(schema: dict[str, Any], folder: Path) -> None:
        schema["timezone"] = "America/Lima"

    site = scenario(str(changed(small_schema, tmp_path, other_zone)))
    assert why_no_bound(site).startswith("the bound needs the batch backend, which does not support: 'timezone'")
    assert why_no_mpc(site).startswith("model predictive control needs the batch backend, which does not support: 'timezone'")


def test_sites_with_thermal_storages_have_both(small_schema: Path, tmp_path: Path) -> None:
    site = scenario(str(with_tank(small_schema, tmp_path)))
    assert not why_no_bound(site)
    assert not why_no_mpc(site)


def test_segments_with_tanks_of_different_kinds_have_none(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = scenario(str(with_tank(small_schema, tmp_path / "tank")))
    plain, other = (year_tables(scenario(str(schema)), 0) for schema in (small_schema, site.schema))
    monkeypatch.setattr("envs.yardsticks.linear_model._years", lambda site: [(plain, None), (other, None)])
    assert not why_no_bound(site)
    assert why_no_mpc(site) == "its segments have thermal storages of different kinds"
