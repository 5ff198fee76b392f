"""A trial's process pushes its checkpoints, in the order of their files, as long as the trial is its own."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from common.storage.faults import StorageLostError
from common.storage.location import Location, location
from common.storage.objects import Objects
from tuning.experiment.folder import create
from tuning.experiment.lock import trial_lock
from tuning.experiment.settings import Settings
from tuning.storage import trial_files as module
from tuning.storage.search_files import Home, turn_key
from tuning.storage.trial_files import FencedError, PushedFiles, TrialFiles, trial_files
from tuning.trial.checkpoint_files import TrialState, check_file, fingerprint, read_state, write_state

ARRAYS = "trials/00003/000000000500/arrays.npz"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    """An experiment whose trial 3 was handed out."""
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path / "cache"))
    own = location(f"file://{tmp_path}/storage/one")
    made = create(Settings(name="one", dir=str(tmp_path / "staging"), backend="batch"))
    objects = Objects(own)
    objects.put("experiment.json", made.paths.settings)
    objects.put("running-this", b"")
    objects.put(turn_key(3), b"mine")
    return own


@contextmanager
def opened(place: Location) -> Iterator[tuple[PushedFiles, Path]]:
    with trial_files(Home(place.uri, "this", storage=place.uri, turn="mine"), 3) as files:
        assert isinstance(files, PushedFiles)
        yield files, files.experiment.paths.folder


def checkpoint(folder: Path, steps: int, rows: tuple[str, ...] = (), content: bytes = b"rows") -> None:
    own = folder / "trials" / "00003"
    for name in rows:
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_bytes(content)
    (own / f"{steps:012d}").mkdir(parents=True, exist_ok=True)
    found = {name: fingerprint(own / name) for name in rows}
    write_state(own / f"{steps:012d}", TrialState(steps=steps), {}, found)


def keys(place: Location, prefix: str = "") -> list[str]:
    return [key for key in Objects(place).listed(prefix) if not key.startswith(("experiment.json", "running"))]


class Recorded(Objects):
    """Objects that note what is written and removed."""

    changes: list[str]

    def put(self, key: str, content: Any) -> None:
        self.changes.append(f"+{key}")
        super().put(key, content)

    def create(self, key: str, content: Any) -> bool:
        is_new = super().create(key, content)
        self.changes += [f"+{key}"] if is_new else []
        return is_new

    def remove(self, keys: Any) -> None:
        given = list(keys)
        self.changes += [f"-{key}" for key in given]
        super().remove(given)


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is written into any storage, in this order."""
    monkeypatch.setattr(Recorded, "changes", [], raising=False)
    monkeypatch.setattr("common.storage.objects.Objects", Recorded)
    return Recorded.changes


def test_local_files_are_those_of_the_experiment(tmp_path: Path) -> None:
    made = create(Settings(name="one", dir=str(tmp_path), backend="batch"))
    with trial_files(Home(str(made.paths.folder), "this", trusted=True), 3) as files:
        assert type(files) is TrialFiles
        assert files.experiment.paths == made.paths
        assert files.experiment.settings.trust_scenario
        files.begun()
        files.saved()
        assert not files.permission.exists()
        made.paths.running("this").touch()
        assert files.permission.exists()
        with files.held(3):
            assert made.paths.trial_lock(3).exists()


def test_the_state_of_a_checkpoint_is_pushed_last_and_removed_first(place: Location, changes: list[str]) -> None:
    with opened(place) as (files, folder):
        files.begun()
        checkpoint(folder, 500, ("replay/0000000000-0000000500.npz",))
        files.saved()
        checkpoint(folder, 1000, ("replay/0000000000-0000000500.npz", "replay/0000000500-0000001000.npz"))
        for name in ("arrays.npz", "state.json"):
            (folder / "trials/00003/000000000500" / name).unlink()
        files.saved()
    assert [change for change in changes if not change.startswith("-.")] == [
        f"+{ARRAYS}",
        "+trials/00003/replay/0000000000-0000000500.npz",
        "+trials/00003/000000000500/state.json",
        "+trials/00003/000000001000/arrays.npz",
        "+trials/00003/replay/0000000500-0000001000.npz",
        "+trials/00003/000000001000/state.json",
        "-trials/00003/000000000500/state.json",
        f"-{ARRAYS}",
    ]


def test_it_goes_on_from_what_is_whole_and_drops_the_rest(place: Location) -> None:
    with opened(place) as (files, folder):
        checkpoint(folder, 500)
        files.saved()
    # Killed while it pushed a checkpoint.
    Objects(place).put("trials/00003/000000001000/arrays.npz", b"arrays")
    with opened(place) as (files, folder):
        assert sorted(path.name for path in (folder / "trials/00003").iterdir()) == ["000000000500"]
        files.begun()
    assert keys(place, "trials/00003/") == [ARRAYS, "trials/00003/000000000500/state.json"]


FIRST, SECOND = "replay/0000000000-0000000500.npz", "replay/0000000499-0000001000.npz"


@pytest.mark.parametrize("is_late", [False, True])
def test_rows_of_an_interrupted_push_are_made_again(place: Location, is_late: bool) -> None:
    """Rows of a name have another content each time; a request of the process before may arrive late."""
    with opened(place) as (files, folder):
        files.begun()
        checkpoint(folder, 500, (FIRST,))
        files.saved()
    orphan = f"trials/00003/{SECOND}"
    if not is_late:
        Objects(place).put(orphan, b"rows of a process that died before it pushed the state")
    with opened(place) as (files, folder):
        files.begun()
        assert Objects(place).has(f"trials/00003/{FIRST}")
        assert not Objects(place).has(orphan)
        assert not (folder / orphan).exists()
        if is_late:
            Objects(place).put(orphan, b"late rows")
        checkpoint(folder, 1000, (SECOND,), b"rows that were made again")
        files.saved()
    with opened(place) as (files, folder):
        for steps in (500, 1000):
            for name, expected in read_state(folder / f"trials/00003/{steps:012d}").rows.items():
                check_file(folder / "trials/00003" / name, expected)


class Once(Objects):
    """Objects that answer no change at first, and the trial is another's meanwhile."""

    failing: list[str]

    def _change(self, key: str) -> None:
        if key not in self.failing and not key.endswith(".turn"):
            self.failing.append(key)
            assert self.patience < 30, "a short attempt"
            Objects.put(self, turn_key(3), b"of another")
            raise StorageLostError("no answer")

    def put(self, key: str, content: Any) -> None:
        self._change(key)
        super().put(key, content)

    def create(self, key: str, content: Any) -> bool:
        self._change(key)
        return super().create(key, content)

    def remove(self, keys: Any) -> None:
        for key in (given := list(keys)):
            self._change(key)
        super().remove(given)


@pytest.mark.parametrize("is_removal", [True, False])
def test_it_looks_before_each_attempt_whether_the_trial_is_its_own(
    place: Location, is_removal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Once, "failing", [], raising=False)
    with opened(place) as (files, folder):
        own = files._own
        own._hasty, own._patient = Once(place, own._hasty.patience), Once(place, own._patient.patience)
        if is_removal:
            Objects(place).put(ARRAYS, b"of a checkpoint without its state")
        else:
            checkpoint(folder, 500)
        with pytest.raises(FencedError):
            files.begun() if is_removal else files.saved()
    assert len(Once.failing) == 1
    assert Objects(place).has(ARRAYS) == is_removal


@pytest.mark.parametrize("patience", [0.2, 60.0])
def test_an_attempt_that_fails_is_made_again(place: Location, patience: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOST_SECONDS", patience)
    left = [3 if patience == 60.0 else 10**6]

    class Failing(Objects):
        def create(self, key: str, content: Any) -> bool:
            left[0] -= 1
            if left[0] >= 0:
                time.sleep(0.01)
                raise StorageLostError("no answer")
            return super().create(key, content)

    with opened(place) as (files, folder):
        files._own._hasty = Failing(place)
        checkpoint(folder, 500)
        with nullcontext() if patience == 60.0 else pytest.raises(StorageLostError):
            files.saved()
    assert Objects(place).has(ARRAYS) == (patience == 60.0)


def test_what_killed_processes_have_here_is_removed_and_not_what_others_use(place: Location, tmp_path: Path) -> None:
    above = tmp_path / "cache" / "storage"
    killed, used, other, named = (above / f"{name}-0123456789abcdef-{role}" for name, role in (
        ("one", "trial-00007"), ("two", "trial-00007"), ("one", "run-00000001"), ("ppo-trial-1", "run-00000001"),
    ))  # fmt: skip
    for copy in (killed, used, other, named):
        (copy / "trials").mkdir(parents=True)
    killed.with_name(f"{killed.name}.lock").touch()
    with trial_lock(used.with_name(f"{used.name}.lock")), opened(place) as (_, folder):
        assert folder.is_dir()
    assert [copy.is_dir() for copy in (killed, used, other, named)] == [False, True, True, True]


@pytest.mark.parametrize("turn", [b"of another", None])
def test_who_lost_a_trial_writes_nothing_more(place: Location, turn: bytes | None) -> None:
    with opened(place) as (files, folder):
        checkpoint(folder, 500)
        objects = Objects(place)
        objects.remove([turn_key(3)]) if turn is None else objects.put(turn_key(3), turn)
        before = keys(place)
        for push in (files.begun, files.saved):
            with pytest.raises(FencedError):
                push()
    assert keys(place) == before


def test_who_was_paused_before_the_state_of_a_checkpoint_leaves_none(place: Location) -> None:
    with opened(place) as (files, folder):
        checkpoint(folder, 500)
        looks = [True, False]
        files._fence = lambda: None if looks.pop(0) else _raise()  # type: ignore[method-assign]
        with pytest.raises(FencedError):
            files.saved()
    assert keys(place, "trials/00003/") == [ARRAYS]


def _raise() -> None:
    raise FencedError


def test_a_trial_waits_for_its_turn_and_not_for_ever(place: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    objects, looks = Objects(place), []
    objects.put(turn_key(3), b"of the process before")

    def slept(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            objects.put(turn_key(3), b"mine")

    monkeypatch.setattr("time.sleep", slept)
    with opened(place):
        assert len(looks) == 3
    objects.put(turn_key(3), b"of another")
    monkeypatch.setattr(module, "TURN_SECONDS", 0.0)
    with pytest.raises(FencedError, match="not handed out"), opened(place):
        pass


def test_two_processes_of_a_machine_do_not_share_a_working_copy(place: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuning.experiment.lock.TRIAL_WAIT_SECONDS", 0.01)
    with opened(place) as (_, folder):
        with pytest.raises(TimeoutError), trial_lock(folder.with_name(f"{folder.name}.lock")):
            pass
        assert folder.exists()
    assert not folder.exists(), "it is removed at the end"


def test_it_looks_now_and_then_whether_the_run_goes_on(place: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(place) as (files, _):
        assert files.permission.exists()
        Objects(place).remove(["running-this"])
        assert files.permission.exists(), "it looked a moment ago"
        monkeypatch.setattr(module, "LOOK_SECONDS", 0.0)
        assert not files.permission.exists()


def test_a_process_that_ends_itself_leaves_its_marker(place: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr("os._exit", ended.append)
    with opened(place) as (files, folder):
        (folder / "trials").mkdir(exist_ok=True)
        (folder / "trials/00003.memory").write_text("7")
        files.end_process(77)
    assert ended == [77]
    assert Objects(place).read("trials/00003.memory") == b"7"


def test_a_process_that_takes_too_much_memory_does_not_wait_for_its_storage(
    place: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    answers = threading.Event()
    monkeypatch.setattr("os._exit", ended.append)
    monkeypatch.setattr(module, "MARKER_SECONDS", 0.05)
    with opened(place) as (files, folder):
        (folder / "trials").mkdir(exist_ok=True)
        (folder / "trials/00003.memory").write_text("7")
        files._fence = lambda: (answers.wait(), None)[1]  # type: ignore[method-assign]
        since = time.monotonic()
        giving_up = threading.Timer(10.0, answers.set)
        giving_up.start()
        files.end_process(77)
        assert ended == [77]
        assert time.monotonic() - since < 2.0
        giving_up.cancel()
        answers.set()


def test_settings_of_another_machine_hold(place: Location) -> None:
    with opened(place) as (files, folder):
        assert files.experiment.settings.name == "one"
        assert files.experiment.paths.folder == folder
