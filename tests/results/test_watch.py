"""A run that was started elsewhere is seen from its files: while it runs, and how it ended."""

import io
import json
import os
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from common.command_line import REFUSED
from common.storage.location import location
from common.storage.objects import Objects
from common.texts import python_command
from results.live import OWNER_FILE, PROGRESS_FILE, LiveSearch
from results.places import local_folder
from results.watch import (
    DEAD,
    ENDED,
    FETCH_SECONDS,
    REFUSED_LOOKS,
    ROLE,
    WATCHED,
    Watch,
    WatchError,
    look,
    main,
    watch,
)
from tests.results.searches import search

NOW = 2_000_000_000.0


def own(folder: Path, process: int | None = None, host: str | None = None, since: float = NOW - 100.0) -> None:
    """Let a run own an experiment."""
    at = datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds")
    owner = {"process": process or os.getpid(), "host": host or socket.gethostname(), "since": at}
    (folder / OWNER_FILE).write_text(json.dumps(owner), encoding="utf-8")
    os.utime(folder / OWNER_FILE, (since, since))


def show(folder: Path, written: float = NOW, **changes: Any) -> None:
    """Let a run write its progress."""
    search(written=written, **changes).write(folder)
    os.utime(folder / PROGRESS_FILE, (written, written))


def gone() -> int:
    """Number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "experiment.json").write_text("{}", encoding="utf-8")
    return tmp_path


def test_a_run_starts_until_it_has_written_its_progress(folder: Path) -> None:
    own(folder)
    assert look(folder, NOW - 95.0).state == "starting"
    show(folder, written=NOW - 500.0, phase="complete")
    seen = look(folder, NOW - 95.0)  # what an earlier run wrote
    assert (seen.state, seen.search) == ("starting", None)
    show(folder)
    seen = look(folder, NOW + 1.0)
    assert (seen.state, seen.search and seen.search.best) == ("running", "+0.0656 (trial 3)")


@pytest.mark.parametrize(("phase", "state"), [("complete", "complete"), ("stopped", "stopped"), ("running", "stopped")])
def test_how_a_run_ended_is_what_it_wrote_last(folder: Path, phase: str, state: str) -> None:
    show(folder, phase=phase)
    assert look(folder, NOW + 1.0).state == state
    own(folder)
    assert look(folder, NOW + 1.0).state == phase


def test_a_run_without_a_sign_of_life_is_dead_only_where_its_process_is_known_to_be_gone(folder: Path) -> None:
    dead = gone()
    show(folder)
    own(folder, process=dead)
    assert look(folder, NOW + 1.0).state == "running"  # another machine's process may have another number here
    assert look(folder, NOW + 60.0).state == "dead"
    own(folder, process=dead, host="another")
    assert look(folder, NOW + 60.0).state == "silent"
    own(folder, since=time.time() + 5.0)
    show(folder, written=time.time() + 6.0)
    assert look(folder, time.time() + 60.0).state == "silent"  # it is there


def test_another_process_with_the_number_of_the_run_is_not_the_run(folder: Path) -> None:
    own(folder, since=1_000_000.0)  # this process began long after
    show(folder, written=1_000_010.0)
    assert look(folder, 1_000_100.0).state == "dead"


def test_without_a_run_there_is_nothing_to_watch(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert look(folder, time.time()).state == "starting"  # it is created before it has an owner
    with pytest.raises(WatchError, match=r"no run works on it.*tuning\.run --resume"):
        look(folder, NOW)
    assert main([str(tmp_path / "nowhere")]) == REFUSED
    (folder / PROGRESS_FILE).write_text("{", encoding="utf-8")
    assert main([str(folder)]) == REFUSED
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["error"] * 2
    assert "no experiment in" in lines[0]
    assert "damaged" in lines[1]


def lines_of(folder: Path) -> tuple[int, list[str]]:
    output = io.StringIO()
    status = watch(folder, Console(file=output, width=60))
    return status, output.getvalue().splitlines()


def test_lines_say_the_last_events_the_state_and_how_the_run_ended(folder: Path) -> None:
    show(folder, phase="stopped", reason="the disk is full")
    status, lines = lines_of(folder)
    assert status == ENDED
    assert lines[:2] == ["trial 3: score +0.0500 at 50,000 steps", "trial 3: score +0.0656 at 125,000 steps"]
    assert lines[2].startswith("42% of 1,000,000 steps | 5 trials (3 frozen)")
    assert "left" not in lines[2]
    assert "running" not in lines[2]
    assert lines[3].startswith("the run was stopped: the disk is full; continue with: ")
    assert "--trust-scenario" not in " ".join(lines)
    trace = 'Traceback (most recent call last):\n  File "pump.py", line 3, in step\n    valve()\nValueError: no luck'
    show(folder, phase="stopped", reason=f"three failed alike:\n{trace}")
    assert lines_of(folder)[1][3].startswith("the run was stopped: three failed alike: ValueError: no luck; continue with: ")
    show(folder, phase="stopped", again=("--trust-scenario",))
    assert " ".join(lines_of(folder)[1]).endswith(f"{folder.name} --trust-scenario"), "what no file has"
    show(folder, phase="complete")
    assert lines_of(folder)[1][3:] == ["the run has ended"]
    past = time.time() - 1000.0
    own(folder, process=gone(), since=past - 1.0)
    show(folder, written=past)
    status, lines = lines_of(folder)
    assert status == DEAD
    assert "left" not in lines[-2]
    assert lines[-1].startswith("the run was killed (process ")


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_run_is_followed_until_it_ends_and_each_event_is_told_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    begun = time.time()
    own(folder, since=begun)
    many = tuple(f"event {number}" for number in range(20, 70))
    steps = [
        {"events": ("event 0", "event 1"), "events_before": 0},
        {"events": ("event 0", "event 1", "event 2"), "events_before": 0},
        {"events": many, "events_before": 20},
        {"events": many, "events_before": 20, "phase": "complete"},
    ]

    def next_step(seconds: float) -> None:
        if steps:
            search(**{"written": time.time(), **steps.pop(0)}).write(folder)  # type: ignore[arg-type]

    monkeypatch.setattr("results.watch.time.sleep", next_step)
    output = io.StringIO()
    console = Console(
        file=output, width=60, height=30, force_terminal=is_terminal, legacy_windows=False, _environ={"TERM": "xterm"}
    )
    assert Watch(folder, console).run() == ENDED
    text = output.getvalue()
    for number in (0, 1, 2, 20, 69):
        assert text.count(f"event {number}\n") == 1
    assert "... 17 lines\n" in text
    assert ("\x1b[" in text) == is_terminal
    assert ("kept score" in text) == is_terminal
    assert "the run has ended" in text


def test_watching_imports_neither_ray_nor_torch_nor_pandas(folder: Path) -> None:
    show(folder, phase="complete")
    heavy = "{'ray', 'torch', 'citylearn', 'pandas', 'pyarrow', 'numpy', 'tuning'}"
    code = f"import sys; from results.watch import main; main([{str(folder)!r}]); print(*({heavy} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["the run has ended", ""]


@pytest.mark.parametrize("refusals", [REFUSED_LOOKS, REFUSED_LOOKS + 1])
def test_a_file_that_is_replaced_just_now_is_read_a_little_later(
    folder: Path, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    """Windows refuses to open it then."""
    show(folder, phase="complete")
    read, left = LiveSearch.read, [PermissionError(13, "Permission denied")] * refusals

    def refused(given: Path) -> LiveSearch:
        if left:
            raise left.pop()
        return read(given)

    monkeypatch.setattr(LiveSearch, "read", refused)
    monkeypatch.setattr("results.watch.time.sleep", lambda seconds: None)
    if refusals <= REFUSED_LOOKS:
        assert look(folder, NOW).state == "complete"
    else:
        with pytest.raises(WatchError, match=r"cannot be read \(Permission denied\): make it readable"):
            look(folder, NOW)


class _Run:
    """A run as storage shows it: its marks, its beat and its progress."""

    def __init__(self, uri: str) -> None:
        self.objects, self.beats = Objects(location(uri)), 0
        self.objects.put("experiment.json", b"{}")
        since = datetime.fromtimestamp(NOW - 100, UTC).isoformat()
        self.owner = {"process": 7, "host": "another", "since": since, "token": "abc"}
        self.objects.put("runs/00000001.json", b'{"ended": true}')
        self.beat()

    def beat(self, ended: bool = False) -> None:
        self.beats += 1
        self.objects.put("runs/00000002.json", json.dumps(self.owner | {"beats": self.beats, "ended": ended}).encode())

    def show(self, folder: Path, phase: str = "running", **changes: Any) -> None:
        folder.mkdir(exist_ok=True)
        search(written=NOW, phase=phase, **changes).write(folder)
        self.objects.put(PROGRESS_FILE, folder / PROGRESS_FILE)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path / "cache"))
    return (tmp_path / "share").as_uri() + "/ppo-1"


def fetched(place: str, seconds_ago: float) -> Path:
    """The copy of an experiment that is watched, whose changed files were fetched some seconds before `NOW`."""
    folder = local_folder(place, WATCHED, ROLE)
    for path in folder.rglob("*"):
        if path.stat().st_mtime < NOW - 1e6:  # fetched just now
            os.utime(path, (NOW - seconds_ago, NOW - seconds_ago))
    return folder


def test_a_run_in_storage_lives_as_long_as_its_beat_changes(place: str, tmp_path: Path) -> None:
    run = _Run(place)
    assert look(fetched(place, 60), NOW - 59).state == "starting"
    run.show(tmp_path / "progress")
    seen = look(fetched(place, 50), NOW - 45)
    assert (seen.state, seen.owner and seen.owner.shown.split(" since")[0]) == ("running", "process 7 on another")
    assert look(fetched(place, 50), NOW - 32).state == "silent"
    assert look(fetched(place, 50), NOW - 20).state == "dead"
    run.beat()
    assert look(fetched(place, 15), NOW - 10).state == "running"
    run.show(tmp_path / "progress", phase="complete")
    assert look(fetched(place, 5), NOW).state == "complete"
    run.beat(ended=True)
    seen = look(fetched(place, 5), NOW + 500)
    assert (seen.state, seen.owner) == ("complete", None)


def test_a_run_in_storage_is_watched_to_its_end_and_called_by_its_uri(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _Run(place)
    run.show(tmp_path / "progress", events=("first",))
    steps = iter(range(1, 9))

    def later(seconds: float) -> None:
        assert seconds == FETCH_SECONDS
        if next(steps) == 2:
            run.show(tmp_path / "progress", phase="stopped", events=("first", "second"))

    monkeypatch.setattr("results.watch.time.sleep", later)
    told = io.StringIO()
    assert watch(place, Console(file=told, width=200)) == ENDED
    lines = told.getvalue().splitlines()
    assert lines[0] == "first"
    assert "second" in lines
    assert lines[-1].endswith(f"continue with: {python_command('tuning.run')} --resume {place}")


def test_a_place_in_storage_without_an_experiment_is_refused(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([place]) == REFUSED
    assert f"no experiment in {place}" in capsys.readouterr().err
