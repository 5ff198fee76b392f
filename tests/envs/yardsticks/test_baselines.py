"""Baselines that apply to a site, and none that does nothing there."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from envs.environments.backend import Backend
from envs.environments.year_cache import year_reference
from envs.objective.evaluate import Evaluation
from envs.scenarios.scenario import Window
from envs.scenarios.tariff import FILE_NAME
from envs.task import Task
from envs.yardsticks.baselines import RULES, UNCONTROLLED, WITHOUT, baselines

ANY_HOUR, PEAK_HOURS = RULES
WINDOW = Window(0, 0, 336)


def without_demand_charge(small_schema: Path, folder: Path, price: np.ndarray) -> Path:
    """The small site without a demand charge, at other prices of the hours of the day, shape (24,)."""
    for own in small_schema.parent.glob("*.csv"):
        (folder / own.name).write_bytes(own.read_bytes())
    series = pd.read_csv(folder / "pricing.csv")
    series["electricity_pricing"] = np.resize(price, len(series))
    series.to_csv(folder / "pricing.csv", index=False)
    schema = json.loads(small_schema.read_text(encoding="utf-8"))
    schema["root_directory"] = None
    path = folder / "schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    assert not (folder / FILE_NAME).exists()
    return path


def found(path: Path, backend: Backend = "batch") -> dict[str, list[Evaluation]]:
    return baselines(Task(str(path), backend=backend), [WINDOW])


def test_citylearn_has_the_same_baselines(small_schema: Path) -> None:
    own, by_citylearn = found(small_schema), found(small_schema, "citylearn")
    assert list(own) == list(by_citylearn)
    for name, (one,) in own.items():
        (other,) = by_citylearn[name]
        assert other.kpis == pytest.approx(one.kpis, rel=1e-6, nan_ok=True), name
        assert other.score == pytest.approx(one.score, abs=1e-7, nan_ok=True), name


def test_nothing_is_imported_in_a_power_outage(small_schema: Path, tmp_path: Path) -> None:
    """Neither by the site nor by that without PV and battery: what these would have served is not."""
    path = without_demand_charge(small_schema, tmp_path, np.array([0.3]))
    schema = json.loads(path.read_text(encoding="utf-8"))
    (building,) = schema["buildings"].values()
    building["power_outage"] = {"simulate_power_outage": True, "stochastic_power_outage": False}
    path.write_text(json.dumps(schema), encoding="utf-8")
    file = tmp_path / building["energy_simulation"]
    series = pd.read_csv(file)
    series["power_outage"] = (np.arange(len(series)) % 50 < 4).astype(int)
    series.to_csv(file, index=False)
    own = found(path, "citylearn")
    assert own[ANY_HOUR][0].kpis["battery_cycles"] > 1.0
    reference = year_reference(Task(str(path)).site, 0)
    hours = slice(WINDOW.start, WINDOW.start + WINDOW.hours)
    on_grid = np.arange(WINDOW.hours) % 50 >= 4
    np.testing.assert_array_equal(reference.run.off_grid[0, hours], ~on_grid)
    assert (reference.exogenous.pv_kwh[0, hours][~on_grid] > 0.0).any()
    consumed = reference.exogenous.load_kwh[0, hours] + reference.run.charging_kwh[0, hours]
    assert own[WITHOUT][0].kpis["import_kwh"] == pytest.approx(consumed[on_grid].sum(), rel=1e-5)


def test_the_uncontrolled_site_scores_nothing_and_another_site_has_no_score(small_schema: Path) -> None:
    own = found(small_schema)
    assert own[UNCONTROLLED][0].score == pytest.approx(0.0, abs=1e-9)
    assert np.isnan(own[WITHOUT][0].score)
    assert set(RULES) <= set(own)


def test_without_a_demand_charge_the_battery_gives_in_dear_hours(small_schema: Path, tmp_path: Path) -> None:
    own = found(without_demand_charge(small_schema, tmp_path, np.where(np.arange(24) >= 17, 0.6, 0.3)))
    assert own[PEAK_HOURS][0].kpis["battery_cycles"] > 1.0
    assert own[PEAK_HOURS][0].score > 0.01


def test_at_one_price_there_is_no_rule_for_peak_hours(small_schema: Path, tmp_path: Path) -> None:
    own = found(without_demand_charge(small_schema, tmp_path, np.array([0.3])))
    assert ANY_HOUR in own
    assert PEAK_HOURS not in own


def test_without_pv_and_battery_all_is_drawn_from_the_grid(small_schema: Path) -> None:
    window = Window(0, 0, 168)
    found = baselines(Task(str(small_schema)), [window])
    (without,), (idle,) = found[WITHOUT], found[UNCONTROLLED]
    assert without.kpis["import_kwh"] == pytest.approx(idle.kpis["consumption_kwh"])
    assert without.kpis["pv_kwh"] == 0.0
    assert without.kpis["export_kwh"] == 0.0
    assert without.kpis["co2_kg"] > idle.kpis["co2_kg"]
