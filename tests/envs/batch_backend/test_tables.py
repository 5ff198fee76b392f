"""A year's tables are CityLearn's own numbers, and survive a file."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from envs.batch_backend.arrays import Year
from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.citylearn_backend.tables import read_tables
from envs.environments.year_cache import (
    is_prepared,
    observation_layout,
    prepare_year,
    scaled_template,
    schema_reward,
    year_reference,
    year_tables,
)
from envs.errors import ScenarioError
from envs.scenarios.scenario import scenario

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def tables(small_schema: Path) -> Tables:
    return read_tables(CityLearnSimulator(small_schema, with_reward=False), schema_reward(small_schema))


def test_a_file_gives_back_what_was_written(tables: Tables, tmp_path: Path) -> None:
    tables.save(tmp_path / "year.npz")
    read = Tables.load(tmp_path / "year.npz")
    assert (read.names, read.reward) == (tables.names, tables.reward)
    for group in ("site", "rows"):
        for name, value in getattr(tables, group).items():
            for field in value.dtype.names or (...,):
                np.testing.assert_array_equal(getattr(read, group)[name][field], value[field], err_msg=name)
    np.testing.assert_array_equal(read.exogenous.pv_kwh, tables.exogenous.pv_kwh)
    np.testing.assert_array_equal(read.sessions.required_kwh, tables.sessions.required_kwh)
    assert "template" not in Tables.load(tmp_path / "year.npz", template=False).rows


def test_every_hour_of_every_session_is_plugged_in_and_no_other(tables: Tables) -> None:
    rows = np.repeat(np.arange(len(tables.exogenous.hour)), np.diff(tables.rows["first_plugged"]))
    plugged = set(zip(rows.tolist(), tables.rows["plugged"]["vehicle"].tolist(), strict=True))
    sessions = tables.sessions
    held = {
        (row, vehicle)
        for start, end, vehicle in zip(sessions.start.tolist(), sessions.end.tolist(), sessions.vehicle.tolist(), strict=True)
        for row in range(start, end + 1)
    }
    assert held <= plugged
    # What is left are stays that the end of the data cuts off: no sessions, but vehicles that are there.
    last = len(tables.exogenous.hour) - 1
    for row, vehicle in plugged - held:
        assert all((later, vehicle) in plugged for later in range(row, last + 1))


def test_years_of_different_sites_cannot_share_a_batch(tables: Tables) -> None:
    battery = tables.site["battery"].copy()
    battery["capacity"] *= 2.0
    other = replace(tables, site=tables.site | {"battery": battery})
    template = tables.rows["template"]
    with pytest.raises(ScenarioError, match="differ in their devices"):
        BatchSimulator({0: Year(tables, template), 1: Year(other, template)}, 2)


def test_a_prepared_year_opens_without_citylearn(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    prepare_year(site, 0)
    assert is_prepared(site, 0)
    scaled = scaled_template(site, 0)
    assert scaled.shape == (len(year_tables(site, 0).exogenous.hour), observation_layout(site).size)
    assert np.abs(scaled).max() <= 1.0
    program = (
        "import sys; from envs.environments.factory import training_env\n"
        f"training_env({str(small_schema)!r}, 'batch', 2).reset(seed=0)\n"
        "print(*{'citylearn', 'torch', 'pvlib'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


def test_the_uncontrolled_run_is_that_of_citylearn(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    run = year_reference(site, 0).run
    simulator = CityLearnSimulator(small_schema, with_reward=False)
    simulator.begin(0, simulator.rows - 1, seed=0)
    for _ in range(240):
        simulator.step(simulator.uncontrolled_actions())
    # The action is mapped to [-1, 1] and back.
    np.testing.assert_allclose(run.net_kwh[:, :240], simulator.run().net_kwh, rtol=1e-6, atol=1e-4)
    assert run.charging_kwh[:, :240].sum() > 0.0
