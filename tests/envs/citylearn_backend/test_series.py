"""Series and sessions of a year are those of the files."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from envs.citylearn_backend.series import AWAY, COMING, CONNECTED, current_soc, read_sessions
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.errors import ScenarioError


@pytest.fixture(scope="module")
def simulator(small_schema: Path) -> CityLearnSimulator:
    return CityLearnSimulator(small_schema, with_reward=False)


def test_sessions_are_those_of_the_files(simulator: CityLearnSimulator) -> None:
    sessions = simulator.sessions
    for i in (0, len(sessions.end) // 2, len(sessions.end) - 1):
        series = simulator.chargers[sessions.charger[i]].charger_simulation
        state = series.electric_vehicle_charger_state
        simulator.begin(0, simulator.rows - 1, 0)
        state = series.electric_vehicle_charger_state
        assert np.all(state[sessions.start[i] : sessions.end[i] + 1] == 1)
        assert state[sessions.start[i] - 1] != 1
        assert state[sessions.end[i] + 1] != 1
        assert series.electric_vehicle_departure_time[sessions.start[i]] == sessions.end[i] - sessions.start[i] + 1


def test_a_vehicle_that_the_schema_does_not_know_is_named(small_schema: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(small_schema.parent, tmp_path / "copy")
    path = folder / "motorcycle_001.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(",motorcycle_001,", ",bicycle,"), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"motorcycle_001, row \d+: vehicle 'bicycle'"):
        CityLearnSimulator(folder / "schema.json", with_reward=False)


def charger(state: list[int], countdown: list[int], arrival: list[float], **more: object) -> SimpleNamespace:
    """A charger with one vehicle named `a`, as CityLearn has it."""
    rows = len(state)
    series = SimpleNamespace(
        electric_vehicle_charger_state=np.array(state),
        electric_vehicle_id=np.array(["a"] * rows, dtype=object),
        electric_vehicle_session_id=np.array([np.nan] * rows, dtype=object),
        electric_vehicle_departure_time=np.array(countdown),
        electric_vehicle_required_soc_departure=np.full(rows, 0.8),
        electric_vehicle_estimated_soc_arrival=np.array(arrival),
        **more,
    )
    return SimpleNamespace(charger_id="c", charger_simulation=series)


def vehicle() -> SimpleNamespace:
    return SimpleNamespace(name="a", battery=SimpleNamespace(capacity=5.0))


def test_an_announced_vehicle_arrives_with_the_charge_that_was_announced() -> None:
    state = [AWAY, COMING, CONNECTED, CONNECTED, AWAY]
    found = read_sessions([charger(state, [0, 0, 2, 1, 0], [-0.1, 0.3, 0.9, 0.9, -0.1])], [vehicle()], 5)
    assert (found.start.tolist(), found.end.tolist()) == ([2], [3])
    assert found.arrival_soc.tolist() == [0.3]
    assert found.required_kwh == pytest.approx([2.5])


def test_a_measured_charge_goes_before_an_announced_one() -> None:
    state = [AWAY, COMING, CONNECTED, AWAY]
    measured = {"electric_vehicle_current_soc": np.array([np.nan, np.nan, 0.6, np.nan])}
    found = read_sessions([charger(state, [0, 0, 1, 0], [-0.1, 0.3, -0.1, -0.1], **measured)], [vehicle()], 4)
    assert found.arrival_soc.tolist() == [0.6]


def test_a_countdown_that_starts_again_begins_a_new_session() -> None:
    state = [AWAY, *[CONNECTED] * 4, AWAY]
    found = read_sessions([charger(state, [0, 2, 1, 2, 1, 0], [-0.1, 0.2, 0.2, 0.4, 0.4, -0.1])], [vehicle()], 6)
    assert list(zip(found.start.tolist(), found.end.tolist(), strict=True)) == [(1, 2), (3, 4)]
    assert found.arrival_soc.tolist() == [0.2, 0.4]


def test_a_session_that_the_data_cut_off_does_not_count() -> None:
    found = read_sessions([charger([AWAY, CONNECTED, CONNECTED], [0, 5, 4], [-0.1, 0.2, 0.2])], [vehicle()], 3)
    assert len(found.end) == 0


def test_measured_charges_outside_0_to_1_are_none() -> None:
    measured = {"electric_vehicle_current_soc": np.array([-0.1, 0.0, 1.0, 80.0])}
    found = current_soc(charger([AWAY] * 4, [0] * 4, [0.0] * 4, **measured), 4)
    assert np.array_equal(found, [np.nan, 0.0, 1.0, np.nan], equal_nan=True)
    assert np.isnan(current_soc(charger([AWAY] * 4, [0] * 4, [0.0] * 4), 4)).all()
