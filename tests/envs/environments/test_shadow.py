"""The plan as a table: made of what is known in an hour, and the same as model predictive control in its own environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from envs.environments.shadow import run_shadow, shadow_key
from envs.environments.year_cache import year_reference, year_tables
from envs.environments.year_forecasts import year_series
from envs.objective.reward import Scale
from envs.objective.weights import DEFAULT, Weights
from envs.planning.mpc_tanks import Tanks
from envs.scenarios.scenario import Window, scenario
from envs.seen import PLAN_HOURS
from envs.task import Task
from envs.yardsticks.mpc_runs import run_mpc
from tests.envs.tanks import with_tank

HOURS, CHANGED = 60, 40


def test_it_does_what_model_predictive_control_does(four_buildings: Path) -> None:
    site = scenario(str(four_buildings))
    found = run_shadow(site, 0, "seven-days", DEFAULT, hours=HOURS)
    run = run_mpc(Task(site.name), Window(0, 0, HOURS), "seven-days").run
    # Until a battery is nearly full: it then takes less than a linear programme plans.
    # Which of two batteries takes it may differ, as a plan weighs terms by the hours that train.
    np.testing.assert_allclose(found.battery_kwh[:34].sum(axis=1), run.battery_kwh.T[:34].sum(axis=1), atol=1.0)
    assert np.ptp(found.battery_kwh[:34]) > 100.0
    assert found.soc.shape == (HOURS, 4, 1 + len(PLAN_HOURS))
    # What is planned for the end of an hour is what the next begins with, but for losses that no linear programme knows.
    np.testing.assert_allclose(found.soc[1:, :, 0], found.soc[:-1, :, 1], atol=0.02)
    assert not found.battery_kwh[:, 3].any()
    assert not found.soc[:, 3].any()


def test_of_tanks_it_has_what_they_take_and_their_charge(small_schema: Path, tmp_path: Path) -> None:
    site = scenario(str(with_tank(small_schema, tmp_path, cooling=True)))
    found, tanks = run_shadow(site, 0, "seven-days", DEFAULT, hours=HOURS), Tanks.of(year_tables(site, 0))
    assert found.tank_use.shape == found.tank_soc.shape == (HOURS, 1, 2)
    np.testing.assert_allclose(found.tank_soc[0, 0], [0.0, 0.5])
    # As it is observed, the charge is that before an hour of standby.
    change = np.where(found.tank_use > 0.0, found.tank_use * tanks.root, found.tank_use / tanks.root)[1:-1, 0]
    expected = np.minimum(found.tank_soc[1:-1, 0] * tanks.kept + change, 1.0)
    np.testing.assert_allclose(found.tank_soc[2:, 0], expected, atol=2e-3)
    assert (np.ptp(found.tank_use[:, 0], axis=0) > 0.1).all()


@pytest.mark.parametrize("stores", ["batteries", "tanks too"])
def test_it_does_not_know_the_future(
    four_buildings: Path, small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stores: str
) -> None:
    path = four_buildings if stores == "batteries" else with_tank(small_schema, tmp_path, cooling=True, twin=True)
    site = scenario(str(path))
    before, whole = run_shadow(site, 0, "seven-days", DEFAULT, hours=HOURS), year_series(site, 0)
    values = {kind: own.copy() for kind, own in whole.values.items()}
    for own in values.values():
        own[:, CHANGED:] = own[:, CHANGED:] * 2.0 + 3.0
    other = replace(whole, values=values)
    # Nor do the means by which the reward weighs terms know hours that do not train.
    reference = year_reference(site, 0)
    monkeypatch.setattr(
        "envs.environments.shadow.year_reference", lambda scenario, year: reference.scaled_by(Scale(*(7.0,) * 6))
    )
    monkeypatch.setattr("envs.environments.year_forecasts.year_series", lambda scenario, year: other)
    after = run_shadow(site, 0, "seven-days", DEFAULT, hours=HOURS)
    for name in ("battery_kwh", "soc", "net_kwh", "tank_use", "tank_soc"):
        np.testing.assert_array_equal(getattr(after, name)[:CHANGED], getattr(before, name)[:CHANGED], err_msg=name)
    assert (after.net_kwh[CHANGED:] != before.net_kwh[CHANGED:]).any()


def test_plans_of_other_rewards_and_forecasts_have_other_keys(four_buildings: Path) -> None:
    site = scenario(str(four_buildings))
    keys = {
        shadow_key(site, 0, method, weights) for method in ("yesterday", "learned") for weights in (DEFAULT, Weights(co2=1))
    }  # type: ignore[arg-type]
    assert len(keys) == 4
