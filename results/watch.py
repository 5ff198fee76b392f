"""Watch a search that was started elsewhere: `python -m results.watch experiments/ppo-iquitos-1`.

It reads two small files, of an experiment at a URI also the marks of the run, and needs neither Ray nor torch.
"""

import functools
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from common.command_line import Parser, status_of
from common.errors import UserError
from common.json_values import checked, read_json
from common.paths import user_path
from common.texts import counted, duration, python_command, raised
from common.uris import is_uri
from results.live import OWNER_FILE, PROGRESS_FILE, LiveSearch, Owner, Phase
from results.live_view import BETWEEN, LiveRegion, LiveView, replaces_lines, say, texts
from results.places import EXPERIMENT, local_folder

PROGRAM = "python -m results.watch"
LOOK_SECONDS = 1.0  # between two looks at the files
FETCH_SECONDS = 3.0  # between two looks at storage
REFUSED_LOOKS = 3  # at a file that may not be read, that may follow one another
LINE_SECONDS = 30.0  # between two lines of a search's state without a terminal
SILENT_SECONDS = 15.0  # without a sign of life, after which the process is looked for
LOST_SECONDS = 30.0  # without a beat in storage, after which a run is taken for killed
FIRST_EVENTS = 5  # of a run that began earlier
RUNS = "runs"  # folder in storage: 00000001.json is the first run's, which puts it again with a counter, and at last as ended
WATCHED = (EXPERIMENT, OWNER_FILE, PROGRESS_FILE, f"{RUNS}/")
ROLE = "watch"  # of the copy
ENDED, DEAD = 0, 1  # exit status

State = Literal["starting", "running", "silent", "complete", "stopped", "dead"]
_ALIVE = ("starting", "running", "silent")  # states


class WatchError(UserError):
    """There is nothing to watch; says why and what to do."""


@dataclass(frozen=True)
class Seen:
    """What the files of an experiment say."""

    # Of the run. Silent is one without a sign of life for `SILENT_SECONDS`, though its process is there or is on another
    # machine; dead one that was killed.
    state: State
    search: LiveSearch | None  # as the run wrote it last; None before it did
    owner: Owner | None  # process of the run; None where it has ended
    age: float  # seconds since the last sign of life


def look(folder: Path, now: float) -> Seen:
    """Look at an experiment at a time, seconds since 1970. A WatchError says that there is nothing to watch."""
    # The owner first: a run writes its last progress before it goes.
    (owner, beat), search = _run(folder), _search(folder)
    if owner is None:
        if search is None:
            if _age(now, folder / EXPERIMENT) <= SILENT_SECONDS:
                return Seen("starting", None, None, 0.0)  # it was created just now
            raise WatchError(
                f"{folder}: no run works on it, and it has no {PROGRESS_FILE}, which runs write; continue it with: "
                f"{python_command('tuning.run', '--resume', folder)}"
            )
        return Seen("complete" if search.phase == "complete" else "stopped", search, None, 0.0)
    if search and search.written < datetime.fromisoformat(owner.since).timestamp():
        search = None  # of an earlier run
    age = _age(now, folder / OWNER_FILE, folder / PROGRESS_FILE, *beat)
    if search and search.phase != "running":
        return Seen(search.phase, search, owner, age)
    if age > SILENT_SECONDS:
        is_lost = bool(beat) and _age(now, *beat) > LOST_SECONDS
        state: State = "dead" if is_lost or _is_gone(owner) else ("silent" if search else "starting")
        return Seen(state, search, owner, age)
    return Seen("running" if search else "starting", search, owner, age)


def _run(folder: Path) -> tuple[Owner | None, tuple[Path, ...]]:
    """The run that works on an experiment; and of one in storage the file that it writes again and again as long as it lives.

    The time of that file is when this machine fetched it last, so no clocks of two machines are compared.
    """
    newest = max((folder / RUNS).glob("*.json"), default=None)
    if newest is None:
        return Owner.read(folder), ()
    try:
        content = checked(read_json(newest), dict[str, Any], "its content")
    except (OSError, ValueError):
        return None, ()
    owner = None if content.get("ended") else Owner.of({field.name: content.get(field.name) for field in fields(Owner)})
    return owner, (newest,) if owner else ()


def _age(now: float, *paths: Path) -> float:
    times = []
    for path in paths:
        with suppress(FileNotFoundError):
            times.append(path.stat().st_mtime)
    return max(0.0, now - max(times, default=-math.inf))


def _search(folder: Path, attempts: int = REFUSED_LOOKS) -> LiveSearch | None:
    try:
        return LiveSearch.read(folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if isinstance(error, PermissionError) and attempts:
            # Windows refuses for the moment in which the run replaces the file.
            time.sleep(LOOK_SECONDS)
            return _search(folder, attempts - 1)
        raise WatchError(f"{folder / PROGRESS_FILE} cannot be read ({error.strerror}): make it readable") from error
    except ValueError as error:
        raise WatchError(
            f"{folder / PROGRESS_FILE} is damaged or of another version ({error}): delete it; a run writes it anew"
        ) from error


def _is_gone(owner: Owner) -> bool:
    if owner.host != socket.gethostname():
        return False
    import psutil

    try:
        # The number may be that of another process by now, which began later.
        begun = psutil.Process(owner.process).create_time()
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False
    return begun > datetime.fromisoformat(owner.since).timestamp() + SILENT_SECONDS


class Watch:
    """Shows what is seen: on a terminal a view that is updated in place, elsewhere lines."""

    def __init__(self, folder: Path, console: Console, fetch: Callable[[], object] | None = None) -> None:
        """Watch a folder; `fetch` makes it what storage has, None where it is the experiment's own."""
        self._folder, self._console, self._fetch = folder, console, fetch
        self._region = LiveRegion(console) if replaces_lines(console) else None
        self._events: int | None = None  # number of the lines that were told
        self._lined = -LINE_SECONDS
        self._state: State | None = None

    def run(self) -> int:
        """Watch until the run ends; the exit status."""
        seen = look(self._folder, time.time())
        if self._region and seen.state in _ALIVE:
            self._region.start()
        try:
            while seen.state in _ALIVE:
                self._show(seen)
                time.sleep(FETCH_SECONDS if self._fetch else LOOK_SECONDS)
                if self._fetch:
                    self._fetch()
                seen = look(self._folder, time.time())
        finally:
            if self._region:
                self._region.stop()
        return self._end(seen)

    def _show(self, seen: Seen) -> None:
        self._tell_events(seen)
        if seen.state != self._state and seen.state == "starting" and seen.owner:
            self._say(f"the run starts: {seen.owner.shown}")
        if seen.state != self._state and seen.state == "silent" and not self._region:
            self._say(_silence(seen))
        self._state = seen.state
        if seen.search is None:
            return
        if self._region:
            self._region.show(LiveView(seen.search, _silence(seen) if seen.state == "silent" else ""))
        elif time.monotonic() - self._lined >= LINE_SECONDS:
            self._lined = time.monotonic()
            self._say(BETWEEN.join(texts(seen.search)))

    def _tell_events(self, seen: Seen) -> None:
        if seen.search is None:
            return
        count = seen.search.events_before + len(seen.search.events)
        if self._events is None or self._events > count:
            self._events = max(seen.search.events_before, count - FIRST_EVENTS)
        if (missed := seen.search.events_before - self._events) > 0:
            self._say(f"... {counted(missed, 'line')}")
            self._events = seen.search.events_before
        for line in seen.search.events[self._events - seen.search.events_before :]:
            self._say(line)
        self._events = count

    def _end(self, seen: Seen) -> int:
        """Say how the run ended; the exit status."""
        self._tell_events(seen)
        if seen.search:
            # A run that was killed could not write that it has ended.
            phase: Phase = "complete" if seen.state == "complete" else "stopped"
            self._say(BETWEEN.join(texts(replace(seen.search, phase=phase))))
        command = python_command("tuning.run", "--resume", self._folder, *(seen.search.again if seen.search else ()))
        if seen.state == "dead" and seen.owner:
            self._say(f"the run was killed ({seen.owner.shown}); continue with: {command}")
            return DEAD
        if seen.state == "stopped":
            reason = seen.search.reason if seen.search else ""
            # Where all trials failed alike, the reason ends with the traceback of one.
            why = f": {' '.join(dict.fromkeys([reason.splitlines()[0], raised(reason)]))}" if reason else ""
            self._say(f"the run was stopped{why}; continue with: {command}")
            return ENDED
        self._say("the run has ended")
        return ENDED

    def _say(self, line: str) -> None:
        say(self._console, line)


def _silence(seen: Seen) -> str:
    where = f" of {seen.owner.shown}" if seen.owner else ""
    return f"no sign of life{where} for {duration(seen.age)}"


def watch(folder: str | Path, console: Console | None = None) -> int:
    """Watch the search of a folder or URI until its run ends; 1 where it was killed, else 0."""
    fetch = functools.partial(local_folder, folder, WATCHED, ROLE) if is_uri(folder) else None
    path = fetch() if fetch else user_path(folder).resolve()
    if not (path / EXPERIMENT).is_file():
        raise WatchError(f"no experiment in {path}: give the folder of an experiment, such as experiments/ppo-iquitos-1")
    plain = None if os.environ.get("NO_COLOR") else "auto"
    return Watch(path, console or Console(color_system=plain), fetch).run()  # type: ignore[arg-type]


def main(arguments: Sequence[str] | None = None) -> int:
    """Watch a search, and give the exit status; see `ENDED`."""
    given = parser().parse_args(arguments)
    if threading.current_thread() is threading.main_thread():
        # So that the lines on the terminal are removed, whatever ends this process.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    return status_of(lambda: watch(given.experiment))


def parser() -> Parser:
    """The options of the command."""
    made = Parser(PROGRAM, description="Show a search that was started elsewhere, from its files.")
    made.add_argument(
        "experiment", metavar="EXPERIMENT", help="folder or URI of the experiment, such as experiments/ppo-iquitos-1"
    )
    return made


if __name__ == "__main__":
    sys.exit(main())
