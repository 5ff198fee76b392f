"""The files of a trial in its process: those of the experiment's folder, or a working copy of its own that it pushes."""

import math
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

from common.storage.location import StorageError, location
from common.storage.objects import Objects
from common.storage.working_copy import working_folder
from tuning.experiment.folder import Experiment, ExperimentPaths, open_experiment
from tuning.experiment.lock import trial_lock
from tuning.experiment.reading import with_found_site
from tuning.storage.lease import Guarded, run_key
from tuning.storage.search_files import STATE, Home, checkpoints_of, complete, file_state, remove_states_first

LOOK_SECONDS = 5.0  # between two looks whether the run goes on
MARKER_SECONDS = 2.0  # that the end of a process waits for the marker that says why
REPLAY = "replay"  # folder of the replay buffer's rows, beside those of the checkpoints
_ROLE = "trial-"  # begins the role of a trial's working copy
_OF_A_TRIAL = re.compile(rf"-[0-9a-f]{{16}}-{_ROLE}[0-9]{{5,}}$")  # ends the name of such a copy


class FencedError(Exception):
    """Another run has the experiment now; nothing more is written."""


class TrialFiles:
    """The files of a trial in the folder of its experiment: what is written is where it belongs."""

    def __init__(self, experiment: Experiment, run: str = "", number: int = 0) -> None:
        self.experiment = experiment
        paths = experiment.paths
        self._running, self._leaving = paths.running(run), paths.leaving(run, number)

    def may_go_on(self) -> bool:
        """Whether the run goes on, and the trial is not to leave its node; else it writes a checkpoint and ends."""
        return self._is_there(self._running) and not self._is_there(self._leaving)

    def _is_there(self, mark: Path) -> bool:
        return mark.exists()

    def begun(self) -> None:
        """What is beyond the newest whole checkpoint was removed."""

    def saved(self) -> None:
        """A checkpoint was written, and older ones were removed."""

    def end_process(self, status: int) -> None:
        """End this process at once, after a marker was written that says why."""
        os._exit(status)


class PushedFiles(TrialFiles):
    """The files of a trial in a working copy: checkpoints are pushed as they are written.

    A trial tells of a checkpoint once it is pushed, and goes on once the storage has what it told. So it is one checkpoint
    ahead of the study there at most, and removes none that the study names.
    """

    def __init__(self, experiment: Experiment, run: str, objects: Objects, number: int, guarded: Guarded) -> None:
        super().__init__(experiment, run, number)
        self._objects, self._number, self._own = objects, number, guarded
        self._known: dict[str, object] = {}  # state of the checkpoints' files that the storage has as they are here, by key
        self._looks: dict[Path, tuple[float, bool]] = {}  # at marks in the storage: when, and whether each was there

    def _is_there(self, mark: Path) -> bool:
        looked, is_there = self._looks.get(mark, (-math.inf, False))
        if time.monotonic() - looked >= LOOK_SECONDS:
            is_there = self._objects.has(mark.name)
            self._looks[mark] = time.monotonic(), is_there
        return is_there

    def begun(self) -> None:
        """Remove from the storage what is beyond the newest whole checkpoint: the trial makes it again."""
        self._known = self._here()
        remove_states_first(self._own, self._objects.listed(checkpoints_of(self._number)).keys() - self._known.keys())

    def saved(self) -> None:
        """A checkpoint was written, and older ones were removed: rows of the replay buffer and arrays first, then the state."""
        here, folder = self._here(), self.experiment.paths.folder
        # Rows that a process before pushed without a checkpoint are made again under their name.
        new = {key for key, state in here.items() if self._known.get(key) != state}
        states = {key for key in new if key.endswith(f"/{STATE}")}
        for keys in (new - states, states):
            self._own.put_all((key, folder / key) for key in sorted(keys))
        remove_states_first(self._own, self._known.keys() - here.keys())
        self._known = here

    def end_process(self, status: int) -> None:
        """End this process, after the marker that says why was pushed, and after `MARKER_SECONDS` in any case.

        It takes more memory than it may, so other processes of the machine cannot wait for a slow storage.
        """
        paths = self.experiment.paths
        marker = paths.memory_marker(self._number)

        def push() -> None:
            with suppress(FencedError, StorageError, OSError):
                self._own.put(marker.relative_to(paths.folder).as_posix(), marker)

        try:
            pushing = threading.Thread(target=push, name="marker", daemon=True)
            pushing.start()
            pushing.join(MARKER_SECONDS)
        finally:
            os._exit(status)

    def _here(self) -> dict[str, object]:
        paths = self.experiment.paths
        files = (path for path in paths.checkpoints(self._number).rglob("*") if path.is_file())
        return {path.relative_to(paths.folder).as_posix(): file_state(path) for path in files}


@contextmanager
def trial_files(home: Home, number: int) -> Iterator[TrialFiles]:
    """Files of a trial, held against other processes of this machine; those in a working copy are removed at the end."""
    if not home.storage:
        experiment = open_experiment(home.experiment).trusting(home.trusted)
        with trial_lock(experiment.paths.trial_lock(number)):
            yield TrialFiles(experiment, home.run, number)
        return

    place = location(home.storage)
    objects, folder = Objects(place), working_folder(place, f"{_ROLE}{number:05d}")

    def see_that_it_holds() -> None:
        if objects.has(run_key(home.lease + 1)):
            raise FencedError(f"another run has {place}")

    with trial_lock(_lock_of(folder)):
        _remove_abandoned(folder)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _fetch(objects, ExperimentPaths(folder), number)
            experiment = with_found_site(open_experiment(folder).trusting(home.trusted), place.uri)
            yield PushedFiles(experiment, home.run, objects, number, Guarded(place, see_that_it_holds))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _lock_of(folder: Path) -> Path:
    """Path of the lock that a process holds as long as it uses a working copy of a trial."""
    return folder.with_name(f"{folder.name}.lock")


def _remove_abandoned(current: Path) -> None:
    """Remove working copies of trials whose processes were killed here. Such a trial may go on elsewhere, or never."""
    for folder in current.parent.glob(f"*-{_ROLE}*"):
        # An experiment may have a name like a role; its other copies have another one after the digest.
        if folder == current or not folder.is_dir() or not _OF_A_TRIAL.search(folder.name):
            continue
        with suppress(filelock.Timeout, OSError), filelock.FileLock(_lock_of(folder), blocking=False):
            shutil.rmtree(folder, ignore_errors=True)


def _fetch(objects: Objects, paths: ExperimentPaths, number: int) -> None:
    folder = checkpoints_of(number)
    names = [key.removeprefix(folder) for key in objects.listed(folder)]
    # A checkpoint without its state was interrupted.
    whole = set(complete(names))
    kept = [name for name in names if name.partition("/")[0] in whole | {REPLAY}] if whole else []
    objects.fetch_all((folder + name, paths.checkpoints(number) / name) for name in kept)
    objects.fetch(paths.settings.name, paths.settings)
