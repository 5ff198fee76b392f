"""Experiments at a URI are opened to be read, from any folder, with the site that was begun with."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import UsageError
from common.paths import cache_folder
from common.storage.location import location
from common.storage.objects import Objects
from common.uris import with_uris
from envs.scenarios.scenario import scenario
from results import load
from tests.envs.schema_changes import edit, put
from tests.tuning.judging.test_contenders import experiment
from tests.uploads import upload
from tuning.experiment.folder import Experiment, ExperimentPaths, create
from tuning.experiment.reading import FOLDER, is_given, open_to_read, site_files, with_checkpoints, with_found_site
from tuning.experiment.settings import Settings
from tuning.judging.contenders import contenders

pytestmark = pytest.mark.usefixtures("elsewhere")


def test_settings_and_results_are_those_of_the_folder_and_checkpoints_stay_where_they_are(tmp_path: Path, share: str) -> None:
    of = experiment(tmp_path, "p", {0.05: {"gamma": 0.9}})
    for number in (0, 1):
        of.paths.checkpoints(number).mkdir(parents=True)
        (of.paths.checkpoints(number) / "state.json").write_text("{}")
    upload(of.paths.folder, f"{share}/p")
    found = open_to_read(f"{share}/p/")
    assert found.settings == of.settings
    assert with_uris(str(found.paths.folder)) == f"{share}/p"
    assert load(found.paths.folder).best["trial"] == 0
    assert not found.paths.checkpoints(0).exists()
    with_checkpoints(found, 0)
    assert found.paths.checkpoints(0).exists()
    assert not found.paths.checkpoints(1).exists()
    assert open_to_read(of.paths.folder) == with_checkpoints(of, 0) == of


def test_a_place_without_an_experiment_is_told_by_its_uri(share: str) -> None:
    with pytest.raises(UsageError, match="no experiment in") as caught:
        open_to_read(f"{share}/none")
    assert f"no experiment in {share}/none:" in str(caught.value)


def test_contenders_are_known_by_the_uri(tmp_path: Path, share: str) -> None:
    of = experiment(tmp_path, "p", {0.05: {"gamma": 0.9}, 0.07: {"gamma": 0.95}})
    upload(of.paths.folder, f"{share}/p")
    here, there = contenders([of], 2), contenders([open_to_read(f"{share}/p")], 2)
    assert [replace(own, experiment=f"{share}/p") for own in here] == there


def test_a_site_that_is_not_on_this_machine_comes_from_storage(small_schema: Path, tmp_path: Path, share: str) -> None:
    of = create(Settings(scenario=str(small_schema), name="p", dir=str(tmp_path), backend="batch"))
    # Beyond the file's checksum.
    edit(of.paths.settings, put("settings", "scenario", value=r"C:\homes\small\schema.json"))
    upload(of.paths.folder, f"{share}/p")
    with pytest.raises(UsageError, match=r"has no copy of its site C:.*put it under that path"):
        open_to_read(f"{share}/p")
    upload(small_schema.parent, f"{share}/p/site/small")
    schema = Path(open_to_read(f"{share}/p").settings.scenario)
    assert schema.read_bytes() == small_schema.read_bytes()
    assert schema.parent.name == "small"


def site(small_schema: Path, folder: Path) -> Path:
    shutil.copytree(small_schema.parent, folder)
    return folder / small_schema.name


def change(schema: Path) -> None:
    """Another version of its data."""
    weather = next(path for path in sorted(schema.parent.glob("*.csv")) if "weather" in path.name)
    rows = weather.read_text().splitlines()
    rows[-1] = rows[-2]
    weather.write_text("\n".join(rows) + "\n")


def begun(schema: str | Path, folder: Path, **facts: str) -> Experiment:
    return Experiment(Settings(scenario=str(schema), backend="batch"), ExperimentPaths(folder), dict(facts))


NOWHERE = "file:///nowhere"  # nothing is fetched


def test_files_of_another_version_are_passed_over(small_schema: Path, tmp_path: Path) -> None:
    place = tmp_path / "e"
    own, copy = site(small_schema, tmp_path / "own/site"), site(small_schema, place / FOLDER / "site")
    of = begun(own, tmp_path, scenario=scenario(str(own)).key)
    assert with_found_site(of, NOWHERE) == of
    change(own)
    found = with_found_site(of, place.as_uri())
    assert found.settings.scenario.endswith("site/site/schema.json")
    assert scenario(found.settings.scenario).key == of.compatibility["scenario"]
    assert found.scenario == str(own)
    copy.unlink()
    with pytest.raises(UsageError, match=r"/e has no copy of its site .*: that path has other data on this machine"):
        with_found_site(of, place.as_uri())


def test_files_whose_data_are_not_known_are_taken(small_schema: Path, tmp_path: Path) -> None:
    of = begun(site(small_schema, tmp_path / "own/site"), tmp_path)
    change(Path(of.settings.scenario))
    assert with_found_site(of, NOWHERE) == of


def test_a_generated_site_has_no_files(tmp_path: Path) -> None:
    of = begun("iquitos", tmp_path, scenario="another")
    assert with_found_site(of, NOWHERE) == of
    assert not is_given("iquitos")
    assert site_files("iquitos") == {}


def test_a_machine_without_the_site_has_the_same_scenario(small_schema: Path, tmp_path: Path, share: str) -> None:
    own = site(small_schema, tmp_path / "own/site")
    (own.parent / "notes.txt").write_text("not of the scenario")
    schema = str(own)
    key = scenario(schema).key
    objects = Objects(location(share))
    objects.put_all(site_files(schema).items())
    assert list(site_files(schema))[-1] == "site/site/schema.json"
    assert not objects.has("site/site/notes.txt")
    of = begun(own, tmp_path)
    assert with_found_site(of, share) == of, "its own files go first"
    shutil.rmtree(own.parent)
    there = with_found_site(of, share)
    assert Path(there.settings.scenario).is_relative_to(cache_folder())
    assert scenario(there.settings.scenario).key == key
    assert there.scenario == schema, "results name it as before"


def test_files_outside_of_its_folder_stay_where_they_are(small_schema: Path, tmp_path: Path) -> None:
    """A scenario that is trusted may name some."""
    path, outside = site(small_schema, tmp_path / "site"), tmp_path / "weather.csv"
    weather = next(path.parent.glob("*weather*"))
    shutil.move(weather, outside)
    path.write_text(path.read_text(encoding="utf-8").replace(weather.name, str(outside)), encoding="utf-8")
    assert not any("weather" in key for key in site_files(str(path)))
