"""Buildings as CityLearn has them."""

from pathlib import Path

import pytest

from envs.citylearn_backend.buildings import read_buildings
from envs.citylearn_backend.pool import SIMULATORS
from envs.district import COMMON
from tests.districts import FOUR, OWN


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
