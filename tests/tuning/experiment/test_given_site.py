"""A given site is taken from where its search was begun, if it has the same data there, else from the storage's copy."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import UsageError
from envs.scenarios.scenario import scenario
from tuning.experiment.folder import Experiment, ExperimentPaths
from tuning.experiment.given_site import FOLDER, is_given, with_found_site
from tuning.experiment.settings import Settings


def site(small_schema: Path, folder: Path) -> Path:
    shutil.copytree(small_schema.parent, folder)
    return folder / small_schema.name


def change(schema: Path) -> None:
    """Another version of its data."""
    weather = next(path for path in sorted(schema.parent.glob("*.csv")) if "weather" in path.name)
    rows = weather.read_text().splitlines()
    rows[-1] = rows[-2]
    weather.write_text("\n".join(rows) + "\n")


def begun(schema: Path, folder: Path) -> Experiment:
    settings = Settings(scenario=str(schema), backend="batch")
    return Experiment(settings, ExperimentPaths(folder), {"scenario": scenario(str(schema)).key})


def no_copy() -> Path:
    raise AssertionError("nothing is fetched")


def test_files_of_another_version_are_passed_over(small_schema: Path, tmp_path: Path) -> None:
    own, copy = site(small_schema, tmp_path / "own/site"), site(small_schema, tmp_path / FOLDER / "site")
    of = begun(own, tmp_path)
    assert with_found_site(of, "s3://b/e", no_copy) == of
    change(own)
    found = with_found_site(of, "s3://b/e", lambda: tmp_path)
    assert found.settings.scenario == str(copy)
    assert scenario(found.settings.scenario).key == of.compatibility["scenario"]
    assert found.scenario == str(own)
    copy.unlink()
    with pytest.raises(UsageError, match=r"s3://b/e has no copy of its site .*: that path has other data on this machine"):
        with_found_site(of, "s3://b/e", lambda: tmp_path)


def test_files_whose_data_are_not_known_are_taken(small_schema: Path, tmp_path: Path) -> None:
    of = replace(begun(site(small_schema, tmp_path / "own/site"), tmp_path), compatibility={})
    change(Path(of.settings.scenario))
    assert with_found_site(of, "s3://b/e", no_copy) == of


def test_a_generated_site_has_no_files(tmp_path: Path) -> None:
    of = Experiment(Settings(backend="batch"), ExperimentPaths(tmp_path), {"scenario": "another"})
    assert with_found_site(of, "s3://b/e", no_copy) == of
    assert not is_given("iquitos")
