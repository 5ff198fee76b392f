"""Every fault of a scenario's values is found before anything runs, by file, column and line."""

import itertools
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.errors import ScenarioError
from envs.scenarios.scenario import scenario
from envs.scenarios.series_files import (
    ARRIVAL,
    ARRIVAL_SOC,
    CURRENT_SOC,
    DEPARTURE,
    ID,
    REQUIRED_SOC,
    STATE,
    is_beyond,
    most_output,
)
from tests.envs.schema_changes import edit
from tests.envs.series_changes import change_column, lines_of, put_cells, write_lines

CHARGER, OTHER = "motorcycle_001.csv", "motorcycle_002.csv"
COLUMNS = (STATE, ID, DEPARTURE, REQUIRED_SOC, ARRIVAL, ARRIVAL_SOC)
LAST = 962  # line of the last row that is run


def append(file: Path, column: str, value: str) -> None:
    header, *rows = lines_of(file)
    write_lines(file, [f"{header},{column}", *(f"{row},{value}" for row in rows)])


def arrival(file: Path) -> int:
    """Line of the first row of a session that lasts, after two empty ones."""
    states = [line[0] for line in lines_of(file)]
    return "".join(states).index("331111") + 3


def refusal(site: Path) -> str:
    with pytest.raises(ScenarioError) as caught:
        scenario(str(site / "schema.json"))
    message = str(caught.value)
    assert all(line.startswith(str(site)) or line.startswith("and ") for line in message.splitlines())
    return message


def test_a_data_set_of_meters_passes_with_columns_that_were_not_measured(real_schema: Path) -> None:
    assert scenario(str(real_schema)).schema == real_schema.resolve()


@pytest.mark.parametrize(
    ("file", "column", "value", "shown"),
    [
        ("mall.csv", "non_shiftable_load", "", "missing"),
        ("mall.csv", "non_shiftable_load", "abc", "'abc'"),
        ("mall.csv", "non_shiftable_load", "1e39", "1e+39"),
        ("mall.csv", "non_shiftable_load", "-0.5", "-0.5"),
        ("mall.csv", "hour", "0", "0"),
        ("weather.csv", "direct_solar_irradiance_predicted_3", "", "missing"),
        ("pricing.csv", "electricity_pricing", "'0.28", "''0.28'"),
        ("mall.csv", "solar_generation", "2500", "2500"),
        ("mall.csv", "day_type", "1.5", "1.5"),
        # A charger's state is 1, 2 or 3 as a whole number.
        (CHARGER, STATE, "", "missing"),
        (CHARGER, STATE, "1.0", "'1.0'"),
        (CHARGER, STATE, "4", "4"),
        (CHARGER, STATE, "-1", "-1"),
        ("mall.csv", "month", "5", "5; this month lasts less than a day"),
    ],
)
def test_a_value_that_no_series_may_have_is_named(site: Path, file: str, column: str, value: str, shown: str) -> None:
    put_cells(site / file, 700, **{column: value})
    assert refusal(site).startswith(f"{site / file}, line 700: {column} is {shown}; ")


def test_a_demand_that_no_device_meets_is_named(site: Path) -> None:
    put_cells(site / "mall.csv", 31, dhw_demand="2.5")
    assert f"{site / 'mall.csv'}, line 31: dhw_demand is 2.5; the building's dhw_device cannot meet it, as there is none;" in (
        refusal(site)
    )
    heater = {"type": "citylearn.energy_model.ElectricHeater", "attributes": {"nominal_power": 2.0, "efficiency": 0.9}}
    edit(site, lambda schema: schema["buildings"]["mall"].update(dhw_device=heater))
    assert "cannot meet it, as the most is 1.8; size it for its demand" in refusal(site)
    heater["attributes"]["nominal_power"] = 3.0  # type: ignore[index]
    edit(site, lambda schema: schema["buildings"]["mall"].update(dhw_device=heater))
    scenario(str(site))


def test_no_hour_is_cooled_and_heated(site: Path) -> None:
    put_cells(site / "mall.csv", 31, cooling_demand="2.5", heating_demand="1")
    assert f"{site / 'mall.csv'}, line 31: cooling_demand is 2.5; CityLearn allows none in an hour with" in refusal(site)


def test_what_lies_outside_the_rows_that_are_run_is_not_read(site: Path) -> None:
    put_cells(site / "mall.csv", LAST + 1, non_shiftable_load="")
    put_cells(site / CHARGER, LAST + 1, **{STATE: ""})
    scenario(str(site))
    put_cells(site / "mall.csv", LAST, non_shiftable_load="")
    assert f"line {LAST}: " in refusal(site)


def test_lines_are_those_of_the_file_where_a_run_begins_later(site: Path) -> None:
    edit(site, lambda schema: schema.update(simulation_start_time_step=72))
    put_cells(site / "mall.csv", 73, non_shiftable_load="")
    scenario(str(site))
    put_cells(site / "mall.csv", 74, non_shiftable_load="")
    assert "line 74: " in refusal(site)


def test_an_optional_column_may_be_empty_unless_it_is_observed(site: Path) -> None:
    name = "indoor_relative_humidity"
    file = site / "mall.csv"
    append(file, name, "")
    scenario(str(site))
    edit(site, lambda schema: schema["observations"].update({name: {"active": True}}))
    assert f"{file}, line 2: {name} is missing; " in refusal(site)
    edit(site, lambda schema: schema["buildings"]["mall"].update(inactive_observations=[name]))
    scenario(str(site))


def test_a_reward_for_comfort_needs_the_temperatures_that_it_looks_at(site: Path) -> None:
    file = site / "mall.csv"
    change_column(file, "indoor_dry_bulb_temperature", lambda cell: "")
    scenario(str(site))
    reward = {"type": "citylearn.reward_function.ComfortReward", "attributes": {}}
    edit(site, lambda schema: schema.update(reward_function=reward))
    assert f"{file}, line 2: indoor_dry_bulb_temperature is missing; write a number (and 960 more lines)" in refusal(site)


@pytest.mark.parametrize(("name", "value"), [("hvac_mode", "4"), ("minutes", ""), ("power_outage", "")])
def test_an_optional_column_that_is_there_is_checked(site: Path, name: str, value: str) -> None:
    file = site / "mall.csv"
    append(file, name, value)
    assert f"{file}, line 2: {name} is {value or 'missing'}; " in refusal(site)


@pytest.mark.parametrize(
    ("file", "column"),
    [
        ("mall.csv", "heating_demand"),
        ("weather.csv", "outdoor_relative_humidity_predicted_2"),
        ("carbon_intensity.csv", "carbon_intensity"),
        ("pricing.csv", "electricity_pricing_predicted_1"),
        (CHARGER, STATE),
        (CHARGER, ARRIVAL),
    ],
)
def test_a_missing_column_is_named(site: Path, file: str, column: str) -> None:
    lines = lines_of(site / file)
    lines[0] = ",".join("x" if name == column else name for name in lines[0].split(","))
    write_lines(site / file, lines)
    assert f"{site / file} lacks the column {column};" in refusal(site)


def test_columns_of_other_names_are_one_line_with_the_way_out(site: Path) -> None:
    lines = lines_of(site / "pricing.csv")
    write_lines(site / "pricing.csv", [lines[0].replace("electricity_pricing", "Price"), *lines[1:]])
    told = [line for line in refusal(site).splitlines() if "pricing.csv" in line]
    assert len(told) == 1
    assert "it has Price, Price_predicted_1" in told[0]
    assert told[0].endswith("instead: rename what is meant, or run python -m envs.convert")


def test_a_column_that_citylearn_would_stop_at_is_named(site: Path) -> None:
    append(site / "pricing.csv", "note", "1")
    assert f"{site / 'pricing.csv'} has a column 'note'" in refusal(site)


# -- rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "more"), [*itertools.product(["weather.csv", "carbon_intensity.csv", "pricing.csv"], (-1, 1)), (CHARGER, -1)]
)
def test_series_of_unequal_length_are_named_with_both_lengths(site: Path, file: str, more: int) -> None:
    lines = lines_of(site / file)
    write_lines(site / file, lines[:-1] if more < 0 else [*lines, lines[-1]])
    assert f"{site / file} has {8761 + more:,} rows and {site / 'mall.csv'} has 8,761;" in refusal(site)


def test_a_chargers_file_may_be_longer(site: Path) -> None:
    write_lines(site / CHARGER, [*lines_of(site / CHARGER), *lines_of(site / CHARGER)[1:500]])
    scenario(str(site))


def test_a_run_that_is_longer_than_the_series_is_refused(site: Path) -> None:
    edit(site, lambda schema: schema.update(simulation_end_time_step=8760))
    scenario(str(site))
    edit(site, lambda schema: schema.update(simulation_end_time_step=8761))
    assert f"{site / 'mall.csv'} has 8,761 rows, but simulation_end_time_step 8761 in {site / 'schema.json'} needs 8,762;" in (
        refusal(site)
    )


def test_an_empty_line_between_others_is_named_and_shifts_no_number(site: Path) -> None:
    file = site / "carbon_intensity.csv"
    lines = lines_of(file)
    write_lines(file, [*lines[:100], "", *lines[101:200], "x", *lines[201:]])
    text, missing = refusal(site).splitlines()
    assert missing.startswith(f"{file}, line 101: carbon_intensity is missing; ")
    assert text.startswith(f"{file}, line 201: carbon_intensity is 'x'; ")
    write_lines(file, [*lines[:100], "", *lines[101:]])
    assert f"{file}, line 101: carbon_intensity is missing; " in refusal(site)


# -- order and plausibility --------------------------------------------------------------------


def test_all_faults_of_all_files_are_told_at_once(site: Path) -> None:
    put_cells(site / "mall.csv", 700, non_shiftable_load="-1", solar_generation="x")
    put_cells(site / "mall.csv", 701, non_shiftable_load="-2")
    put_cells(site / "weather.csv", 5, outdoor_dry_bulb_temperature="400")
    put_cells(site / CHARGER, 300, **{STATE: "7"})
    edit(site, lambda schema: schema["buildings"]["mall"]["electrical_storage"]["attributes"].update(efficiency=1.5))
    lines = refusal(site).splitlines()
    assert len(lines) == 5
    assert "efficiency is 1.5" in lines[0]
    assert lines[1].startswith(f"{site / 'mall.csv'}, line 700: non_shiftable_load is -1; ")
    assert lines[1].endswith(" (and 1 more line)")
    assert lines[2].startswith(f"{site / 'mall.csv'}, line 700: solar_generation is 'x'; ")
    assert lines[3].startswith(f"{site / 'weather.csv'}, line 5: ")
    assert lines[4].startswith(f"{site / CHARGER}, line 300: ")


def test_files_are_checked_beside_a_schema_of_a_wrong_form(site: Path) -> None:
    """What has no right form is left out of the check of the files, which then names no fault that follows from it."""

    def spoil(schema: dict[str, Any]) -> None:
        mall = schema["buildings"]["mall"]
        mall["pv"]["attributes"] = "7140 kW"
        mall["heating_device"] = 5
        mall["washing_machines"] = {}
        mall["chargers"]["motorcycle_001"] = None
        schema["observations"]["hour"] = 1
        schema["reward_function"] = "none"

    edit(site, spoil)
    change_column(site / "mall.csv", "heating_demand", lambda _: "1")
    put_cells(site / "weather.csv", 5, outdoor_dry_bulb_temperature="400")
    lines = refusal(site).splitlines()
    assert len(lines) == 7
    assert "line 5: outdoor_dry_bulb_temperature is 400" in lines[-1]
    assert "washing_machines is unknown to CityLearn, which would ignore it or stop; run python -m envs.convert" in "".join(
        lines
    )


@pytest.mark.parametrize("top", ["buildings", "observations", "electric_vehicles_def"])
def test_without_its_frame_a_schema_names_no_files_to_check(top: str, site: Path) -> None:
    edit(site, lambda schema: schema.update({top: [] if top != "buildings" else {}}))
    put_cells(site / "weather.csv", 5, outdoor_dry_bulb_temperature="400")
    assert len(refusal(site).splitlines()) == 1


def test_the_same_fault_of_several_files_is_one_line(site: Path) -> None:
    for file in (CHARGER, OTHER):
        put_cells(site / file, 300, **{STATE: "7"})
    (line,) = refusal(site).splitlines()
    assert line.startswith(f"{site / CHARGER}, line 300: ")
    assert line.endswith(f"; likewise in {OTHER}")


def test_what_the_conversion_repairs_is_told_with_its_command(site: Path) -> None:
    put_cells(site / "mall.csv", 2, hour="0")
    start = arrival(site / CHARGER)
    put_cells(site / CHARGER, start, **{DEPARTURE: "", ARRIVAL_SOC: ""})
    put_cells(site / CHARGER, start + 1, **{ARRIVAL_SOC: "80"})
    assert [line.rpartition(" ")[2] for line in refusal(site).splitlines()] == ["envs.convert"] * 4


def test_rows_out_of_order_are_named(site: Path) -> None:
    lines = lines_of(site / "mall.csv")
    lines[100], lines[200] = lines[200], lines[100]
    write_lines(site / "mall.csv", lines)
    assert f"{site / 'mall.csv'}, line 101: hour is 8; it does not follow the row before;" in refusal(site)
    write_lines(site / "mall.csv", [lines[0], *lines[:0:-1]])
    assert "it does not follow the row before; put the rows into the order of time (and 9" in refusal(site)


@pytest.mark.parametrize("parts", [2, 4, 12])
def test_rows_of_parts_of_an_hour_are_recognised(site: Path, parts: int) -> None:
    lines = lines_of(site / "mall.csv")
    write_lines(site / "mall.csv", [lines[0], *(line for line in lines[1:] for _ in range(parts))])
    text = f"{site / 'mall.csv'}, line 3: hour is 1; rows are {60 / parts:g} minutes apart, and steps 60: set seconds_per_time"
    assert text in refusal(site)
    assert "does not follow" not in refusal(site)


def test_rows_below_an_hour_have_minutes_that_follow_one_another(quarters: Path, tmp_path: Path) -> None:
    site = Path(shutil.copytree(quarters.parent, tmp_path / "quarters"))
    scenario(str(site))
    file, lines = site / "mall.csv", lines_of(site / "mall.csv")
    write_lines(file, [*lines[:50], lines[51], lines[50], *lines[52:]])
    assert f"{file}, line 51: hour is 13; it does not follow the row before;" in refusal(site)
    at = lines[0].split(",").index("minutes")
    write_lines(file, [",".join(cell for i, cell in enumerate(line.split(",")) if i != at) for line in lines])
    assert f"{file}, line 2: rows are 15 minutes apart, and no column minutes says which is which; add it" in refusal(site)


def test_summer_time_may_repeat_and_leave_out_an_hour(site: Path) -> None:
    put_cells(site / "mall.csv", 100, hour=lines_of(site / "mall.csv")[98].split(",")[1])
    scenario(str(site))
    put_cells(site / "mall.csv", 3, hour="1")  # the first two rows give the length of a step
    assert f"{site / 'mall.csv'}, line 3: hour is 1; it does not follow" in refusal(site)


def test_a_year_may_begin_at_any_hour(site: Path) -> None:
    header, *rows = lines_of(site / "mall.csv")
    write_lines(site / "mall.csv", [header, *rows[23:], *rows[:23]])
    scenario(str(site))


def test_all_buildings_share_their_hours(site: Path) -> None:
    def double(schema: dict[str, Any]) -> None:
        first = schema["buildings"]["mall"]
        schema["buildings"]["annex"] = {**first, "chargers": None, "energy_simulation": "annex.csv"}

    edit(site, double)
    header, *rows = lines_of(site / "mall.csv")
    write_lines(site / "annex.csv", [header, *rows])
    scenario(str(site))
    write_lines(site / "annex.csv", [header, *rows[1:], rows[0]])
    assert f"{site / 'annex.csv'}, line 2: hour is 2; {site / 'mall.csv'} has another in this line; all buildings share" in (
        refusal(site)
    )


def test_a_pv_with_its_own_generation_is_held_to_energy(site: Path) -> None:
    put_cells(site / "mall.csv", 700, solar_generation="2500")
    edit(site, lambda schema: schema["buildings"]["mall"]["pv"]["attributes"].update(generation_mode="absolute"))
    scenario(str(site))


def test_a_column_of_true_and_false_is_no_column_of_numbers(site: Path) -> None:
    change_column(site / "carbon_intensity.csv", "carbon_intensity", lambda cell: "True")
    change_column(site / CHARGER, STATE, lambda cell: str(cell == "1"))
    message = refusal(site)
    assert f"{site / 'carbon_intensity.csv'}, line 2: carbon_intensity is 'True'; write numbers (and 960" in message
    assert f"{site / CHARGER}, line 2: {STATE} is 'False'; " in message
    assert "connects no vehicle" in message


def test_decimal_commas_in_quotes_are_told_with_the_remedy(site: Path) -> None:
    lines = lines_of(site / "carbon_intensity.csv")
    write_lines(site / "carbon_intensity.csv", [*lines[:3], '"1,234"', *lines[4:]])
    assert "line 4: carbon_intensity is '1,234'; write a finite number, with a point for decimals and nothing" in refusal(site)


# -- files -----------------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_is_named(site: Path) -> None:
    (site / "carbon_intensity.csv").write_bytes(b"")
    message = refusal(site)
    assert message.startswith(f"{site / 'carbon_intensity.csv'} cannot be read: No columns to parse")
    assert "save it as CSV in UTF-8" in message


def test_parquet_is_read_as_citylearn_reads_it(site: Path) -> None:
    import pandas as pd

    for file in ("mall.csv", CHARGER):
        pd.read_csv(site / file).to_parquet((site / file).with_suffix(".parquet"))
    schema = site / "schema.json"
    text = schema.read_text(encoding="utf-8")
    schema.write_text(text.replace("mall.csv", "mall.parquet").replace(CHARGER, "motorcycle_001.parquet"), encoding="utf-8")
    scenario(str(site))


# -- chargers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        (ID, "", "missing"),
        (ID, "bicycle", "'bicycle'"),
        (DEPARTURE, "", "missing"),
        (DEPARTURE, "-1", "-1"),
        (REQUIRED_SOC, "", "missing"),
        (REQUIRED_SOC, "-0.1", "-0.1"),
        (REQUIRED_SOC, "100.5", "100.5"),
        (ARRIVAL_SOC, "", "missing"),
        (ARRIVAL_SOC, "100.5", "100.5"),
    ],
)
def test_a_row_with_a_vehicle_says_all_about_it(site: Path, column: str, value: str, shown: str) -> None:
    line = arrival(site / CHARGER)
    put_cells(site / CHARGER, line, **{column: value})
    assert refusal(site).startswith(f"{site / CHARGER}, line {line}: {column} is {shown}; ")


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        (ID, "", "missing"),
        (ID, "bicycle", "'bicycle'"),
        (ARRIVAL, "", "missing"),
        (ARRIVAL, "-1", "-1"),
        (ARRIVAL_SOC, "", "missing"),
        (ARRIVAL_SOC, "-0.1", "-0.1"),
    ],
)
def test_a_row_that_announces_a_vehicle_says_all_about_it(site: Path, column: str, value: str, shown: str) -> None:
    file = site / CHARGER
    line = arrival(file) - 1
    announcement = {STATE: "2", ID: "motorcycle_001", ARRIVAL: "1", ARRIVAL_SOC: "0.3"}
    put_cells(file, line, **announcement)
    put_cells(file, line + 1, **{ARRIVAL_SOC: ""})
    scenario(str(site))
    put_cells(file, line, **{**announcement, column: value})
    assert refusal(site).startswith(f"{file}, line {line}: {column} is {shown}; ")


def test_an_unannounced_arrival_needs_a_state_of_charge(site: Path) -> None:
    line = arrival(site / CHARGER)
    put_cells(site / CHARGER, line, **{ARRIVAL_SOC: ""})
    assert "random" in refusal(site)
    edit(site, lambda schema: schema.update(simulation_start_time_step=line - 2))
    scenario(str(site))


def test_the_first_row_of_a_vehicle_agrees_with_the_row_before(site: Path) -> None:
    file, line = site / CHARGER, arrival(site / CHARGER)
    put_cells(file, line + 1, **{ID: "mototaxi_001"})
    assert refusal(site).startswith(f"{file}, line {line + 1}: {ARRIVAL_SOC} is missing; ")
    put_cells(file, line - 1, **{STATE: "2", ID: "mototaxi_001", ARRIVAL: "1", ARRIVAL_SOC: "0.3"})
    assert f"{file}, line {line}: {ID} is 'motorcycle_001'; the row before" in refusal(site)


def test_rows_without_a_vehicle_may_say_anything_about_none(site: Path) -> None:
    line = arrival(site / CHARGER) - 2
    put_cells(site / CHARGER, line, **{ID: "bicycle", DEPARTURE: "-1", REQUIRED_SOC: "-0.1", ARRIVAL: "-1", ARRIVAL_SOC: "-1"})
    scenario(str(site))


def test_a_vehicle_that_is_left_out_of_the_site_is_unknown(site: Path) -> None:
    edit(site, lambda schema: schema["electric_vehicles_def"]["motorcycle_001"].update(include=False))
    line = min(i for i, row in enumerate(lines_of(site / CHARGER), start=1) if row.startswith("1"))
    assert f"{site / CHARGER}, line {line}: {ID} is 'motorcycle_001'; " in refusal(site)


def test_vehicles_need_a_letter_in_their_names(site: Path) -> None:
    edit(site, lambda schema: schema["electric_vehicles_def"].update({"7": schema["electric_vehicles_def"]["motorcycle_001"]}))
    file = site / CHARGER
    write_lines(file, [line.replace(",motorcycle_001,", ",7,") for line in lines_of(file)])
    message = refusal(site)
    assert f"{ID} is 7; " in message
    assert "with a letter" in message


def test_a_vehicle_is_at_one_charger_at_a_time(site: Path) -> None:
    first, second = site / CHARGER, site / OTHER
    line = arrival(first) + 1
    cells = lines_of(first)[line - 1].split(",")
    header, *rows = lines_of(second)
    write_lines(second, [header, *("3,,,,,," for _ in rows)])
    scenario(str(site))
    put_cells(second, line, **dict(zip(COLUMNS, cells, strict=False)) | {ARRIVAL_SOC: "0.5"})
    message = refusal(site)
    assert message.startswith(f"{second}, line {line}: vehicle 'motorcycle_001' is plugged in here and in {first};")


# -- state of charge -------------------------------------------------------------------------


@pytest.mark.parametrize("column", [REQUIRED_SOC, ARRIVAL_SOC])
@pytest.mark.parametrize("value", ["0.8", "1"])
def test_fractions_and_percentages_do_not_mix_in_a_column(site: Path, column: str, value: str) -> None:
    change_column(site / CHARGER, column, lambda cell: cell and f"{100 * float(cell):.2f}")
    scenario(str(site))
    line = arrival(site / CHARGER)
    put_cells(site / CHARGER, line, **{column: value})
    message = refusal(site)
    assert message.startswith(f"{site / CHARGER}, line {line}: {column} is {value}, and ")
    assert "fractions or percentages, not both" in message


def test_a_state_of_charge_that_replaces_the_arrivals_is_checked(site: Path) -> None:
    append(site / CHARGER, CURRENT_SOC, "101")
    assert f"{site / CHARGER}, line 2: {CURRENT_SOC} is 101; " in refusal(site)


TEMPERATURE = np.array([-20.0, 7.9, 8.0, 8.1, 20.0, 35.0, 44.9, 45.0, 50.0])
PUMP: dict[str, Any] = {
    "nominal_power": 3.0,
    "efficiency": 0.25,
    "target_cooling_temperature": 8,
    "target_heating_temperature": 45,
}


def device(kind: str, **attributes: Any) -> dict[str, Any]:
    return {"type": f"citylearn.energy_model.{kind}", "attributes": attributes}


@pytest.mark.parametrize("use", ["cooling", "heating"])
def test_a_heat_pump_gives_what_citylearn_computes(use: str) -> None:
    from citylearn.energy_model import HeatPump

    cop = HeatPump(**PUMP).get_cop(TEMPERATURE, heating=use == "heating")
    found = most_output({f"{use}_device": device("HeatPump", **PUMP)}, use, TEMPERATURE)
    np.testing.assert_allclose(found, 3.0 * cop)


def test_a_heater_gives_its_power_times_its_efficiency() -> None:
    heater = device("ElectricHeater", nominal_power=3.0, efficiency=0.9)
    assert most_output({"dhw_device": heater}, "dhw", TEMPERATURE) == pytest.approx(2.7)
    drawn = device("ElectricHeater", nominal_power=3.0)
    assert most_output({"dhw_device": drawn}, "dhw", TEMPERATURE) == pytest.approx(2.97)


def test_a_building_without_a_device_gives_nothing() -> None:
    assert most_output({}, "heating", TEMPERATURE) == pytest.approx(0.0)
    assert most_output({"dhw_device": device("HeatPump")}, "dhw", TEMPERATURE) == pytest.approx(0.0)


@pytest.mark.parametrize(
    "building",
    [
        {"dhw_device": {**device("HeatPump"), "autosize": True}},
        {"dhw_device": {"type": "mine.Boiler"}},
        {"dhw_device": device("HeatPump", nominal_power=1.0)},
        {"type": "citylearn.building.LSTMDynamicsBuilding"},
        {"dynamics": {"type": "citylearn.dynamics.LSTMDynamics"}},
    ],
)
def test_what_the_schema_does_not_say_is_not_judged(building: dict[str, Any]) -> None:
    assert most_output(building, "dhw", TEMPERATURE) is None


def test_a_rounding_is_no_excess() -> None:
    assert is_beyond(np.array([1.0, 1.0005, 1.1, np.nan]), np.ones(4)).tolist() == [False, False, True, False]
