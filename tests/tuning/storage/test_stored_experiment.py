"""Experiments in a storage: created once, looked up anywhere, held by one run at a time."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.errors import UsageError
from common.storage.location import Location, StorageError
from common.storage.objects import Objects
from tuning.experiment.folder import Experiment, ExperimentPaths, create, save
from tuning.experiment.settings import Settings
from tuning.storage import lease, stored_experiment
from tuning.storage.moving import move_to_storage
from tuning.storage.search_files import SearchFiles, StoredFiles
from tuning.storage.stored_experiment import (
    checkpoint_sizes,
    copied_from,
    create_stored,
    experiment_at,
    is_stored,
    look_up,
    publish,
    run_files,
    storage_of,
    withdraw,
)


def created(above: Location, **given: Any) -> Experiment:
    settings = Settings(**{"dir": above.uri, "backend": "batch", "name": "one", **given})
    place = storage_of(settings)
    assert place
    return create_stored(place, settings, {"scenario": "key"}, "")


def test_what_is_gone_from_the_storage_is_told_with_what_helps_where_it_stays_so(above: Location, tmp_path: Path) -> None:
    local = created(above, dir=str(tmp_path / "local"), storage=above.uri)
    Objects(above / "one").remove(Objects(above / "one").listed())
    with (
        pytest.raises(UsageError, match=rf"{above}/one was removed: .*restore it or choose another --name"),
        run_files(local, print),
    ):
        pass


def test_what_settings_name_as_storage(above: Location) -> None:
    assert storage_of(Settings()) is None
    assert storage_of(Settings(dir=above.uri)) == above
    assert storage_of(Settings(storage=above.uri)) == above
    with pytest.raises(UsageError, match="is a storage already; leave one of them out"):
        storage_of(Settings(dir=above.uri, storage=above.uri))
    with pytest.raises(UsageError, match="--storage experiments: it takes a URI"):
        storage_of(Settings(storage="experiments"))
    with pytest.raises(StorageError, match="no file system has the scheme"):
        storage_of(Settings(dir="nowhere://bucket/x"))


def test_an_experiment_is_created_in_the_storage_and_looked_up_anywhere(above: Location, tmp_path: Path) -> None:
    space = tmp_path / "space.toml"
    space.write_text("")
    made = created(above, space=str(space))
    assert made.storage == above / "one"
    assert made.place == f"{above}/one"
    assert (made.settings.name, made.settings.dir, made.compatibility) == ("one", above.uri, {"scenario": "key"})
    assert sorted(Objects(above / "one").listed()) == ["experiment.json", "runs/00000001.json", "space.toml"]
    assert is_stored(above / "one")
    assert look_up(above / "one") == experiment_at(f"{above}/one") == made
    assert experiment_at(made.paths.folder) == made, "a working copy stands for its storage"
    assert copied_from(tmp_path) is None


def test_what_is_of_a_run_alone_holds_in_the_run_that_creates_it_and_is_stored_nowhere(above: Location) -> None:
    of_run = {"trust_scenario": True, "address": "auto", "callback": ("module:Name",), "track": ("csv",)}
    made = created(above, **of_run)
    assert {name: getattr(made.settings, name) for name in of_run} == of_run
    assert look_up(above / "one").settings == replace(made.settings, trust_scenario=False, address="", callback=(), track=())


def test_a_name_that_is_taken_is_refused_and_nothing_is_written(above: Location) -> None:
    created(above)
    with pytest.raises(
        UsageError, match=r"one is an experiment already: continue it with --resume file:.*/one, or choose another"
    ):
        created(above)
    Objects(above / "two").put("notes.txt", b"")
    before = Objects(above).listed()
    with pytest.raises(UsageError, match="two is there already and holds no experiment: choose another --name"):
        created(above, name="two")
    with pytest.raises(UsageError, match="--name"):
        created(above, name="no/name")
    assert Objects(above).listed() == before


def test_without_a_name_one_that_is_free_in_both_places_is_taken(above: Location, tmp_path: Path) -> None:
    (tmp_path / "local" / "ppo-iquitos-1").mkdir(parents=True)
    Objects(above / "ppo-iquitos-2").put("runs/00000001.json", b"{}")  # of a creation that was killed
    made = created(above, dir=str(tmp_path / "local"), storage=above.uri, name="")
    assert made.settings.name == "ppo-iquitos-3"


def test_a_creation_that_was_killed_does_not_keep_its_name(above: Location) -> None:
    place = Objects(above / "one")
    for key in ("runs/00000001.json", "site/other/schema.json", "space.toml", "learned.json"):
        place.put(key, b"{}")
    assert created(above).settings.name == "one"
    assert [key for key in place.listed() if not key.startswith("runs/")] == ["experiment.json"]


def test_what_no_creation_leaves_is_kept(above: Location) -> None:
    for name, keys in (("one", ("runs/00000001.json", "results/trials/00000.parquet")), ("two", ("site/schema.json",))):
        for key in keys:
            Objects(above / name).put(key, b"{}")
        before = Objects(above / name).listed()
        with pytest.raises(UsageError, match="is there already and holds no experiment"):
            created(above, name=name)
        assert Objects(above / name).listed() == before


@pytest.mark.parametrize("is_begun", [True, False])
def test_who_is_refused_at_a_creation_removes_nothing_of_the_other(
    above: Location, monkeypatch: pytest.MonkeyPatch, is_begun: bool
) -> None:
    """Two commands with one name: both saw an empty place."""
    take, others = lease.Lease.take, {}

    def after_the_other(objects: Objects, *given: object) -> lease.Lease:
        monkeypatch.setattr(lease.Lease, "take", take)
        other = created(above, seed=7)  # type: ignore[arg-type]
        if is_begun:  # as it is searched already
            Objects(above / "one").put(lease.run_key(1), b"{}")
            monkeypatch.setattr(lease, "_lives", lambda *given: True)
        others.update(Objects(above / "one").listed())
        assert other.settings.seed == 7
        return take(objects)

    monkeypatch.setattr(lease.Lease, "take", after_the_other)
    with pytest.raises(UsageError, match="in use by run 1" if is_begun else "is an experiment already"):
        created(above)
    there = Objects(above / "one").listed()
    assert others.items() <= there.items()
    assert look_up(above / "one").settings.seed == 7


def test_a_creation_that_fails_leaves_nothing(above: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Objects.put

    def put(objects: Objects, key: str, content: bytes | Path) -> None:
        if key == "experiment.json":
            raise StorageError("full")
        real(objects, key, content)

    monkeypatch.setattr(Objects, "put", put)
    for given in ({}, {"dir": str(tmp_path / "local"), "storage": above.uri}):
        with pytest.raises(StorageError, match="full"):
            created(above, **given)
    assert Objects(above).listed() == {}
    assert not (tmp_path / "local" / "one").exists()


def test_what_is_not_there_is_named_by_its_uri(above: Location, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"no experiment in {above}/other: nothing is there; correct the URI"):
        look_up(above / "other")
    created(above)
    with pytest.raises(UsageError, match=rf"no experiment in {above}: name the place of one, such as {above}/one$"):
        look_up(above)
    Objects(above / "one").put("experiment.json", b"{")
    with pytest.raises(UsageError, match=rf"{above}/one/experiment.json is damaged") as told:
        look_up(above / "one")
    assert str(tmp_path / "cache") not in str(told.value)


def test_an_experiment_beside_a_local_folder_is_continued_from_either(above: Location, tmp_path: Path) -> None:
    made = created(above, dir=str(tmp_path / "local"), storage=above.uri)
    folder = tmp_path / "local" / "one"
    assert made.place == folder
    # Another person's folder must not choose where results are sent.
    for given in ("", f"{above}/other"):
        with pytest.raises(
            UsageError, match=rf"{folder} is at {above} too: continue it with --storage {above}, or by --resume"
        ):
            experiment_at(folder, given)
    local = experiment_at(folder, above.uri)
    assert (local.storage, local.is_local, local.paths.folder) == (above / "one", True, folder)
    elsewhere = experiment_at(f"{above}/one")
    assert (elsewhere.storage, elsewhere.is_local, elsewhere.place) == (above / "one", False, f"{above}/one")
    with run_files(local, print) as (held, _):
        assert held.paths.folder == folder
    assert experiment_at(folder, above.uri) == local, "also after a run"


def test_a_local_experiment_that_was_copied_by_hand_goes_on_by_its_uri(above: Location, tmp_path: Path) -> None:
    local = create(Settings(dir=str(tmp_path), backend="batch", name="one"), {"scenario": "key"})
    local.paths.study.write_bytes(b"first\n")
    for path in (local.paths.settings, local.paths.study):
        Objects(above / "one").put(path.name, path)
    for number in range(2):
        with run_files(experiment_at(f"{above}/one"), print) as (held, _):
            assert held.paths.study.read_bytes() == b"first\n" + b"next\n" * number
            with held.paths.study.open("ab") as file:
                file.write(b"next\n")


def test_a_local_experiment_moves_to_the_storage_that_the_user_names(above: Location, tmp_path: Path) -> None:
    local = create(Settings(dir=str(tmp_path), backend="batch", name="one"), {"scenario": "key"})
    folder = tmp_path / "renamed"
    local.paths.folder.rename(folder)
    going = experiment_at(folder, above.uri)
    assert (going.moves_to, going.storage, going.place) == (above / "renamed", None, folder)
    move_to_storage(going, "iquitos", lambda own: None, print)
    there = look_up(going.moves_to)
    assert (there.storage, there.settings.name, there.settings.dir) == (above / "renamed", "one", above.uri)
    with pytest.raises(UsageError, match=rf"has moved to {above}/renamed: continue it there, with --resume {above}/renamed"):
        experiment_at(folder)
    with pytest.raises(UsageError, match=rf"has moved to {above}/renamed"):
        experiment_at(folder, f"{above}/elsewhere")
    assert experiment_at(folder, above.uri) == there, "the same command continues it"
    with run_files(there, print) as (held, _):
        save(held)
    with pytest.raises(StorageError, match="is no URI"):
        experiment_at(folder, "experiments")
    # Copied by hand it goes on in neither place but there.
    copy = shutil.copytree(tmp_path / "storage" / "renamed", tmp_path / "copy")
    for storage in ("", above.uri):
        with pytest.raises(UsageError, match="copy is a copy of an experiment that has moved to a storage"):
            experiment_at(copy, storage)


def test_a_run_holds_the_experiment_and_another_machine_is_refused(
    above: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.02)
    monkeypatch.setattr(lease, "WATCH_SECONDS", 30.0)
    made = created(above)
    said: list[str] = []
    with run_files(made, said.append) as (held, files):
        assert isinstance(files, StoredFiles)
        assert held.paths.folder.parent.name.endswith("-run-00000002")
        save(replace(held, settings=replace(held.settings, trials=7)))
        monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path / "cache of another machine"))
        with pytest.raises(UsageError, match=r"one is in use by process \d+"), run_files(look_up(above / "one"), said.append):
            pass
    assert look_up(above / "one").settings.trials == 7
    with run_files(look_up(above / "one"), said.append) as (held, _):
        assert held.paths.folder.parent.name.endswith("-run-00000003")


def test_working_copies_of_earlier_processes_are_removed(above: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    made = created(above)
    folders = []
    for own in ({}, runs_of_this := dict[Path, Experiment](), runs_of_this):
        monkeypatch.setattr(stored_experiment, "_RUNS", own)
        with run_files(made, print) as (held, _):
            held.paths.lock.touch()
            folders.append(held.paths.folder)
    # Results of this process may read the second yet.
    assert [folder.parent.exists() for folder in folders] == [False, True, True]
    assert folders[1].name == "one"


def test_without_a_storage_nothing_happens(tmp_path: Path) -> None:
    local = Experiment(Settings(), ExperimentPaths(tmp_path))
    with run_files(local, print) as (held, files):
        assert held is local
        assert type(files) is SearchFiles
    assert list(tmp_path.iterdir()) == []
    assert publish(tmp_path / "report.html") == str(tmp_path / "report.html")


def test_an_experiment_is_withdrawn_unless_a_trial_began_or_a_run_works(above: Location) -> None:
    made = created(above)
    objects = Objects(above / "one")
    with run_files(made, print):
        assert not withdraw(made)
    objects.put("results/trials/00000.parquet", b"")
    assert not withdraw(made)
    objects.remove(["results/trials/00000.parquet"])
    assert withdraw(made)
    assert objects.listed() == {}


def test_a_run_that_begins_while_an_experiment_is_withdrawn_keeps_it(above: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    made, take = created(above), lease.Lease.take

    def after_a_run(objects: Objects, *given: object) -> lease.Lease:
        monkeypatch.setattr(lease.Lease, "take", take)
        with run_files(made, print):
            Objects(above / "one").put("results/trials/00000.parquet", b"")
        return take(objects)

    monkeypatch.setattr(lease.Lease, "take", after_a_run)
    assert not withdraw(made)
    assert is_stored(above / "one")


def test_a_report_goes_to_the_storage_too(above: Location, tmp_path: Path) -> None:
    for given in ({}, {"dir": str(tmp_path / "local"), "storage": above.uri, "name": "two"}):
        made = created(above, **given)
        with run_files(made, print) as (held, _):
            folder = held.paths.folder
        (folder / "report.html").write_text("report")
        shown = publish(folder / "report.html")
        assert shown == (str(folder / "report.html") if made.is_local else f"{above}/one/report.html")
        assert made.storage
        assert Objects(made.storage).read("report.html") == b"report"


def test_a_report_of_another_persons_folder_is_sent_nowhere(above: Location, tmp_path: Path) -> None:
    made = created(above)
    folder = tmp_path / "theirs"
    shutil.copytree(made.paths.folder, folder)  # with the file that says where it was copied from
    assert copied_from(folder) == above / "one"
    assert experiment_at(folder).storage is None
    (folder / "report.html").write_text("report")
    assert publish(folder / "report.html") == str(folder / "report.html")
    assert not Objects(above / "one").has("report.html")


def test_sizes_of_checkpoints_are_told_without_fetching_them(above: Location) -> None:
    made = created(above)
    objects = Objects(above / "one")
    objects.put("trials/00001/000000000500/arrays.npz", b"12345")
    objects.put("trials/00001/000000000500/state.json", b"{}")
    objects.put("trials/00001.turn", b"turn")
    with run_files(made, print) as (held, _):
        assert checkpoint_sizes(held.paths.folder, [0, 1]) == [0, 7]
