"""A year's tables are CityLearn's own numbers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from common.errors import ScenarioError
from envs.batch_backend import records
from envs.batch_backend.tables import USES, Tables
from envs.citylearn_backend.simulator import SIMULATORS, CityLearnSimulator
from envs.citylearn_backend.tables import _events, battery_parameters, read_buildings, read_layout, read_tables
from envs.district import COMMON
from envs.observation import MARGIN, PEAK_NAMES, ObservationLayout
from envs.scenarios.tariff import DemandCharge
from tests.districts import FOUR, OWN


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


def battery(power: list[list[float]], efficiency: list[list[float]]) -> SimpleNamespace:
    return SimpleNamespace(
        capacity=10.0, nominal_power=4.0, depth_of_discharge=0.8, loss_coefficient=0.1, capacity_loss_coefficient=0.01,
        capacity_power_curve=np.array(power), power_efficiency_curve=np.array(efficiency), _minimum_soc=lambda: 0.2,
    )  # fmt: skip


FLAT = [[0.0, 1.0], [0.9, 0.9]]


def test_a_flat_curve_is_its_value() -> None:
    (found,) = battery_parameters([battery(FLAT, FLAT)])["battery"]
    assert (found["power_points"], found["efficiency_points"]) == (0, 0)
    assert found["flat_power"] == pytest.approx(4.0 * 0.9)
    assert found["flat_root"] == pytest.approx(np.sqrt(0.9))
    assert found["minimum_energy"] == pytest.approx(2.0)
    assert found["kept"] == pytest.approx(0.9)
    assert found["wear"] == pytest.approx(0.1)


def test_curves_of_different_lengths_repeat_their_last_point() -> None:
    bent = [[0.0, 0.5, 1.0], [1.0, 0.8, 0.7]]
    found = battery_parameters([battery(FLAT, FLAT), battery(bent, FLAT)])
    assert found["battery"]["power_points"].tolist() == [0, 3]
    assert found["battery_curve"].shape == (2, 2, 2, 3)
    assert found["battery_curve"][0, records.POWER_CURVE, 0].tolist() == [0.0, 1.0, 1.0]
    assert found["battery_curve"][1, records.POWER_CURVE].tolist() == bent


def test_a_curve_of_one_point_is_refused() -> None:
    with pytest.raises(ScenarioError, match="single point"):
        battery_parameters([battery([[0.0], [1.0]], FLAT)])


def test_each_charger_knows_its_building_and_its_action(small_tables: Tables) -> None:
    charger = small_tables.site["charger"]
    assert charger["building"].tolist() == [0] * 4
    assert charger["action"].tolist() == [1, 2, 3, 4]
    assert charger["charge_max"].tolist() == [2.0, 2.0, 2.0, 3.0]


def test_a_building_without_thermal_demand_has_none(small_tables: Tables) -> None:
    assert small_tables.site["building"]["thermal"].tolist() == [0]
    assert small_tables.site["building"]["battery_action"].tolist() == [0]
    assert (small_tables.site["thermal"]["action"] == -1).all()


def test_meters_are_the_years_series_with_pv_as_negative_consumption(small_tables: Tables) -> None:
    meter, series = small_tables.rows["meter"], small_tables.exogenous
    for name, expected in (("load", series.load_kwh), ("price", series.price), ("carbon", series.carbon)):
        assert np.array_equal(meter[name].T, expected.astype(np.float32)), name
    np.testing.assert_allclose(-meter["solar"].T, series.pv_kwh, rtol=1e-6)
    assert (meter["solar"] <= 0.0).all()


def test_every_end_use_has_a_demand_and_an_efficiency_in_every_row(small_tables: Tables) -> None:
    meter = small_tables.rows["meter"]
    assert meter["demand"].shape == meter["cop"].shape == (len(small_tables.exogenous.hour), 1, len(USES))
    assert not meter["demand"].any()
    assert (meter["cop"] > 0.0).all()


def test_temperatures_are_read_for_rewards_of_comfort(small_tables: Tables) -> None:
    assert (small_tables.rows["comfort"]["indoor"] == 24.0).all()


def test_arrivals_and_wishes_are_those_of_the_sessions(small_tables: Tables) -> None:
    sessions, rows = small_tables.sessions, small_tables.rows
    for i in range(0, len(sessions.end), 7):
        first, last = rows["first_plugged"][[sessions.start[i], sessions.start[i] + 1]]
        (here,) = np.flatnonzero(rows["plugged"]["vehicle"][first:last] == sessions.vehicle[i])
        # Nothing announces these vehicles, so CityLearn sets their charge on the way to the arrival row.
        assert rows["plugged"]["before"][first + here] == np.float32(sessions.arrival_soc[i])
        assert rows["required_soc"][first + here] == np.float32(sessions.required_soc[i])
        assert rows["countdown"][first + here] == sessions.end[i] - sessions.start[i] + 1


def test_no_charge_arrives_in_the_middle_of_a_session(small_tables: Tables) -> None:
    plugged = small_tables.rows["plugged"]
    arrivals = np.count_nonzero(~np.isnan(plugged["before"]))
    assert len(small_tables.sessions.end) <= arrivals < len(plugged)


def test_a_vehicle_that_connects_gets_the_charge_of_its_announcement() -> None:
    state = np.array([[3], [2], [1], [1], [3]])
    named = np.zeros((5, 1), dtype=np.int16)
    given = np.array([[np.nan], [0.4], [np.nan], [np.nan], [np.nan]], dtype=np.float32)
    event = _events(state, named, given, vehicles=1)
    assert event["kind"][:, 0].tolist() == [records.DRIFT, records.SET, records.KEEP, records.KEEP, records.DRIFT]
    assert event["soc"][1, 0] == np.float32(0.4)


def test_of_several_chargers_the_first_decides() -> None:
    state = np.array([[3, 3], [1, 1]])
    named = np.zeros((2, 2), dtype=np.int16)
    given = np.array([[np.nan, np.nan], [0.3, 0.7]], dtype=np.float32)
    assert _events(state, named, given, vehicles=1)["soc"][0, 0] == np.float32(0.3)


def test_observations_that_no_action_changes_are_citylearns(small_schema: Path, small_tables: Tables) -> None:
    template = small_tables.rows["template"]
    left_out = small_tables.site["observed"]["at"]
    same = np.setdiff1d(np.arange(template.shape[1]), left_out)
    with SIMULATORS.lend(small_schema) as simulator:
        raw = [simulator.begin(0, 30, seed=0)]
        raw += [simulator.step(simulator.action_low)[0] for _ in range(30)]
    assert len(same) > 20
    np.testing.assert_array_equal(template[:31, same], np.array(raw, dtype=np.float32)[:, same])


def test_each_observation_that_depends_on_actions_has_its_place(small_tables: Tables) -> None:
    observed, names = small_tables.site["observed"], small_tables.names
    found = [(names[own["at"]], int(own["kind"])) for own in observed]
    assert found[:2] == [("electrical_storage_soc", records.BATTERY_SOC), ("net_electricity_consumption", records.NET)]
    assert [kind for _, kind in found[2:]] == [records.VEHICLE_SOC] * 4
    assert all(name.startswith("connected_electric_vehicle_at_charger_") for name, _ in found[2:])
    assert not small_tables.rows["template"][:, observed["at"][:2]].any()


@pytest.fixture(scope="module")
def simulator(small_schema: Path) -> CityLearnSimulator:
    return CityLearnSimulator(small_schema, with_reward=False)


@pytest.fixture(scope="module")
def layout(simulator: CityLearnSimulator, small_schema: Path) -> ObservationLayout:
    return read_layout(simulator, DemandCharge.of(small_schema))


def bounds(layout: ObservationLayout, name: str) -> tuple[float, float]:
    index = layout.names.index(name)
    return layout.low[index], layout.high[index]


def test_names_are_citylearns_and_then_the_months_peaks(simulator: CityLearnSimulator, layout: ObservationLayout) -> None:
    assert layout.names == (*simulator.observation_names, *PEAK_NAMES)
    assert read_layout(simulator, None).names == tuple(simulator.observation_names)


def test_countdowns_are_bounded_by_the_longest_stay(simulator: CityLearnSimulator, layout: ObservationLayout) -> None:
    sessions = simulator.sessions
    longest = float((sessions.end - sessions.start + 1).max())
    assert bounds(layout, "connected_electric_vehicle_at_charger_motorcycle_001_departure_time") == (-1.0, longest)


def test_net_import_is_bounded_by_all_devices_at_full_power(simulator: CityLearnSimulator, layout: ObservationLayout) -> None:
    series = simulator.exogenous
    low, high = bounds(layout, "net_electricity_consumption")
    sockets = 3 * 2.0 + 3.0
    assert high == pytest.approx((1.0 + MARGIN) * (series.load_kwh.max() + 400.0 + sockets))
    assert low == pytest.approx((1.0 + MARGIN) * min(0.0, (series.load_kwh - series.pv_kwh).min() - 400.0))
    assert bounds(layout, PEAK_NAMES[0]) == (0.0, high)


def test_an_idle_battery_is_in_the_middle_and_an_idle_charger_at_the_end(layout: ObservationLayout) -> None:
    idle = dict(zip(layout.actions, layout.idle, strict=True))
    assert idle.pop("electrical_storage") == 0.0
    assert set(idle.values()) == {-1.0}


def test_an_hour_at_full_power_is_told_for_chargers_alone(layout: ObservationLayout) -> None:
    hourly = dict(zip(layout.actions, layout.hourly_soc, strict=True))
    assert hourly.pop("electrical_storage") == 0.0
    assert hourly["electric_vehicle_storage_motorcycle_001"] == pytest.approx(2.0 * 0.95 / 4.6)
    assert np.all(np.array(list(hourly.values())) > 0.0)


def test_observations_and_actions_have_the_owners_that_the_schema_gives_them(four_buildings: Path) -> None:
    with SIMULATORS.lend(four_buildings) as simulator:
        found, names, actions = read_buildings(simulator), simulator.observation_names, simulator.action_names
        loads = simulator.exogenous.load_kwh
    for n, given in enumerate(FOUR.values()):
        own = [name for name, owner in zip(names, found.observations, strict=True) if owner == n]
        lacks = set() if given["pv"] else {"solar_generation"}
        lacks |= set() if given["battery"] else {"electrical_storage_soc"}
        assert set(own) & set(OWN) == set(OWN) - lacks
        assert sum(name.endswith("_connected_state") for name in own) == len(given["chargers"])
        assert found.actions.count(n) == bool(given["battery"]) + len(given["chargers"])
        if given["battery"]:
            capacity, power = given["battery"]
            assert (found.power_kw[n], found.battery_hours[n]) == (power, capacity / power)
        else:
            assert (found.power_kw[n], found.battery_hours[n]) == (pytest.approx(loads[n].max()), 0.0)
    assert len(found.actions) == len(actions)
    assert all("charger" in names[i] for i in found.chargers)
    assert {name for name, owner in zip(names, found.observations, strict=True) if owner == COMMON} >= {"month", "hour"}
