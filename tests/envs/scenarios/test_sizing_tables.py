"""Tables that CityLearn would download are looked for first, and are part of the scenario's key."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from envs.errors import ScenarioError
from envs.scenarios import sizing_tables
from envs.scenarios.scenario import scenario
from envs.scenarios.schema_file import read_schema
from envs.scenarios.sizing_tables import TABLES, check_sizing

TABLE = TABLES["electrical_storage"]


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CityLearn's folders, all below one that is empty; the folder of its cache."""
    monkeypatch.setattr(sizing_tables.platformdirs, "user_cache_dir", lambda **names: str(tmp_path / names["version"]))
    monkeypatch.setenv("CITYLEARN_LOCAL_MISC_PATH", str(tmp_path / "local"))
    monkeypatch.chdir(tmp_path)
    return sizing_tables._cache()


@pytest.fixture
def sized(small_schema: Path, tmp_path: Path) -> Path:
    """The small site with a battery that CityLearn sizes."""
    path = Path(shutil.copytree(small_schema.parent, tmp_path / "site")) / "schema.json"
    schema = read_schema(path)
    (building,) = schema["buildings"].values()
    building["electrical_storage"]["autosize"] = True
    path.write_text(json.dumps(schema), encoding="utf-8")
    return path


def test_the_folders_are_citylearns(monkeypatch: pytest.MonkeyPatch) -> None:
    from citylearn.data import DataSet

    data = DataSet(offline=True)
    assert sizing_tables._cache() == Path(data.cache_directory) / "misc"
    assert set(TABLES.values()) == {data.PV_CHOICES_FILENAME, data.BATTERY_CHOICES_FILENAME}
    assert set(data.local_misc_directories) <= {str(folder) for folder in sizing_tables._local()}


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
    with pytest.raises(ScenarioError, match=r"buildings\.a\.pv\.autosize needs the package NREL-PySAM"):
        check_sizing(small_schema, schema)
    check_sizing(small_schema, {"buildings": {"a": {"pv": {"autosize": False}}}})
