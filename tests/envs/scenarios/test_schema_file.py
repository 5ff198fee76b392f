"""Faults of a schema are found before CityLearn opens it."""

import importlib.util
import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from common.errors import ScenarioError
from envs.citylearn_backend.tables import schema_reward
from envs.environments.backend import beyond_batch
from envs.scenarios import schema_file, trust
from envs.scenarios.scenario import scenario
from envs.scenarios.schema_file import TABLES, _lstm_weights, schema_faults
from envs.scenarios.tariff import FILE_NAME
from tests.envs.scenarios.test_trust import SCHEMA
from tests.envs.schema_changes import MALL, SOCKET, drop, edit, edited, put


@pytest.fixture
def site(site: Path) -> Path:
    """Schema of a copy of the small site, to be broken."""
    return site / "schema.json"


def test_buildings_are_counted_that_are_included(four_buildings: Path, tmp_path: Path) -> None:
    assert schema_file.building_names(four_buildings) == ["one", "two", "three", "four"]
    schema = json.loads(four_buildings.read_text(encoding="utf-8"))
    schema["buildings"]["two"]["include"] = False
    del schema["buildings"]["three"]["include"]
    (tmp_path / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    assert len(schema_file.building_names(tmp_path / "schema.json")) == 3


def test_every_series_that_is_missing_is_named_at_once(site: Path) -> None:
    for name in ("weather.csv", "motorcycle_001.csv"):
        (site.parent / name).unlink()
    (site.parent / "pricing.csv").unlink()
    (site.parent / "pricing.csv").mkdir()
    with pytest.raises(ScenarioError) as refused:
        scenario(str(site))
    names = ("motorcycle_001.csv", "pricing.csv", "weather.csv")
    assert str(refused.value).splitlines() == [
        f"{site} names {name}, which is not in {site.parent}; put it there, or correct the name" for name in names
    ]


def test_a_name_that_is_too_long_for_a_file_is_missing(site: Path) -> None:
    edit(site, put(*MALL, "weather", value="w" * 300))
    with pytest.raises(ScenarioError, match=r"names www.*, which is not in"):
        scenario(str(site))


def test_faults_of_numbers_tariff_and_series_are_told_in_one_message(site: Path) -> None:
    edit(site, put(*MALL, "pv", "attributes", "nominal_power", value=-1))
    (site.parent / FILE_NAME).write_text('{"demand_charge": {}}', encoding="utf-8")
    load = site.parent / "mall.csv"
    load.write_text(load.read_text(encoding="utf-8").replace(",743.83", ",1e30", 1), encoding="utf-8")
    with pytest.raises(ScenarioError) as refused:
        scenario(str(site))
    lines = str(refused.value).splitlines()
    assert f"{site}: buildings.mall.pv.attributes.nominal_power is -1; it has to be a number from 0 to" in lines[0]
    assert [line.split(" ")[1] for line in lines[1:5]] == [
        "currency",
        *(f"demand_charge.{name}" for name in ("peak_hours", "peak_price", "off_peak_excess_price")),
    ]
    assert lines[5].startswith(f"{load}, line ")


def test_a_building_that_is_left_out_may_name_what_is_not_there(site: Path) -> None:
    edit(site, put("buildings", "a", value={"include": False, "energy_simulation": "gone.csv"}))
    assert scenario(str(site)).schema == site


def test_citylearn_gets_the_length_of_a_step_where_the_schema_names_none(site: Path) -> None:
    scenario(str(edit(site, drop("seconds_per_time_step"))))
    assert schema_file.rooted(site)["seconds_per_time_step"] == 3600


@pytest.mark.parametrize("text", ["{", "{}", "[]"])
def test_a_file_that_is_no_schema_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "schema.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"schema\.json"):
        scenario(str(path))


def test_a_schema_may_have_a_byte_order_mark(site: Path, small_schema: Path) -> None:
    site.write_text(site.read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert beyond_batch(scenario(str(site))) == beyond_batch(scenario(str(small_schema)))
    assert schema_reward(site) == schema_reward(small_schema)
    assert schema_file.read_schema(site) == schema_file.read_schema(small_schema)


def test_series_lie_beside_the_schema_or_in_the_folder_that_it_names(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "schema.json"
    monkeypatch.chdir(tmp_path)
    for named, folder in ((None, tmp_path), ("series", tmp_path / "series"), (str(tmp_path / "far"), tmp_path / "far")):
        content = {**schema_file.read_schema(small_schema), "root_directory": named}
        path.write_text(json.dumps(content), encoding="utf-8")
        assert schema_file.rooted(Path("schema.json")) == {**content, "root_directory": str(folder)}


@pytest.mark.parametrize(("seed", "refused"), [(None, True), (7, False)])
def test_outages_that_are_drawn_without_a_seed_are_refused(site: Path, seed: int | None, refused: bool) -> None:
    model = {"type": "citylearn.power_outage.PowerOutage", "attributes": {"random_seed": seed}}
    for simulated, drawn in ((True, True), (True, False), (False, True)):
        outage = {"simulate_power_outage": simulated, "stochastic_power_outage": drawn, "stochastic_power_outage_model": model}
        edit(site, put(*MALL, "power_outage", value=outage))
        with pytest.raises(ScenarioError, match="without a seed") if refused and simulated and drawn else nullcontext():
            scenario(str(site))


def test_steps_and_active_actions_are_those_of_the_schema(small_schema: Path) -> None:
    assert schema_file.count_steps(small_schema) == 40 * 24
    assert schema_file.active_actions(small_schema) == ["electrical_storage", "electric_vehicle_storage"]


@pytest.mark.parametrize("name", ["schema.json", FILE_NAME, "weather.csv", "motorcycle_001.csv"])
def test_the_digest_changes_with_every_file_that_is_read_in_pieces(
    site: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Path, "read_bytes")
    before = schema_file.digest(site)
    (site.parent / "notes.txt").write_text("not read", encoding="utf-8")
    assert schema_file.digest(site) == before
    path = site.parent / name
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert schema_file.digest(site) != before


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
        (
            put(*SOCKET, "attributes", "min_charging_power", value=50),
            "chargers.motorcycle_001.attributes.min_charging_power is 50, above max_charging_power 2.0; lower it",
        ),
        (
            put(*SOCKET, "attributes", "min_discharging_power", value=5),
            "chargers.motorcycle_001.attributes.min_discharging_power is 5, above max_discharging_power 0.0; lower it",
        ),
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


def set_model(schema: dict[str, Any], **attributes: Any) -> None:
    """Give the mall a small model of its temperature, with other attributes than by default."""
    model = {"filename": "a.pth", "hidden_size": 8, "num_layers": 1, "lookback": 12, "input_observation_names": ["month"]}
    model |= {"input_normalization_minimum": [0], "input_normalization_maximum": [1], **attributes}
    schema["buildings"]["mall"]["dynamics"] = {"type": "citylearn.dynamics.LSTMDynamics", "attributes": model}


def test_an_inactive_observation_may_be_unknown_unless_a_building_has_dynamics(schema: dict[str, Any]) -> None:
    schema["observations"]["mont"] = {"active": False}
    assert schema_faults(schema) == []
    set_model(schema)
    assert str(*schema_faults(schema)).startswith("observations.mont is unknown to CityLearn, which stops at it")
    del schema["observations"]["mont"]
    both = {f"input_normalization_{end}": [0, 1] for end in ("minimum", "maximum")}
    set_model(schema, input_observation_names=["month_sin", "moon"], **both)
    assert "input_observation_names.1 is 'moon', and CityLearn has no such observation" in str(*schema_faults(schema))


@pytest.mark.parametrize(
    ("size", "layers", "inputs", "fits"),
    [(8, 2, 10, True), (1000, 2, 10, False), (10_000, 100, 10, False), (1000, 1, None, True), (500, 4, 1000, True)],
)
def test_an_lstm_that_takes_all_memory_is_refused(
    schema: dict[str, Any], size: int, layers: int, inputs: int | None, fits: bool
) -> None:
    set_model(schema, hidden_size=size, num_layers=layers, input_size=inputs)
    told = "".join(map(str, schema_faults(schema)))
    assert fits is not ("dynamics.attributes.hidden_size and num_layers make a network of" in told)
    assert fits is (told == "")


def test_the_weights_of_an_lstm_are_those_of_torch() -> None:
    import torch

    own = torch.nn.LSTM(input_size=3, hidden_size=5, num_layers=4)
    assert _lstm_weights(3, 5, 4) == sum(weights.numel() for weights in own.parameters())


def test_every_value_of_a_schema_may_be_of_any_type_without_an_exception(schema: dict[str, Any], small_schema: Path) -> None:
    values: tuple[Any, ...] = (
        None, True, -1, 1e30, "", "x", "a\0b", "..", [], [[]], {}, {"x": {}}, {"\n\x1b[2J": {"type": "x"}},
    )  # fmt: skip
    messages = set[str]()

    def check(whole: dict[str, Any]) -> None:
        list(map(str, schema_faults(whole)))
        list(trust.named_files(whole)), trust.autosized(whole, "pv")
        for refuse in (trust.check, lambda path, own: trust.check_reward(path, own, trusted=False)):
            try:
                refuse(small_schema, whole)
            except ScenarioError as error:
                messages.add(str(error))

    def visit(whole: dict[str, Any], entry: Any) -> None:
        for name in list(entry) if isinstance(entry, dict) else range(len(entry)):
            kept = entry[name]
            for value in values:
                entry[name] = value
                check(whole)
            entry[name] = kept
            if isinstance(kept, dict | list):
                visit(whole, kept)

    schema["observations"] = {"hour": {"active": True}}
    schema["electric_vehicles_def"] = dict(list(schema["electric_vehicles_def"].items())[:1])
    schema["buildings"]["mall"]["chargers"] = dict(list(schema["buildings"]["mall"]["chargers"].items())[:1])
    for whole in (schema, json.loads(json.dumps(SCHEMA))):  # the other one names all files and classes
        visit(whole, whole)
    assert schema_faults(schema) == []
    assert messages
    assert all(map(str.isprintable, messages))


TABLE = TABLES["electrical_storage"]


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CityLearn's folders, all below one that is empty; the folder of its cache."""
    monkeypatch.setattr(schema_file.platformdirs, "user_cache_dir", lambda **names: str(tmp_path / names["version"]))
    monkeypatch.setenv("CITYLEARN_LOCAL_MISC_PATH", str(tmp_path / "local"))
    monkeypatch.chdir(tmp_path)
    return schema_file._cache()


@pytest.fixture
def sized(small_schema: Path, tmp_path: Path) -> Path:
    """The small site with a battery that CityLearn sizes."""
    return edited(small_schema, tmp_path / "site", put(*MALL, "electrical_storage", "autosize", value=True))


def test_the_folders_are_citylearns() -> None:
    from citylearn.data import DataSet

    data = DataSet(offline=True)
    assert schema_file._cache() == Path(data.cache_directory) / "misc"
    assert set(TABLES.values()) == {data.PV_CHOICES_FILENAME, data.BATTERY_CHOICES_FILENAME}
    assert set(data.local_misc_directories) <= {str(folder) for folder in schema_file._local()}


def test_a_table_that_would_be_downloaded_is_one_line(own_folders: Path, sized: Path) -> None:
    with pytest.raises(
        ScenarioError, match=rf"electrical_storage\.autosize needs .* {TABLE}, .*get_battery_sizing_data"
    ) as error:
        scenario(str(sized))
    assert str(own_folders) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_table_is_part_of_the_key_wherever_citylearn_takes_it_from(own_folders: Path, sized: Path, tmp_path: Path) -> None:
    keys = set()
    for folder, text in ((tmp_path / "data" / "misc", "a"), (tmp_path / "local", "b"), (own_folders, "c")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / TABLE).write_text(text, encoding="utf-8")
        keys.add(scenario(str(sized)).key)
    assert len(keys) == 3


def test_pv_is_sized_by_a_package_that_has_to_be_there(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"buildings": {"a": {"pv": {"autosize": True}}}}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    line, *_ = schema_file._unsized(small_schema, schema)
    assert "buildings.a.pv.autosize needs the package NREL-PySAM" in line
    assert not list(schema_file._unsized(small_schema, {"buildings": {"a": {"pv": {"autosize": False}}}}))
