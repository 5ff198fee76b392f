"""Which backend steps a scenario."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from common.errors import ScenarioError
from envs.batch_backend.simulator import BatchSimulator
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.environments.backend import TYPES, beyond_batch, choose_backend, unsupported
from envs.scenarios.scenario import scenario
from tests.envs.batch_backend.comparison import compare
from tests.envs.batch_backend.test_kernel import acting, open_both, raw_year
from tests.envs.schema_changes import MALL, SOCKET, edited, put


def test_auto_falls_back_to_citylearn_and_batch_refuses(small_schema: Path, tmp_path: Path) -> None:
    sound = scenario(str(small_schema))
    assert [choose_backend(sound, choice, "schema") for choice in ("auto", "batch", "citylearn")] == [
        "batch",
        "batch",
        "citylearn",
    ]
    beyond = scenario(str(edited(small_schema, tmp_path, put("random_seed", value=None))))
    assert choose_backend(beyond, "auto", "schema") == "citylearn"
    with pytest.raises(ScenarioError, match=r"--backend batch cannot step .*random_seed null"):
        choose_backend(beyond, "batch", "schema")


def test_generated_scenarios_are_not_opened_to_see_that_they_are_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.scenarios.iquitos.files.write_year", lambda *_: pytest.fail("a year was generated"))
    assert beyond_batch(scenario("iquitos-38")) == []
    assert choose_backend(scenario("iquitos-38"), "batch", "schema") == "batch"


def test_generated_and_metered_scenarios_are_supported(small_schema: Path, real_schema: Path) -> None:
    assert unsupported(small_schema) == unsupported(real_schema) == []


@pytest.mark.parametrize("name", ["citylearn_challenge_2023_phase_2_local_evaluation", "baeda_3dem"])
def test_models_of_temperatures_devices_that_obey_actions_and_outages_are_supported(
    thermal_schema: Callable[[str], Path], name: str
) -> None:
    path = thermal_schema(name)
    assert unsupported(path) == []
    assert choose_backend(scenario(str(path)), "batch", "schema") == "batch"


def test_padding_of_a_last_row_that_is_there_changes_nothing(small_schema: Path, tmp_path: Path) -> None:
    padded = edited(small_schema, tmp_path, put("terminal_observation_padding", value=True))
    assert unsupported(padded) == []
    scenario(str(padded))
    missing = edited(
        small_schema, tmp_path, lambda schema: schema.update(terminal_observation_padding=True, simulation_end_time_step=10**5)
    )
    with pytest.raises(ScenarioError, match="add rows or lower it"):
        scenario(str(missing))


NO_EFFECT: tuple[tuple[tuple[str, ...], Any], ...] = (
    (("_comment",), "of the mall"), (("interface",), "entity"), (("topology_mode",), "static"),
    (("timezone",), "America/Lima"), (("actions", "escalator"), {"active": True}),
    (("observation_bundles",), {"a": {"enabled": True}}), (("derived_forecasts",), {"enabled": True}),
    (("community_market",), {"enabled": False, "intra_community_sell_ratio": 0.5}), (("robustness",), {"enabled": False}),
    (("ev_departure_within_tolerance",), 0.2), (("ev_departure_service_tolerance",), 0.2),
    ((*MALL, "_comment"), "has 128 sockets"), ((*MALL, "name"), "mall"), ((*MALL, "ignore_dynamics"), True),
    ((*SOCKET, "include"), True), ((*SOCKET, "autosize"), True),
    ((*SOCKET, "attributes", "nominal_power"), 1.0), ((*SOCKET, "attributes", "charger_type"), 0),
)  # fmt: skip


def test_what_has_no_effect_in_citylearn_is_no_reason_to_refuse(small_schema: Path, tmp_path: Path) -> None:
    def change(schema: dict[str, Any]) -> None:
        for place, value in NO_EFFECT:
            put(*place, value=value)(schema)

    simulator = CityLearnSimulator(edited(small_schema, tmp_path, change), with_reward=True)
    assert unsupported(tmp_path / "schema.json") == []
    scenario(str(tmp_path))
    _, tables = open_both(small_schema)
    batch = BatchSimulator({0: raw_year(tables, parked=True)}, copies=1)
    assert max(compare(simulator, batch, acting(batch, "mixed"), 0, 0, 30, 0, charge=0.4).values()) <= 1.0


@pytest.mark.parametrize(
    ("beside", "found"),
    [
        ({}, []),
        ({"charging_constraints": {"phases": [{"chargers": ["motorcycle_002", "motorcycle_001"]}]}}, []),  # without effect then
        ({"dhw_device": {"type": "citylearn.energy_model.ElectricHeater"}}, ["electrical service of a building with thermal"]),
        ({"deferrable_appliances": {"washer": {}}}, ["deferrable appliances of a building with power outages or an elec"]),
    ],
)
def test_an_electrical_service_is_stepped_beside_battery_and_chargers_alone(
    small_schema: Path, tmp_path: Path, beside: dict[str, Any], found: list[str]
) -> None:
    service = {"electrical_service": {"mode": "single_phase"}, **beside}
    missing = unsupported(edited(small_schema, tmp_path, lambda schema: schema["buildings"]["mall"].update(service)))
    assert len(missing) == len(found)
    assert all(one.startswith(start) for one, start in zip(missing, found, strict=True))


def test_a_reward_of_ones_own_costs_the_fast_path_only_where_policies_earn_it(small_schema: Path, tmp_path: Path) -> None:
    own = edited(small_schema, tmp_path, put("reward_function", "type", value="my.module.Reward"))
    assert unsupported(own, "improvement") == []
    assert unsupported(own, "schema") == ["reward function my.module.Reward"]


def test_it_knows_these_classes_of_devices_and_no_other_that_pass_without_trust() -> None:
    heat, pump, tank = (
        "citylearn.energy_model.ElectricHeater",
        "citylearn.energy_model.HeatPump",
        "citylearn.energy_model.StorageTank",
    )
    devices = {"cooling_device": (pump,), "heating_device": (pump, heat), "dhw_device": (pump, heat)}
    tanks = {f"{use}_storage": (tank,) for use in ("cooling", "heating", "dhw")}
    assert {name: known for name, known in TYPES.items() if name in devices | tanks} == devices | tanks


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        ((*MALL, "dynamics"), {"type": "my.module.Dynamics"}, "Dynamics"),
        ((*MALL, "dynamics"), {"attributes": {"dropout": 0.1}}, "dropout of dynamics"),
        (
            (*MALL, "dynamics"), {"attributes": {"input_observation_names": ["hour", "dhw_storage_soc"]}},
            "dhw_storage_soc as an input of dynamics",
        ),
        ((*MALL, "type"), "citylearn.building.OccupantInteractionBuilding", "OccupantInteractionBuilding"),
        ((*MALL, "power_outage"), {"simulate_power_outage": True}, "power outages of a building with chargers"),
        ((*MALL, "deferrable_appliances"), {"washer": {"type": "my.module.Washer"}}, "Washer"),
        (
            (*MALL, "charging_constraints"), {"phases": [{"chargers": ["motorcycle_002", "motorcycle_001"]}]},
            "phases with chargers",
        ),
        ((*MALL, "charging_constraints"), {"phases": [{"chargers": ["a_car"]}]}, "phases with chargers that are not"),
        ((*MALL, "charging_constraints"), {"phases": [{}] * 7}, "more than 6 phases"),
        ((*MALL, "occupant"), {"type": "citylearn.occupant.Occupant"}, "Occupant"),
        (("community_market",), {"enabled": True}, "'community_market' of the schema"),
        (("random_seed",), None, "random_seed null"),
        (("reward_function", "type"), "my.module.Reward", "reward function my.module.Reward"),
        (("reward_function", "type"), {"mall": "x"}, "reward function for each building"),
        ((*MALL, "escalators"), {"stairs": {}}, "escalators"),
    ],
)  # fmt: skip
def test_a_missing_feature_is_named(small_schema: Path, tmp_path: Path, path: tuple[str, ...], value: Any, name: str) -> None:
    found = unsupported(edited(small_schema, tmp_path, put(*path, value=value)))
    assert any(entry.startswith(name) for entry in found), found


@pytest.mark.parametrize(("included", "is_asked"), [(None, True), (True, True), (False, False)])
def test_what_is_asked_of_a_building_is_asked_where_citylearn_includes_it(
    small_schema: Path, tmp_path: Path, included: bool | None, is_asked: bool
) -> None:
    def change(schema: dict[str, Any]) -> None:
        schema["buildings"]["mall"] |= {"include": included, "occupant": {"type": "citylearn.occupant.Occupant"}}

    found = unsupported(edited(small_schema, tmp_path, change))
    assert ("Occupant" in found) == is_asked


def test_set_points_are_inputs_of_dynamics_where_nobody_changes_them(small_schema: Path, tmp_path: Path) -> None:
    inputs = {"attributes": {"input_observation_names": ["indoor_dry_bulb_temperature_cooling_set_point"]}}
    path = edited(small_schema, tmp_path, put(*MALL, "dynamics", value=inputs))
    assert unsupported(path) == []
    people = {"type": "citylearn.occupant.LogisticRegressionOccupant"}
    found = unsupported(edited(path, tmp_path / "people", put(*MALL, "occupant", value=people)))
    assert found == ["indoor_dry_bulb_temperature_cooling_set_point as an input of dynamics"]
