"""The table of a schema is CityLearn's own, and each wrong value is named by its place."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envs.scenarios.schema_file import schema_faults
from envs.scenarios.schema_shape import AT_CHARGERS, CLASSES, OBSERVATIONS, REWARDS
from tests.envs.schema_changes import BATTERY, MALL, SOCKET, drop, put

# What CityLearn's loader sets itself, so that a schema may not.
BY_LOADER = {
    "episode_tracker", "seconds_per_time_step", "time_step_ratio", "charger_simulation", "charger_id", "env_metadata",
    "connected_electric_vehicle", "incoming_electric_vehicle", "filepath",
}  # fmt: skip
DATA = Path(__file__).parents[4] / "shared" / "data"


def signature(kind: type) -> set[str]:
    """Names of the parameters of a class and of those that it passes them on to."""
    names: set[str] = set()
    for base in kind.__mro__[:-1]:
        if "__init__" in vars(base):
            parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
            names |= {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)} - {"self"}
            if not any(p.kind is p.VAR_KEYWORD for p in parameters):
                break
    return names


def test_the_attributes_of_devices_are_those_that_citylearn_takes() -> None:
    from citylearn import dynamics, electric_vehicle_charger, energy_model

    for name, record in CLASSES.items():
        module = next(m for m in (energy_model, electric_vehicle_charger, dynamics) if hasattr(m, name))
        known = set(record.names) - {"phase_connection" if name == "Battery" else "", "filename"}
        assert known == signature(getattr(module, name)) - BY_LOADER, name


def test_the_attributes_of_rewards_are_those_that_citylearn_takes() -> None:
    from citylearn import reward_function

    for name, record in REWARDS.items():
        assert set(record.names) == signature(getattr(reward_function, name)) - BY_LOADER, name


def test_the_observations_are_those_that_citylearn_has(small_schema: Path) -> None:
    from envs.citylearn_backend.simulator import CityLearnSimulator

    building = CityLearnSimulator(small_schema, with_reward=False).env.buildings[0]
    found = {name for name in building._get_observations_data(include_all=True) if not name.endswith("_dict")}
    appliances = {"deferrable_appliance_electricity_consumption", "washing_machine_electricity_consumption"}
    assert found - appliances == OBSERVATIONS - {"minutes", "seconds"}
    assert all("electric_vehicle" in name for name in AT_CHARGERS)


@pytest.mark.parametrize(
    "name",
    [
        "citylearn_challenge_2020_climate_zone_1", "citylearn_challenge_2021", "citylearn_challenge_2022_phase_1",
        "citylearn_challenge_2022_phase_all", "citylearn_challenge_2023_phase_1",
        "citylearn_challenge_2023_phase_2_local_evaluation", "baeda_3dem",
    ],
)  # fmt: skip
def test_public_schemas_pass(name: str) -> None:
    path = DATA / name / "schema.json"
    if not path.is_file():
        pytest.skip("the public data are not beside this checkout")
    assert schema_faults(json.loads(path.read_text(encoding="utf-8"))) == []


def test_a_generated_schema_passes(schema: dict[str, Any]) -> None:
    assert schema_faults(schema) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (put(*MALL, value="mall.csv"), "buildings.mall is 'mall.csv'; it has to be an object"),
        (drop(*MALL, "energy_simulation"), "buildings.mall.energy_simulation is missing; it has to be the name of a file"),
        (put("simulation_start_time_step", value=-1), "simulation_start_time_step is -1; it has to be a whole number from 0"),
        (put(*MALL, "weather", value=5), "buildings.mall.weather is 5; it has to be the name of a file"),
        (put(*MALL, "pv", "attributes", "nominal_power", value=-3), "pv.attributes.nominal_power is -3; it has to be a number"),
        (put(*MALL, "pv", "attributes", "tilt", value=3), "buildings.mall.pv.attributes.tilt is unknown to CityLearn"),
        (
            put(*MALL, "pvv", value={}),
            "buildings.mall.pvv is unknown to CityLearn, which would ignore it or stop; did you mean pv?",
        ),
        (drop(*MALL, "pv", "type"), "buildings.mall.pv.type is missing; it has to be the dotted path of a class, ending in PV"),
        (put("electric_vehicles_def", value=None), "electric_vehicles_def is missing; it has to be an object"),
        (
            drop("electric_vehicles_def", "motorcycle_001", "battery"),
            "motorcycle_001.battery is missing; it has to be an object",
        ),
        (put("random_seed", value="seven"), "random_seed is 'seven'; it has to be a whole number from 0 to 4,294,967,295"),
        (put("start_date", value="yesterday"), "start_date is 'yesterday'; it has to be a date such as"),
        (put("render_session_name", value="../x"), "render_session_name is '../x'; it has to be the name of a folder"),
        (put("demand_response", value={"enabled": True}), "demand_response.enabled is true; it has to be false"),
        (put("metrics_log_interval", value=None), "metrics_log_interval is missing;"),
        (put("reward_function", "type", value="citylearn.reward_function.Best"), "it has to be the dotted path of a class"),
        (put("reward_function", "attributes", value={"exponnt": 2}), "did you mean exponent?"),
        (put("observations", "hour", "active", value="yes"), "observations.hour.active is 'yes'; it has to be true or false"),
        (
            put("observations", "ours", value={"active": True}),
            "observations.ours is active, and CityLearn has no such observation",
        ),
        (put("actions", "electrical_storge", value={"active": True}), "did you mean electrical_storage?"),
        # As they were called before CityLearn 3.
        (
            put("observations", "electricity_pricing_predicted_6h", value={"active": True}),
            "no such observation; run python -m envs.convert",
        ),
        (put("observations", "indoor_dry_bulb_temperature_set_point", value={"active": True}), "run python -m envs.convert"),
        (put("simulation_start_time_step", value=0.0), "simulation_start_time_step is 0.0; it has to be a whole number"),
        (put("actions", "sell", value={"active": True}), "actions.sell is active, and CityLearn has no such action"),
        (put(*BATTERY, "attributes", "capacity", value=True), "attributes.capacity is true; it has to be a number above 0"),
        (put(*BATTERY, "attributes", "power_efficiency_curve", value=[[0, 1.2], [1, 1.2]]), "more than 1 would make energy"),
        (put(*BATTERY, "attributes", "capacity_power_curve", value=[[1, 1], [0, 1]]), "they have to rise from 0 to 1"),
        (put("buildings", value={}), "buildings is empty;"),
        (put("seconds_per_time_step", value=2400), "seconds that divide an hour"),
        (put("seconds_per_time_step", value="3600"), "seconds that divide an hour"),
        (put("interface", value="table"), "interface is 'table'; it has to be flat or entity"),
        (put("topology_mode", value="dynamic"), "topology_mode is 'dynamic'; it has to be static"),
        (put(*MALL, "inactive_actions", value="electrical_storage"), "it has to be a list of actions"),
    ],
)
def test_a_wrong_value_is_named_by_place_value_and_remedy(
    schema: dict[str, Any], change: Callable[[dict[str, Any]], None], fault: str
) -> None:
    change(schema)
    faults = [str(found) for found in schema_faults(schema)]
    assert any(fault in found for found in faults), faults


VEHICLE = ("electric_vehicles_def", "motorcycle_001", "battery")


@pytest.mark.parametrize(
    ("place", "attribute", "value", "allowed"),
    [
        *(
            (place, *values)
            for place in (BATTERY, VEHICLE)
            for values in (
                ("initial_soc", 1.5, 1.0),
                ("initial_soc", -0.1, 0.0),
                ("depth_of_discharge", 0.0, None),
                ("depth_of_discharge", 1.1, 1.0),
                ("efficiency", 0.0, 0.01),
                ("efficiency", 95, 0.95),
                ("capacity", None, 5),
                ("capacity", 1e8, 1e7),
                ("nominal_power", 0, 1),
            )
        ),
        (SOCKET, "efficiency", 1.2, 1),
        (SOCKET, "max_charging_power", 0.0, None),
        (SOCKET, "min_charging_power", "1 kW", 1),
        (SOCKET, "max_discharging_power", -1, 0),
    ],
)
def test_an_attribute_beyond_its_range_is_named(
    schema: dict[str, Any], place: tuple[str, ...], attribute: str, value: object, allowed: object
) -> None:
    put(*place, "attributes", attribute, value=allowed)(schema)
    assert schema_faults(schema) == []
    put(*place, "attributes", attribute, value=value)(schema)
    fault, *_ = schema_faults(schema)
    assert str(fault).startswith(f"{'.'.join(place)}.attributes.{attribute} is ")


def test_comments_are_allowed_everywhere(schema: dict[str, Any]) -> None:
    for place in (schema, schema["buildings"]["mall"], schema["buildings"]["mall"]["pv"]):
        place["_comment"] = place["description"] = "of the roof in the north"
    assert schema_faults(schema) == []


def test_a_class_of_the_users_may_have_any_attributes(schema: dict[str, Any]) -> None:
    schema["reward_function"] = {"type": "my_package.rewards.Comfort", "attributes": {"anything": [1]}}
    assert schema_faults(schema) == []


def test_what_is_left_out_is_not_looked_at(schema: dict[str, Any]) -> None:
    schema["buildings"]["old"] = {"include": False, "pv": 5}
    schema["electric_vehicles_def"]["old"] = {"include": False}
    assert schema_faults(schema) == []
