"""Values of a schema that do not go with one another are named by their place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envs.scenarios.schema_relations import _lstm_weights, schema_faults
from tests.envs.scenarios.schema_changes import MALL, put


@pytest.fixture
def schema(small_schema: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(small_schema.read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (put("robustness", value={"enabled": True}), "robustness.events_file is missing"),
        (put(*MALL, "electrical_service", value={"default_split": "L3"}), "default_split has to be balanced or L1"),
        (
            put(*MALL, "electrical_service", value={"limits": {"per_phase": {"L2": {}}}}),
            "per_phase.L2 is no phase of this service; it has to be one of L1",
        ),
        (put("observations", value={"hour": {"active": False}}), "observations has none that is active"),
        (
            put(
                *MALL,
                "dhw_device",
                value={
                    "type": "citylearn.energy_model.ElectricHeater",
                    "autosize": True,
                    "autosize_attributes": {"safety_factor": 0.5},
                },
            ),
            "dhw_device.autosize_attributes.safety_factor is 0.5; below 1 the device cannot meet its demand",
        ),
        (
            put(*MALL, "electrical_storage", value=None),
            "buildings.mall.electrical_storage is missing, and its action is active",
        ),
        (put(*MALL, "include", value=False), "buildings has none with include true"),
        (
            put(*MALL, "type", value="citylearn.building.LSTMDynamicsBuilding"),
            "buildings.mall.dynamics is missing; a building of",
        ),
        (put(*MALL, "dynamics", value={"type": "citylearn.dynamics.LSTMDynamics", "attributes": {}}), "filename is missing"),
        (put("simulation_start_time_step", value=960), "simulation_end_time_step is 960 and simulation_start_time_step 960;"),
    ],
)
def test_values_that_do_not_go_together_are_named(
    schema: dict[str, Any], change: Callable[[dict[str, Any]], None], fault: str
) -> None:
    change(schema)
    assert any(fault in str(found) for found in schema_faults(schema))


def test_they_are_told_only_where_each_value_has_its_form(schema: dict[str, Any]) -> None:
    put("simulation_start_time_step", value=960)(schema)
    put("random_seed", value="seven")(schema)
    assert [str(found).partition(" ")[0] for found in schema_faults(schema)] == ["random_seed"]


def test_a_device_is_connected_to_a_phase_of_its_service(schema: dict[str, Any]) -> None:
    mall = schema["buildings"]["mall"]
    mall["electrical_storage"]["attributes"]["phase_connection"] = "L9"
    assert schema_faults(schema) == []
    mall["electrical_service"] = {"mode": "three_phase"}
    assert "electrical_storage.attributes.phase_connection is 'L9'" in str(*schema_faults(schema))


def test_an_inactive_observation_may_be_unknown_unless_a_building_has_dynamics(schema: dict[str, Any]) -> None:
    schema["observations"]["mont"] = {"active": False}
    assert schema_faults(schema) == []
    lists = ("input_observation_names", "input_normalization_minimum", "input_normalization_maximum")
    model = {"filename": "a.pth", "hidden_size": 8, "num_layers": 1, "lookback": 12, **{name: [] for name in lists}}
    schema["buildings"]["mall"]["dynamics"] = {"type": "citylearn.dynamics.LSTMDynamics", "attributes": model}
    assert str(*schema_faults(schema)).startswith("observations.mont is unknown to CityLearn, which stops at it")
    del schema["observations"]["mont"]
    model |= {lists[0]: ["month_sin", "moon"], lists[1]: [0, 0], lists[2]: [1, 1]}
    assert "input_observation_names.1 is 'moon', and CityLearn has no such observation" in str(*schema_faults(schema))


@pytest.mark.parametrize(
    ("size", "layers", "inputs", "fits"),
    [(8, 2, 10, True), (1000, 2, 10, False), (10_000, 100, 10, False), (1000, 1, None, True), (500, 4, 1000, True)],
)
def test_an_lstm_that_takes_all_memory_is_refused(
    schema: dict[str, Any], size: int, layers: int, inputs: int | None, fits: bool
) -> None:
    lists = ("input_observation_names", "input_normalization_minimum", "input_normalization_maximum")
    model = {"filename": "a.pth", "hidden_size": size, "num_layers": layers, "lookback": 12, "input_size": inputs}
    model |= {lists[0]: ["month"], lists[1]: [0], lists[2]: [1]}
    schema["buildings"]["mall"]["dynamics"] = {"type": "citylearn.dynamics.LSTMDynamics", "attributes": model}
    told = "".join(map(str, schema_faults(schema)))
    assert fits is not ("dynamics.attributes.hidden_size and num_layers make a network of" in told)
    assert fits is (told == "")


def test_the_weights_of_an_lstm_are_those_of_torch() -> None:
    import torch

    own = torch.nn.LSTM(input_size=3, hidden_size=5, num_layers=4)
    assert _lstm_weights(3, 5, 4) == sum(weights.numel() for weights in own.parameters())


def test_every_value_of_a_schema_may_be_of_any_type_without_an_exception(schema: dict[str, Any]) -> None:
    values: tuple[Any, ...] = (None, True, -1, 1e30, "", "x", [], [[]], {}, {"x": {}})

    def visit(entry: Any) -> None:
        for name in list(entry) if isinstance(entry, dict) else range(len(entry)):
            kept = entry[name]
            for value in values:
                entry[name] = value
                list(map(str, schema_faults(schema)))
            entry[name] = kept
            if isinstance(kept, dict | list):
                visit(kept)

    schema["observations"] = {"hour": {"active": True}}
    schema["electric_vehicles_def"] = dict(list(schema["electric_vehicles_def"].items())[:1])
    schema["buildings"]["mall"]["chargers"] = dict(list(schema["buildings"]["mall"]["chargers"].items())[:1])
    visit(schema)
    assert schema_faults(schema) == []
