"""Episodes are tallied by year."""

import copy
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.environments.vector_env import WindowsEnv
from envs.objective.evaluate import Episode, ValidityError, check_episode, check_kpis, check_score, evaluate, evaluated, score
from envs.objective.kpis import CITYLEARN, Kpis
from envs.objective.series import cut
from envs.objective.weights import DEFAULT
from envs.scenarios.scenario import Window, scenario
from tests.envs.objective.by_hand import RUN, SERIES, reference
from tests.envs.schema_changes import edited

# Load makes each hour's energy add up; see `envs.objective.evaluate.check_episode`.
BALANCED = replace(
    SERIES, load_kwh=np.pad(RUN.net_kwh - RUN.battery_kwh + SERIES.pv_kwh[:, :4], ((0, 0), (0, 1)), constant_values=3.0)
)
REFERENCE = reference(series=BALANCED)


def episode(year: int, start: int, hours: int, reward: float) -> Episode:
    terms = {name: reward * weight for name, weight in DEFAULT.by_term().items()}
    return Episode(Window(year, start, hours), REFERENCE, reward, terms, run := cut(RUN, start, hours), run)


def test_there_is_one_evaluation_a_year_in_the_order_of_the_windows() -> None:
    found = evaluated([episode(5, 0, 2, 1.0), episode(2, 0, 4, 8.0), episode(5, 2, 2, 3.0)])
    assert [own.year for own in found] == [5, 2]
    assert [own.hours for own in found] == [4, 4]
    assert [own.score for own in found] == [1.0, 2.0]
    assert found[0].terms == pytest.approx(DEFAULT.by_term())


def test_years_count_by_their_hours() -> None:
    assert score(evaluated([episode(1, 0, 4, 4.0), episode(2, 0, 2, 14.0)])) == pytest.approx((4.0 + 14.0) / 6)


def test_the_uncontrolled_site_ran_through_the_same_hours() -> None:
    (found,) = evaluated([episode(1, 0, 2, 0.0)])
    assert found.kpis == pytest.approx(found.uncontrolled, nan_ok=True)
    assert found.uncontrolled["import_kwh"] == RUN.net_kwh[:, :2].clip(min=0.0).sum()


def test_what_a_policy_changes_is_summed_hour_by_hour() -> None:
    other = replace(RUN, net_kwh=RUN.net_kwh + np.array([1.0, -1.0, 0.0, 0.5]))
    (found,) = evaluated([replace(episode(1, 0, 4, 0.0), uncontrolled=other)])
    assert found.changed_kwh == pytest.approx(2.5 * len(RUN.net_kwh))
    assert evaluated([episode(1, 0, 4, 0.0)])[0].changed_kwh == 0.0


def test_ratios_are_means_over_the_windows() -> None:
    name = "citylearn_cost_total"
    (first,), (second,), (both,) = (
        evaluated([episode(1, start, 2, 0.0) for start in starts]) for starts in ((0,), (2,), (0, 2))
    )
    assert first.citylearn[name] != second.citylearn[name]
    assert both.citylearn[name] == pytest.approx((first.citylearn[name] + second.citylearn[name]) / 2.0)
    assert both.citylearn.keys() == set(CITYLEARN)


WINDOW = Window(0, 24, 48)


@pytest.fixture(scope="module")
def env(small_schema: Path) -> WindowsEnv:
    return WindowsEnv(scenario(str(small_schema)), [WINDOW])


@pytest.fixture(scope="module")
def checked_episode(env: WindowsEnv) -> Episode:
    rng = np.random.default_rng(0)
    (found,) = env.episodes(lambda observations: rng.uniform(-1.0, 1.0, (1, env.simulator.actions)))
    return found


@pytest.fixture(scope="module")
def kpis(env: WindowsEnv) -> Kpis:
    (found,) = evaluate(env, lambda observations: env.simulator.uncontrolled_actions())
    return found.kpis


def test_consistent_results_pass(checked_episode: Episode, kpis: Kpis) -> None:
    check_episode(checked_episode)
    check_kpis(0, kpis)


@pytest.mark.parametrize(
    ("change", "others", "found"),
    [
        ({"net_kwh": 5.0}, False, True), ({"battery_kwh": 5.0}, False, True), ({"charging_kwh": 5.0}, False, True),
        ({"net_kwh": np.nan}, False, True),
        # Other devices may take energy without a series, but never give any.
        ({"net_kwh": 5.0}, True, False), ({"net_kwh": -5.0}, True, True),
    ],
)  # fmt: skip
def test_energy_from_nowhere_is_found(checked_episode: Episode, change: dict[str, float], others: bool, found: bool) -> None:
    more = {name: plus(getattr(checked_episode.run, name), value) for name, value in change.items()}
    reference = copy.copy(checked_episode.reference)
    reference.exogenous = replace(reference.exogenous, other_devices=others)
    planted = replace(checked_episode, reference=reference, run=replace(checked_episode.run, **more))
    with pytest.raises(ValidityError, match="hour 54: building 0") if found else nullcontext():
        check_episode(planted)


def plus(series: np.ndarray, value: float) -> np.ndarray:
    """A series of buildings with another value in the hour 54 of the first of them."""
    more = series.copy()
    more[0, 30] += value
    return more


def test_in_a_power_outage_nothing_is_imported_at_any_load(checked_episode: Episode) -> None:
    run = checked_episode.run
    off_grid, nothing = plus(run.off_grid, True), plus(run.net_kwh, -run.net_kwh[0, 30])
    check_episode(replace(checked_episode, run=replace(run, net_kwh=nothing, off_grid=off_grid)))
    for wrong in (replace(run, net_kwh=nothing), replace(run, net_kwh=plus(nothing, -0.1), off_grid=off_grid)):
        with pytest.raises(ValidityError, match="hour 54"):
            check_episode(replace(checked_episode, run=wrong))


@pytest.mark.parametrize(
    ("name", "value", "give"),
    [
        ("self_consumption", 1.2, False), ("ev_served", -0.1, False), ("import_kwh", -5.0, False), ("peak_kw", np.inf, False),
        ("co2_kg", np.nan, False), ("ev_missing_kwh", 1e9, False), ("departures_met", 10**6, False),
        ("battery_cycles", -1.0, False), ("self_sufficiency", 1.2, False), ("consumption_kwh", -1.0, False),
        ("ev_served", 1.1, True), ("self_consumption", -0.1, True), ("consumption_kwh", np.nan, True),
        ("ev_missing_kwh", -1.0, True),
    ],
)  # fmt: skip
def test_a_kpi_outside_its_range_is_found_also_where_vehicles_give(kpis: Kpis, name: str, value: float, give: bool) -> None:
    with pytest.raises(ValidityError, match=name):
        check_kpis(3, {**kpis, name: value}, vehicles_give=give)


def test_vehicles_that_gave_back_may_lack_more_than_they_required(kpis: Kpis) -> None:
    found = {**kpis, "ev_served": -0.4, "ev_missing_kwh": 1.4 * kpis["ev_required_kwh"], "consumption_kwh": -1.0}
    check_kpis(3, found, vehicles_give=True)


def changed(small_schema: Path, folder: Path, change: Callable[[dict[str, Any]], object]) -> WindowsEnv:
    """The small site with a change of its building."""
    path = edited(small_schema, folder, lambda schema: change(schema["buildings"]["mall"]))
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
    for above in (0.0701, np.nan):
        with pytest.raises(ValidityError, match="rule, year 3"):
            check_score("rule", 3, above, 0.07)


@pytest.mark.parametrize("check", ["check_episode", "check_kpis"])
def test_evaluations_are_checked(env: WindowsEnv, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    def refuse(*arguments: object) -> None:
        raise ValidityError("seen")

    monkeypatch.setattr(f"envs.objective.evaluate.{check}", refuse)
    with pytest.raises(ValidityError, match="seen"):
        evaluate(env, lambda observations: env.simulator.uncontrolled_actions())
