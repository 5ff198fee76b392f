"""Numbers in words: three significant digits, units that fit, lists."""

import math

import pytest

from results.report.words import duration, listed, number, percent, plain, score, unit_for


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (0.22278, "0.223"),
        (9.996, "10.0"),
        (1234.5, "1,230"),
        (-0.0005, "-0.000500"),
        (1e-6, "1.00e-06"),
        (math.nan, "none"),
    ],
)
def test_a_number_has_three_significant_digits(value: float, shown: str) -> None:
    assert number(value) == shown


def test_scores_have_their_sign_and_settings_have_no_digits_too_many() -> None:
    assert (score(0.05), score(-0.05)) == ("+0.0500", "-0.0500")
    assert (plain(64.0), plain(0.12345)) == ("64", "0.123")


@pytest.mark.parametrize(("part", "shown"), [(0.2174, "21.7 %"), (1.0, "100 %"), (12.0, "1,200 %"), (math.nan, "none")])
def test_parts_are_per_cent(part: float, shown: str) -> None:
    assert percent(part) == shown


def test_the_unit_fits_the_largest_value() -> None:
    assert unit_for("kWh", 999.0)(999.0) == "999 kWh"
    assert unit_for("kWh", 6.1e6)(6.1e6) == "6.10 GWh"
    assert unit_for("kg", 4000.0)(400.0) == "0.400 t"
    assert unit_for("", 5e9)(5.79e9) == "5,790 million"


def test_times_have_their_two_largest_units() -> None:
    assert [duration(seconds) for seconds in (0.5, 59, 3725, 90_000)] == ["0.500 s", "59 s", "1 h 2 min", "1 d 1 h"]


def test_lists() -> None:
    assert [listed(names) for names in ([], ["a"], ["a", "b", "c"])] == ["none", "a", "a, b and c"]
