"""The demand charge, by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from common.errors import ScenarioError
from envs.scenarios.tariff import FILE_NAME, DemandCharge, MonthPeaks, currency, demand_costs, month_shares, write_tariff

TARIFF = DemandCharge(peak_hours=(18, 19), peak_price=10.0, off_peak_excess_price=4.0)


def test_a_month_costs_its_peak_and_the_excess_outside() -> None:
    assert TARIFF.month(100.0, 80.0) == 1000.0
    assert TARIFF.month(100.0, 130.0) == 1000.0 + 4.0 * 30.0


def test_rises_add_up_to_the_charge_of_the_month_even_where_one_is_negative() -> None:
    peaks = MonthPeaks(TARIFF)
    peaks.enter(1)
    rises = [peaks.add(12, 50.0), peaks.add(18, 20.0), peaks.add(18, 60.0), peaks.add(12, 55.0), peaks.add(12, -5.0)]
    assert rises == [200.0, 120.0, 10.0 * 60 - 320.0, 0.0, 0.0]
    assert sum(rises) == TARIFF.month(60.0, 55.0)


def test_a_rise_may_be_negative_where_the_peak_price_is_the_lower_one() -> None:
    cheap = DemandCharge((18,), peak_price=1.0, off_peak_excess_price=4.0)
    peaks = MonthPeaks(cheap)
    peaks.enter(1)
    assert [peaks.add(12, 50.0), peaks.add(18, 50.0)] == [200.0, -150.0]


def test_a_price_of_a_kilowatt_is_one_of_the_energy_of_a_step(tmp_path: Path) -> None:
    write_tariff(tmp_path, "S/", TARIFF)
    (tmp_path / "schema.json").write_text(json.dumps({"seconds_per_time_step": 900}))
    # 25 kWh in a quarter of an hour are 100 kW.
    assert DemandCharge.of(tmp_path / "schema.json").month(25.0, 32.5) == TARIFF.month(100.0, 130.0)  # type: ignore[union-attr]


def test_a_new_month_starts_from_nothing() -> None:
    month, hour = np.array([1, 1, 2, 2]), np.array([12, 18, 12, 18])
    costs = demand_costs(TARIFF, month, hour, np.array([0.0, 50.0, 0.0, 30.0]))
    assert costs.tolist() == [0.0, 500.0, 0.0, 300.0]


def test_part_of_a_month_is_charged_that_part() -> None:
    month = np.array([1] * 10 + [2] * 4 + [1] * 6)
    assert month_shares(month, 0, 20).tolist() == [1.0] * 20
    assert month_shares(month, 5, 7).tolist() == [0.5] * 5 + [0.5] * 2
    # The second month numbered 1 is another month.
    assert month_shares(month, 14, 3).tolist() == [0.5] * 3
    hour = np.full(20, 18)
    assert demand_costs(TARIFF, month, hour, np.full(5, 40.0), start=5).sum() == pytest.approx(0.5 * 400.0)


@pytest.mark.parametrize(("start", "hours"), [(0, 820), (5, 700), (299, 3), (17, 1), (4, 0)])
def test_the_costs_of_a_run_are_the_rises_of_its_hours(start: int, hours: int) -> None:
    tariff = DemandCharge((18, 19, 20), 7.3, 2.1)
    month, hour = np.repeat([1, 2, 3, 1], [300, 100, 250, 170]), np.arange(820) % 24
    drawn, peaks, rises = np.random.default_rng(0).normal(5.0, 6.0, hours), MonthPeaks(tariff), []
    for i in range(hours):
        peaks.enter(int(month[start + i]))
        rises.append(peaks.add(int(hour[start + i]), float(drawn[i])))
    costs = demand_costs(tariff, month, hour, drawn, start)
    assert costs.tolist() == (np.array(rises) * month_shares(month, start, hours)).tolist()


def test_a_scenario_without_the_file_has_none(tmp_path: Path) -> None:
    assert DemandCharge.of(tmp_path / "schema.json") is None
    assert currency(tmp_path / "schema.json") == ""
    assert demand_costs(None, np.ones(3), np.ones(3), np.ones(3)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("charge", [TARIFF, None])
def test_what_is_written_is_read(tmp_path: Path, charge: DemandCharge | None) -> None:
    write_tariff(tmp_path, "S/", charge)
    (tmp_path / "schema.json").write_text("{}")
    assert DemandCharge.of(tmp_path / "schema.json") == charge
    assert currency(tmp_path / "schema.json") == "S/"


VALID = {"peak_hours": [18], "peak_price": 1, "off_peak_excess_price": 1}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("not json", "is not JSON"),
        ("{}", "currency is missing; it has to be a text of at most 8 letters"),
        ('{"currency": "EUR", "charge": {}}', "charge is unknown here"),
        ({k: v for k, v in VALID.items() if k != "peak_price"}, "demand_charge.peak_price is missing"),
        ({**VALID, "peak": 1}, "demand_charge.peak is unknown here; remove it"),
        ({**VALID, "peak_price": -1}, "peak_price is -1; it has to be a number from 0"),
        ({**VALID, "peak_hours": [24]}, "peak_hours.0 is 24; it has to be a whole number from 0 to 23"),
        ({**VALID, "peak_hours": []}, "peak_hours is empty"),
    ],
)
def test_a_fault_is_named_with_file_and_place(tmp_path: Path, content: str | dict[str, object], fault: str) -> None:
    text = content if isinstance(content, str) else json.dumps({"currency": "PEN", "demand_charge": content})
    (tmp_path / FILE_NAME).write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=fault) as refused:
        DemandCharge.of(tmp_path / "schema.json")
    assert FILE_NAME in str(refused.value)
