"""Thermal devices without control deliver what the building's own controller would have them deliver."""

from pathlib import Path

import numpy as np
import pytest

from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Year
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.citylearn_backend.tables import read_tables
from envs.citylearn_backend.thermal import _OBEYING, device_actions
from envs.environments.vector_env import WindowsEnv
from envs.objective.evaluate import evaluate
from envs.scenarios.iquitos.site import ROWS
from envs.scenarios.scenario import Window, scenario
from envs.scenarios.schema_shape import THERMAL_ACTIONS
from tests.envs.models import with_dynamics
from tests.envs.schema_changes import SET_POINTS, in_steps, with_series

HOURS = 60


@pytest.fixture(params=[1, 4], ids=["hours", "quarters"])
def site(small_schema: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """With a demand of cooling that is beyond the device in some hours."""
    demand = 90.0 * (1.0 + np.sin(np.arange(ROWS) / 5.0))
    people = {"cooling_demand": demand, "hvac_mode": 1, "occupant_count": 1, "comfort_band": 0.5, **SET_POINTS}
    return in_steps(with_series(with_dynamics(small_schema, tmp_path / "hours"), **people), tmp_path / "steps", request.param)


def test_the_uncontrolled_site_is_as_comfortable_as_itself(site: Path) -> None:
    """Though it ran through the year, and is asked about single days, which begin with the temperature of the data."""
    env = WindowsEnv(scenario(str(site)), [Window(0, 48 + 24 * day, 24) for day in range(5)])
    (found,) = evaluate(env, lambda observations: env.present.uncontrolled_actions())
    assert found.uncontrolled["occupied_hours"] == 5 * 24 * env.simulator.step_hours
    assert 0.0 < found.uncontrolled["discomfort"] < 1.0
    # What the model remembers of earlier days moves a temperature a little.
    for name in ("discomfort", "unmet_degree_hours", "import_kwh"):
        assert found.kpis[name] == pytest.approx(found.uncontrolled[name], rel=0.02), name


def test_the_uncontrolled_site_delivers_what_was_demanded_as_far_as_its_devices_can(site: Path) -> None:
    simulator = CityLearnSimulator(site, with_reward=False)
    tables = read_tables(simulator)
    batch = BatchSimulator({0: Year(tables, tables.rows["template"])}, copies=1)
    batch.begin(0, 0, 0, HOURS, seed=0)
    simulator.begin(0, HOURS, seed=0)
    (building,) = simulator.env.buildings
    assert {*_OBEYING} == THERMAL_ACTIONS
    assert [entry[1:] for entry in device_actions(simulator.env.buildings)] == [(0, 0, 1.0)]
    for _ in range(HOURS):
        actions = simulator.uncontrolled_actions()
        low, high = simulator.action_low, simulator.action_high
        np.testing.assert_allclose(low + (batch.uncontrolled_actions()[0] + 1.0) / 2.0 * (high - low), actions, atol=1e-12)
        simulator.step(actions)
        batch.step(batch.uncontrolled_actions())
    wanted = building.cooling_demand_without_partial_load[:HOURS]
    temperatures = building.weather.outdoor_dry_bulb_temperature[:HOURS]
    most = building.cooling_device.get_max_output_power(temperatures, heating=False) * simulator.step_hours
    assert 0.1 < np.mean(wanted > most) < 0.9
    np.testing.assert_allclose(building.cooling_demand[5:HOURS], np.minimum(wanted, most)[5:], rtol=1e-5)
