"""Years that no tables can hold are refused, and bounds and owners of observations follow from the site.

That the numbers of tables are CityLearn's own is what `tests/envs/batch_backend/test_kernel.py` compares, bit by bit.
"""

from pathlib import Path

import numpy as np
import pytest

from common.errors import ScenarioError
from envs.citylearn_backend.simulator import SIMULATORS, CityLearnSimulator
from envs.citylearn_backend.tables import _events, _points, read_buildings, read_layout, read_tables
from envs.district import COMMON
from envs.observation import MARGIN, PEAK_NAMES, ObservationLayout
from envs.scenarios.scenario import scenario
from envs.scenarios.schema_shape import OBSERVATIONS
from envs.scenarios.tariff import DemandCharge
from tests.districts import FOUR, OWN
from tests.envs.models import with_rooms
from tests.envs.schema_changes import edit


def test_a_ratio_of_another_type_which_rounds_otherwise_is_refused(
    simulator: CityLearnSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulator.env.buildings[0].electrical_storage, "time_step_ratio", 1.0)
    with pytest.raises(ScenarioError, match="no minutes"):
        read_tables(simulator)


def test_a_curve_of_one_point_is_refused() -> None:
    with pytest.raises(ScenarioError, match="single point"):
        _points(np.array([[0.0], [1.0]]))


def test_of_several_chargers_the_first_decides() -> None:
    state = np.array([[3, 3], [1, 1]])
    named = np.zeros((2, 2), dtype=np.int16)
    given = np.array([[np.nan, np.nan], [0.3, 0.7]], dtype=np.float32)
    assert _events(state, named, given, vehicles=1)["soc"][0, 0] == np.float32(0.3)


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
    with SIMULATORS.lend(scenario(str(four_buildings)), 0) as simulator:
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


def test_every_observation_that_a_schema_may_name_is_known(small_schema: Path, tmp_path: Path) -> None:
    path = with_rooms(small_schema, tmp_path)
    entry = {"active": True, "shared_in_central_agent": False}
    edit(path, lambda schema: schema["observations"].update(dict.fromkeys(OBSERVATIONS, entry)))
    names = read_tables(CityLearnSimulator(path, with_reward=False)).names
    # CityLearn leaves out what a site of whole hours has no column for.
    assert OBSERVATIONS - set(names) <= {"minutes", "seconds"}
