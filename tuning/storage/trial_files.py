"""The files of a trial in its process: those of the experiment's folder, or a working copy of its own that it pushes."""

from __future__ import annotations

import math
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import filelock

from common.storage.faults import StorageLostError
from common.storage.location import Location, StorageError, location
from tuning.experiment.folder import Experiment, ExperimentPaths, open_experiment
from tuning.experiment.lock import trial_lock
from tuning.experiment.permission import Permission
from tuning.storage.epoch import LARGE, LARGE_PATIENCE, PATIENCE
from tuning.storage.search_files import Home, turn_key
from tuning.storage.site_copy import with_site
from tuning.storage.stored_checkpoints import STATE, complete, named_files, remove_states_first

if TYPE_CHECKING:
    from common.storage.objects import Objects

LOOK_SECONDS = 5.0  # between two looks whether the run goes on
TURN_SECONDS = 120.0  # that a driver may take to upload what comes before a trial
LOST_SECONDS = 60.0  # of failing attempts at one change, after which the storage is lost
MARKER_SECONDS = 2.0  # that the end of a process waits for the marker that says why
REPLAY = "replay"  # folder of the replay buffer's rows, beside those of the checkpoints
_ROLE = "trial-"  # begins the role of a trial's working copy
_OF_A_TRIAL = re.compile(rf"-[0-9a-f]{{16}}-{_ROLE}[0-9]{{5,}}$")  # ends the name of such a copy
_PAUSE, _MOST_PAUSE = 0.05, 1.0  # between two looks at the turn
_AT_ONCE = 16  # objects that are removed after one look at the turn


_T = TypeVar("_T")


class FencedError(Exception):
    """Another process has this trial now, or another run the experiment; nothing more is written."""


class TrialFiles:
    """The files of a trial in the folder of its experiment: what is written is where it belongs."""

    def __init__(self, experiment: Experiment, run: str = "", number: int = 0) -> None:
        """Put it together.

        Args:
            experiment: of the trial.
            run: name of the run.
            number: of the trial.
        """
        self.experiment = experiment
        paths = experiment.paths
        self.permission = Permission(paths.running(run), paths.leaving(run, number))

    def held(self, number: int) -> AbstractContextManager[None]:
        """Hold a trial against other processes of this machine.

        Raises:
            TimeoutError: see `trial_lock`.
        """
        return trial_lock(self.experiment.paths.trial_lock(number))

    def begun(self) -> None:
        """What is beyond the newest whole checkpoint was removed."""

    def saved(self) -> None:
        """A checkpoint was written, and older ones were removed."""

    def end_process(self, status: int) -> None:
        """End this process at once, after a marker was written that says why."""
        os._exit(status)


class PushedFiles(TrialFiles):
    """The files of a trial in a working copy, which pushes what is written in the order in which it is written.

    Before each attempt at a change it looks whether the trial is still its own. Parts and checkpoints are created. One that is
    there already, as where work is done again, is replaced.
    """

    def __init__(self, experiment: Experiment, run: str, objects: Objects, number: int, turn: str) -> None:
        """Put it together.

        Args:
            experiment: in the working copy.
            run: name of the run.
            objects: of the experiment.
            number: of the trial.
            turn: what its turn object holds.
        """
        super().__init__(experiment, run, number)
        self._objects, self._number, self._turn = objects, number, turn
        self._own = _OwnObjects(objects.location, lambda: self._fence())
        self._folder = experiment.paths.folder
        self._known: set[str] = set()  # keys of checkpoints' files that are in the storage as they are here
        paths = experiment.paths
        self.permission = Permission(
            _StoredMark(objects, paths.running(run).name), _StoredMark(objects, paths.leaving(run, number).name)
        )

    def held(self, number: int) -> AbstractContextManager[None]:
        """The trial is held already: else its working copy could not be made."""
        return nullcontext()

    def begun(self) -> None:
        """Remove from the storage what is beyond the newest whole checkpoint: the trial makes it again.

        So are rows of the replay buffer that no checkpoint names, here too: the process before ended while it pushed them. Rows
        of the same name that are made again have another content.
        """
        self._fence()
        for path in self._unnamed_rows():
            path.unlink()
        self._known = self._checkpoints_here()
        remove_states_first(self._own, self._objects.listed(f"trials/{self._number:05d}/").keys() - self._known)

    def saved(self) -> None:
        """A checkpoint was written, and older ones were removed: rows of the replay buffer, arrays, the state last."""
        here = self._checkpoints_here()
        # Not what the storage lacks: a late request of the process before may have left something there.
        for key in sorted(here - self._known, key=lambda key: (key.endswith(f"/{STATE}"), key)):
            self._create(key)
        self._known = here
        remove_states_first(self._own, self._objects.listed(f"trials/{self._number:05d}/").keys() - here)

    def end_process(self, status: int) -> None:
        """End this process, after the marker that says why was pushed, and after `MARKER_SECONDS` in any case.

        It takes more memory than it may, so other processes of the machine cannot wait for a slow storage.
        """
        marker = self.experiment.paths.memory_marker(self._number)

        def push() -> None:
            with suppress(FencedError, StorageError, OSError):
                self._own.put(marker.relative_to(self._folder).as_posix(), marker)

        try:
            pushing = threading.Thread(target=push, name="marker", daemon=True)
            pushing.start()
            pushing.join(MARKER_SECONDS)
        finally:
            os._exit(status)

    def _checkpoints_here(self) -> set[str]:
        folder = self.experiment.paths.checkpoints(self._number)
        return {path.relative_to(self._folder).as_posix() for path in folder.rglob("*") if path.is_file()}

    def _unnamed_rows(self) -> list[Path]:
        """Files of the replay buffer's rows that no checkpoint here names."""
        folder = self.experiment.paths.checkpoints(self._number)
        named: set[str] = set()
        for state in folder.glob(f"*/{STATE}"):
            with suppress(ValueError):  # a damaged one is none
                named |= named_files(state.read_bytes()).keys()
        return [path for path in folder.glob(f"{REPLAY}/*") if f"{REPLAY}/{path.name}" not in named]

    def _create(self, key: str) -> None:
        if not self._own.create(key, self._folder / key):
            self._own.put(key, self._folder / key)

    def _fence(self) -> None:
        """See that this process still has the trial.

        Raises:
            FencedError: if it has not.
        """
        if _turn(self._objects, self._number) != self._turn:
            raise FencedError(f"another process has trial {self._number}")


class _OwnObjects:
    """Changes of objects, as long as a trial is this process's own: it looks before each attempt, and an attempt is short.

    So what a process has begun, which lost its trial, is over soon after.
    """

    def __init__(self, place: Location, fence: Callable[[], None]) -> None:
        """Put it together.

        Args:
            place: of the objects.
            fence: called before each attempt; raises where the trial is another's.
        """
        from common.storage.objects import Objects

        self._hasty, self._patient, self._fence = Objects(place, PATIENCE), Objects(place, LARGE_PATIENCE), fence

    def put(self, key: str, path: Path) -> None:
        """Write an object, see `Objects.put`."""
        self._attempted(lambda: self._of(path).put(key, path))

    def create(self, key: str, path: Path) -> bool:
        """Write an object where there is none, see `Objects.create`."""
        return self._attempted(lambda: self._of(path).create(key, path))

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects."""
        given = list(keys)
        for first in range(0, len(given), _AT_ONCE):
            some = given[first : first + _AT_ONCE]
            self._attempted(partial(self._hasty.remove, some))

    def _of(self, path: Path) -> Objects:
        return self._patient if path.stat().st_size > LARGE else self._hasty

    def _attempted(self, attempt: Callable[[], _T]) -> _T:
        until = time.monotonic() + LOST_SECONDS
        while True:
            self._fence()
            try:
                return attempt()
            except StorageLostError:
                if time.monotonic() > until:
                    raise


class _StoredMark:
    """An object that tells a trial something by being there; looked at now and then."""

    def __init__(self, objects: Objects, key: str) -> None:
        self._objects, self._key = objects, key
        self._looked, self._is_there = -math.inf, False

    def exists(self) -> bool:
        """Whether it was there at the last look."""
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self._is_there = self._objects.has(self._key)
            self._looked = time.monotonic()
        return self._is_there


@contextmanager
def trial_files(home: Home, number: int) -> Iterator[TrialFiles]:
    """Files of a trial; those in a working copy are held for this process.

    Raises:
        FencedError: if the trial's turn does not come, as in a run that was lost.
        StorageError: if the storage cannot be read.
        TimeoutError: if another process of this machine holds the trial.
    """
    if not home.storage:
        yield TrialFiles(open_experiment(home.experiment).trusting(home.trusted), home.run, number)
        return
    from common.storage.objects import Objects
    from common.storage.working_copy import working_folder

    place = location(home.storage)
    objects, own = Objects(place), working_folder(place, f"{_ROLE}{number:05d}")
    with trial_lock(_lock_of(own)):
        _remove_abandoned(own)
        _await_turn(objects, number, home.turn)
        shutil.rmtree(own, ignore_errors=True)
        try:
            _fetch(objects, ExperimentPaths(own), number)
            experiment = with_site(open_experiment(own).trusting(home.trusted), objects)
            yield PushedFiles(experiment, home.run, objects, number, home.turn)
        finally:
            shutil.rmtree(own, ignore_errors=True)


def _lock_of(copy: Path) -> Path:
    """Path of the lock that a process holds as long as it uses a working copy of a trial."""
    return copy.with_name(f"{copy.name}.lock")


def _remove_abandoned(own: Path) -> None:
    """Remove working copies of trials whose processes were killed here. Such a trial may go on elsewhere, or never.

    Args:
        own: the copy of this process.
    """
    for copy in own.parent.glob(f"*-{_ROLE}*"):
        # An experiment may have a name like a role; its other copies have another one after the digest.
        if copy == own or not copy.is_dir() or not _OF_A_TRIAL.search(copy.name):
            continue
        with suppress(filelock.Timeout, OSError), filelock.FileLock(_lock_of(copy), blocking=False):
            shutil.rmtree(copy, ignore_errors=True)


def _await_turn(objects: Objects, number: int, turn: str) -> None:
    until, pause = time.monotonic() + TURN_SECONDS, _PAUSE
    while _turn(objects, number) != turn:
        if time.monotonic() > until:
            raise FencedError(f"trial {number} was not handed out within {TURN_SECONDS:.0f} s")
        time.sleep(pause)
        pause = min(2 * pause, _MOST_PAUSE)


def _turn(objects: Objects, number: int) -> str | None:
    try:
        return objects.read(turn_key(number)).decode()
    except FileNotFoundError:
        return None


def _fetch(objects: Objects, paths: ExperimentPaths, number: int) -> None:
    """Fetch what a trial goes on from: settings, and its whole checkpoints with their rows of the replay buffer."""
    checkpoints = f"trials/{number:05d}/"
    saved = objects.listed(checkpoints)
    whole = set(complete(key.removeprefix(checkpoints) for key in saved))
    # A checkpoint without its state was interrupted.
    kept = {key: stamp for key, stamp in saved.items() if (name := key.split("/")[2]) in whole or name == REPLAY}
    if not whole:
        kept = {}
    objects.fetch_all([(key, paths.folder / key) for key in kept], kept)
    objects.fetch(paths.settings.relative_to(paths.folder).as_posix(), paths.settings)
