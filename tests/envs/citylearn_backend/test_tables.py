"""A year's tables are CityLearn's own numbers."""

from pathlib import Path

import numpy as np
import pytest

from envs.batch_backend.tables import Tables
from envs.citylearn_backend.pool import SIMULATORS
from envs.citylearn_backend.tables import read_tables
from envs.errors import ScenarioError


def test_every_hour_of_every_session_is_plugged_in_and_no_other(small_tables: Tables) -> None:
    rows = np.repeat(np.arange(len(small_tables.exogenous.hour)), np.diff(small_tables.rows["first_plugged"]))
    plugged = set(zip(rows.tolist(), small_tables.rows["plugged"]["vehicle"].tolist(), strict=True))
    sessions = small_tables.sessions
    held = {
        (row, vehicle)
        for start, end, vehicle in zip(sessions.start.tolist(), sessions.end.tolist(), sessions.vehicle.tolist(), strict=True)
        for row in range(start, end + 1)
    }
    assert held <= plugged
    # What is left are stays that the end of the data cuts off: no sessions, but vehicles that are there.
    last = len(small_tables.exogenous.hour) - 1
    for row, vehicle in plugged - held:
        assert all((later, vehicle) in plugged for later in range(row, last + 1))


def test_parameters_are_those_of_citylearns_objects(small_schema: Path, small_tables: Tables) -> None:
    with SIMULATORS.lend(small_schema) as simulator:
        (building,) = simulator.env.buildings
        assert small_tables.names == tuple(simulator.observation_names)
        assert small_tables.site["battery"]["capacity"][0] == building.electrical_storage.capacity
        assert small_tables.depth_of_discharge.tolist() == [building.electrical_storage.depth_of_discharge]
        assert small_tables.site["action"]["low"].tolist() == simulator.action_low.tolist()


def test_a_year_of_other_steps_than_hours_is_refused(small_schema: Path, tmp_path: Path) -> None:
    with SIMULATORS.lend(small_schema) as simulator:
        device = simulator.env.buildings[0].electrical_storage
        before = device.time_step_ratio
        device.time_step_ratio = np.float64(0.5)
        try:
            with pytest.raises(ScenarioError, match="not hourly"):
                read_tables(simulator, ("RewardFunction", "null"))
        finally:
            device.time_step_ratio = before
