"""Baselines that apply to a site, and none that does nothing there."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from envs.citylearn_backend.simulator import CLASSES, CityLearnSimulator
from envs.environments.backend import Backend
from envs.environments.vector_env import WindowsEnv
from envs.environments.year_cache import year_reference
from envs.objective.evaluate import Evaluation
from envs.scenarios.iquitos.site import ROWS
from envs.scenarios.scenario import Window, scenario
from envs.scenarios.tariff import FILE_NAME
from envs.task import SiteTask
from envs.yardsticks.baselines import (
    CITYLEARN,
    RULES,
    UNCONTROLLED,
    WITHOUT,
    baselines,
    citylearn_rules,
    solar_priority,
)
from tests.envs.schema_changes import MALL, edit, edited, put, with_series

ANY_HOUR, PEAK_HOURS = RULES
WINDOW = Window(0, 0, 168)


def without_demand_charge(small_schema: Path, folder: Path, price: np.ndarray) -> Path:
    """The small site without a demand charge, at other prices of the hours of the day, shape (24,)."""
    path = edited(small_schema, folder, lambda schema: None)
    (folder / FILE_NAME).unlink()
    series = pd.read_csv(folder / "pricing.csv")
    series["electricity_pricing"] = np.resize(price, len(series))
    series.to_csv(folder / "pricing.csv", index=False)
    return path


def found(path: Path, backend: Backend = "batch") -> dict[str, list[Evaluation]]:
    return baselines(SiteTask(str(path), backend=backend), [WINDOW])


@pytest.fixture(scope="module")
def plain(small_schema: Path) -> dict[str, list[Evaluation]]:
    return found(small_schema)


def test_citylearn_has_the_same_baselines_its_own_rules_among_them(
    small_schema: Path, plain: dict[str, list[Evaluation]]
) -> None:
    by_citylearn = found(small_schema, "citylearn")
    assert list(plain) == list(by_citylearn)
    for name, (one,) in plain.items():
        (other,) = by_citylearn[name]
        assert other.kpis == pytest.approx(one.kpis, rel=1e-6, nan_ok=True), name
        assert other.score == pytest.approx(one.score, abs=1e-7, nan_ok=True), name
    rules = [own.score for name, (own,) in plain.items() if name.startswith(CITYLEARN)]
    assert rules
    assert plain[UNCONTROLLED][0].score not in rules


def test_nothing_is_imported_in_a_power_outage(small_schema: Path, tmp_path: Path) -> None:
    """Neither by the site nor by that without PV and battery: what these would have served is not."""
    path = without_demand_charge(small_schema, tmp_path, np.array([0.3]))
    edit(path, put(*MALL, "power_outage", value={"simulate_power_outage": True, "stochastic_power_outage": False}))
    with_series(path, power_outage=(np.arange(ROWS) % 50 < 4).astype(int))
    own = found(path, "citylearn")
    assert own[ANY_HOUR][0].kpis["battery_cycles"] > 1.0
    reference = year_reference(SiteTask(str(path)).site, 0)
    hours = WINDOW.rows
    on_grid = np.arange(WINDOW.hours) % 50 >= 4
    np.testing.assert_array_equal(reference.run.off_grid[0, hours], ~on_grid)
    assert (reference.exogenous.pv_kwh[0, hours][~on_grid] > 0.0).any()
    consumed = reference.exogenous.load_kwh[0, hours] + reference.run.charging_kwh[0, hours]
    assert own[WITHOUT][0].kpis["import_kwh"] == pytest.approx(consumed[on_grid].sum(), rel=1e-5)


def test_the_uncontrolled_site_scores_nothing_and_without_pv_and_battery_all_is_drawn_from_the_grid(
    plain: dict[str, list[Evaluation]],
) -> None:
    (without,), (idle,) = plain[WITHOUT], plain[UNCONTROLLED]
    assert idle.score == pytest.approx(0.0, abs=1e-9)
    assert np.isnan(without.score)
    assert without.kpis["import_kwh"] == pytest.approx(idle.kpis["consumption_kwh"])
    assert without.kpis["pv_kwh"] == without.kpis["export_kwh"] == 0.0
    assert without.kpis["co2_kg"] > idle.kpis["co2_kg"]
    assert set(RULES) <= set(plain)


def test_without_a_demand_charge_the_battery_gives_in_dear_hours(small_schema: Path, tmp_path: Path) -> None:
    own = found(without_demand_charge(small_schema, tmp_path, np.where(np.arange(24) >= 17, 0.6, 0.3)))
    assert own[PEAK_HOURS][0].kpis["battery_cycles"] > 1.0
    assert own[PEAK_HOURS][0].score > 0.01


def test_at_one_price_there_is_no_rule_for_peak_hours(small_schema: Path, tmp_path: Path) -> None:
    own = found(without_demand_charge(small_schema, tmp_path, np.array([0.3])))
    assert ANY_HOUR in own
    assert PEAK_HOURS not in own


WINDOWS = (Window(0, 0, 168), Window(0, 500, 168))


@pytest.mark.parametrize("peak_hours", [True, False])
def test_a_surplus_is_stored_and_given_back_where_the_site_imports(small_schema: Path, peak_hours: bool) -> None:
    env = WindowsEnv(scenario(str(small_schema)), WINDOWS)
    rule, simulator = solar_priority(env.present, peak_hours), env.simulator
    power = simulator.site.battery["nominal_power"][0]
    seen = []

    def policy(observations: np.ndarray) -> np.ndarray:
        actions = rule(observations)
        np.testing.assert_array_equal(actions[:, 1:], simulator.uncontrolled_actions()[:, 1:])
        seen.append((simulator.uncontrolled_net_kwh, simulator.is_dear, actions[:, 0]))
        return actions

    list(env.episodes(policy))
    net, peak, action = (np.concatenate(values) for values in zip(*seen, strict=True))
    assert (net < 0.0).any()
    assert (net[peak] > 0.0).any()
    gives = (net > 0.0) & (peak | (not peak_hours))
    np.testing.assert_allclose(action[net < 0.0], np.minimum(1.0, -net[net < 0.0] / power))
    np.testing.assert_allclose(action[gives], -np.minimum(1.0, net[gives] / power))
    assert (action[(net > 0.0) & ~gives] == 0.0).all()


def test_the_actions_are_those_of_citylearns_agent(small_schema: Path) -> None:
    from citylearn.agents import rbc

    rules = citylearn_rules(scenario(str(small_schema)))
    assert rules
    assert {*rules} <= {*CLASSES}
    for name, table in rules.items():
        assert table.shape == (24, 5)
        simulator = CityLearnSimulator(small_schema, with_reward=False)
        agent = getattr(rbc, name)(simulator.env)
        raw = simulator.begin(0, 48, seed=0)
        for _ in range(48):
            (wanted,) = agent.predict([raw.tolist()])
            hour = int(raw[simulator.observation_names.index("hour")])
            np.testing.assert_array_equal(table[hour - 1], wanted)
            raw, _ = simulator.step(np.clip(wanted, simulator.action_low, simulator.action_high))
