"""A local experiment moves to a storage wholly or not at all."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.errors import UsageError
from common.storage.objects import Objects
from tests.tuning.storage.stand_in import Changes, KilledError
from tuning.experiment.folder import Experiment, create, open_experiment
from tuning.experiment.lock import TOKEN, Move, experiment_lock, move_of, note_move, refuse_moved, trial_lock
from tuning.experiment.settings import Settings
from tuning.storage import moving
from tuning.storage.moving import move_to_storage, refuse_other

SMALL = "results/reports/00001.parquet"
COPIED = {
    "study.journal": b"first line\nsecond line\n",
    "space.toml": b"[gamma]",
    "learned.json": b"{}",
    "progress.json": b"{}",
    "report.html": b"report",
    "results/trials/00001.parquet": b"row",
    SMALL: b"reports",
    "trials/00001.memory": b"5",
    "trials/00001/000000000500/state.json": b"state",
    "trials/00001/000000000500/arrays.npz": b"arrays" * 3,
    "trials/00001/replay/0000000000-0000001953.npz": b"rows",
    "csv/00001.csv": b"steps",
    "tensorboard/00001/events": b"events",
    "rollouts/one/hours.parquet": b"hours",
}
LEFT = (
    "owner.json", "running-x", "tune/state", "trials/00001.lock", "results/reports/00002.new",
    "trials/00001/000000001000/arrays.npz", "trials/00001/new/state.json", "notes.txt",
)  # fmt: skip


@pytest.fixture
def local(tmp_path: Path) -> Experiment:
    made = create(Settings(dir=str(tmp_path), backend="batch", name="one", seed=7), {"scenario": "key"})
    for key, content in {**COPIED, **dict.fromkeys(LEFT, b"x")}.items():
        path = made.paths.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return made


def move(experiment: Experiment, objects: Objects, check: Callable[[Experiment], None] = lambda own: None) -> list[str]:
    said: list[str] = []
    going = replace(experiment, moves_to=objects.location)
    move_to_storage(going, experiment.settings.scenario, check, said.append)
    return said


def there(objects: Objects) -> dict[str, bytes]:
    """What a storage has of an experiment, without what tells of runs and moves, and when settings were written."""
    kept = {key: objects.read(key) for key in objects.listed() if not key.startswith("runs/") and key != TOKEN}
    if "experiment.json" in kept:
        kept["experiment.json"] = kept["experiment.json"].split(b'"written"')[0]
    return kept


def test_a_storage_gets_what_a_search_there_would_have_written(
    local: Experiment, objects: Objects, changes: Changes, tmp_path: Path
) -> None:
    checked: list[Experiment] = []
    assert move(local, objects, checked.append) == [
        f"moving to {objects.location}: {len(COPIED)} files, 0.0 MiB",
        f"{local.paths.folder} has moved to {objects.location}; the folder is kept to be read",
    ]
    assert [own.paths for own in checked] == [local.paths]
    kept = there(objects)
    settings = kept.pop("experiment.json")
    assert kept == COPIED
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "experiment.json").write_bytes(objects.read("experiment.json"))
    found = open_experiment(tmp_path / "there")
    assert found.settings == replace(local.settings, dir=objects.location.parent.uri)
    assert found.compatibility == local.compatibility
    assert settings
    assert (changes[0], changes[-1]) == (f"+{TOKEN}", "+experiment.json")
    # Nothing is deleted.
    assert all((local.paths.folder / key).exists() for key in (*COPIED, *LEFT[1:], "experiment.json"))
    with pytest.raises(UsageError, match="has moved to"):
        refuse_moved(local.paths)


def test_a_site_of_ones_own_goes_along(local: Experiment, objects: Objects, small_schema: Path) -> None:
    going = replace(local, moves_to=objects.location)
    move_to_storage(going, str(small_schema), lambda own: None, lambda line: None)
    assert objects.has(f"site/{small_schema.parent.name}/{small_schema.name}")
    assert any(key.endswith(".csv") for key in objects.listed("site/"))


def test_whenever_it_is_killed_the_experiment_is_in_one_place_and_the_same_command_moves_it(
    local: Experiment, objects: Objects, changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(local.paths.folder, tmp_path / "spare" / "one")
    move(local, objects)
    whole, doubts = there(objects), 0
    last = len(changes) + 3  # with what tells of its run
    # At changes of the storage, and before and after each of the folder's notes.
    for kill in (0, 1, 2, 3, 6, last - 4, last - 3, last - 2, last - 1, "before 1", "after 1", "before 2", "after 2"):
        for folder in (local.paths.folder, tmp_path / "storage"):
            shutil.rmtree(folder)
        shutil.copytree(tmp_path / "spare" / "one", local.paths.folder)
        noted = 0

        def note(paths: Any, move: Any, kill: Any = kill) -> None:
            nonlocal noted
            noted += 1
            if kill == f"before {noted}":
                raise KilledError
            note_move(paths, move)
            if kill == f"after {noted}":
                raise KilledError

        if isinstance(kill, int):
            changes.die_at(kill)
        with monkeypatch.context() as patched:
            patched.setattr(moving, "note_move", note)
            with pytest.raises(KilledError):
                move(local, objects)
        changes.before = lambda change: None
        own = move_of(local.paths)
        if objects.has("experiment.json"):
            assert own is not None, "the folder does not go on too"
            assert there(objects) == whole
        expected = dict(whole)
        if own is None:
            assert not refuse_other(objects, None, local.paths)
            # It goes on here, and what it has written since is moved; what it has removed is not there.
            (local.paths.folder / SMALL).unlink()
            (local.paths.folder / "report.html").write_bytes(b"later")
            del expected[SMALL]
            expected["report.html"] = b"later"
        else:
            doubts += not own.is_over
        if own is None or not own.is_over:
            move(local, objects)
        assert there(objects) == expected, kill
        moved = move_of(local.paths)
        assert moved.is_over
        assert objects.read(TOKEN).decode() == moved.token
    assert doubts >= 3


def test_another_experiment_is_not_taken_for_the_moved_one(local: Experiment, objects: Objects) -> None:
    move(local, objects)
    noted = move_of(local.paths)
    assert refuse_other(objects, noted, local.paths)
    with pytest.raises(UsageError, match="is another experiment: choose another --storage, or continue that with"):
        refuse_other(objects, None, local.paths)
    objects.put(TOKEN, b"of another")
    local.paths.moved.unlink()
    before = there(objects)
    with pytest.raises(UsageError, match="is another experiment"):
        move(local, objects)
    assert there(objects) == before
    assert not local.paths.moved.exists()
    objects.put(TOKEN, b"\xff\xfe")
    with pytest.raises(UsageError, match="is another experiment"):
        move(local, objects)


@pytest.mark.parametrize("is_over", [False, True])
def test_a_folder_whose_place_is_anothers_says_how_to_go_on(local: Experiment, objects: Objects, is_over: bool) -> None:
    noted = Move(objects.location.uri, "own", is_over)
    note_move(local.paths, noted)
    remedy = rf"to continue from {local.paths.folder} as it is, delete {local.paths.moved}$"
    if is_over:
        with pytest.raises(UsageError, match=rf"holds no experiment, and {local.paths.folder} has moved there: .*{remedy}"):
            move(local, objects)
    objects.put("notes.txt", b"")
    with pytest.raises(UsageError, match=rf"holds no experiment.*{remedy}"):
        move(local, objects)
    objects.put("experiment.json", b"{}")
    for token in (None, b"of another"):
        if token:
            objects.put(TOKEN, token)
        with pytest.raises(UsageError, match=rf"is another experiment: {remedy}"):
            move(local, objects)
    assert move_of(local.paths) == noted
    assert objects.read("experiment.json") == b"{}"
    objects.put(TOKEN, b"own")
    assert refuse_other(objects, noted, local.paths)


def test_a_folder_that_another_command_has_just_moved_elsewhere_is_not_moved_again(local: Experiment, objects: Objects) -> None:
    note_move(local.paths, Move("s3://bucket/elsewhere/one", "own", is_over=True))
    with pytest.raises(UsageError, match="has moved to s3://bucket/elsewhere/one: continue it there"):
        move(local, objects)
    assert there(objects) == {}


def test_what_is_no_experiment_is_not_written_over(local: Experiment, objects: Objects) -> None:
    objects.put("notes.txt", b"")
    with pytest.raises(UsageError, match="is there already and holds no experiment: choose another --storage"):
        move(local, objects)
    assert there(objects) == {"notes.txt": b""}


def test_it_is_not_moved_while_a_run_or_a_trial_works_on_it_or_it_cannot_go_on(
    local: Experiment, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    with experiment_lock(local.paths), pytest.raises(UsageError, match="is in use by process"):
        move(local, objects)
    monkeypatch.setattr("tuning.experiment.lock.TRIAL_WAIT_SECONDS", 0.01)
    path = local.paths.trial_lock(1)
    path.unlink()
    with trial_lock(path), pytest.raises(UsageError, match=r"cannot move yet: 00001\.lock: another process still trains"):
        move(local, objects)

    def damaged(own: Experiment) -> None:
        raise UsageError("damaged")

    with pytest.raises(UsageError, match="damaged"):
        move(local, objects, damaged)
    assert there(objects) == {}
