"""A given site goes with its experiment to machines that have not its files."""

import shutil
from pathlib import Path

import pytest

from common.errors import UsageError
from common.storage.objects import Objects
from envs.scenarios.scenario import scenario
from tuning.experiment.folder import Experiment, ExperimentPaths
from tuning.experiment.settings import Settings
from tuning.storage.site_copy import site_files, with_site


def of(schema: str, folder: Path) -> Experiment:
    return Experiment(Settings(scenario=schema, backend="batch"), ExperimentPaths(folder))


def test_a_machine_without_the_site_has_the_same_scenario(small_schema: Path, tmp_path: Path, objects: Objects) -> None:
    site = tmp_path / "own" / "site"
    shutil.copytree(small_schema.parent, site)
    (site / "notes.txt").write_text("not of the scenario")
    schema = str(site / "schema.json")
    key = scenario(schema).key
    objects.put_all(site_files(schema).items())
    assert list(site_files(schema))[-1] == "site/site/schema.json"
    assert not objects.has("site/site/notes.txt")
    assert with_site(of(schema, tmp_path), objects) == of(schema, tmp_path), "its own files go first"
    shutil.rmtree(site)
    there = with_site(of(schema, tmp_path), objects)
    assert Path(there.settings.scenario).is_relative_to(tmp_path / "cache")
    assert scenario(there.settings.scenario).key == key
    assert there.scenario == schema, "results name it as before"


def test_a_generated_site_needs_no_copy(tmp_path: Path, objects: Objects) -> None:
    assert site_files("iquitos") == {}
    assert with_site(of("iquitos", tmp_path), objects) == of("iquitos", tmp_path)


def test_a_site_that_is_nowhere_is_named(tmp_path: Path, objects: Objects) -> None:
    with pytest.raises(UsageError, match=r"has no copy of its site /nowhere/schema\.json: put it"):
        with_site(of("/nowhere/schema.json", tmp_path), objects)


def test_files_outside_of_its_folder_stay_where_they_are(small_schema: Path, tmp_path: Path) -> None:
    """A scenario that is trusted may name some."""
    site, outside = tmp_path / "site", tmp_path / "weather.csv"
    shutil.copytree(small_schema.parent, site)
    weather = next(path for path in site.glob("*weather*"))
    shutil.move(weather, outside)
    path = site / "schema.json"
    path.write_text(path.read_text(encoding="utf-8").replace(weather.name, str(outside)), encoding="utf-8")
    assert not any("weather" in key for key in site_files(str(path)))
