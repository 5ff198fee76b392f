"""What a driver writes reaches the storage in its order; checkpoints of trials are in it alone."""

import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.storage.faults import StorageLostError
from common.storage.location import StorageError
from tests.tuning.storage.stand_in import in_memory
from tuning.experiment.folder import ExperimentPaths
from tuning.storage import epoch, search_files, upload_queue
from tuning.storage.epoch import Epoch, OvertakenError
from tuning.storage.search_files import Home, SearchFiles, StoredFiles, turn_key

HOME = Home("here", "this")


@pytest.fixture
def paths(tmp_path: Path) -> ExperimentPaths:
    return ExperimentPaths(tmp_path / "own")


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(upload_queue, "TICK_SECONDS", 0.005)
    monkeypatch.setattr(upload_queue, "LOST_SECONDS", 0.0)
    monkeypatch.setattr(epoch, "WATCH_SECONDS", 0.0)
    monkeypatch.setattr(epoch, "SETTLE_SECONDS", 0.0)
    made = in_memory()
    made.put("experiment.json", b"settings")
    return made


def files(objects: Any, paths: ExperimentPaths, is_whole: bool = False) -> StoredFiles:
    return StoredFiles(paths, objects, Epoch.take(objects), is_whole=is_whole)


def append(paths: ExperimentPaths, line: bytes) -> None:
    with paths.study.open("ab") as file:
        file.write(line + b"\n")


def row(paths: ExperimentPaths, own: SearchFiles, number: int, content: bytes) -> None:
    path = paths.results / "trials" / f"{number:05d}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    own.written(path)


def changes(objects: Any) -> list[str]:
    return [change for change in objects.changes if not change.startswith("+epochs/")]


def test_local_files_are_where_they_belong(tmp_path: Path) -> None:
    own = SearchFiles()
    own.written(tmp_path / "x")
    own.take_back(3)
    own.gather()
    own.refuse_if_overtaken()
    assert (own.hand_out(HOME, 3), own.checkpoints, own.failure) == (HOME, None, None)


def test_what_a_search_needs_is_fetched_and_checkpoints_stay(objects: Any, paths: ExperimentPaths) -> None:
    for key in ("results/trials/00000.parquet", "study/00000000.journal", "owner.json", "running-old"):
        objects.put(key, b"x\n")
    objects.put(turn_key(0), b"of a lost run")
    objects.put("trials/00000/000000000500/state.json", b"{}")
    paths.folder.mkdir()
    (paths.folder / "results").mkdir()
    (paths.folder / "results" / "unpushed.parquet").touch()
    with files(objects, paths):
        found = {path.relative_to(paths.folder).as_posix() for path in paths.folder.rglob("*") if path.is_file()}
    kept = {name for name in found if not name.startswith(".storage")}
    assert kept == {"experiment.json", "results/trials/00000.parquet", "study.journal", "owner.json"}
    assert "running-old" not in objects.contents, "trials of a killed run stop"
    assert turn_key(0) not in objects.contents, "and write nothing more"


def test_a_large_file_has_more_time_and_its_place_in_the_order(
    objects: Any, paths: ExperimentPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a pack from which a trial was taken that goes on."""
    monkeypatch.setattr(search_files, "LARGE", 4)
    patient = in_memory()
    patient.contents, patient.changes, patient._versions = objects.contents, objects.changes, objects._versions
    asked: list[bool] = []
    monkeypatch.setattr(StoredFiles, "_patient", lambda own: (asked.append(True), patient)[1])
    with files(objects, paths) as own:
        for number, content in enumerate((b"tiny", b"large", b"tiny")):
            row(paths, own, number, content)
        own.hand_out(HOME, 1)
    rows = [change for change in changes(objects) if "trials/" in change]
    assert rows == [*(f"+results/trials/0000{number}.parquet" for number in range(3)), f"+{turn_key(1)}"]
    assert asked == [True]


def test_a_run_that_is_overtaken_while_it_fetches_changes_nothing_more(objects: Any, paths: ExperimentPaths) -> None:
    for key in ("running-a", turn_key(0)):
        objects.put(key, b"x")
    objects.put("study/00000000.journal", b"line\npartial")
    own = files(objects, paths)
    objects.create("epochs/00000002.json", b'{"process": 7, "host": "other", "since": "now"}')
    own._epoch._since = (0.0, 0.0)
    before = dict(objects.contents)
    with pytest.raises(OvertakenError), own:
        pass
    before["epochs/00000001.beat"] = b"1"
    assert objects.contents == before


def test_after_a_marker_could_not_be_fetched_nothing_more_is_written(objects: Any, paths: ExperimentPaths) -> None:
    fetch, is_lost = objects.fetch, False

    def failing(key: str, path: Path, stamp: Any = None) -> Any:
        if is_lost:
            raise StorageLostError("it is gone")
        return fetch(key, path, stamp)

    objects.fetch = failing
    with files(objects, paths) as own:
        row(paths, own, 3, b"begun")
        own.hand_out(HOME, 3)
        own.gather()
        is_lost = True
        own.take_back(3)
        assert own.failure == "it is gone"
        is_lost = False
        row(paths, own, 3, b"failed")
        append(paths, b"told as failed")
        own.checkpoints(3).remove()
        own.hand_out(HOME, 4)
        own.take_back(4)
        with pytest.raises(StorageLostError, match="gone"):
            own.gather()
    assert objects.contents["results/trials/00003.parquet"] == b"begun"
    assert not {turn_key(4), "study/00000000.journal"} & objects.contents.keys()


@pytest.mark.parametrize("of_the_queue", [True, False])
def test_after_a_failure_trials_are_told_to_stop_once_the_storage_is_back(
    objects: Any, paths: ExperimentPaths, of_the_queue: bool
) -> None:
    is_lost, told = True, 0

    def lost(change: str) -> None:
        nonlocal told
        if is_lost and not change.startswith("+epochs/"):
            told += 1
            raise StorageLostError("it is gone")

    with files(objects, paths) as own:
        mark = paths.running("this")
        mark.touch()
        own.gather()
        assert mark.name in objects.contents
        if of_the_queue:
            objects.before = lost
            row(paths, own, 0, b"row")
        else:
            own._failure = StorageLostError("it is gone")
        until = time.monotonic() + 10
        while not own.failure or (of_the_queue and told < 2):
            assert time.monotonic() < until
            time.sleep(0.005)
        is_lost = False
        mark.unlink()
        while mark.name in objects.contents:
            assert time.monotonic() < until
            time.sleep(0.005)


def test_the_journal_comes_before_the_row_that_follows_it(objects: Any, paths: ExperimentPaths) -> None:
    with files(objects, paths) as own:
        append(paths, b"trial 0")
        row(paths, own, 0, b"first")
        append(paths, b"end of trial 0")
        append(paths, b"trial 1")
        row(paths, own, 1, b"second")
        (paths.folder / "running-this").touch()
        home = own.hand_out(HOME, 1)
        append(paths, b"a report")
    journal = "+study/00000000.journal"
    assert changes(objects) == [
        "+experiment.json", journal, "+results/trials/00000.parquet", journal, "+results/trials/00001.parquet",
        "+running-this", f"+{turn_key(1)}", journal,
    ]  # fmt: skip
    assert home == replace(HOME, storage=objects.location.uri, turn=objects.contents[turn_key(1)].decode())
    assert objects.contents["study/00000000.journal"] == paths.study.read_bytes()


def test_a_row_goes_as_it_was_when_it_was_written(objects: Any, paths: ExperimentPaths) -> None:
    seen = []
    objects.before = lambda change: seen.append(dict(objects.contents))
    with files(objects, paths) as own:
        row(paths, own, 0, b"running")
        append(paths, b"something")
        row(paths, own, 0, b"ended")
    rows = [state.get("results/trials/00000.parquet") for state in [*seen, objects.contents]]
    assert [value for n, value in enumerate(rows) if value and value not in rows[:n]] == [b"running", b"ended"]


def test_the_journal_alone_goes_after_a_while(objects: Any, paths: ExperimentPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_files, "JOURNAL_SECONDS", 0.05)
    with files(objects, paths):
        for line in (b"one", b"two"):
            append(paths, line)
            until = time.monotonic() + 10
            while objects.contents.get("study/00000000.journal") != paths.study.read_bytes():
                assert time.monotonic() < until
                time.sleep(0.005)


def test_files_that_others_write_follow_as_they_change(objects: Any, paths: ExperimentPaths) -> None:
    with files(objects, paths):
        for name in ("owner.json", "progress.json", "running-this"):
            (paths.folder / name).write_text(name)
        until = time.monotonic() + 10
        while not {"owner.json", "progress.json", "running-this"} <= objects.contents.keys():
            assert time.monotonic() < until
            time.sleep(0.005)
        (paths.folder / "running-this").unlink()
        (paths.folder / "owner.json").unlink()
    assert not {"owner.json", "running-this"} & objects.contents.keys()
    assert objects.contents["progress.json"] == b"progress.json"


def test_a_folder_that_is_deleted_takes_nothing_from_the_storage(objects: Any, paths: ExperimentPaths) -> None:
    objects.put("space.toml", b"space")
    with files(objects, paths) as own:
        append(paths, b"trial 0")
        row(paths, own, 0, b"first")
        own.gather()
        before = dict(objects.contents)
        shutil.rmtree(paths.folder)
        own.hand_out(HOME, 1)
        with pytest.raises(StorageError, match=r"was deleted while the search ran, .* --resume "):
            own.gather()
    assert objects.contents.items() >= {key: value for key, value in before.items() if not key.startswith("epochs/")}.items()


def test_a_trial_that_is_taken_back_is_fenced_before_its_marker_is_read(objects: Any, paths: ExperimentPaths) -> None:
    with files(objects, paths) as own:
        row(paths, own, 3, b"begun")
        own.hand_out(HOME, 3)
        own.gather()
        assert turn_key(3) in objects.contents
        objects.put("trials/00003.memory", b"7")
        read: list[bool] = []
        objects.fetch = lambda key, path: (read.append(turn_key(3) in objects.contents), path.write_bytes(b"7"))
        paths.checkpoints(3).parent.mkdir()
        own.take_back(3)
        assert read == [False]
        assert turn_key(3) not in objects.contents
        assert paths.memory_marker(3).read_bytes() == b"7"
        paths.memory_marker(3).unlink()
        own.written(paths.memory_marker(3))
    assert "trials/00003.memory" not in objects.contents


def test_checkpoints_are_removed_after_what_was_written_before(objects: Any, paths: ExperimentPaths) -> None:
    objects.put("trials/00003/000000000500/state.json", b"{}")
    objects.put("trials/00004/000000000500/state.json", b"{}")
    begun = len(objects.changes)
    with files(objects, paths) as own:
        assert own.checkpoints(3).steps == 500
        row(paths, own, 3, b"ended")
        for _ in range(2):
            own.checkpoints(3).remove()
        own.checkpoints(9).remove()
        own.checkpoints(4).keep_one()
    done = [change for change in objects.changes[begun:] if not change.startswith("+epochs/")]
    assert done == ["+results/trials/00003.parquet", "-trials/00003/000000000500/state.json"]


def test_a_trial_that_has_none_is_not_looked_up_again_and_again(objects: Any, paths: ExperimentPaths) -> None:
    """At each end of a trial those of all others are removed that are not kept."""
    with files(objects, paths) as own:
        own.gather()
        listed, real = [], objects.listed
        objects.listed = lambda prefix="": listed.append(prefix) or real(prefix)
        for number in range(100):
            own.checkpoints(number).remove()
        assert listed == []


def test_a_user_gets_the_checkpoints_of_trials_too(objects: Any, paths: ExperimentPaths) -> None:
    objects.put("trials/00003/000000000500/state.json", b"{}")
    for is_whole in (False, True):
        with files(objects, paths, is_whole) as own:
            own.gather()
        assert paths.checkpoints(3).exists() == is_whole


def test_a_storage_that_is_lost_is_told_and_nothing_is_written_any_more(objects: Any, paths: ExperimentPaths) -> None:
    def lost(change: str) -> None:
        if "parquet" in change:
            raise StorageLostError("it is gone")

    with files(objects, paths) as own:
        objects.before = lost
        row(paths, own, 0, b"row")
        own.take_back(0)
        assert own.failure == "it is gone"
        own.hand_out(HOME, 1)
        own.refuse_if_overtaken()
        with pytest.raises(StorageLostError, match="gone"):
            own.gather()
    assert not any("parquet" in key or "turn" in key for key in objects.contents)


def test_a_run_that_was_overtaken_says_so_and_writes_nothing(objects: Any, paths: ExperimentPaths) -> None:
    with files(objects, paths) as own:
        objects.create("epochs/00000002.json", b'{"process": 7, "host": "other", "since": "now"}')
        own._epoch._since = (0.0, 0.0)
        row(paths, own, 0, b"row")
        own.take_back(0)
        assert "process 7 on other" in (own.failure or "")
        with pytest.raises(OvertakenError, match="another run has taken over"):
            own.refuse_if_overtaken()
    assert not any("parquet" in key for key in objects.contents)


@pytest.mark.parametrize("is_windows", [True, False])
def test_a_file_that_is_being_replaced_is_uploaded_at_the_next_look(
    objects: Any, paths: ExperimentPaths, monkeypatch: pytest.MonkeyPatch, is_windows: bool
) -> None:
    """Windows refuses to open it meanwhile."""
    monkeypatch.setattr("common.files.IS_WINDOWS", is_windows)
    read, left = Path.read_bytes, [2]

    def refused(self: Path) -> bytes:
        if self == paths.settings and left[0]:
            left[0] -= 1
            raise PermissionError("replaced at this moment")
        return read(self)

    own = files(objects, paths)
    with own:
        monkeypatch.setattr(Path, "read_bytes", refused)
        paths.settings.write_bytes(b"newer settings")
        until = time.monotonic() + 5.0
        while objects.contents["experiment.json"] != b"newer settings" and not own.failure and time.monotonic() < until:
            time.sleep(0.01)
    assert (own.failure is None) == is_windows
    assert (objects.contents["experiment.json"] == b"newer settings") == is_windows
