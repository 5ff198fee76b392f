"""Batteries that are charged side by side are charged as each by itself."""

from dataclasses import replace

import numpy as np
import pytest
from numba import njit

from envs.batch_backend import kernel, records
from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables, Year
from tests.envs.batch_backend.comparison import HOURS, opened


@pytest.fixture
def tables(small_tables: Tables) -> Tables:
    return small_tables


def times(tables: Tables, count: int) -> Tables:
    """A site with each socket, its vehicle and its action `count` times; observations show only the first."""
    site, rows = tables.site, tables.rows
    sockets, stationary = len(site["charger"]), len(site["building"])

    def repeated(values: np.ndarray, kept: int) -> np.ndarray:
        return np.concatenate([values[:kept], *[values[kept:]] * count])

    charger, actions = repeated(site["charger"], 0), len(site["action"]) - sockets
    charger["action"] += sockets * np.repeat(np.arange(count), sockets)
    observed = repeated(site["observed"], len(site["observed"]) - sockets)
    observed["at"][len(site["observed"]) :] = -1
    plugged, first = [], rows["first_plugged"]
    for row in range(len(first) - 1):
        for i in range(count):
            here = rows["plugged"][first[row] : first[row + 1]].copy()
            here["charger"] += i * sockets
            here["vehicle"] += i * (len(site["battery"]) - stationary)
            plugged.append(here)
    return replace(
        tables,
        site=site
        | {
            "charger": charger,
            "charger_curve": repeated(site["charger_curve"], 0),
            "observed": observed,
            "action": repeated(site["action"], actions),
            "battery": repeated(site["battery"], stationary),
            "battery_curve": repeated(site["battery_curve"], stationary),
        },
        rows=rows
        | {
            "plugged": np.concatenate(plugged),
            "first_plugged": first * count,
            "required_soc": np.zeros(0),
            "countdown": np.zeros(0, dtype=np.int64),
        },
        initial_soc=repeated(tables.initial_soc, stationary),
    )


def test_vehicles_that_need_several_rounds_of_lanes_charge_as_one(tables: Tables) -> None:
    count = records.LANES // 2 + 3
    many, one = opened(times(tables, count), 1), opened(tables, 1)
    sockets, vehicles = len(tables.site["charger"]), len(tables.site["battery"]) - 1
    assert np.diff(tables.rows["first_plugged"][:HOURS]).max() * count > records.LANES
    rng = np.random.default_rng(0)
    for _ in range(HOURS):
        actions = rng.uniform(-1.0, 1.0, (1, one.actions))
        one.step(actions)
        many.step(np.concatenate([actions[:, :-sockets], np.tile(actions[:, -sockets:], count)], axis=1))
        np.testing.assert_array_equal(one.state.soc[0, 0], many.state.soc[0, 0])
        each = many.state.soc[0, 1:].reshape(count, vehicles)
        np.testing.assert_array_equal(each, np.tile(one.state.soc[0, 1:], (count, 1)))
        took = many.out.energy[0, 0, records.CHARGING_KWH]
        np.testing.assert_allclose(took, count * one.out.energy[0, 0, records.CHARGING_KWH], rtol=1e-5, atol=1e-4)


def test_stationary_batteries_that_need_several_rounds_of_lanes_charge_as_one(tables: Tables) -> None:
    many = opened(tables, records.LANES + 6)
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (HOURS, many.copies, many.actions))
    for action in actions:
        many.step(action)
    for b in (0, records.LANES - 1, records.LANES, many.copies - 1):
        one = opened(tables, 1)
        one.begin(0, 0, 5 * b, HOURS, seed=b, charge=0.5)
        for action in actions:
            one.step(action[b : b + 1])
        np.testing.assert_array_equal(one.observation[0], many.observation[b])
        np.testing.assert_array_equal(one.state.soc[0], many.state.soc[b])


@pytest.mark.parametrize(
    ("record", "field"),
    [("battery", "wear"), ("battery", "minimum_energy"), ("charger", "efficiency"), ("charger", "discharge_min")],
)
def test_what_a_fleet_has_in_common_is_charged_as_if_it_had_not(tables: Tables, record: str, field: str) -> None:
    # One more vehicle and charger of another kind, which are never used.
    site = tables.site
    names = ("battery", "battery_curve", "charger", "charger_curve", "observed")
    other = {name: np.concatenate([site[name], site[name][-1:]]) for name in names}
    other["observed"]["at"][-1] = -1
    other[record][field][-1] += 0.01
    mixed = opened(replace(tables, site=site | other, initial_soc=np.append(tables.initial_soc, 0.5)), 3)
    alike = opened(tables, 3)
    called = njit(lambda *given: kernel._load_common_kind(*given))
    common = [called(s.state.lane[0], s.site.charger, s.site.battery[1:]) for s in (alike, mixed)]
    assert common == [True, False]
    rng = np.random.default_rng(1)
    for _ in range(HOURS):
        actions = rng.uniform(-1.0, 1.0, (3, alike.actions))
        for simulator in (alike, mixed):
            simulator.step(actions)
        np.testing.assert_array_equal(alike.observation, mixed.observation)
        np.testing.assert_array_equal(alike.out.energy, mixed.out.energy)
        np.testing.assert_array_equal(alike.state.soc, mixed.state.soc[:, :-1])


def test_a_vehicle_that_two_chargers_hold_takes_from_both(tables: Tables) -> None:
    first, plugged = tables.rows["first_plugged"], tables.rows["plugged"].copy()
    row = int(np.flatnonzero(np.diff(first) >= 2)[0])
    plugged["vehicle"][first[row] + 1] = vehicle = plugged["vehicle"][first[row]]
    shared = np.arange(len(tables.rows["shared"])) == row
    assert not tables.rows["shared"].any()
    simulator = opened(replace(tables, rows=tables.rows | {"plugged": plugged, "shared": shared}), 1)
    simulator.begin(0, 0, row, 1, seed=0)
    simulator.state.soc[0, 1:] = 0.1
    simulator.state.degraded[0, 1:] = capacity = simulator.site.battery["capacity"][1:]
    actions = np.zeros((1, simulator.actions))
    chargers = simulator.site.charger[plugged["charger"][first[row] : first[row] + 2]]
    actions[0] = -1.0
    actions[0, chargers["action"]] = 0.2 / chargers["charge_max"] * 2.0 - 1.0  # 0.2 kW each
    simulator.step(actions)
    stored = (simulator.state.soc[0, 1 + vehicle] - 0.1) * capacity[vehicle]
    np.testing.assert_allclose(stored, 0.4 * chargers["efficiency"][0], rtol=1e-4)


def test_a_state_goes_on_and_one_outside_the_rows_is_refused(tables: Tables) -> None:
    simulator = opened(tables, 3)
    actions = np.zeros((3, simulator.actions))
    for _ in range(HOURS):
        simulator.step(actions)
    before, rows = simulator.get_state(), len(tables.exogenous.hour)
    simulator.set_state(before)
    # The whole year is within the rows, and no hour more.
    for field, value in (("start", -1), ("start", rows), ("hours", 0), ("hours", 2**62), ("step", HOURS + 1), ("step", -1),
                         ("position", -1), ("position", 625)):  # fmt: skip
        state = simulator.get_state()
        state["copy"][field][1] = value
        with pytest.raises(ValueError, match=r"outside the rows|Mersenne Twister"):
            simulator.set_state(state)
    for name in ("soc", "previous_soc", "degraded"):
        state = simulator.get_state()
        state[name][0, 0] = np.nan
        with pytest.raises(ValueError, match="outside the rows"):
            simulator.set_state(state)
    for name, array in simulator.get_state().items():
        np.testing.assert_array_equal(array, before[name])


@pytest.fixture
def washing(tables: Tables) -> BatchSimulator:
    """A site with two appliances that the first action starts: one has a cycle of three hours and one of two, one has one."""
    appliance, cycle = np.zeros(2, dtype=records.APPLIANCE), np.zeros(6, dtype=records.CYCLE)
    appliance["threshold"], appliance["first"], appliance["end"] = 0.5, (0, 5), (5, 6)
    cycle["earliest"], cycle["latest"], cycle["deadline"] = (1, 1, 1, 8, 8, 8), (4, 4, 4, 9, 9, 9), (6, 6, 6, 10, 10, 9)
    cycle["steps"], cycle["energy"] = (3, 3, 3, 2, 2, 1), (1.0, 2.0, 3.0, 0.5, 0.25, 7.0)
    year = Year(replace(tables, site={**tables.site, "appliance": appliance, "cycle": cycle}), tables.rows["template"])
    simulator = BatchSimulator({0: year}, 1)
    simulator.begin(0, 0, 0, 12, seed=0)
    return simulator


def test_a_state_of_an_appliance_that_there_cannot_be_is_refused(washing: BatchSimulator) -> None:
    for _ in range(3):
        washing.step(np.ones((1, washing.actions)))
    sound = washing.get_state()
    washing.set_state(sound)
    assert sound["run"][0].tolist()[0] == (3, 0, -1, 1)
    for field, values in {"next": (-1, 1, 6), "current": (-2, 1, 3, 6), "missed": (2, 7), "started": (-3, 4)}.items():
        for value in values:
            state = washing.get_state()
            state["run"][field][0, 0] = value
            if (field, value) == ("current", 3):
                state["run"]["started"][0, 0] = 0  # longer ago than it lasts
            with pytest.raises(ValueError, match="outside the rows"):
                washing.set_state(state)


def test_an_episode_that_runs_into_the_next_year_is_refused(tables: Tables) -> None:
    year, rows = Year(tables, tables.rows["template"]), len(tables.exogenous.hour)
    simulator = BatchSimulator({0: year, 1: year}, 2)
    for copy, number in enumerate((0, 1)):
        simulator.begin(copy, number, 0, rows - 1, seed=0)
    simulator.set_state(simulator.get_state())
    state = simulator.get_state()
    state["copy"]["hours"][0] = rows
    with pytest.raises(ValueError, match="outside the rows"):
        simulator.set_state(state)


def test_sessions_are_told_of_in_runs_that_are_no_longer_than_what_is_recorded(tables: Tables) -> None:
    year, start, end = Year(tables, tables.rows["template"]), 24 * 7, tables.sessions.end
    short, long = (BatchSimulator({0: year}, 1, record=record) for record in (HOURS, len(tables.exogenous.hour)))
    for simulator in (short, long):
        # Of an earlier run nothing stays.
        for first in (0, start):
            simulator.begin(0, 0, first, HOURS, seed=0)
            for _ in range(HOURS):
                simulator.step(np.zeros((1, simulator.actions)))
    missing, owed = short.of_sessions(0, 0)
    np.testing.assert_array_equal((missing, owed), long.of_sessions(0, 0))
    assert missing.shape == owed.shape == end.shape
    assert (missing[tables.sessions.within(start, HOURS)] > 0.0).any()
    assert not missing[~tables.sessions.within(start, HOURS)].any()
    with pytest.raises(ValueError, match=f"a run of {HOURS + 1} hours"):
        short.begin(0, 0, 0, HOURS + 1, seed=0)
    state = short.get_state()
    state["copy"]["hours"] = HOURS + 1
    with pytest.raises(ValueError, match="outside the rows"):
        short.set_state(state)


@pytest.mark.parametrize("beyond", [10.0, -10.0])
def test_actions_outside_their_range_are_clipped(small_tables: Tables, beyond: float) -> None:
    nets = []
    for action in (np.sign(beyond), beyond):
        simulator = opened(small_tables, 1)
        simulator.step(np.full((1, simulator.actions), action))
        nets.append(simulator.out.energy.copy())
    assert np.array_equal(*nets)
