"""A result that physics or arithmetic forbid raises an error with its numbers."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.environments.vector_env import WindowsEnv
from envs.objective.episodes import Episode
from envs.objective.evaluate import evaluate
from envs.objective.kpis import Kpis
from envs.objective.reference import Reference
from envs.objective.validity import ValidityError, check_episode, check_kpis, check_score
from envs.scenarios.scenario import Window, scenario

WINDOW = Window(0, 24, 48)


@pytest.fixture(scope="module")
def env(small_schema: Path) -> WindowsEnv:
    return WindowsEnv(scenario(str(small_schema)), [WINDOW])


@pytest.fixture(scope="module")
def episode(env: WindowsEnv) -> Episode:
    rng = np.random.default_rng(0)
    (found,) = env.episodes(lambda observations: rng.uniform(-1.0, 1.0, (1, env.simulator.actions)))
    return found


@pytest.fixture(scope="module")
def kpis(env: WindowsEnv) -> Kpis:
    (found,) = evaluate(env, lambda observations: env.simulator.uncontrolled_actions())
    return found.kpis


def test_consistent_results_pass(episode: Episode, kpis: Kpis) -> None:
    check_episode(episode)
    check_kpis(0, kpis)


@pytest.mark.parametrize("name", ["net_kwh", "battery_kwh", "charging_kwh"])
def test_energy_from_nowhere_is_found(episode: Episode, name: str) -> None:
    series = getattr(episode.run, name).copy()
    series[0, 30] += 5.0
    with pytest.raises(ValidityError, match="hour 54: building 0"):
        check_episode(replace(episode, run=replace(episode.run, **{name: series})))


def test_other_devices_may_take_energy_without_a_series_but_never_give_any(episode: Episode) -> None:
    for off, other, error in ((5.0, False, True), (5.0, True, False), (-5.0, True, True)):
        exogenous = replace(episode.reference.exogenous, other_devices=other)
        reference = Reference(episode.reference.run, exogenous, episode.reference.sessions, episode.reference.tariff)
        net = episode.run.net_kwh.copy()
        net[0, 30] += off
        planted = replace(episode, reference=reference, run=replace(episode.run, net_kwh=net))
        if error:
            with pytest.raises(ValidityError, match="hour 54"):
                check_episode(planted)
        else:
            check_episode(planted)


def test_in_a_power_outage_nothing_is_imported_at_any_load(episode: Episode) -> None:
    off_grid, net = np.zeros_like(episode.run.off_grid), episode.run.net_kwh.copy()
    off_grid[0, 30], net[0, 30] = True, 0.0
    check_episode(replace(episode, run=replace(episode.run, net_kwh=net, off_grid=off_grid)))
    with pytest.raises(ValidityError, match="hour 54"):
        check_episode(replace(episode, run=replace(episode.run, net_kwh=net)))
    net[0, 30] = -0.1
    with pytest.raises(ValidityError, match="hour 54"):
        check_episode(replace(episode, run=replace(episode.run, net_kwh=net, off_grid=off_grid)))


def test_a_nan_is_found(episode: Episode) -> None:
    series = episode.run.net_kwh.copy()
    series[0, 3] = np.nan
    with pytest.raises(ValidityError, match="hour 27"):
        check_episode(replace(episode, run=replace(episode.run, net_kwh=series)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("self_consumption", 1.2), ("ev_served", -0.1), ("import_kwh", -5.0), ("peak_kw", np.inf), ("co2_kg", np.nan),
        ("ev_missing_kwh", 1e9), ("departures_met", 10**6), ("battery_cycles", -1.0), ("self_sufficiency", 1.2),
        ("consumption_kwh", -1.0),
    ],
)  # fmt: skip
def test_a_kpi_outside_its_range_is_found(kpis: Kpis, name: str, value: float) -> None:
    with pytest.raises(ValidityError, match=name):
        check_kpis(3, {**kpis, name: value})


@pytest.mark.parametrize(
    ("name", "value"), [("ev_served", 1.1), ("self_consumption", -0.1), ("consumption_kwh", np.nan), ("ev_missing_kwh", -1.0)]
)
def test_where_vehicles_give_back_the_other_limits_hold(kpis: Kpis, name: str, value: float) -> None:
    with pytest.raises(ValidityError, match=name):
        check_kpis(3, {**kpis, name: value}, vehicles_give=True)


def test_vehicles_that_gave_back_may_lack_more_than_they_required(kpis: Kpis) -> None:
    found = {**kpis, "ev_served": -0.4, "ev_missing_kwh": 1.4 * kpis["ev_required_kwh"], "consumption_kwh": -1.0}
    check_kpis(3, found, vehicles_give=True)


def changed(small_schema: Path, folder: Path, change: Callable[[dict[str, Any]], None]) -> WindowsEnv:
    """The small site with a change of its building."""
    schema = json.loads(small_schema.read_text(encoding="utf-8"))
    shutil.copytree(small_schema.parent, folder, dirs_exist_ok=True)
    (building,) = schema["buildings"].values()
    change(building)
    path = folder / "schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    return WindowsEnv(scenario(str(path)), [Window(0, 0, 336)])


def test_a_battery_that_is_charged_from_the_grid_is_no_fault(small_schema: Path, tmp_path: Path) -> None:
    """What it loses is imported and no consumption, so that without PV less than nothing is not imported."""
    env = changed(small_schema, tmp_path, lambda building: building.pop("pv"))

    def policy(observations: np.ndarray) -> np.ndarray:
        actions = env.simulator.uncontrolled_actions()
        hour = env.simulator.hour_of_day
        actions[:, 0] = np.where(hour < 6, 0.5, np.where((hour >= 18) & (hour < 23), -0.5, 0.0))
        return actions

    (found,) = evaluate(env, policy)
    assert found.kpis["self_sufficiency"] < -1e-3


def test_vehicles_that_leave_with_less_than_they_brought_are_no_fault(small_schema: Path, tmp_path: Path) -> None:
    def to_grid(building: dict[str, Any]) -> None:
        for charger in building["chargers"].values():
            charger["attributes"]["max_discharging_power"] = 2.0

    env = changed(small_schema, tmp_path, to_grid)
    (found,) = evaluate(env, lambda observations: np.full((len(observations), env.simulator.actions), -1.0))
    assert found.kpis["ev_served"] < 0.0
    assert found.kpis["ev_missing_kwh"] > found.kpis["ev_required_kwh"]


def test_vehicles_may_give_where_a_charger_can_take(env: WindowsEnv, small_schema: Path, tmp_path: Path) -> None:
    def one_to_grid(building: dict[str, Any]) -> None:
        *_, last = building["chargers"].values()
        last["attributes"]["max_discharging_power"] = 2.0

    assert changed(small_schema, tmp_path, one_to_grid).reference_of(0).exogenous.vehicles_give
    assert not env.reference_of(0).exogenous.vehicles_give


def test_shares_of_nothing_are_no_fault(kpis: Kpis) -> None:
    check_kpis(0, {**kpis, "ev_served": np.nan, "self_consumption": np.nan, "battery_cycles": np.nan})


def test_no_score_exceeds_the_bound() -> None:
    check_score("rule", 3, 0.07, 0.07)
    for score in (0.0701, np.nan):
        with pytest.raises(ValidityError, match="rule, year 3"):
            check_score("rule", 3, score, 0.07)


@pytest.mark.parametrize("check", ["check_episode", "check_kpis"])
def test_evaluations_are_checked(env: WindowsEnv, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    def refuse(*arguments: object) -> None:
        raise ValidityError("seen")

    monkeypatch.setattr(f"envs.objective.evaluate.{check}", refuse)
    with pytest.raises(ValidityError, match="seen"):
        evaluate(env, lambda observations: env.simulator.uncontrolled_actions())
