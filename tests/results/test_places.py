"""Readers take URIs from any folder, fetch what is new, and tell the URI."""

import json
import shutil
import warnings
from pathlib import Path

import pandas as pd
import pytest

from common.storage import faults
from common.storage.location import StorageError
from common.storage.objects import Objects
from common.storage.stores import Stamp
from results import ResultsError, load
from results.analysis import compare
from results.experiment_file import FORMAT, read_facts
from results.places import local_folder, matching
from results.report.__main__ import main as report_main
from results.report.sections import read_sources
from tests.results.report.made import rolled
from tests.uploads import upload

pytestmark = pytest.mark.filterwarnings("ignore:.*its row counts")


@pytest.fixture(autouse=True)
def there(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another machine: a folder with a cache of its own."""
    folder = tmp_path_factory.mktemp("there")
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(folder / "cache"))
    monkeypatch.setattr(faults, "MOST_PAUSE", 0.1)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A place for experiments on a share."""
    return tmp_path_factory.mktemp("share").as_uri()


@pytest.fixture(params=["s3", "file"])
def each_place(request: pytest.FixtureRequest) -> str:
    """A place for experiments: a bucket, and a share."""
    return request.getfixturevalue("s3_bucket") + "/experiments" if request.param == "s3" else request.getfixturevalue("place")


def test_results_from_a_uri_are_those_of_the_folder(experiment: Path, each_place: str) -> None:
    upload(experiment, f"{each_place}/ppo-1")
    own, found = load(experiment), load(f"{each_place}/ppo-1/")
    for table in ("trials", "reports", "evaluations"):
        pd.testing.assert_frame_equal(getattr(own, table), getattr(found, table))
    assert found.place == f"{each_place}/ppo-1"
    assert found.folder.name == "ppo-1"
    assert own.place == str(experiment)
    assert dict(read_facts(found.folder).settings) == dict(read_facts(own.folder).settings)


def test_loading_again_fetches_what_is_new_and_forgets_what_is_gone(experiment: Path, place: str) -> None:
    objects = upload(experiment, f"{place}/ppo-1")
    assert len(load(f"{place}/ppo-1").reports) == 3
    last = "results/reports/00001.parquet"
    content = objects.read(last)
    objects.remove([last])
    assert len(load(f"{place}/ppo-1").reports) == 2
    objects.put(last, content)
    assert len(load(f"{place}/ppo-1").reports) == 3


def test_several_are_loaded_by_a_pattern_or_a_list_and_called_by_their_names(experiment: Path, each_place: str) -> None:
    (experiment / "experiment.json").write_text(json.dumps({"format": FORMAT}))
    for name in ("a/ppo-1", "a/ppo-2", "a/sac-1", "b/ppo-1"):
        upload(experiment, f"{each_place}/{name}")
    upload(experiment / "results", f"{each_place}/a/ppo-9")  # no experiment
    assert matching(f"{each_place}/a/ppo-*") == [f"{each_place}/a/ppo-1", f"{each_place}/a/ppo-2"]
    assert matching(f"{each_place}/*/ppo-[1]") == [f"{each_place}/a/ppo-1", f"{each_place}/b/ppo-1"]
    several = load(f"{each_place}/a/ppo-*")
    assert sorted(set(several.trials["experiment"])) == ["ppo-1", "ppo-2"]
    assert load([f"{each_place}/a/sac-1", experiment]).names == ("sac-1", experiment.name)
    assert load(f"{each_place}/*/ppo-1").names == (f"{each_place}/a/ppo-1", f"{each_place}/b/ppo-1")
    assert set(compare(several)["folder"]) == {f"{each_place}/a/ppo-1", f"{each_place}/a/ppo-2"}
    with pytest.raises(ResultsError, match="no experiment there has such a name"):
        load(f"{each_place}/none-*")
    with pytest.raises(ResultsError, match="a pattern stands after the bucket"):
        load("s3://buck*/a")


def test_what_is_told_names_the_uri_and_not_the_copy(experiment: Path, place: str, there: Path) -> None:
    objects = upload(experiment, f"{place}/ppo-1")
    first = next(key for key in objects.listed("results/reports/") if "00000" in key)
    objects.put(first, b"torn")
    with pytest.warns(UserWarning, match="skipped") as caught:
        load(f"{place}/ppo-1")
    told = [str(each.message) for each in caught]
    assert any(f"skipped {place}/ppo-1/{first}" in line for line in told)
    assert not any(str(there / "cache") in line for line in told)
    for key in objects.listed("results/trials/"):
        objects.remove([key])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ResultsError, match="no trial is complete") as error:
            _ = load(f"{place}/ppo-1").best
    assert str(error.value).startswith(f"{place}/ppo-1: ")
    with pytest.raises(ResultsError, match="no results in") as error:
        load(f"{place}/none")
    assert f"no results in {place}/none:" in str(error.value)


def test_a_new_experiment_without_trials_is_loaded(place: str, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "experiment.json").write_text(json.dumps({"format": FORMAT}))
    upload(tmp_path / "new", f"{place}/new")
    assert load(f"{place}/new").trials.empty


def test_a_report_from_a_uri_is_written_here(experiment: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    rolled(experiment / "rollouts" / "trial-00001-000000000200-year-0.parquet")
    upload(experiment, f"{place}/ppo-1")
    sources = read_sources([f"{place}/ppo-1", f"{place}/ppo-1/"])
    assert (len(sources.experiments), len(sources.policies)) == (1, 1)
    of_file = read_sources([f"{place}/ppo-1/rollouts/trial-00001-000000000200-year-0.parquet", f"{place}/ppo-1/rollouts"])
    assert len(of_file.policies) == 2
    assert report_main([f"{place}/ppo-1"]) == 0
    assert capsys.readouterr().out.strip() == "report.html"
    assert b"ppo-1" in Path("report.html").read_bytes()
    assert report_main([f"{place}/none"]) == 2
    assert f"no results in {place}/none" in capsys.readouterr().err


def test_a_uri_with_credentials_is_refused_whether_it_names_one_place_or_several() -> None:
    for given in ("s3://AKIAKEY:topsecret@bucket/ppo-1", "s3://AKIAKEY:topsecret@bucket/ppo-*"):
        with pytest.raises(StorageError, match="holds credentials") as caught:
            load(given)
        assert "topsecret" not in str(caught.value)


def test_a_copy_may_be_deleted_at_any_time(experiment: Path, place: str) -> None:
    upload(experiment, f"{place}/ppo-1")
    shutil.rmtree(load(f"{place}/ppo-1").folder.parents[1])
    assert len(load(f"{place}/ppo-1").trials) == 4


def test_a_trial_that_ends_while_it_is_read_has_all_that_its_row_counts(
    experiment: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process puts its last reports, then its row."""
    number = min((experiment / "results/reports").iterdir()).name[:5]
    parts = {path: path.read_bytes() for path in (experiment / "results/reports").glob(f"{number}.*")}
    name = f"results/trials/{number}.parquet"
    ended = (experiment / name).read_bytes()
    for path in parts:
        path.unlink()
    (experiment / name).write_bytes(b"the row before it ended")
    objects = upload(experiment, f"{place}/ppo-1")
    listed, due = Objects.listed, [1]

    def listing(self: Objects, prefix: str = "") -> dict[str, Stamp]:
        found = listed(self, prefix)
        if prefix.startswith("results/") and due:
            due.clear()
            objects.put_all((path.relative_to(experiment).as_posix(), content) for path, content in parts.items())
            objects.put(name, ended)
        return found

    monkeypatch.setattr(Objects, "listed", listing)
    folder = local_folder(f"{place}/ppo-1")
    assert not due
    assert (folder / name).read_bytes() == ended
    assert all((folder / path.relative_to(experiment)).exists() for path in parts)
    objects.remove([name])
    local_folder(f"{place}/ppo-1")
    assert not (folder / name).exists()
