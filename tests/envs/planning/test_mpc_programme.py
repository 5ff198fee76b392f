"""The programme that is kept from hour to hour has the optimum of one that is written anew."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from envs.planning import mpc, mpc_programme
from envs.planning.mpc import HourPlan, ModelPredictiveControl
from envs.planning.mpc_programme import MpcError, Plan, RecedingProgramme
from envs.scenarios.scenario import Window, scenario
from envs.scenarios.tariff import month_shares
from envs.task import SiteTask
from envs.yardsticks.mpc_runs import mpc_plant
from tests.envs.models import with_rooms
from tests.envs.tanks import with_tank

WINDOW = Window(0, 31 * 24 - 30, 60)  # a month ends within
Hours = tuple[mpc.Plant, list[tuple[HourPlan, Plan]]]


@pytest.fixture(scope="module", params=["batteries", "tanks", "rooms"])
def hours(request: pytest.FixtureRequest, small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Hours:
    """A run's hours with their plans."""
    schema, folder = small_schema, tmp_path_factory.mktemp("site")
    if request.param != "batteries":
        schema = with_rooms(schema, folder) if request.param == "rooms" else with_tank(schema, folder, cooling=True)
    site, found = scenario(str(schema)), []
    plant = mpc_plant(site, 0, "seven-days", 12)
    env = SiteTask(site.name).evaluation_env([WINDOW])
    original = RecedingProgramme.solve

    def solve(self: RecedingProgramme, hour: HourPlan) -> Plan:
        found.append((hour, original(self, hour)))
        return found[-1][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RecedingProgramme, "solve", solve)
        list(env.episodes(ModelPredictiveControl(env.present, {0: plant})))
    assert len(found) == WINDOW.hours
    return plant, found


def test_a_fresh_programme_of_each_hour_has_the_same_optimum(hours: Hours) -> None:
    plant, found = hours
    for hour, plan in found[::7]:
        assert RecedingProgramme(plant.site, 12).solve(hour).loss == pytest.approx(plan.loss, rel=1e-6, abs=1e-9)


def test_an_hour_of_a_large_site_has_the_same_optimum(hours: Hours, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, found = hours
    for rows, is_interior in ((0, True), (10**6, False)):
        monkeypatch.setattr(mpc_programme, "LARGE", rows)
        programme = RecedingProgramme(plant.site, 12)
        for hour, plan in found[:5]:
            assert programme.solve(hour).loss == pytest.approx(plan.loss, rel=1e-6, abs=1e-6)
            assert (programme._solver.getInfo().ipm_iteration_count > 0) is is_interior


def test_plans_keep_to_power_and_charge(hours: Hours) -> None:
    plant, found = hours
    site = plant.site
    for hour, plan in found:
        assert (np.abs(plan.battery_kwh) <= site.power[:, np.newaxis] + 1e-6).all()
        stored = hour.stored_kwh.copy()
        for change in plan.battery_kwh.T:
            stored += np.where(change > 0.0, change * site.root_in, change / site.root_out)
            assert (stored >= site.least * 0.99 - 1e-6).all()
            # With PV to spare a full battery is planned to take and to give at once; it is full then and takes nothing.
            stored = np.minimum(stored, site.most)
        given = np.cumsum(plan.charging_kwh, axis=1)
        assert (given <= hour.can_kwh + 1e-6).all()


def test_plans_keep_to_tanks_and_devices(hours: Hours) -> None:
    plant, found = hours
    tanks = plant.site.tanks
    used = np.concatenate([plan.tank_kwh for _, plan in found], axis=1)
    assert len(used) == len(tanks)
    for hour, plan in found:
        assert (plan.tank_kwh <= hour.fill_kwh + 1e-6).all()
        assert (-plan.tank_kwh <= hour.tap_kwh + 1e-6).all()
        held = hour.held_kwh.copy()
        for change in plan.tank_kwh.T:
            held += np.where(change > 0.0, change * tanks.root, change / tanks.root)
            assert (held >= -1e-6).all()
            # As with a full battery: with PV to spare a full tank is planned to take and to give at once.
            held = np.minimum(held, tanks.capacity) * tanks.kept
    if len(tanks):
        assert (used.max(axis=1) > 1.0).all()
        assert (used.min(axis=1) < -1.0).all()


def test_a_device_leaves_its_tank_what_it_does_not_deliver(hours: Hours) -> None:
    plant, found = hours
    rooms, tanks = plant.site.rooms, plant.site.tanks
    pairs = [
        (t, d)
        for t in range(len(tanks))
        for d in range(len(rooms.room))
        if (tanks.building[t], tanks.use[t]) == (rooms.device_building[d], rooms.use[d])
    ]
    assert len(pairs) == len(rooms.room)
    for hour, plan in found:
        for t, d in pairs:
            most = rooms.most_kwh[d] * hour.rooms.efficiency[d]
            assert (plan.tank_kwh[t] + most * plan.device_use[d] <= most + 1e-6).all()
            assert (-plan.tank_kwh[t] <= most * plan.device_use[d] + 1e-6).all()


def test_tanks_and_devices_take_the_electricity_of_their_building(hours: Hours) -> None:
    plant, found = hours
    for hour, plan in found:
        electric = (plan.tank_kwh / hour.efficiency).sum(axis=0)
        electric += (plan.device_use * plant.site.rooms.most_kwh[:, np.newaxis]).sum(axis=0)
        net = hour.base_kwh.sum(axis=0) + plan.battery_kwh.sum(axis=0) + plan.charging_kwh.sum(axis=0) + electric
        np.testing.assert_allclose(plan.net_kwh, net, atol=1e-5)


def test_a_peak_that_costs_more_is_lower(hours: Hours) -> None:
    plant, found = hours
    hour = found[0][0]

    def highest(worth: float) -> float:
        # The present hour is free, so without the charge an empty battery is filled in it.
        free = hour.import_worth * np.where(np.arange(12) > 0, 1.0, 0.0)
        empty = replace(hour, stored_kwh=plant.site.least, import_worth=free, outside=np.zeros(12, dtype=bool))
        dear = replace(empty, peaks_kw=np.zeros((2, 2)), peak_worth=np.full((2, 2), worth))
        plan = RecedingProgramme(plant.site, 12).solve(dear)
        return float(plan.net_kwh.max())

    assert highest(1.0) < highest(0.0) - 1.0


def test_an_hour_without_a_solution_is_an_error(hours: Hours) -> None:
    plant, found = hours
    hour = found[0][0]
    impossible = replace(hour, stored_kwh=hour.stored_kwh + 2.0 * plant.site.capacity)
    with pytest.raises(MpcError, match="not found"):
        RecedingProgramme(plant.site, 12).solve(impossible)


def test_a_plan_prints_nothing(hours: Hours, capfd: pytest.CaptureFixture[str]) -> None:
    """Commands that plan would show it, and programs read their output. HiGHS 1.16 writes its name."""
    plant, found = hours
    RecedingProgramme(plant.site, 12).solve(found[0][0])
    assert capfd.readouterr().out == ""


def test_a_window_pays_its_part_of_a_month(hours: Hours) -> None:
    plant, found = hours
    share = month_shares(plant.site.month, WINDOW.start, WINDOW.hours)
    assert plant.site.tariff is not None
    price = plant.site.worth["cost"] * plant.site.tariff.peak_price
    assert found[0][0].peak_worth[0, 0] == pytest.approx(price * share[0])
    assert found[-1][0].peak_worth[0, 0] == pytest.approx(price * share[-1])
    crossing = next(hour for hour, _ in found if hour.month.any())
    assert crossing.peak_worth[1, 0] == pytest.approx(price * share[-1])
