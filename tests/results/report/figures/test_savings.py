"""What a policy saves."""

import pytest

from results.report.figures.savings import savings, sums
from tests.results.report.made import hours


def test_what_it_saves_is_said_with_its_size() -> None:
    answer = savings(hours(10), "EUR").answer
    assert answer == (
        "Over 10 days the policy lowers import by 15.6 % (3.65 MWh a year), energy cost by 15.6 % (365 EUR a year), "
        "CO2 by 15.6 % (1.82 t a year) and peak by 50.0 % (5.00 kW), against the same site without control "
        "(batteries idle)."
    )


def test_a_policy_that_does_nothing_or_harm_is_told_so() -> None:
    assert savings(hours(10, 1.0)).answer == "Nothing: over 10 days it is as without control."
    assert savings(hours(10, 1.5)).answer.startswith("Nothing: over 10 days the policy raises import by 15.6 %")


def test_sums_are_those_of_a_year() -> None:
    total = sums(hours(10))
    assert total.loc["uncontrolled", "import_kwh"] == pytest.approx(365 * (22 * 2 + 20))
    assert total.loc["policy", "import_kwh"] == pytest.approx(365 * (22 * 2 + 10))
    assert total.loc["policy", "co2_kg"] == pytest.approx(0.5 * total.loc["policy", "import_kwh"])
    assert total["peak_kw"].tolist() == [5.0, 10.0]
