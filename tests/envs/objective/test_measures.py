"""What can be aimed at, and how the values of several years become one."""

import math

import pytest

from common.units import YEAR
from envs.objective.columns import evaluation_columns
from envs.objective.kpis import A_YEAR, BY_HOURS, KPIS, MOST
from envs.objective.measures import ALIASES, MEASURES

YEARS = (
    {"hours": 100, "score": 0.1, "bill": 10.0, "peak_kw": 5.0, "ev_served": 0.5, "ev_required_kwh": 30.0},
    {"hours": 300, "score": 0.3, "bill": 20.0, "peak_kw": 4.0, "ev_served": 1.0, "ev_required_kwh": 10.0},
)


def test_the_score_every_kpi_and_every_ratio_can_be_measured() -> None:
    own = [name for name in evaluation_columns() if not name.startswith(("term_", "uncontrolled_", "changed_"))]
    assert list(MEASURES) == ["score", *own]


def test_a_mean_is_weighted_by_a_column_that_there_is() -> None:
    assert {kpi.over for kpi in KPIS.values()} <= {A_YEAR, MOST, BY_HOURS, *KPIS}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("score", (0.1 * 100 + 0.3 * 300) / 400),
        # Amounts are those of a year, so a bound means the same on every split.
        ("bill", 30.0 / 400 * YEAR),
        ("peak_kw", 5.0),
        ("ev_served", (0.5 * 30.0 + 1.0 * 10.0) / 40.0),
    ],
)
def test_years_become_one_value(name: str, expected: float) -> None:
    assert MEASURES[name].value(YEARS) == pytest.approx(expected)


def test_a_year_without_vehicles_does_not_count_for_their_share() -> None:
    none = {"hours": 50, "ev_served": math.nan, "ev_required_kwh": 0.0}
    assert MEASURES["ev_served"].value([*YEARS, none]) == pytest.approx(0.625)
    assert math.isnan(MEASURES["ev_served"].value([none]))


@pytest.mark.parametrize("name", ["peak_kw", "co2_kg", "ev_served", "score"])
def test_without_a_row_there_is_no_value(name: str) -> None:
    assert math.isnan(MEASURES[name].value([]))


def test_a_column_that_is_missing_has_no_value() -> None:
    assert math.isnan(MEASURES["co2_kg"].value(YEARS))


def test_values_are_shown_with_their_unit() -> None:
    assert MEASURES["peak_kw"].shown(2649.6) == "2,650 kW"
    assert MEASURES["ev_served"].shown(0.951234) == "0.951"
    assert MEASURES["co2_kg"].shown(3_123_456.0) == "3,123 t"
    assert MEASURES["co2_kg"].exact(3_123_456.0) == "3,123,456 kg"
    assert MEASURES["ev_served"].exact(0.951234) == "0.9512"
    assert MEASURES["score"].shown(0.05) == "+0.0500"


def test_a_column_has_one_unit_and_one_number_of_decimals() -> None:
    assert MEASURES["co2_kg"].column([3_123_456.0, 940_000.0, None]) == ("co2, t", ["3,123", "940", ""])
    assert MEASURES["bill"].column([24.5, 3.0]) == ("bill", ["24.50", "3.00"])
    assert MEASURES["score"].column([0.05, float("nan")]) == ("score", ["+0.0500", ""])


def test_a_gain_is_a_part_of_what_the_uncontrolled_site_has_and_better_is_above_0() -> None:
    row = {
        "hours": 100, "score": 0.2, "bill": 80.0, "uncontrolled_bill": 100.0, "pv_kwh": 5.0, "uncontrolled_pv_kwh": 5.0,
        "self_consumption": 0.6, "uncontrolled_self_consumption": 0.5,
        "battery_cycles": 2.0, "uncontrolled_battery_cycles": 0.0,
        "citylearn_cost_total": 0.9, "energy_cost": -5.0, "uncontrolled_energy_cost": -10.0,
    }  # fmt: skip
    expected = {
        "score": 0.2, "bill": 0.2, "self_consumption": 0.2, "citylearn_cost_total": 0.1,
        "energy_cost": -0.5,  # where the site earns, earning less is worse
        "battery_cycles": -2.0 * YEAR / 100,  # nothing to be a part of
    }  # fmt: skip
    assert {name: MEASURES[name].gain([row]) for name in expected} == pytest.approx(expected)


def test_short_names_are_of_measures_and_hide_none() -> None:
    assert set(ALIASES.values()) <= set(MEASURES)
    assert not set(ALIASES) & set(MEASURES)
