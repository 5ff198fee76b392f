"""Vehicles as one, and the division of an hour's energy among them."""

from pathlib import Path

import numpy as np
import pytest

from envs.environments.year_cache import year_reference, year_tables
from envs.planning.mpc_vehicles import Need, Vehicles
from envs.scenarios.scenario import scenario


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
