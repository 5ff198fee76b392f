"""How measures are joined over years, shown, and stored in a file's fields."""

import math

import pandas as pd
import pytest

from common.measure import BASIS, BY_HOURS, MOST, SCORE, SITE, Measure, by_the_year
from common.units import YEAR

YEARS = (
    {"hours": 100, "score": 0.1, "bill": 10.0, "peak_kw": 5.0, "ev_served": 0.5, "ev_required_kwh": 30.0},
    {"hours": 300, "score": 0.3, "bill": 20.0, "peak_kw": 4.0, "ev_served": 1.0, "ev_required_kwh": 10.0},
)
BILL = Measure("bill", "currency")
PEAK = Measure("peak_kw", "kW", "highest import", over=MOST, label="peak")
SERVED = Measure("ev_served", "1", "delivered", "more", "ev_required_kwh", label="vehicles", needs="chargers")
CO2 = Measure("co2_kg", "kg")


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (SCORE, (0.1 * 100 + 0.3 * 300) / 400),
        # Amounts are those of a year, so a bound means the same on every split.
        (BILL, 30.0 / 400 * YEAR),
        (PEAK, 5.0),
        (SERVED, (0.5 * 30.0 + 1.0 * 10.0) / 40.0),
        (CO2, math.nan),  # a column that is missing
    ],
)
def test_years_become_one_value(measure: Measure, expected: float) -> None:
    frame = pd.DataFrame(YEARS)
    before = pd.DataFrame({SITE + name: frame[name] for name in frame if name != "hours"}).assign(hours=frame["hours"])
    for years, prefix in ((YEARS, ""), (frame, ""), (before, SITE)):
        assert measure.value(years, prefix) == pytest.approx(expected, nan_ok=True)
    assert math.isnan(measure.value([]))


def test_a_year_without_a_value_leaves_none_but_one_without_vehicles_does_not_count_for_their_share() -> None:
    none = {"hours": 50, "ev_served": math.nan, "ev_required_kwh": 0.0, "bill": None}
    assert SERVED.value([*YEARS, none]) == pytest.approx(0.625)
    assert math.isnan(SERVED.value([none]))
    assert math.isnan(BILL.value([*YEARS, none]))


@pytest.mark.parametrize("measure", [SCORE, BILL, PEAK, SERVED, Measure("departures", better="neither", kind="int64")])
def test_a_field_of_a_file_gives_back_what_was_written(measure: Measure) -> None:
    assert Measure.of(measure.name, measure.kind, measure.metadata) == measure
    assert Measure.of(measure.name, "string", measure.metadata) is None
    assert Measure.of(measure.name, measure.kind, {"unit": "1", "meaning": "no measure"}) is None


def test_what_may_be_nothing() -> None:
    assert [own.may_be_nothing for own in (SERVED, Measure("battery_cycles", needs="battery"), BILL)] == [True, True, False]


def test_values_are_shown_with_their_unit() -> None:
    assert PEAK.shown(2649.6) == "2,650 kW"
    assert SERVED.shown(0.951234) == "0.951"
    assert CO2.shown(3_123_456.0) == "3,123 t"
    assert CO2.exact(3_123_456.0) == "3,123,456 kg"
    assert SERVED.exact(0.951234) == "0.9512"
    assert SCORE.shown(0.05) == "+0.0500"


def test_a_column_has_one_unit_and_one_number_of_decimals() -> None:
    assert CO2.column([3_123_456.0, 940_000.0, None]) == ("co2, t", ["3,123", "940", ""])
    assert BILL.column([24.5, 3.0]) == ("bill", ["24.50", "3.00"])
    assert SCORE.column([0.05, float("nan")]) == ("score", ["+0.0500", ""])


def test_a_heading_names_the_time_of_amounts() -> None:
    assert BASIS == "a year of 8,760 h"
    assert by_the_year("KPIs") == by_the_year("KPIs", [SCORE, BILL]) == "KPIs; amounts of a year of 8,760 h"
    assert by_the_year("KPIs", [SCORE, PEAK, SERVED, Measure("daily_peak_kw", over=BY_HOURS)]) == "KPIs"
