"""Tanks as a linear programme knows them: what their devices leave them, and what their demand lets them give."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from envs.current_hour import SiteState
from envs.environments.year_cache import year_tables
from envs.planning.mpc import hour_plan
from envs.planning.mpc_programme import RecedingProgramme
from envs.planning.mpc_tanks import Tanks, uses_of
from envs.scenarios.scenario import Window, scenario
from envs.yardsticks.mpc_runs import mpc_plant
from tests.envs.tanks import with_tank


@pytest.fixture
def tanks(small_schema: Path, tmp_path: Path) -> Tanks:
    return Tanks.of(year_tables(scenario(str(with_tank(small_schema, tmp_path, cooling=True))), 0))


def test_they_are_those_that_act(small_schema: Path, tmp_path: Path, tanks: Tanks) -> None:
    assert len(tanks) == 2
    assert tanks.building.tolist() == [0, 0]
    assert tanks.use.tolist() == [0, 2]
    np.testing.assert_allclose(tanks.capacity, [120.0, 10.0])
    np.testing.assert_allclose(tanks.device_kw, [40.0, 50.0])
    np.testing.assert_allclose(tanks.kept, [0.994, 0.99])
    sites = [scenario(str(path)) for path in (small_schema, with_tank(small_schema, tmp_path / "hot"))]
    assert [uses_of(year_tables(site, 0)) for site in sites] == [(), ("dhw",)]
    assert len(Tanks.of(year_tables(sites[0], 0))) == 0


def test_they_take_what_the_device_does_not_need_and_give_no_more_than_the_demand(tanks: Tanks) -> None:
    demand, efficiency = np.array([[30.0, 170.0], [0.0, 2.0]]), np.array([[4.0, 4.0], [0.9, 0.9]])
    # The range of an action allows as much as the nominal power of the device, and no more than the tank holds.
    np.testing.assert_allclose(tanks.greatest_in, [40.0, 10.0], rtol=1e-6)
    np.testing.assert_allclose(tanks.greatest_out, tanks.greatest_in)
    without = np.full(2, np.inf)
    take, give = replace(tanks, greatest_in=without, greatest_out=without).limits(demand, efficiency)
    np.testing.assert_allclose(take, [[130.0, 0.0], [45.0, 43.0]])
    np.testing.assert_allclose(give, demand)
    narrow = replace(tanks, greatest_in=np.array([20.0, np.inf]), greatest_out=np.array([25.0, 1.0]))
    take, give = narrow.limits(demand, efficiency)
    np.testing.assert_allclose(take, [[20.0, 0.0], [45.0, 43.0]])
    np.testing.assert_allclose(give, [[25.0, 25.0], [0.0, 1.0]])


def test_values_come_to_their_buildings_and_uses(tanks: Tanks) -> None:
    found = replace(tanks, building=np.array([2, 0])).scattered(np.array([5.0, 7.0]), 3)
    np.testing.assert_array_equal(found, [[0.0, 0.0, 7.0], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0]])


def test_their_electricity_is_that_of_their_buildings(small_schema: Path, tmp_path: Path) -> None:
    site, hours = scenario(str(with_tank(small_schema, tmp_path, cooling=True, twin=True))), 6
    plant = mpc_plant(site, 0, "yesterday", hours)
    state = SiteState(Window(0, 0, 900), 400, np.full(2, 0.5), np.zeros((2, 3)), np.full(10, 0.3), 100.0, (50.0, 60.0), 0.0)
    hour, _ = hour_plan(plant, state, hours, np.ones(900))
    programme, tanks = RecedingProgramme(plant.site, hours), plant.site.tanks
    equal, _ = programme.matrices(hour)
    assert tanks.building.tolist() == [0, 1, 1]
    cooling = plant.forecast._series.values["cooling_efficiency"][1, 400]
    np.testing.assert_allclose(hour.efficiency[:, 0], [0.9, cooling, 0.9])
    assert cooling > 1.5
    slot = 400 % (hours + 1)
    for t, building in enumerate(tanks.building):
        for other in range(2):
            row = programme._balance[other, slot]
            expected = 1.0 / hour.efficiency[t, 0] if other == building else 0.0
            assert equal[row, programme._filled[t, slot]] == pytest.approx(-expected)
            assert equal[row, programme._tapped[t, slot]] == pytest.approx(expected)
