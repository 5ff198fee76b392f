"""What is seen further stands in the same place, with the same numbers, on both backends."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from envs.district import COMMON
from envs.environments import seen_year, vector_env
from envs.environments.seen_year import (
    _shadow_key,
    first_row,
    forecasts_to_make,
    has_shadow,
    models_to_train,
    run_shadow,
    seen_bounds,
    seen_buildings,
    seen_layout,
    seen_rows,
    seen_table,
    seen_template,
)
from envs.environments.year_cache import district, observation_layout, scaled_template, year_reference, year_tables
from envs.environments.year_forecasts import learned_model, learned_table, year_series
from envs.objective.reward import TERMS
from envs.objective.weights import DEFAULT, Weights
from envs.planning.mpc import HORIZON
from envs.planning.mpc_site import Tanks
from envs.scenarios.scenario import Scenario, Splits, Window, scenario
from envs.seen import PLAN_HOURS, Seen
from envs.task import SiteTask
from envs.yardsticks.mpc_runs import run_mpc
from tests.envs.made_up_plans import made_up_plan
from tests.envs.schema_changes import STEPS, edited, in_steps, put
from tests.envs.tanks import with_tank

WINDOW = Window(0, 30, 40)
SEEN = Seen(plan="yesterday")
SPLITS = Splits(train=("0-19",), validation=("20-24",), test=("25-28", "31-33"), test_buildings=("one", "three"))


@pytest.fixture
def site(four_buildings: Path) -> Scenario:
    return scenario(str(four_buildings))


@pytest.fixture(autouse=True)
def a_plan(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(seen_year, "shadow", made_up_plan)
    kept = seen_rows, vector_env._open_year
    for each in kept:
        each.cache_clear()
    yield
    for each in kept:
        each.cache_clear()


def test_by_default_all_is_as_without(site: Scenario) -> None:
    assert seen_layout(site, Seen()) == observation_layout(site)
    assert seen_layout(site, Seen(day_peak=True)) == observation_layout(site, day_peak=True)
    np.testing.assert_array_equal(seen_template(site, 0, Seen()), scaled_template(site, 0))
    assert seen_buildings(site, Seen()) == district(site)


@pytest.mark.parametrize("seen", [Seen(day_peak=True, plan="learned"), Seen(plan="yesterday")], ids=["peak", "plan"])
def test_both_backends_see_the_same(site: Scenario, seen: Seen) -> None:
    layout = seen_layout(site, seen)
    found = []
    for backend in ("batch", "citylearn"):
        env, shown = SiteTask(site.name, backend=backend, seen=seen).evaluation_env([WINDOW]), []  # type: ignore[arg-type]

        def act(observations: np.ndarray, shown: list[np.ndarray] = shown) -> np.ndarray:
            shown.append(observations.copy())
            return np.zeros((1, len(layout.actions)))

        list(env.episodes(act))
        env.close()
        found.append(np.concatenate(shown))
    assert found[0].shape == (WINDOW.hours, layout.size)
    np.testing.assert_allclose(*found, atol=2e-6)
    first = layout.names.index(seen.own()[0])
    assert layout.names[first:][: len(seen.names(4))] == seen.names(4)
    own = slice(first, first + len(seen.names(4)))
    np.testing.assert_array_equal(found[0][:, own], found[1][:, own])
    # Rows are those of their hours: one earlier would differ.
    expected = seen_template(site, 0, seen)[:, own]
    np.testing.assert_array_equal(found[0][:, own], expected[WINDOW.rows])
    assert (expected[WINDOW.start] != expected[WINDOW.start + 1]).any()


def test_buildings_own_what_is_seen_of_them(site: Scenario) -> None:
    found = seen_buildings(site, SEEN)
    for n in range(4):
        assert set(SEEN.own()) <= found.observations_of(n).keys()
    at = found.layout.names.index("planned_net")
    assert found.buildings.observations[at] == COMMON
    assert len(found.buildings.observations) == found.layout.simulated


def test_what_takes_long_is_known_to_be_missing(site: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path))
    assert not has_shadow(site, 0, Seen(plan="learned"))
    assert ("load", HORIZON, None) in models_to_train(site)
    assert ("load", HORIZON, 3) in models_to_train(site)
    # Forecasts wait for their models.
    for kind, hours, _ in {model[0]: model for model in models_to_train(site)}.values():
        learned_model(site, kind, hours)
    assert (0, "load") in forecasts_to_make(site, [0])
    learned_table(site, 0, "load", HORIZON, crossed=True)
    assert (0, "load") not in forecasts_to_make(site, [0])
    assert (0, "pv") in forecasts_to_make(site, [0])


def test_bounds_hold_the_training_rows_alone(site: Scenario) -> None:
    rows, bounds = seen_rows(site, 0, SEEN), seen_bounds(site, "train", SEEN)
    own = np.concatenate([rows[window.rows] for window in site.windows("train")])
    assert (bounds[:, 0] <= own.min(axis=0)).all()
    assert (bounds[:, 1] >= own.max(axis=0)).all()
    np.testing.assert_allclose(np.ptp(bounds, axis=1), 1.2 * np.ptp(own, axis=0), rtol=1e-5)


def test_without_stated_splits_it_has_all_rows(site: Scenario) -> None:
    np.testing.assert_array_equal(seen_table(site, "train", SEEN), seen_rows(site, 0, SEEN))


def test_of_a_stated_split_it_has_the_rows_of_all_its_ranges_without_their_history(four_buildings: Path) -> None:
    site = scenario(str(four_buildings), splits=SPLITS)
    table = seen_table(site, "test", SEEN)
    first, second = site.years("test")
    assert site.segments[first].history
    assert site.segments[second].history
    np.testing.assert_array_equal(table[25 * 24 : 29 * 24], seen_rows(site, first, SEEN)[site.segments[first].history :])
    np.testing.assert_array_equal(table[31 * 24 : 34 * 24], seen_rows(site, second, SEEN)[site.segments[second].history :])
    inside = np.zeros(len(table), dtype=bool)
    inside[25 * 24 : 29 * 24] = inside[31 * 24 : 34 * 24] = True
    assert np.isnan(table[~inside]).all()
    assert np.isfinite(table[inside]).all()
    # Of two homes; those that train are four.
    assert seen_table(site, "train", SEEN).shape[1] > table.shape[1]


def test_its_first_row_is_the_first_that_the_schema_runs(four_buildings: Path, tmp_path: Path) -> None:
    assert first_row(scenario(str(four_buildings))) == 0
    site = scenario(str(edited(four_buildings, tmp_path, put("simulation_start_time_step", value=48))))
    assert first_row(site) == 48
    assert len(seen_table(site, "train", SEEN)) == len(seen_rows(site, 0, SEEN))


HOURS, CHANGED = 60, 40


def test_it_does_what_model_predictive_control_does(site: Scenario) -> None:
    found = run_shadow(site, 0, "seven-days", DEFAULT, hours=HOURS)
    run = run_mpc(SiteTask(site.name), Window(0, 0, HOURS), "seven-days").run
    # Until a battery is nearly full: it then takes less than a linear programme plans.
    # Which of two batteries takes it may differ, as a plan weighs terms by the hours that train.
    np.testing.assert_allclose(found.battery_kwh[:34].sum(axis=1), run.battery_kwh.T[:34].sum(axis=1), atol=1.0)
    assert np.ptp(found.battery_kwh[:34]) > 100.0
    assert found.soc.shape == (HOURS, 4, 1 + len(PLAN_HOURS))
    # What is planned for the end of an hour is what the next begins with, but for losses that no linear programme knows.
    np.testing.assert_allclose(found.soc[1:, :, 0], found.soc[:-1, :, 1], atol=0.02)
    assert not found.battery_kwh[:, 3].any()
    assert not found.soc[:, 3].any()


@STEPS
def test_of_tanks_it_has_what_they_take_an_hour_and_their_charge(small_schema: Path, tmp_path: Path, per_hour: int) -> None:
    path = in_steps(with_tank(small_schema, tmp_path / "hours", cooling=True), tmp_path / "steps", per_hour)
    site = scenario(str(path))
    found, tanks = run_shadow(site, 0, "seven-days", DEFAULT, hours=HOURS), Tanks.of(year_tables(site, 0))
    assert found.tank_use.shape == found.tank_soc.shape == (HOURS, 1, 2)
    np.testing.assert_allclose(found.tank_soc[0, 0], [0.0, 0.5])
    # As it is observed, the charge is that before an hour of standby.
    taken = found.tank_use / per_hour
    change = np.where(taken > 0.0, taken * tanks.root, taken / tanks.root)[1:-1, 0]
    expected = np.minimum(found.tank_soc[1:-1, 0] * tanks.kept + change, 1.0)
    np.testing.assert_allclose(found.tank_soc[2:, 0], expected, atol=2e-3)
    assert (np.ptp(found.tank_use[:, 0], axis=0) > 0.1).all()


def test_it_does_not_know_the_future(small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = scenario(str(with_tank(small_schema, tmp_path, cooling=True, twin=True)))
    before, whole = run_shadow(site, 0, "seven-days", DEFAULT, hours=HOURS), year_series(site, 0)
    values = {kind: own.copy() for kind, own in whole.values.items()}
    for own in values.values():
        own[:, CHANGED:] = own[:, CHANGED:] * 2.0 + 3.0
    other = replace(whole, values=values)
    # Nor do the means by which the reward weighs terms know hours that do not train.
    reference = year_reference(site, 0)
    monkeypatch.setattr(
        "envs.environments.seen_year.year_reference", lambda scenario, year: reference.scaled_by(dict.fromkeys(TERMS, 7.0))
    )
    monkeypatch.setattr("envs.environments.year_forecasts.year_series", lambda scenario, year: other)
    after = run_shadow(site, 0, "seven-days", DEFAULT, hours=HOURS)
    for name in ("battery_kwh", "soc", "net_kwh", "tank_use", "tank_soc"):
        np.testing.assert_array_equal(getattr(after, name)[:CHANGED], getattr(before, name)[:CHANGED], err_msg=name)
    assert (after.net_kwh[CHANGED:] != before.net_kwh[CHANGED:]).any()


def test_plans_of_other_rewards_and_forecasts_have_other_keys(site: Scenario) -> None:
    keys = {
        _shadow_key(site, 0, Seen(plan=method, weights=weights))  # type: ignore[arg-type]
        for method in ("yesterday", "learned")
        for weights in (DEFAULT, Weights(co2=1))
    }
    assert len(keys) == 4
