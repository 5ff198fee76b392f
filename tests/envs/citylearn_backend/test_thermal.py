"""Thermal devices without control deliver what the building's own controller would have them deliver."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Year
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.citylearn_backend.tables import read_tables
from envs.citylearn_backend.thermal import device_actions
from envs.environments.year_cache import schema_reward
from tests.envs.models import with_dynamics

HOURS = 60


@pytest.fixture
def site(small_schema: Path, tmp_path: Path) -> Path:
    """With a demand of cooling that is beyond the device in some hours."""
    path = with_dynamics(small_schema, tmp_path)
    series = pd.read_csv(tmp_path / "mall.csv")
    demand = 90.0 * (1.0 + np.sin(np.arange(len(series)) / 5.0))
    series.assign(cooling_demand=demand, hvac_mode=1).to_csv(tmp_path / "mall.csv", index=False)
    return path


def test_the_uncontrolled_site_delivers_what_was_demanded_as_far_as_its_devices_can(site: Path) -> None:
    simulator = CityLearnSimulator(site, with_reward=False)
    tables = read_tables(simulator, schema_reward(site))
    batch = BatchSimulator({0: Year(tables, tables.rows["template"])}, copies=1)
    batch.begin(0, 0, 0, HOURS, seed=0)
    simulator.begin(0, HOURS, seed=0)
    (building,) = simulator.env.buildings
    assert [entry[1:] for entry in device_actions(simulator.env.buildings)] == [(0, 0, 1.0)]
    for _ in range(HOURS):
        actions = simulator.uncontrolled_actions()
        low, high = simulator.action_low, simulator.action_high
        np.testing.assert_allclose(low + (batch.uncontrolled_actions()[0] + 1.0) / 2.0 * (high - low), actions, atol=1e-12)
        simulator.step(actions)
        batch.step(batch.uncontrolled_actions())
    wanted = building.cooling_demand_without_partial_load[:HOURS]
    temperatures = building.weather.outdoor_dry_bulb_temperature[:HOURS]
    most = building.cooling_device.get_max_output_power(temperatures, heating=False)
    assert 0.1 < np.mean(wanted > most) < 0.9
    np.testing.assert_allclose(building.cooling_demand[5:HOURS], np.minimum(wanted, most)[5:], rtol=1e-5)
