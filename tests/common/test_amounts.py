"""Amounts have the unit of their size, three significant digits, and line up."""

import math

import pytest

from common.amounts import Scale


@pytest.mark.parametrize(
    ("amounts", "unit", "heading", "texts"),
    [
        ([25_312.4, 24_001.0], "kWh", "a, kWh", ["25,312", "24,001"]),
        ([4_012.3, 867.1], "kg", "a, kg", ["4,012", "867"]),
        ([6_114_171.0, 100_000.0], "kWh", "a, MWh", ["6,114", "100"]),
        ([3_028_557.0], "kg", "a, t", ["3,029"]),
        ([9_876_543_210.0], "kg", "a, kt", ["9,877"]),
        ([98_765_432_109.0], "", "a, million", ["98,765"]),
        ([99_999.0], "kg", "a, kg", ["99,999"]),
        ([7.3514, 5.2], "kW", "a, kW", ["7.35", "5.20"]),
        ([0.0712], "kW", "a, kW", ["0.071"]),
        ([253.1, 12.34], "kg", "a, kg", ["253.1", "12.3"]),
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


@pytest.mark.parametrize("size", [0.0123, 1.5, 99.4, 12_345.6, 99_999.4, 1e5, 7.77e7, 3.3e9])
@pytest.mark.parametrize("unit", ["kWh", "kg", "kW", ""])
def test_no_amount_near_the_largest_loses_its_third_digit(size: float, unit: str) -> None:
    amounts = [size, size / 50.0]
    scale = Scale.of(amounts, unit)
    for amount in amounts:
        shown = float(scale.text(amount).replace(",", "")) / scale.factor
        assert abs(shown - amount) <= max(0.005 * amount, 0.0005)
