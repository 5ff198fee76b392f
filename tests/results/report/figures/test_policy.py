"""Sentences about a policy, on hours with a known answer."""

import pandas as pd
import pytest

from results.report.figures import policy
from tests.results.report.made import hours


def test_what_it_saves_is_said_with_its_size() -> None:
    answer = policy.savings(hours(10)).answer
    assert answer == (
        "Over 10 days the policy lowers import by 15.6 % (3.65 MWh a year), energy cost by 15.6 % (365 a year), CO2 by "
        "15.6 % (1.82 t a year) and peak by 50.0 % (5.00 kW), against the same site without control "
        "(batteries idle, vehicles charge at once)."
    )


def test_a_policy_that_does_nothing_or_harm_is_told_so() -> None:
    assert policy.savings(hours(10, 1.0)).answer == "Nothing: over 10 days it is as without control."
    assert policy.savings(hours(10, 1.5)).answer.startswith("Nothing: over 10 days the policy raises import by 15.6 %")


def test_the_peak_and_the_hundredth_of_hours_are_said() -> None:
    assert policy.duration(hours(10)).answer.startswith("The highest import falls from 10.0 kW to 5.00 kW;")
    assert "The highest import stays at 10.0 kW" in policy.duration(hours(10, 1.0)).answer


def test_the_bill_names_the_best_month_and_dearer_ones() -> None:
    assert policy.bill(hours()).answer == (
        "Energy costs 502 instead of 595, 15.6 % less, most in February (62.0); no month costs more."
    )
    assert policy.bill(hours(62, 1.2)).answer.endswith("January and February cost more.")
    assert policy.bill(hours().assign(price=0.0)).answer == "Nothing: energy costs nothing on this site."


def test_batteries_are_told_with_their_hours_and_a_site_without_any() -> None:
    frame = hours(10)
    frame.loc[frame["hour"] == 12, "battery_kwh"] = 10.0
    assert policy.storage(frame).answer == "Batteries give 10.0 kWh a day, charge most at 12:00 and discharge most at 18:00."
    assert policy.storage(frame.assign(battery_kwh=0.0)).answer.startswith("Not at all:")


@pytest.mark.parametrize("count", [1, 30, 24 * 40])
def test_any_number_of_hours_gives_all_figures(count: int) -> None:
    figures = policy.figures(hours(40).head(count))
    assert [figure.name for figure in figures] == [
        "savings", "week", "year", "duration-curve", "monthly-bill", "batteries-and-vehicles"
    ]  # fmt: skip
    assert all(figure.answer.endswith(".") for figure in figures)
    assert all(isinstance(figure.table, pd.DataFrame) for figure in figures if figure.panels)
