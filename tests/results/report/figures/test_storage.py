"""Batteries and vehicles."""

import pytest

from results.report.figures.storage import by_hour, storage
from tests.results.report.made import hours


def test_batteries_are_told_with_their_hours_and_a_site_without_any() -> None:
    frame = hours(10)
    frame.loc[frame["hour"] == 12, "battery_kwh"] = 10.0
    assert storage(frame).answer == "Batteries give 10.0 kWh a day, charge most at 12:00 and discharge most at 18:00."
    assert storage(frame.assign(battery_kwh=0.0)).answer.startswith("Not at all:")


def test_the_mean_day_has_its_hours() -> None:
    assert by_hour(hours())["battery_kwh"].tolist() == pytest.approx([-5.0 if 18 <= hour < 20 else 0.0 for hour in range(24)])
