"""Vehicles, their chargers and their charge on arrival."""

import numpy as np

from envs.batch_backend import records
from envs.batch_backend.tables import Tables
from envs.citylearn_backend.schedule import _events


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
