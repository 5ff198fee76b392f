"""Faults of a schema are found before CityLearn opens it."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from envs.environments.backend import beyond_batch
from envs.environments.year_cache import schema_reward
from envs.errors import ScenarioError
from envs.scenarios import schema_file
from envs.scenarios.scenario import scenario
from envs.scenarios.tariff import FILE_NAME


@pytest.fixture
def site(small_schema: Path, tmp_path: Path) -> Path:
    """Schema of a copy of the small scenario, to be broken."""
    return shutil.copytree(small_schema.parent, tmp_path / "site") / "schema.json"


def test_buildings_are_counted_that_are_included(four_buildings: Path, tmp_path: Path) -> None:
    assert schema_file.count_buildings(four_buildings) == 4
    schema = json.loads(four_buildings.read_text(encoding="utf-8"))
    schema["buildings"]["two"]["include"] = False
    del schema["buildings"]["three"]["include"]
    (tmp_path / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    assert schema_file.count_buildings(tmp_path / "schema.json") == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seconds_per_time_step": 900}, "only hourly"),
        ({"simulation_end_time_step": None}, "simulation_end_time_step is missing; it has to be a whole number"),
        (
            {"buildings": {"a": {"weather": "weather.csv", "energy_simulation": "gone.csv"}}},
            r"names gone\.csv, which is not in",
        ),
    ],
)
def test_faults_of_a_schema_are_found_before_citylearn_opens_it(site: Path, values: dict[str, object], message: str) -> None:
    sound = json.loads(site.read_text(encoding="utf-8")) | {"actions": {}}
    site.write_text(json.dumps(sound), encoding="utf-8")
    scenario(str(site))
    site.write_text(json.dumps({**sound, **values}), encoding="utf-8")
    with pytest.raises(ScenarioError, match=message):
        scenario(str(site))


def test_every_series_that_is_missing_is_named_at_once(site: Path) -> None:
    for name in ("weather.csv", "motorcycle_001.csv"):
        (site.parent / name).unlink()
    (site.parent / "pricing.csv").unlink()
    (site.parent / "pricing.csv").mkdir()
    with pytest.raises(ScenarioError) as refused:
        scenario(str(site))
    names = ("motorcycle_001.csv", "pricing.csv", "weather.csv")
    assert str(refused.value).splitlines() == [f"{site} names {name}, which is not in {site.parent}" for name in names]


def test_a_name_that_is_too_long_for_a_file_is_missing(site: Path) -> None:
    schema = json.loads(site.read_text(encoding="utf-8"))
    schema["buildings"]["mall"]["weather"] = "w" * 300
    site.write_text(json.dumps(schema), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"names www.*, which is not in"):
        scenario(str(site))


def test_faults_of_numbers_tariff_and_series_are_told_in_one_message(site: Path) -> None:
    schema = json.loads(site.read_text(encoding="utf-8"))
    schema["buildings"]["mall"]["pv"]["attributes"]["nominal_power"] = -1
    site.write_text(json.dumps(schema), encoding="utf-8")
    (site.parent / FILE_NAME).write_text('{"demand_charge": {}}', encoding="utf-8")
    load = site.parent / "mall.csv"
    load.write_text(load.read_text(encoding="utf-8").replace(",743.83", ",1e30", 1), encoding="utf-8")
    with pytest.raises(ScenarioError) as refused:
        scenario(str(site))
    lines = str(refused.value).splitlines()
    assert f"{site}: buildings.mall.pv.attributes.nominal_power is -1; it has to be a number from 0 to" in lines[0]
    assert [line.split(" ")[1] for line in lines[1:5]] == [
        f"demand_charge.{name}" for name in ("peak_hours", "peak_price", "off_peak_excess_price", "currency")
    ]
    assert lines[5].startswith(f"{load}, line ")


def test_a_building_that_is_left_out_may_name_what_is_not_there(site: Path) -> None:
    schema = json.loads(site.read_text(encoding="utf-8"))
    schema["buildings"]["a"] = {"include": False, "energy_simulation": "gone.csv"}
    site.write_text(json.dumps(schema), encoding="utf-8")
    assert scenario(str(site)).schema == site


def test_citylearn_gets_the_length_of_a_step_where_the_schema_names_none(site: Path) -> None:
    schema = json.loads(site.read_text(encoding="utf-8"))
    del schema["seconds_per_time_step"]
    site.write_text(json.dumps(schema), encoding="utf-8")
    scenario(str(site))
    assert schema_file.rooted(site)["seconds_per_time_step"] == 3600


@pytest.mark.parametrize("text", ["{", "{}", "[]"])
def test_a_file_that_is_no_schema_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "schema.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"schema\.json"):
        scenario(str(path))


def test_a_schema_may_have_a_byte_order_mark(small_schema: Path, tmp_path: Path) -> None:
    path = shutil.copytree(small_schema.parent, tmp_path / "site") / "schema.json"
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8-sig")
    site = scenario(str(path))
    assert beyond_batch(site) == beyond_batch(scenario(str(small_schema)))
    assert schema_reward(path) == schema_reward(small_schema)
    assert schema_file.read_schema(path) == schema_file.read_schema(small_schema)


def test_series_lie_beside_the_schema_or_in_the_folder_that_it_names(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "schema.json"
    monkeypatch.chdir(tmp_path)
    for named, folder in ((None, tmp_path), ("series", tmp_path / "series"), (str(tmp_path / "far"), tmp_path / "far")):
        content = {**schema_file.read_schema(small_schema), "root_directory": named}
        path.write_text(json.dumps(content), encoding="utf-8")
        assert schema_file.rooted(Path("schema.json")) == {**content, "root_directory": str(folder)}


def test_outages_that_are_drawn_anew_in_each_episode_are_refused(small_schema: Path, tmp_path: Path) -> None:
    schema = json.loads(small_schema.read_text(encoding="utf-8"))
    shutil.copytree(small_schema.parent, tmp_path, dirs_exist_ok=True)
    (building,) = schema["buildings"].values()
    path = tmp_path / "schema.json"
    for simulated, drawn, refused in ((True, True, True), (True, False, False), (False, True, False)):
        building["power_outage"] = {"simulate_power_outage": simulated, "stochastic_power_outage": drawn}
        path.write_text(json.dumps(schema), encoding="utf-8")
        if refused:
            with pytest.raises(ScenarioError, match="draws its power outages"):
                scenario(str(path))
        else:
            scenario(str(path))


def test_steps_and_active_actions_are_those_of_the_schema(small_schema: Path) -> None:
    assert schema_file.count_steps(small_schema) == 40 * 24
    assert schema_file.active_actions(small_schema) == ["electrical_storage", "electric_vehicle_storage"]


@pytest.mark.parametrize("name", ["schema.json", FILE_NAME, "weather.csv", "motorcycle_001.csv"])
def test_the_digest_changes_with_every_file_that_is_read(small_schema: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(small_schema.parent, tmp_path / "site")
    before = schema_file.digest(folder / "schema.json")
    (folder / "notes.txt").write_text("not read", encoding="utf-8")
    assert schema_file.digest(folder / "schema.json") == before
    path = folder / name
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert schema_file.digest(folder / "schema.json") != before


def test_the_digest_is_that_of_names_and_contents_and_reads_a_large_file_in_pieces(
    small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(small_schema.parent, tmp_path / "site")
    schema = folder / "schema.json"
    named = sorted(set(schema_file._named(schema_file.read_schema(schema))))
    code = folder / "model.py"
    code.write_bytes(b"a line\n" * 2**19)
    hashed = hashlib.sha256()
    for file in (schema, folder / FILE_NAME, *(folder / name for name in named), code):
        if file.exists():
            hashed.update(file.name.encode() + file.read_bytes())
    monkeypatch.delattr(Path, "read_bytes")
    assert schema_file.digest(schema, [code]) == hashed.hexdigest()[:12]
