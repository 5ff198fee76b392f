"""A trial's process pushes its checkpoints, in the order of their files, as long as its run holds the experiment."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from common.storage.location import Location
from common.storage.objects import Objects
from tests.tuning.storage.stand_in import Changes, KilledError
from tuning.experiment.folder import create
from tuning.experiment.lock import trial_lock
from tuning.experiment.settings import Settings
from tuning.storage import trial_files as module
from tuning.storage.lease import run_key
from tuning.storage.search_files import Home
from tuning.storage.trial_files import FencedError, PushedFiles, TrialFiles, trial_files
from tuning.trial.checkpoint_files import TrialState, check_file, fingerprint, read_state, write_state

ARRAYS, STATE = "trials/00003/000000000500/arrays.npz", "trials/00003/000000000500/state.json"
FIRST, SECOND = "replay/0000000000-0000000500.npz", "replay/0000000499-0000001000.npz"


@pytest.fixture
def place(above: Location, objects: Objects, tmp_path: Path) -> Location:
    """An experiment that run 1 holds."""
    made = create(Settings(name="one", dir=str(tmp_path / "staging"), backend="batch"))
    objects.put("experiment.json", made.paths.settings)
    objects.put("running-this", b"")
    objects.put(run_key(1), b"{}")
    return objects.location


@contextmanager
def opened(place: Location) -> Iterator[tuple[PushedFiles, Path]]:
    with trial_files(Home(place.uri, "this", storage=place.uri, lease=1), 3) as files:
        assert isinstance(files, PushedFiles)
        yield files, files.experiment.paths.folder


def checkpoint(folder: Path, steps: int, rows: tuple[str, ...] = (), content: bytes = b"rows") -> None:
    own = folder / "trials" / "00003"
    for name in rows:
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_bytes(content)
    (own / f"{steps:012d}").mkdir(parents=True, exist_ok=True)
    write_state(own / f"{steps:012d}", TrialState(steps=steps), {}, {name: fingerprint(own / name) for name in rows})


def test_local_files_are_those_of_the_experiment(tmp_path: Path) -> None:
    made = create(Settings(name="one", dir=str(tmp_path), backend="batch"))
    with trial_files(Home(str(made.paths.folder), "this", trusted=True), 3) as files:
        assert type(files) is TrialFiles
        assert files.experiment.paths == made.paths
        assert files.experiment.settings.trust_scenario
        files.begun()
        files.saved()
        assert not files.may_go_on()
        made.paths.running("this").touch()
        assert files.may_go_on()
        made.paths.leaving("this", 3).touch()
        assert not files.may_go_on()
        assert made.paths.trial_lock(3).exists()


def test_the_state_of_a_checkpoint_is_pushed_last_and_removed_first(place: Location, changes: Changes) -> None:
    with opened(place) as (files, folder):
        files.begun()
        checkpoint(folder, 500, (FIRST,))
        files.saved()
        assert changes[2:] == [f"+{STATE}"]
        assert set(changes[:2]) == {f"+{ARRAYS}", f"+trials/00003/{FIRST}"}
        changes.clear()
        for key in (ARRAYS, STATE):
            (folder / key).unlink()
        files.saved()
        assert changes == [f"-{STATE}", f"-{ARRAYS}"]
        files.saved()
        assert len(changes) == 2


@pytest.mark.parametrize("at", [0, 1])
def test_it_goes_on_from_what_is_whole_and_drops_what_a_kill_left_of_a_push(
    place: Location, changes: Changes, at: int, objects: Objects
) -> None:
    with opened(place) as (files, folder):
        checkpoint(folder, 500)
        files.saved()
    with opened(place) as (files, folder):
        files.begun()
        checkpoint(folder, 1000)
        changes.die_at(at)
        with pytest.raises(KilledError):
            files.saved()
    changes.before = lambda change: None
    with opened(place) as (files, folder):
        assert sorted(path.name for path in (folder / "trials/00003").iterdir()) == ["000000000500"]
        files.begun()
    assert objects.listed("trials/").keys() == {ARRAYS, STATE}


def test_rows_that_an_interrupted_push_left_are_made_again(place: Location, objects: Objects) -> None:
    """Rows of a name have another content each time."""
    with opened(place) as (files, folder):
        files.begun()
        checkpoint(folder, 500, (FIRST,))
        files.saved()
    objects.put(f"trials/00003/{SECOND}", b"rows of a process that died before it pushed the state")
    with opened(place) as (files, folder):
        files.begun()
        checkpoint(folder, 1000, (SECOND,), b"rows that were made again")
        files.saved()
    with opened(place) as (files, folder):
        for steps in (500, 1000):
            for name, expected in read_state(folder / f"trials/00003/{steps:012d}").rows.items():
                check_file(folder / "trials/00003" / name, expected)


def test_a_trial_of_a_run_that_was_overtaken_writes_nothing_more(place: Location, objects: Objects, changes: Changes) -> None:
    with opened(place) as (files, folder):
        checkpoint(folder, 500)
        objects.put("trials/00003/000000000700/arrays.npz", b"of the new run")
        objects.put(run_key(2), b"{}")
        changes.clear()
        for push in (files.saved, files.begun):
            with pytest.raises(FencedError):
                push()
    assert changes == []


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


def test_two_processes_of_a_machine_do_not_share_a_working_copy(place: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuning.experiment.lock.TRIAL_WAIT_SECONDS", 0.01)
    with opened(place) as (files, folder):
        assert files.experiment.settings.name == "one"
        with pytest.raises(TimeoutError), trial_lock(folder.with_name(f"{folder.name}.lock")):
            pass
        assert folder.exists()
    assert not folder.exists(), "it is removed at the end"


def test_it_looks_now_and_then_whether_the_run_goes_on(
    place: Location, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(place) as (files, _):
        assert files.may_go_on()
        objects.remove(["running-this"])
        assert files.may_go_on(), "it looked a moment ago"
        monkeypatch.setattr(module, "LOOK_SECONDS", 0.0)
        assert not files.may_go_on()


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_process_that_takes_too_much_memory_leaves_its_marker_and_does_not_wait(
    place: Location, objects: Objects, changes: Changes, is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    answers = threading.Event()
    monkeypatch.setattr("os._exit", ended.append)
    if is_slow:
        monkeypatch.setattr(module, "MARKER_SECONDS", 0.05)
        changes.before = lambda change: answers.wait(10.0) and None
    with opened(place) as (files, folder):
        (folder / "trials").mkdir(exist_ok=True)
        (folder / "trials/00003.memory").write_text("7")
        since = time.monotonic()
        files.end_process(77)
        assert ended == [77]
        assert time.monotonic() - since < 2.0
        assert objects.has("trials/00003.memory") != is_slow
        answers.set()
