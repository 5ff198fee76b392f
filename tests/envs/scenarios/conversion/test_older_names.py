"""Names from before CityLearn 2.2."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from envs.scenarios.conversion import ConversionOptions
from envs.scenarios.conversion.cells import Cells
from envs.scenarios.conversion.converting import convert
from envs.scenarios.conversion.older_names import column, rename_columns, rename_observations
from envs.scenarios.schema_file import read_schema
from envs.scenarios.schema_shape import todays_name
from tests.envs.models import with_rooms
from tests.envs.schema_changes import edit

SIDES = [f"indoor_dry_bulb_temperature_{side}_set_point" for side in ("cooling", "heating")]
ONE = "indoor_dry_bulb_temperature_set_point"
HOURS = {"predicted_1": "predicted_6h", "predicted_2": "predicted_12h", "predicted_3": "predicted_24h"}


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Month", "month"), ("Indoor Temperature [C]", "indoor_dry_bulb_temperature"),
        ("HVAC Mode (Off/Cooling/Heating)", "hvac_mode"), ("kg_CO2/kWh", "carbon_intensity"),
        ("Average Unmet Cooling Setpoint Difference (C)", "average_unmet_cooling_setpoint_difference"),
        ("DHW Heating [kWh]", "dhw_demand"), ("Solar Generation [W/kW]", "solar_generation"),
        ("6h Prediction Relative Humidity [%]", "outdoor_relative_humidity_predicted_1"),
        ("24h Outdoor Drybulb Temperature (C)", "outdoor_dry_bulb_temperature_predicted_3"),
        ("12h Prediction Electricity Pricing [$/kWh]", "electricity_pricing_predicted_2"),
        ("direct_solar_irradiance_predicted_12h", "direct_solar_irradiance_predicted_2"),
        ("electricity_pricing_predicted_8h", "electricity_pricing_predicted_8h"), ("My own [kW]", "My own [kW]"), ("", ""),
        ("hour", "hour"), ("cooling_demand", "cooling_demand"),
    ],
)  # fmt: skip
def test_an_older_title_is_read_and_another_one_stays(title: str, name: str) -> None:
    assert column(title) == name


def test_what_was_one_set_point_is_observed_as_that_for_cooling() -> None:
    assert [todays_name(name) for name in (ONE, "indoor_dry_bulb_temperature_delta", "hour")] == [
        SIDES[0], "indoor_dry_bulb_temperature_cooling_delta", "hour",
    ]  # fmt: skip


def test_a_site_that_is_written_with_older_names_becomes_what_it_is_with_todays(small_schema: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    path = with_rooms(small_schema, old)
    weather, building = pd.read_csv(old / "weather.csv"), pd.read_csv(old / "mall.csv")
    building[SIDES[1]] = building[SIDES[0]]
    before = {name: (building if name == "mall.csv" else weather) for name in ("mall.csv", "weather.csv")}
    one = building.drop(columns=SIDES[1]).rename(columns={SIDES[0]: ONE, "cooling_demand": "Cooling Load (kWh)"})
    one.to_csv(old / "mall.csv", index=False)
    weather.rename(columns=lambda name: name.replace(name[-11:], HOURS.get(name[-11:], name[-11:]))).to_csv(
        old / "weather.csv", index=False
    )

    def change(schema: dict[str, Any]) -> None:
        entry = {"active": True, "shared_in_central_agent": False}
        schema["observations"] |= {ONE: entry, "outdoor_dry_bulb_temperature_predicted_6h": entry}
        schema["buildings"]["mall"] |= {"inactive_observations": [ONE]}

    edit(path, change)
    lines = convert(ConversionOptions(path, tmp_path / "new"))
    assert [line.split(":")[0] for line in lines] == ["predicted observations", ONE, "columns", ONE]
    for name, table in before.items():
        pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "new" / name)[list(table)], table)
    schema = read_schema(tmp_path / "new" / "schema.json")
    assert ONE not in schema["observations"]
    assert {SIDES[0], "outdoor_dry_bulb_temperature_predicted_1"} <= set(schema["observations"])
    assert schema["buildings"]["mall"]["inactive_observations"] == [SIDES[0]]


def test_where_both_names_occur_the_active_observation_stays_and_columns_stay_as_they_are(tmp_path: Path) -> None:
    on, off = ({"active": active} for active in (True, False))
    schema = {"observations": {SIDES[0]: off, ONE: on, "electricity_pricing_predicted_12h": off, "hour": on}}
    mall = {
        "inactive_observations": ["hour", "hour", ONE],
        "dynamics": {"attributes": {"input_observation_names": ["hour", [1]]}},
    }
    rename_observations("schema.json", schema, {"mall": mall, "shop": {"dynamics": "x", "inactive_observations": [{}]}})
    assert schema["observations"] == {SIDES[0]: on, "electricity_pricing_predicted_2": off, "hour": on}
    assert mall["inactive_observations"] == ["hour", "hour", SIDES[0]]
    assert mall["dynamics"] == {"attributes": {"input_observation_names": ["hour", [1]]}}
    (tmp_path / "mall.csv").write_text(f"Month,hour,Hour,{ONE},{SIDES[0]}\n1,2,3,4,5\n", encoding="utf-8")
    cells = Cells(tmp_path / "mall.csv", 1)
    assert [found.place for found in rename_columns("mall.csv", cells)] == ["columns"]
    assert list(cells.frame) == ["month", "hour", "Hour", ONE, SIDES[0]]
