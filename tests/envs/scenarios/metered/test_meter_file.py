"""Files of meters: what they say by the hour, and in which line they are refused."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from common.errors import ScenarioError
from envs.scenarios.metered.meter_file import CARBON, LOAD, PRICE, Clock, Hours, Quantity, read_hours

Read = Callable[..., Hours]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Writes a file and reads it."""

    def write(
        text: str, quantity: Quantity = LOAD, unit: str = "", clock: Clock | None = None, fill: int = 0, readings: bool = False
    ) -> Hours:
        path = tmp_path / "meter.csv"
        path.write_text(text, encoding="utf-8")
        return read_hours(path, quantity, unit, clock or Clock(), fill, readings)

    return write


def _lines(times: pd.DatetimeIndex, values: object, name: str = "home (kWh)", written: str = "%Y-%m-%d %H:%M") -> str:
    return pd.DataFrame({"time": times.strftime(written), name: values}).to_csv(index=False)


HOURS = pd.date_range("2024-01-01", periods=48, freq="h")
VALUES = np.arange(48) % 7 + 1.0


@pytest.mark.parametrize(
    ("unit", "expected"), [("kWh", 10.0), ("Wh", 0.01), ("MWh", 10_000.0), ("kW", 2.5), ("W", 0.0025), ("MW", 2500.0)]
)
def test_energies_of_an_hour_add_up_and_of_powers_it_has_the_mean(read: Read, unit: str, expected: float) -> None:
    quarters = pd.date_range("2024-01-01", periods=8, freq="15min")
    values = [1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0]
    for text, option in ((_lines(quarters, values, f"home ({unit})"), ""), (_lines(quarters, values, "home"), unit)):
        assert read(text, unit=option).values.iloc[:, 0].tolist() == pytest.approx([expected, 0.0])


@pytest.mark.parametrize(
    ("quantity", "unit", "factor"),
    [
        (PRICE, "EUR/kWh", 1.0), (PRICE, "PEN/MWh", 1e-3), (CARBON, "kg/kWh", 1.0), (CARBON, "gCO2/kWh", 1e-3),
        (CARBON, "g CO2eq/kWh", 1e-3), (CARBON, "t/MWh", 1.0),
    ],
)  # fmt: skip
def test_prices_and_carbon_are_for_a_kwh(read: Read, quantity: Quantity, unit: str, factor: float) -> None:
    read_back = read(_lines(HOURS, VALUES, f"it ({unit})"), quantity)
    assert read_back.values.iloc[:, 0].tolist() == pytest.approx(VALUES * factor)
    assert read_back.unit == unit


def test_columns_are_named_without_their_units(read: Read) -> None:
    assert read(_lines(HOURS, VALUES, "Home 1 (kWh)")).values.columns.tolist() == ["Home_1"]
    assert read(_lines(HOURS, VALUES, "Home (old)"), unit="kWh").values.columns.tolist() == ["Home_(old)"]


@pytest.mark.parametrize(
    ("name", "unit", "words"),
    [("home", "", "say it by --load-unit"), ("home (kWh)", "Wh", "another unit"), ("home", "furlong", "there are Wh, kWh")],
)
def test_a_unit_is_never_guessed(read: Read, name: str, unit: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        read(_lines(HOURS, VALUES, name), unit=unit)


@pytest.mark.parametrize(
    "written", ["%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%Y-%m-%d,%H:%M"]
)
def test_dates_are_read_as_all_rows_together_allow(read: Read, written: str) -> None:
    hours = pd.date_range("2024-01-01", periods=24 * 20, freq="h")
    text = _lines(hours, 1.0, written=written).replace('"', "")
    text = text.replace("time,", "date,time,") if "," in written else text
    assert read(text).values.index.tz_localize(None).tolist() == hours.tolist()


def test_a_date_may_stand_before_the_begin_and_the_end_of_a_row(read: Read) -> None:
    text = "date,from,to,home (kWh)\n2024-01-01,00:00,01:00,3\n2024-01-01,01:00,02:00,4\n"
    assert read(text).values["home"].tolist() == [3.0, 4.0]


def test_a_second_time_is_the_other_end_of_the_row(read: Read) -> None:
    text = "from,to,home (kWh)\n2024-01-01 00:00,2024-01-01 01:00,3\n2024-01-01 01:00,2024-01-01 02:00,4\n"
    hours = read(text).values
    assert (hours.columns.tolist(), hours.iloc[:, 0].tolist(), hours.index[0].hour) == (["home"], [3.0, 4.0], 0)


def test_a_date_that_may_be_two_is_refused(read: Read) -> None:
    with pytest.raises(ScenarioError, match="do not tell the day from the month, as in 01/01/2024 00:00; write 2024-03-31"):
        read(_lines(HOURS, VALUES, written="%d/%m/%Y %H:%M"))


def test_semicolons_and_decimal_commas_are_those_of_a_spreadsheet(read: Read) -> None:
    text = _lines(HOURS, VALUES + 0.25).replace(",", ";").replace(".", ",")
    assert read(text).values.iloc[:, 0].tolist() == (VALUES + 0.25).tolist()
    text = "time;home (kWh)\n2024-01-01 00:00;+1,5\n2024-01-01 01:00;2,5E-02\n"
    assert read(text).values.iloc[:, 0].tolist() == [1.5, 0.025]


def test_empty_rows_and_columns_of_a_spreadsheet_are_left_out(read: Read) -> None:
    rows = [f"{row}," for row in _lines(HOURS, VALUES).splitlines()]
    assert read("\n".join([*rows[:9], "", *rows[9:], ",,", ""])).values["home"].tolist() == VALUES.tolist()
    assert read("\n\n" + _lines(HOURS, VALUES)).values["home"].tolist() == VALUES.tolist()
    with pytest.raises(ScenarioError, match=r"line 4: .* is 'x'"):
        read("\n\ntime,home (kWh)\n2024-01-01 00:00,x\n")


def test_a_part_of_an_hour_may_be_below_zero_where_the_hour_is_not(read: Read) -> None:
    quarters = pd.date_range("2024-01-01", periods=96, freq="15min")
    values = np.where(np.arange(96) == 8, -0.001, 0.5)
    assert read(_lines(quarters, values)).values["home"].iloc[2] == pytest.approx(1.499)


def test_rows_with_more_cells_than_names_are_refused(read: Read) -> None:
    names, *rows = _lines(HOURS, VALUES).splitlines()
    with pytest.raises(
        ScenarioError, match="more cells than line 1 has names; end that line with ',' too, or remove what stands above"
    ):
        read("\n".join([names, *(f"{row}," for row in rows)]))


@pytest.mark.parametrize(("start", "hours"), [("2024-03-30", 71), ("2024-10-26", 73)])
def test_summer_time_leaves_out_an_hour_and_repeats_one(read: Read, start: str, hours: int) -> None:
    instants = pd.date_range(start, periods=3 * 96 + 4 * (hours - 72), freq="15min", tz="Europe/Berlin")
    with_offset = _lines(instants, 0.5, written="%Y-%m-%dT%H:%M:%S%z")
    for text in (_lines(instants, 0.5), with_offset, re.sub(r"(\+\d\d)00,", r"\1,", with_offset)):
        read_ = read(text, clock=Clock("Europe/Berlin")).values
        assert len(read_) == hours
        assert (read_ == 2.0).all(axis=None)
        assert read_.index[0] == instants[0]
    with pytest.raises(ScenarioError, match="by --zone"):
        read(with_offset)


def test_local_times_without_their_zone_are_found_out(read: Read) -> None:
    autumn = pd.date_range("2024-10-26", periods=73, freq="h", tz="Europe/Berlin")
    with pytest.raises(ScenarioError, match=r"2024-10-27 02:00 twice.*--zone"):
        read(_lines(autumn, np.arange(73) % 5))
    with pytest.raises(ScenarioError, match=r"2024-10-27 02:00 twice; remove one, or, .*--zone"):
        read(_lines(autumn, 1.0))
    spring = pd.date_range("2024-03-30", periods=72, freq="h")
    with pytest.raises(ScenarioError, match="line 28: 2024-03-31 02:00 does not exist in Europe/Berlin"):
        read(_lines(spring, 1.0), clock=Clock("Europe/Berlin"))


def test_the_order_of_rows_tells_the_two_hours_in_which_summer_time_ends(read: Read) -> None:
    berlin = Clock("Europe/Berlin")
    autumn = pd.date_range("2024-10-26", periods=4 * 49, freq="15min", tz="Europe/Berlin")
    ordered, shuffled = np.arange(len(autumn)), np.random.default_rng(0).permutation(len(autumn))
    for rows in (ordered, ordered[::-1]):
        assert read(_lines(autumn[rows], rows % 100.0), clock=berlin).values.iloc[26, 0] == sum(range(4, 8))
    with pytest.raises(ScenarioError, match=r"line \d+: 2024-10-27 02:\d\d is there twice, .*; write times with their offset"):
        read(_lines(autumn[shuffled], shuffled % 100.0), clock=berlin)
    with_offset = _lines(autumn[shuffled], shuffled % 100.0, written="%Y-%m-%dT%H:%M:%S%z")
    assert read(with_offset, clock=berlin).values.iloc[26, 0] == sum(range(4, 8))


def test_a_row_that_is_there_again_is_refused(read: Read) -> None:
    text = _lines(HOURS, VALUES)
    with pytest.raises(ScenarioError, match="has 2024-01-02 23:00 twice; remove one"):
        read(text + text.splitlines()[-1], clock=Clock("Europe/Berlin"))


def test_a_time_may_be_the_end_of_what_its_row_measures(read: Read) -> None:
    assert read(_lines(HOURS[1:], VALUES[:-1]), clock=Clock(label="end")).values.index[0] == HOURS.tz_localize("UTC")[0]


def test_readings_of_a_meter_are_what_was_counted_between_them(read: Read) -> None:
    readings = _lines(HOURS.append(HOURS[-1:] + pd.Timedelta(hours=1)), 1e5 + np.concatenate([[0.0], np.cumsum(VALUES)]))
    assert read(readings, readings=True).values.iloc[:, 0].tolist() == pytest.approx(VALUES)
    with pytest.raises(ScenarioError, match=r"never falls.*--readings, else write it as power"):
        read(readings)
    assert len(read(readings.replace("kWh", "kW")).values) == len(HOURS) + 1
    with pytest.raises(ScenarioError, match="a reading falls after 2024-01-01 06:00"):
        read(_lines(HOURS, VALUES), readings=True, clock=Clock("America/Lima"))
    with pytest.raises(ScenarioError, match="is in kW, and --readings are of energy"):
        read(readings.replace("kWh", "kW"), readings=True)


def test_what_was_counted_over_a_missing_reading_is_not_of_one_hour(read: Read) -> None:
    counted = np.concatenate([[0.0], np.cumsum(VALUES)])
    readings = _lines(HOURS.delete(20), 1e5 + np.delete(counted[:-1], 20))
    with pytest.raises(ScenarioError, match="from 2024-01-01 19:00 for 2 h"):
        read(readings, readings=True)
    assert read(readings, readings=True, fill=2).values.iloc[:19, 0].tolist() == pytest.approx(VALUES[:19])


def test_short_gaps_are_filled_and_long_ones_named(read: Read) -> None:
    text = _lines(HOURS.delete([5, 6]), np.delete(np.arange(48.0), [5, 6]) % 40)
    filled = read(text, fill=2)
    assert filled.values.iloc[:, 0].tolist() == (np.arange(48.0) % 40).tolist()
    assert filled.filled == "home from 2024-01-01 05:00 for 2 h"
    with pytest.raises(ScenarioError, match=r"from 2024-01-01 05:00 for 2 h; .*--fill"):
        read(text, fill=1)
    quarters = pd.date_range("2024-01-01", periods=16, freq="15min").delete(6)
    with pytest.raises(ScenarioError, match="from 2024-01-01 01:00 for 1 h"):
        read(_lines(quarters, 1.0))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("Meter 7\n\ntime,home (kWh)\n2024-01-01 00:00,1\n", "remove what stands above"),
        ("time;home (kWh)\n2024-01-01 00:00;1.107,2\n2024-01-01 01:00;2\n", "'1.107,2'; .* between thousands"),
        ('time,home (kWh)\n2024-01-01 00:00,"0,368"\n2024-01-01 01:00,2\n', "'0,368'; .* a point before decimals"),
        ("time,home (kWh)\n31.01.24 00:00,1\n31.01.24 01:00,2\n", "'31.01.24 00:00'; it has to be a time such as 2024-"),
        ("time,home (kWh)\n2024-01-01 23:00,1\n2024-01-01 24:00,2\n", "'2024-01-01 24:00'; .* hours from 0 to 23"),
        ("sorry, no data\nat all;\n,,,", "is no table"),
        ("time|home (kWh)\n2024-01-01 00:00|1\n", "with commas, semicolons or tabs"),
        ("time,home (kWh)\n2024-01-01 00:00,1\n\n2024-01-01 01:00,x\n", "line 4: home .kWh. is 'x'"),
        ("time,home (kWh)\n2024-01-01 00:00,1\n2024-01-01 01:00,-2\n", "is -2 .*-01 01:00; .* add what that generates"),
        ("time,home (kWh)\n", "no rows"),
        ("time,home (kWh)\n2024-01-01 00:00,1\n2024-01-01 01:00,inf\n", "line 3: home .kWh. is 'inf'; it has to be a number"),
        ("time,home (kWh)\n31/01/2024 00:00,1\n01/31/2024 01:00,2\n", "the day from the month, as in 31/01/2024 00:00; write"),
        ("time,home (kWh),home (kWh)\n2024-01-01 00:00,1,2\n", "two columns called 'home .kWh.'; give each a name"),
        ("time,home (kWh),,\n2024-01-01 00:00,1,2,3\n", "two columns called ''; give each a name"),
        ("time,home (kWh),home_kwh\n2024-01-01 00:00,1,2\n2024-01-01 01:00,1,2\n", "two columns for home; give each a name"),
        ("time\n2024-01-01 00:00\n2024-01-01 01:00\n", "has a single column"),
        ("time,home (kWh)\n2024-01-01 00:00,1\n,2\n", "line 3: the time is ''; it has to be"),
        ("time,home (kWh)\n13/01/2023 12:00 AM,1\n14/01/2023 12:00 AM,2\n", "line 2: the time is '13/01/2023 12:00 AM'"),
        ("time,home (kWh)\n2024-01-01 00:00,1\n2024-01-01 00:00,2\n2024-01-01 01:00,2\n", "twice; remove one"),
        ("time,home (kWh)\n2024-01-01 00:00,1\n2024-01-01 02:00,1\n2024-01-01 04:00,1\n", "a row every 120 minutes;"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_of_a_meter_gets_one_line(read: Read, text: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words) as refused:
        read(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("mixed", [0, 1])
def test_times_are_all_with_an_offset_from_utc_or_all_without(read: Read, mixed: int) -> None:
    rows = [f"2024-01-01 0{hour}:00{'+01:00' * (hour % 2 == mixed)},{hour}" for hour in range(2)]
    with pytest.raises(ScenarioError, match=r"line 3: one of \S* \S* and \S* \S* has an offset from UTC; write it of all"):
        read("\n".join(["time,home (kWh)", *rows]), clock=Clock("Europe/Berlin"))


def test_rows_between_two_are_refused(read: Read) -> None:
    with pytest.raises(ScenarioError, match=r"2024-01-01 03:30:00: rows .* between two; correct its"):
        read(_lines(HOURS.insert(4, pd.Timestamp("2024-01-01 03:30")), 1.0), clock=Clock("America/Lima"))


def test_full_hours_of_utc_that_are_half_ones_of_the_clock_are_refused_as_such(read: Read) -> None:
    times = pd.date_range("2024-01-01", "2024-01-03", freq="h", inclusive="left")
    says = "2024-01-01 05:30 on the clock of Asia/Kolkata is no full hour; give rows of 30 or 15 minutes, or another --zone"
    with pytest.raises(ScenarioError, match=says):
        read(_lines(times, 1.0, written="%Y-%m-%dT%H:%MZ"), clock=Clock("Asia/Kolkata"))


@pytest.mark.parametrize("every", ["h", "15min"])
def test_hours_are_those_of_a_clock_half_an_hour_apart_from_utc(read: Read, every: str) -> None:
    times = pd.date_range("2024-01-01", "2024-01-03", freq=every, inclusive="left", tz="Asia/Kolkata")
    values = read(_lines(times, 1.0, "home (kW)"), clock=Clock("Asia/Kolkata")).values
    assert values.index.tolist() == times[times.minute == 0].tolist()


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(ScenarioError, match="--zone Mars"):
        Clock("Mars")
