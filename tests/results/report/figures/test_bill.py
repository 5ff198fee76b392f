"""What each month saves."""

import pytest

from results.report.figures.bill import bill, by_month
from tests.results.report.made import hours


def test_the_bill_names_the_best_month_and_dearer_ones() -> None:
    assert bill(hours()).answer == (
        "Energy costs 502 instead of 595, 15.6 % less, most in February (62.0); no month costs more."
    )
    assert bill(hours(62, 1.2)).answer.endswith("January and February cost more.")
    assert bill(hours().assign(price=0.0)).answer == "Nothing: energy costs nothing on this site."


def test_months_have_their_cost() -> None:
    assert by_month(hours())["saved"].tolist() == pytest.approx([31 * 10 * 0.1, 31 * 10 * 0.2])
