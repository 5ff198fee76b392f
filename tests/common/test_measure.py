"""How measures are joined over years, shown, and stored in a file's fields."""

import math

import pandas as pd
import pytest

from common.measure import (
    BASIS,
    BY_HOURS,
    COMFORT,
    MOST,
    SCORE,
    SITE,
    VEHICLES_SERVED,
    Measure,
    Scale,
    by_the_year,
    services,
    shortfall,
)
from common.units import YEAR
from envs.objective.columns import measures

YEARS = (
    {"hours": 100, "score": 0.1, "bill": 10.0, "peak_kw": 5.0, "ev_served": 0.5, "ev_required_kwh": 30.0},
    {"hours": 300, "score": 0.3, "bill": 20.0, "peak_kw": 4.0, "ev_served": 1.0, "ev_required_kwh": 10.0},
)
BILL = Measure("bill", "currency")
PEAK = Measure("peak_kw", "kW", "highest import", over=MOST, label="peak")
SERVED = Measure("ev_served", "1", "delivered", "more", "ev_required_kwh", label="vehicles", needs="chargers")
CO2 = Measure("co2_kg", "kg", label="CO2")


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


def test_a_site_lacks_what_no_policy_has_a_value_of_or_an_amount() -> None:
    people = Measure("unmet_degree_hours", "degree h", needs="dynamics")
    assert [people.is_lacking(values) for values in ((0.0, 0.0), (0.0, 2.0), (math.nan, 0.0))] == [True, False, True]
    assert [SERVED.is_lacking(values) for values in ((math.nan, math.nan), (0.0, 0.0))] == [True, False], (
        "a share of 0 is known"
    )
    assert not Measure("peak_kw").is_lacking((math.nan, 0.0)), "every site has it"


def test_money_has_a_unit_where_the_site_says_it() -> None:
    assert BILL.shown(3_574_000.0) == "3,574 thousand"
    assert BILL.paid_in("PEN").shown(3_574_000.0) == "3,574 thousand PEN"
    assert BILL.paid_in("").shown(12.34) == "12.3"
    assert PEAK.paid_in("PEN") == PEAK


def test_values_are_shown_with_their_unit() -> None:
    assert PEAK.shown(2649.6) == "2,650 kW"
    assert SERVED.shown(0.951234) == "0.951"
    assert CO2.shown(3_123_456.0) == "3,123 t"
    assert CO2.exact(3_123_456.0) == "3,123,456 kg"
    assert SERVED.exact(0.951234) == "0.9512"
    assert SCORE.shown(0.05) == "+0.0500"
    shown = {0.0: "+0.0000", -1e-9: "+0.0000", -4.14e-5: "-4.14e-05", 512.25: "+512.2", -5_000_000.25: "-5,000,000"}
    assert {value: SCORE.shown(value) for value in shown} == shown
    assert [Scale.of([-4.14e-5], unit).text(-4.14e-5) for unit in ("", "kWh")] == ["-4.14e-05", "-0.000"]


def test_a_column_is_shown_in_one_unit() -> None:
    assert CO2.column([3_123_456.0, 940_000.0, None]) == ("CO2, t", ["3,123", "940", ""])
    assert BILL.column([24.5, 3.0]) == ("bill", ["24.50", "3.00"])
    assert SCORE.column([0.05, float("nan")]) == ("score", ["+0.0500", ""])


def test_a_heading_names_the_time_of_amounts() -> None:
    assert BASIS == "a year of 8,760 h"
    assert by_the_year("KPIs") == by_the_year("KPIs", [SCORE, BILL]) == "KPIs; amounts of a year of 8,760 h"
    assert by_the_year("KPIs", [SCORE, PEAK, SERVED, Measure("daily_peak_kw", over=BY_HOURS)]) == "KPIs"


@pytest.mark.parametrize(
    ("amounts", "unit", "heading", "texts"),
    [
        ([25_312.4, 24_001.0], "kWh", "a, kWh", ["25,312", "24,001"]),
        ([6_114_171.0, 100_000.0], "kWh", "a, MWh", ["6,114", "100"]),
        ([9_876_543_210.0], "kg", "a, kt", ["9,877"]),
        ([98_765_432_109.0], "", "a, million", ["98,765"]),
        ([3_574_000.0], "PEN", "a, thousand PEN", ["3,574"]),
        ([99_999.0], "kg", "a, kg", ["99,999"]),
        ([7.3514, 5.2], "kW", "a, kW", ["7.35", "5.20"]),
        ([0.0712], "kW", "a, kW", ["0.071"]),
        ([1_611.6, 1.0, 0.0, None, math.nan, -812.0], "", "a", ["1,612", "1", "0", "", "", "-812"]),
        ([0.0], "kg", "a, kg", ["0"]),
        ([], "kg", "a, kg", []),
    ],
)
def test_a_column_has_one_unit_and_one_number_of_decimals(
    amounts: list[float | None], unit: str, heading: str, texts: list[str]
) -> None:
    scale = Scale.of(amounts, unit)
    assert scale.heading("a") == heading
    assert [scale.text(amount) for amount in amounts] == texts


def test_a_shortfall_is_a_part_of_the_bound() -> None:
    assert [shortfall(value, ">=", 0.8) for value in (0.9, 0.8, 0.6)] == pytest.approx([0.0, 0.0, 0.25])
    assert [shortfall(value, "<=", 0.8) for value in (0.8, 1.0)] == pytest.approx([0.0, 0.25])
    assert shortfall(0.3, "<=", 0.0) == 0.3
    assert shortfall(math.nan, ">=", 0.8) == 1.0


def test_a_winner_keeps_of_each_service_what_the_site_has_without_control_unless_it_is_said() -> None:
    vehicles = {"uncontrolled_ev_required_kwh": 10.0, "uncontrolled_ev_served": 0.8}
    people = {"uncontrolled_occupied_hours": 50.0, "uncontrolled_discomfort": 0.2}
    assert VEHICLES_SERVED.bound([vehicles]) == pytest.approx(0.95 * 0.8)
    assert COMFORT.bound([people]) == pytest.approx(1.0 - 0.95 * 0.8)
    for rows, expected in (
        ([{**vehicles, **people}], [VEHICLES_SERVED, COMFORT]),
        ([vehicles], [VEHICLES_SERVED]),
        ([people], [COMFORT]),
        ([{"hours": 100}], []),
        ([], []),
    ):
        assert services(rows) == expected
    assert services([{**vehicles, **people}], ["discomfort", "peak_kw"]) == [VEHICLES_SERVED]
    assert services([{**vehicles, **people}], ["departures_met"]) == [COMFORT]


def test_services_are_measured_as_the_kpis_of_their_names() -> None:
    for own in (VEHICLES_SERVED, COMFORT):
        kpi = measures()[own.measure.name]
        assert (own.measure.better, own.measure.over) == (kpi.better, kpi.over)
        assert own.is_stated([kpi.name])
