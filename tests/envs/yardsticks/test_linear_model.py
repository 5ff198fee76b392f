"""A bound needs a site that a linear programme describes; model predictive control takes one with thermal storages too."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from envs.errors import ScenarioError
from envs.scenarios.scenario import Window, scenario
from envs.scenarios.tariff import FILE_NAME
from envs.yardsticks.bound import bound
from envs.yardsticks.linear_model import has_tanks, why_no_bound, why_no_mpc
from envs.yardsticks.mpc_runs import run_mpc
from tests.envs.yardsticks.sites import changed
from tests.tuning.judging.tanks import with_tank


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
        bound(site, Window(0, 0, 48), "cost")


def test_a_demand_charge_that_rewards_peaks_has_neither(small_schema: Path, tmp_path: Path) -> None:
    def excess(schema: dict[str, Any], folder: Path) -> None:
        tariff = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        tariff["demand_charge"]["peak_price"] = 0.0
        (folder / FILE_NAME).write_text(json.dumps(tariff), encoding="utf-8")

    site = scenario(str(changed(small_schema, tmp_path, excess)))
    assert "demand charge" in why_no_bound(site)
    assert "demand charge" in why_no_mpc(site)
    with pytest.raises(ScenarioError, match="demand charge"):
        bound(site, Window(0, 0, 48), "score")


def test_a_plain_site_has_both(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    assert not why_no_bound(site)
    assert not why_no_mpc(site)
    assert not has_tanks(site)


def test_what_only_citylearn_steps_has_neither(small_schema: Path, tmp_path: Path) -> None:
    def other_zone(schema: dict[str, Any], folder: Path) -> None:
        schema["timezone"] = "America/Lima"

    site = scenario(str(changed(small_schema, tmp_path, other_zone)))
    assert why_no_bound(site).startswith("the bound needs the batch backend, which does not support: 'timezone'")
    assert why_no_mpc(site).startswith("model predictive control needs the batch backend, which does not support: 'timezone'")


def test_beside_thermal_storages_batteries_and_vehicles_are_planned_all_the_same(small_schema: Path, tmp_path: Path) -> None:
    site = scenario(str(with_tank(small_schema, tmp_path)))
    assert has_tanks(site)
    assert "thermal storages" in why_no_bound(site)
    assert not why_no_mpc(site)
    with pytest.raises(ScenarioError, match="thermal storages"):
        bound(site, Window(0, 0, 48), "score")
    # On the batch backend and in CityLearn the plan has the same worth, and it gains what the uncontrolled site does not.
    window = Window(0, 0, 96)
    batch, native = (run_mpc(site, window, "exact", backend=backend) for backend in ("batch", "citylearn"))
    assert batch.reward == pytest.approx(native.reward, abs=1e-6)
    assert batch.reward > 0.0
    np.testing.assert_allclose(batch.run.net_kwh, native.run.net_kwh, atol=1e-4)


def test_where_thermal_storages_alone_act_nothing_is_planned(small_schema: Path, tmp_path: Path) -> None:
    path = with_tank(small_schema, tmp_path)
    schema = json.loads(path.read_text(encoding="utf-8"))
    for name, action in schema["actions"].items():
        action["active"] = name == "dhw_storage"
    path.write_text(json.dumps(schema), encoding="utf-8")
    assert "thermal storages alone" in why_no_mpc(scenario(str(path)))
