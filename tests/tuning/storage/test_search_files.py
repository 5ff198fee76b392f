"""What a driver writes reaches the storage in its order, before a trial goes on; checkpoints of trials are in it alone."""

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.storage.faults import StorageLostError
from common.storage.location import StorageError
from common.storage.objects import Objects
from tests.tuning.storage.stand_in import Changes
from tuning.experiment.folder import ExperimentPaths
from tuning.storage import lease, search_files
from tuning.storage.lease import Lease, OvertakenError, run_key
from tuning.storage.search_files import Home, StoredFiles

HOME = Home("here", "this")
JOURNAL, REPORTS, ROW = "study.journal", "results/reports/00000.parquet", "results/trials/00000.parquet"
STATE = "trials/{:05d}/000000000500/state.json"


@pytest.fixture
def paths(tmp_path: Path) -> ExperimentPaths:
    return ExperimentPaths(tmp_path / "own")


@pytest.fixture(autouse=True)
def _quick(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "PATIENCE", 0.0)
    monkeypatch.setattr(lease.Guarded.__init__, "__defaults__", (0.0,))
    objects.put("experiment.json", b"settings")


def files(objects: Objects, paths: ExperimentPaths, is_whole: bool = False) -> StoredFiles:
    return StoredFiles(paths, objects, Lease.take(objects), is_whole)


@pytest.fixture
def own(objects: Objects, paths: ExperimentPaths) -> Iterator[StoredFiles]:
    """The files of a run."""
    with files(objects, paths) as found:
        yield found


def append(own: StoredFiles, line: bytes) -> None:
    with own._paths.study.open("ab") as file:
        file.write(line + b"\n")


def write(own: StoredFiles, key: str, content: bytes) -> None:
    path = own._paths.folder / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    own.written(path)


def lost(*words: str) -> Any:
    """A storage that fails where it should write one of some things; without any, everything but what tells of runs."""

    def before(change: str) -> None:
        if any(word in change for word in words) or (not words and "runs/" not in change):
            raise StorageLostError("it is gone")

    return before


def overtake(objects: Objects, own: StoredFiles) -> None:
    objects.create(run_key(2), b'{"process": 7, "host": "other", "since": "now"}')
    own._lease._since = (0.0, 0.0)


def test_what_a_search_needs_is_fetched_and_checkpoints_stay(objects: Objects, paths: ExperimentPaths) -> None:
    for key in (ROW, JOURNAL, "owner.json", "running-old", STATE.format(0)):
        objects.put(key, b"x\n")
    (paths.folder / "results").mkdir(parents=True)
    (paths.folder / "results" / "unpushed.parquet").touch()
    with files(objects, paths):
        there = {path.relative_to(paths.folder).as_posix() for path in paths.folder.rglob("*") if path.is_file()}
    assert {key for key in there if not key.startswith(".storage")} == {"experiment.json", ROW, JOURNAL, "owner.json"}
    assert not objects.has("running-old"), "trials of a killed run stop"


def test_rows_that_a_trial_told_come_first_then_the_study_then_the_row_of_the_trial(
    own: StoredFiles, objects: Objects, changes: Changes
) -> None:
    write(own, ROW, b"row")
    append(own, b"told")
    write(own, REPORTS, b"reports")
    own._paths.running("this").touch()
    assert changes == []
    home = own.hand_out(HOME, 0)
    assert [*sorted(changes[:2]), *changes[2:]] == [f"+{REPORTS}", "+running-this", f"+{JOURNAL}", f"+{ROW}"]
    assert home == replace(HOME, storage=objects.location.uri, lease=1)
    own.flush()
    assert len(changes) == 4, "nothing is written twice"
    (own._paths.folder / REPORTS).unlink()
    own.written(own._paths.folder / REPORTS)
    own.flush()
    assert not objects.has(REPORTS)


def test_files_that_others_write_follow_as_they_change(
    objects: Objects, paths: ExperimentPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with files(objects, paths) as own:
        for name in ("owner.json", "progress.json", "running-this"):
            (paths.folder / name).write_text(name)
        own.flush()
        assert {"owner.json", "progress.json", "running-this"} <= objects.listed().keys()
        for name in ("running-this", "owner.json"):
            (paths.folder / name).unlink()
        (paths.folder / "progress.json").write_text("a moment later")
        own.flush()
        assert not {"owner.json", "running-this"} & objects.listed().keys()
        assert objects.read("progress.json") == b"progress.json"
        monkeypatch.setattr(search_files, "PROGRESS_SECONDS", 0.0)
        own.flush()
        assert objects.read("progress.json") == b"a moment later"
        (paths.folder / "progress.json").write_text("the last")
    assert objects.read("progress.json") == b"the last"


@pytest.mark.parametrize("words", [(REPORTS,), (JOURNAL,), (ROW,)])
def test_a_storage_that_is_lost_is_told_and_nothing_is_written_any_more(
    own: StoredFiles, changes: Changes, words: tuple[str, ...]
) -> None:
    write(own, ROW, b"row")
    write(own, REPORTS, b"reports")
    append(own, b"told")
    changes.before = lost(*words)
    own.flush()
    assert own.failure == "it is gone"
    changes.before = lambda change: None
    before = list(changes)
    write(own, ROW, b"later")
    own.hand_out(HOME, 1)
    own.checkpoints(1).remove()
    with pytest.raises(StorageLostError, match="gone"):
        own.gather()
    own.flush()
    assert changes == before


def test_the_end_of_a_run_says_that_its_storage_is_lost(objects: Objects, paths: ExperimentPaths, changes: Changes) -> None:
    own = files(objects, paths).__enter__()
    write(own, ROW, b"row")
    changes.before = lost()
    with pytest.raises(StorageLostError, match="gone"):
        own.__exit__(None, None, None)


def test_after_a_failure_trials_are_told_to_stop_once_the_storage_is_back(
    own: StoredFiles, objects: Objects, changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_files, "STOP_SECONDS", 0.0)
    mark = own._paths.running("this")
    mark.touch()
    own.flush()
    changes.before = lost()
    write(own, ROW, b"row")
    for _ in range(2):
        own.flush()
    assert objects.has(mark.name)
    changes.before = lambda change: None
    own.flush()
    assert not objects.has(mark.name)
    assert not objects.has(ROW)


def test_a_run_that_was_overtaken_says_so_and_writes_nothing(own: StoredFiles, objects: Objects, changes: Changes) -> None:
    overtake(objects, own)
    write(own, ROW, b"row")
    own.flush()
    assert "process 7 on other" in (own.failure or "")
    with pytest.raises(OvertakenError, match="another run has taken over"):
        own.gather()
    assert changes == []


def test_so_does_one_that_only_its_beat_tells(own: StoredFiles, objects: Objects) -> None:
    overtake(objects, own)
    with suppress(OvertakenError):
        own._lease.beat()
    with pytest.raises(OvertakenError, match="another run has taken over"):
        own.gather()


def test_a_run_that_is_overtaken_while_it_fetches_changes_nothing(
    objects: Objects, paths: ExperimentPaths, changes: Changes
) -> None:
    objects.put("running-a", b"x")
    own = files(objects, paths)
    overtake(objects, own)
    with pytest.raises(OvertakenError), own:
        pass
    assert changes == ["+running-a"]


def test_a_folder_that_is_deleted_takes_nothing_from_the_storage(own: StoredFiles, objects: Objects) -> None:
    objects.put("space.toml", b"space")
    append(own, b"trial 0")
    write(own, ROW, b"first")
    own.flush()
    before = {key: stamp for key, stamp in objects.listed().items() if "runs/" not in key}
    shutil.rmtree(own._paths.folder)
    own.hand_out(HOME, 1)
    with pytest.raises(StorageError, match=r"was deleted while the search ran, .* --resume "):
        own.gather()
    assert objects.listed().items() >= before.items()


def test_the_marker_of_a_trial_that_took_too_much_memory_is_fetched_and_goes(own: StoredFiles, objects: Objects) -> None:
    marker = own._paths.memory_marker(3)
    own.fetch(marker)
    assert not marker.exists()
    objects.put("trials/00003.memory", b"7")
    own.fetch(marker)
    assert marker.read_bytes() == b"7"
    marker.unlink()
    own.written(marker)
    own.flush()
    assert not objects.has("trials/00003.memory")


def test_checkpoints_are_removed_after_what_was_written_before(
    objects: Objects, paths: ExperimentPaths, changes: Changes
) -> None:
    objects.put(STATE.format(3), b"{}")
    begun = len(changes)
    with files(objects, paths) as own:
        assert own.checkpoints(3).steps == 500
        own.checkpoints(3).remove()
        write(own, ROW, b"ended")
        assert len(changes) == begun
    assert changes[begun:] == [f"+{ROW}", f"-{STATE.format(3)}"]


def test_a_trial_that_has_none_is_not_looked_up(own: StoredFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each end of a trial those of all others are removed that are not kept."""
    listed: list[str] = []
    monkeypatch.setattr(own._objects, "listed", listed.append)
    for number in range(100):
        own.checkpoints(number).remove()
    assert own.checkpoints(7).steps == 0
    own.flush()
    assert listed == []


def state_of(lengths: dict[str, int], kept_steps: int) -> bytes:
    """What a checkpoint says of its files."""
    files = {name: {"bytes": length} for name, length in lengths.items()}
    return json.dumps({"content": {"files": files, "trial": {"kept_steps": kept_steps}}}).encode()


NEWEST = {"000000001000/arrays.npz", "000000001000/state.json", "replay/1-2.npz"}


@pytest.mark.parametrize("missing", [None, "000000001000/state.json", "000000001000/arrays.npz", "replay/1-2.npz"])
def test_all_before_the_newest_are_removed_if_it_is_whole(
    objects: Objects, paths: ExperimentPaths, changes: Changes, missing: str | None
) -> None:
    state = state_of(dict.fromkeys(("arrays.npz", "replay/1-2.npz"), 1), 250)
    rated = {"000000000250/arrays.npz", "000000000250/state.json"}
    names = NEWEST | rated | {"000000000500/arrays.npz", "000000000500/state.json", "replay/0-1.npz"}
    for name in names - {missing}:
        objects.put(f"trials/00003/{name}", state if name.endswith("json") else b"x")
    begun = len(changes)
    with files(objects, paths) as own:
        own.checkpoints(3).keep_one()
    left = {key.removeprefix("trials/00003/") for key in objects.listed("trials/")}
    if missing == "000000001000/state.json":
        # What is newest is the one before.
        assert left == rated | {"000000000500/arrays.npz", "000000000500/state.json", "replay/1-2.npz"}
    else:
        assert left == (names - {missing} if missing else NEWEST | rated)
    if missing is None:
        assert changes[begun] == "-trials/00003/000000000500/state.json", "so that a kill leaves a checkpoint or none"


def test_where_a_file_of_the_newest_has_another_length_all_stay(objects: Objects, paths: ExperimentPaths) -> None:
    for folder, length in (("000000000500", 1), ("000000001000", 100)):
        objects.put(f"trials/00003/{folder}/state.json", state_of({"arrays.npz": length}, 0))
        objects.put(f"trials/00003/{folder}/arrays.npz", b"x")
    before = objects.listed("trials/").keys()
    with files(objects, paths) as own:
        own.checkpoints(3).keep_one()
    assert objects.listed("trials/").keys() == before


def test_a_mark_that_goes_while_it_is_mirrored_is_removed(
    own: StoredFiles, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = own._paths.running("one")
    mark.touch()
    put_all = own._own.put_all

    def gone(pairs: Any) -> None:
        pairs = list(pairs)
        if mark.exists() and any(path == mark for _, path in pairs):
            mark.unlink()
            raise FileNotFoundError(mark)
        put_all(pairs)

    monkeypatch.setattr(own._own, "put_all", gone)
    own.flush()
    assert own.failure is None
    assert not objects.has(mark.name)


def test_a_user_gets_the_checkpoints_of_trials_too(objects: Objects, paths: ExperimentPaths) -> None:
    objects.put(STATE.format(3), b"{}")
    for is_whole in (False, True):
        with files(objects, paths, is_whole) as own:
            own.gather()
        assert paths.checkpoints(3).exists() == is_whole
