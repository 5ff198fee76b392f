"""Limits are wide enough for real sites, and narrow enough for slips; the documentation shows them."""

from pathlib import Path

import pytest

from envs.scenarios import limits
from envs.scenarios.limits import Limit

DOCS = Path(__file__).parents[3] / "docs" / "scenarios.md"


@pytest.mark.parametrize(
    ("column", "real", "slip"),
    [
        ("non_shiftable_load", 300_000.0, 1e30),  # a steelworks
        ("outdoor_dry_bulb_temperature", 56.7, 313.15),  # the record; kelvin
        ("outdoor_dry_bulb_temperature_predicted_2", -89.2, 1e6),
        ("outdoor_relative_humidity_predicted_3", 109.99, 1e3),  # of a public data set
        ("direct_solar_irradiance", 1298.0, 5000.0),
        ("diffuse_solar_irradiance", -4.0, -500.0),  # a sensor at night
        ("carbon_intensity", 1.9, 452.0),  # lignite; grams
        ("electricity_pricing", -0.5, -1e7),  # a windy Sunday
        ("electricity_pricing", 3000.0, 1e12),  # Vietnamese dong
        ("solar_generation", 1400.0, 1e5),
        ("day_type", 8, 9),
        ("hour", 24, 12.5),
    ],
)
def test_real_values_pass_and_slips_do_not(column: str, real: float, slip: float) -> None:
    assert limits.SERIES[column].holds(real)
    assert not limits.SERIES[column].holds(slip)


def test_a_limit_says_what_it_wants() -> None:
    assert Limit(0, 5, "").words == "a number from 0 to 5"
    assert Limit(0, 5, "", above=True).words == "a number above 0 and at most 5"
    assert Limit(1, 12, "", whole=True).words == "a whole number from 1 to 12"
    assert Limit(3600, 3600, "").words == "3600"


def test_nan_is_within_no_limit() -> None:
    assert not Limit(-1, 1, "").holds(float("nan"))


def test_the_documentation_shows_the_limits_of_all_series() -> None:
    rows = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for column, limit in limits.SERIES.items():
        name = column.split("_predicted_")[0]
        row = next((line for line in rows if f"`{name}`" in line), "")
        assert f"{limit.low:,.10g} to {limit.high:,.10g}" in row, column
