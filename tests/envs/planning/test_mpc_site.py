"""Batteries, tanks and vehicles as a linear programme can know them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csc_array

from envs.batch_backend import records
from envs.current_hour import SiteState
from envs.environments.year_cache import year_reference, year_tables
from envs.planning.mpc import hour_plan
from envs.planning.mpc_programme import RecedingProgramme
from envs.planning.mpc_site import MpcSite, Need, Tanks, Vehicles, curve_roots, planned_actions
from envs.scenarios.scenario import Window, scenario
from envs.yardsticks.mpc_runs import mpc_plant
from tests.envs.tanks import with_tank


@pytest.fixture
def site(small_schema: Path) -> MpcSite:
    own = scenario(str(small_schema))
    return MpcSite.of(year_tables(own, 0), year_reference(own, 0))


def test_roots_follow_the_curve(small_schema: Path) -> None:
    tables = year_tables(scenario(str(small_schema)), 0)
    battery, curve = tables.site["battery"][0], tables.site["battery_curve"][0]
    x, y = curve[records.EFFICIENCY_CURVE, :, : int(battery["efficiency_points"])]
    np.testing.assert_allclose(curve_roots(battery, curve, x), np.sqrt(y), atol=1e-6)
    between = curve_roots(battery, curve, np.array([(x[0] + x[1]) / 2]))
    assert between[0] == pytest.approx(np.sqrt((y[0] + y[1]) / 2))


def test_lines_of_the_greatest_power_lie_above_the_curve_and_touch_it(small_schema: Path, site: MpcSite) -> None:
    tables = year_tables(scenario(str(small_schema)), 0)
    points = int(tables.site["battery"][0]["power_points"])
    level, power = tables.site["battery_curve"][0, records.POWER_CURVE, :, :points]
    above = np.min([part + slope * level for _, part, slope in site.taper], axis=0)
    assert (above >= power - 1e-9).all()
    np.testing.assert_allclose(above[[0, -1]], power[[0, -1]], atol=1e-9)


def test_a_battery_without_an_action_has_no_power(small_schema: Path) -> None:
    own = scenario(str(small_schema))
    tables = year_tables(own, 0)
    tables.site["building"]["battery_action"] = -1
    assert MpcSite.of(tables, year_reference(own, 0)).power.tolist() == [0.0]


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
    assert [planned_actions(year_tables(site, 0)) for site in sites] == [(), ("dhw_storage",)]
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
    hour, _ = hour_plan(plant, state, np.ones(900))
    programme, tanks = RecedingProgramme(plant.site, hours), plant.site.tanks
    programme.solve(hour)
    own = programme._solver.getLp().a_matrix_  # by columns
    factors = csc_array((own.value_, own.index_, own.start_))
    assert tanks.building.tolist() == [0, 1, 1]
    cooling = plant.forecast._series.values["cooling_efficiency"][1, 400]
    np.testing.assert_allclose(hour.efficiency[:, 0], [0.9, cooling, 0.9])
    assert cooling > 1.5
    slot = 400 % (hours + 1)
    for t, building in enumerate(tanks.building):
        for other in range(2):
            row = programme._balance[other, slot]
            expected = 1.0 / hour.efficiency[t, 0] if other == building else 0.0
            assert factors[row, programme._filled[t, slot]] == pytest.approx(-expected)
            assert factors[row, programme._tapped[t, slot]] == pytest.approx(expected)


def need(*vehicles: tuple[float, float, int, int]) -> Need:
    """Vehicles of one building by power, energy, first and last hour."""
    power, energy, first, last = (np.array(values) for values in zip(*vehicles, strict=True))
    count = len(vehicles)
    part = np.where(energy <= power, energy / power, 1.0)
    return Need(np.zeros(count, int), np.arange(count), power, energy, first, last, part)


def test_limits_run_from_the_latest_to_the_earliest_charging() -> None:
    charge, must, can = need((2.0, 5.0, 0, 3), (1.0, 1.0, 2, 2)).limits(1, 6)
    assert charge[0].tolist() == [2.0, 2.0, 3.0, 2.0, 0.0, 0.0]
    assert must[0].tolist() == [0.0, 1.0, 4.0, 6.0, 6.0, 6.0]
    assert can[0].tolist() == [2.0, 4.0, 6.0, 6.0, 6.0, 6.0]


def test_a_vehicle_that_stays_beyond_the_horizon_need_not_be_full_at_its_end() -> None:
    _, must, can = need((2.0, 5.0, 0, 9)).limits(1, 4)
    assert must[0].tolist() == [0.0] * 4
    assert can[0].tolist() == [2.0, 4.0, 5.0, 5.0]


@pytest.mark.parametrize("given", [0.0, 1.0, 2.5, 4.0, 9.0])
def test_the_most_urgent_charge_first(given: float) -> None:
    own = need((2.0, 2.0, 0, 0), (2.0, 2.0, 0, 5), (2.0, 2.0, 0, 1), (2.0, 2.0, 1, 1))
    index, values = own.share(np.array([given]))
    assert index.tolist() == [0, 1, 2]
    # The first leaves after this hour, so it is charged in any case.
    assert values[0] == 1.0
    total = values.sum() * 2.0
    assert total == pytest.approx(np.clip(given, 2.0, 6.0))
    assert values[2] >= values[1]


def test_plugged_in_vehicles_are_those_of_the_sessions(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    tables, reference = year_tables(site, 0), year_reference(site, 0)
    vehicles, sessions = Vehicles(tables, reference), reference.sessions
    soc = np.zeros(int(sessions.vehicle.max()) + 1)
    seen = 0
    for row in range(200, 300):
        here = (sessions.start <= row) & (sessions.end >= row)
        coming = (sessions.start > row) & (sessions.start < row + 5)
        found = vehicles.need(row, soc, 5, False)
        assert sorted(found.last.tolist()) == sorted((sessions.end[here] - row).tolist())
        assert len(vehicles.need(row, soc, 5, True).last) == here.sum() + coming.sum()
        # Nothing is needed that full power cannot deliver.
        assert (found.energy <= found.power * (found.last + 1) + 1e-9).all()
        seen += int(here.sum())
    assert seen > 50
