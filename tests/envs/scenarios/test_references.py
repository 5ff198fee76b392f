"""Every class and file that CityLearn takes from a schema is known, with its place."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from envs.scenarios.references import autosized, is_on, named_classes, named_files, reward_classes, root_of
from envs.scenarios.schema_file import read_schema
from envs.scenarios.trust import CLASSES

BUILDING: dict[str, Any] = {
    "type": "1",
    "energy_simulation": "a", "weather": "b", "carbon_intensity": "c", "pricing": "d",
    "dynamics": {"type": "2", "attributes": {"filename": "e"}},
    "occupant": {
        "type": "3", "parameters_filename": "f",
        "attributes": {"setpoint_increase_model_filename": "g", "setpoint_decrease_model_filename": "h"},
    },
    "power_outage": {"stochastic_power_outage_model": {"type": "4"}},
    "chargers": {"one": {"type": "5", "charger_simulation": "i"}, "two": {"type": "5"}},
    "deferrable_appliances": {"w": {"type": "6", "cycle_profiles_file": "j", "flexibility_schedule_file": "k"}},
    "escalators": {"e": {"type": "7", "simulation": "l"}, "f": {"simulation_file": "m"}},
    **{
        name: {"type": "8"}
        for name in (
            "cooling_device", "heating_device", "dhw_device", "dhw_storage", "cooling_storage", "heating_storage",
            "electrical_storage",
        )
    },
    "pv": {"type": "8", "autosize": True, "autosize_attributes": {"epw_filepath": "n"}},
}  # fmt: skip
SCHEMA: dict[str, Any] = {
    "buildings": {"mall": BUILDING, "out": {"include": False, "weather": "z"}},
    "electric_vehicles_def": {"v": {"type": "9"}, "w": {"battery": {"type": "never imported"}}},
    "robustness": {"enabled": True, "events_file": "o"},
    "demand_response": {"enabled": False, "requests_file": "p"},
    "reward_function": {"type": "10"},
    "agent": {"type": "never imported"},
}


def test_all_classes_are_named_with_their_places() -> None:
    found = list(named_classes(SCHEMA))
    assert {own.name for own in found} == set("123456789")
    assert {own.role for own in found} == CLASSES.keys() - {"reward"}
    places = {own.place for own in found}
    assert {"buildings.mall.type", "buildings.mall.chargers.one.type", "electric_vehicles_def.v.type"} <= places
    assert "buildings.mall.power_outage.stochastic_power_outage_model.type" in places
    assert [own.place for own in reward_classes(SCHEMA)] == ["reward_function.type"]
    each = {"reward_function": {"type": {"default": "a", "mall": "b"}}}
    assert [(own.place, own.name) for own in reward_classes(each)] == [
        ("reward_function.type.default", "a"),
        ("reward_function.type.mall", "b"),
    ]


def test_all_files_are_named_with_their_places() -> None:
    found = {file.name: file for file in named_files(SCHEMA)}
    assert set(found) == set("abcdefghijklmnopz")
    assert [name for name, file in found.items() if not file.opened] == ["z", "p"]
    assert found["f"].place == "buildings.mall.occupant.parameters_filename"
    assert found["m"].place == "buildings.mall.escalators.f.simulation_file"
    assert {file.name for file in named_files({**SCHEMA, "topology_mode": "dynamic"}) if file.opened} >= {"z"}


def test_only_events_may_lie_at_home() -> None:
    names = {"robustness": {"enabled": True, "events_file": "~/o"}, "buildings": {"a": {"weather": "~/b"}}}
    found = {file.place: file.relative for file in named_files(names)}
    assert found == {"buildings.a.weather": "~/b", "robustness.events_file": str(Path.home() / "o")}
    unknown = {"robustness": {"enabled": True, "events_file": "~no such user/o"}}
    assert [file.relative for file in named_files(unknown)] == ["~no such user/o"]


@pytest.mark.parametrize("value", [None, 5, "text", [], ["a"], True])
def test_values_of_another_type_name_nothing(value: Any) -> None:
    assert list(named_files({"buildings": value, "robustness": value})) == []
    for place in (*BUILDING, "include"):
        building = {key: inner for key, inner in BUILDING.items() if key == "type"} | {place: value}
        schema = {"buildings": {"mall": building, "other": value}, "electric_vehicles_def": value, "reward_function": value}
        assert all(isinstance(file.name, str) for file in named_files(schema))
        assert all(own.name is not None for own in (*named_classes(schema), *reward_classes(schema)))


def test_the_root_is_beside_the_schema_or_below_it() -> None:
    path = Path("/sites/a/schema.json")
    for configured, root in ((None, "/sites/a"), ("", "/sites/a"), ("b", "/sites/a/b"), ("/c", "/c"), (3, "/sites/a")):
        assert root_of(path, {"root_directory": configured}) == Path(root)


def test_devices_that_citylearn_sizes_are_those_of_included_buildings() -> None:
    assert autosized(SCHEMA, "pv") == ["buildings.mall.pv"]
    assert autosized(SCHEMA, "electrical_storage") == []
    assert autosized({"buildings": {"a": {**BUILDING, "include": False}}}, "pv") == []


@pytest.mark.parametrize(("value", "on"), [(True, True), (1, True), (" Yes", True), ("off", False), (None, False), ([], False)])
def test_what_citylearn_takes_for_true(value: Any, on: bool) -> None:
    assert is_on(value) is on


def test_the_small_site_names_the_files_in_its_folder(small_schema: Path) -> None:
    names = {file.name for file in named_files(read_schema(small_schema))}
    assert {"mall.csv", "weather.csv", "motorcycle_001.csv"} <= names
    assert all((small_schema.parent / name).is_file() for name in names)


def test_citylearn_has_no_other_places() -> None:
    """Counts in its source: with another version they may differ, and then the places have to be read again."""
    spec = importlib.util.find_spec("citylearn")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    source = {name: (folder / name).read_text(encoding="utf-8") for name in ("internal/loading.py", "citylearn.py")}
    # Twice for the reward; once each for building, dynamics, occupant, outage, charger, device, vehicle, appliance, escalator.
    assert len(re.findall(r"importlib\.import_module\(", source["internal/loading.py"])) == 11
    assert len(re.findall(r"importlib\.import_module\(", source["citylearn.py"])) == 1  # the agent
    # Four series, dynamics, the occupant's parameters and models, chargers, weather for PV, two of appliances, escalators.
    assert len(re.findall(r"os\.path\.join\(schema\['root_directory'\]", source["internal/loading.py"])) == 12
    reading = re.compile(r"read_pickle\(|torch\.load\(|read_csv\(|read_parquet\(|joblib|__import__|\beval\(|\bexec\(")
    counts = {
        path.relative_to(folder).as_posix(): len(reading.findall(path.read_text(encoding="utf-8")))
        for path in (*folder.glob("*.py"), *(folder / "internal").glob("*.py"))
        if path.name not in ("__main__.py", "utilities.py")
    }
    assert {name: count for name, count in counts.items() if count} == {
        "data.py": 1, "dynamics.py": 3, "occupant.py": 2, "internal/demand_response.py": 2, "internal/loading.py": 4,
        "internal/robustness.py": 2,
    }  # fmt: skip
