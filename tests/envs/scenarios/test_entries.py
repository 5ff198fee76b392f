"""The series of a charger says who is there, and when it leaves with what."""

import io

import pandas as pd

from envs.scenarios.entries import Session, charger_csv


def test_a_chargers_series_tells_each_hour_of_a_session_how_long_it_lasts() -> None:
    series = pd.read_csv(io.StringIO(charger_csv("home", [Session(1, 4, 0.25, 0.9)], rows=6)))
    assert series["electric_vehicle_charger_state"].tolist() == [3, 1, 1, 1, 3, 3]
    assert series["electric_vehicle_departure_time"].dropna().tolist() == [3, 2, 1]
    assert series["electric_vehicle_required_soc_departure"].dropna().tolist() == [0.9, 0.9, 0.9]
    assert series["electric_vehicle_estimated_soc_arrival"].dropna().tolist() == [0.25]
    assert series["electric_vehicle_id"].dropna().unique().tolist() == ["home"]
