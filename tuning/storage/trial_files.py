"""The files of a trial in its process: those of the experiment's folder, or a working copy of its own that it pushes."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.storage.location import StorageError, location
from tuning.experiment.folder import Experiment, ExperimentPaths, open_experiment
from tuning.experiment.lock import trial_lock
from tuning.experiment.permission import Permission
from tuning.storage.search_files import STORAGE, TURN, turn_key
from tuning.storage.site_copy import with_site
from tuning.storage.stored_checkpoints import STATE, complete, remove_states_first

if TYPE_CHECKING:
    from common.storage.objects import Objects

LOOK_SECONDS = 5.0  # between two looks whether the run goes on
TURN_SECONDS = 120.0  # that a driver may take to upload what comes before a trial
_PAUSE, _MOST_PAUSE = 0.05, 1.0  # between two looks at the turn


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

    def written(self, path: Path) -> None:
        """A row or a part was written."""

    def saved(self) -> None:
        """A checkpoint was written, and older ones were removed."""

    def ended(self) -> None:
        """Nothing more is written."""

    def end_process(self, status: int) -> None:
        """End this process at once, after a marker was written that says why."""
        os._exit(status)


class PushedFiles(TrialFiles):
    """The files of a trial in a working copy, which pushes what is written in the order in which it is written.

    Before each push it looks whether the trial is still its own. Parts and checkpoints are created. One that is there already,
    as where work is done again, is replaced after another look.
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
        self._folder = experiment.paths.folder
        paths = experiment.paths
        self.permission = Permission(
            _StoredMark(objects, paths.running(run).name), _StoredMark(objects, paths.leaving(run, number).name)
        )

    def held(self, number: int) -> AbstractContextManager[None]:
        """The trial is held already: else its working copy could not be made."""
        return nullcontext()

    def begun(self) -> None:
        """Remove from the storage what is beyond the newest whole checkpoint: the trial makes it again."""
        self._fence()
        keys = self._objects.listed(f"trials/{self._number:05d}/")
        remove_states_first(self._objects, [key for key in keys if not (self._folder / key).exists()])
        for table in ("reports", "evaluations"):
            keys = self._objects.listed(parts_of(table, self._number))
            self._objects.remove([key for key in keys if not (self._folder / key).exists()])

    def written(self, path: Path) -> None:
        """A row or a part was written."""
        self._fence()
        key = path.relative_to(self._folder).as_posix()
        if path == self.experiment.paths.part("trials", self._number):
            self._objects.put(key, path)
        else:
            self._create(key)

    def saved(self) -> None:
        """A checkpoint was written, and older ones were removed: rows of the replay buffer, arrays, the state last."""
        self._fence()
        folder = self.experiment.paths.checkpoints(self._number)
        here = {path.relative_to(self._folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        there = self._objects.listed(f"trials/{self._number:05d}/")
        new = sorted(here - there.keys(), key=lambda key: (key.endswith(f"/{STATE}"), key))
        for key in new:
            if key.endswith(f"/{STATE}"):
                self._fence()
            self._create(key)
        remove_states_first(self._objects, there.keys() - here)
        self._push_copies()

    def ended(self) -> None:
        """Push the copies of reports for other programs once more: they were closed."""
        # The results are there. A process that was stopped may have lost the trial already.
        with suppress(FencedError, StorageError):
            self._fence()
            self._push_copies()

    def end_process(self, status: int) -> None:
        """End this process at once, after the marker that says why was pushed."""
        marker = self.experiment.paths.memory_marker(self._number)
        try:
            self._objects.put(marker.relative_to(self._folder).as_posix(), marker)
        finally:
            os._exit(status)

    def _push_copies(self) -> None:
        paths = self.experiment.paths
        csv, events = paths.progress_csv(self._number), paths.tensorboard(self._number)
        here = [path for path in (csv, *sorted(events.rglob("*"))) if path.is_file()]
        if not here:
            return
        for path in here:
            self._objects.put(path.relative_to(self._folder).as_posix(), path)
        if events.exists():
            keys = self._objects.listed(events.relative_to(self._folder).as_posix() + "/")
            self._objects.remove([key for key in keys if not (self._folder / key).exists()])

    def _create(self, key: str) -> None:
        if not self._objects.create(key, self._folder / key):
            self._fence()
            self._objects.put(key, self._folder / key)

    def _fence(self) -> None:
        """See that this process still has the trial.

        Raises:
            FencedError: if it has not.
        """
        if _turn(self._objects, self._number) != self._turn:
            raise FencedError(f"another process has trial {self._number}")


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
def trial_files(config: Mapping[str, Any], number: int, run: str, folder: str, trusted: bool = False) -> Iterator[TrialFiles]:
    """Files of a trial; those in a working copy are held for this process.

    Args:
        config: of the trial; with `STORAGE` and `TURN` where the experiment has a storage.
        number: of the trial.
        run: name of the run.
        folder: of the experiment; not looked at where it has a storage.
        trusted: whether the scenario is.

    Raises:
        FencedError: if the trial's turn does not come, as in a run that was lost.
        StorageError: if the storage cannot be read.
        TimeoutError: if another process of this machine holds the trial.
    """
    if STORAGE not in config:
        yield TrialFiles(open_experiment(folder).trusting(trusted), run, number)
        return
    from common.storage.objects import Objects
    from common.storage.working_copy import working_folder

    place = location(config[STORAGE])
    objects, own = Objects(place), working_folder(place, f"trial-{number:05d}")
    with trial_lock(own.with_name(f"{own.name}.lock")):
        _await_turn(objects, number, config[TURN])
        shutil.rmtree(own, ignore_errors=True)
        try:
            _fetch(objects, ExperimentPaths(own), number)
            experiment = with_site(open_experiment(own), objects).trusting(trusted)
            yield PushedFiles(experiment, run, objects, number, config[TURN])
        finally:
            shutil.rmtree(own, ignore_errors=True)


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
    """Fetch what a trial goes on from: settings, its row, its parts, its whole checkpoints with their rows."""
    checkpoints = f"trials/{number:05d}/"
    saved = objects.listed(checkpoints)
    whole = set(complete(key.removeprefix(checkpoints) for key in saved))
    # A checkpoint without its state was interrupted.
    kept = {key: stamp for key, stamp in saved.items() if (name := key.split("/")[2]) in whole or name == "replay"}
    if not whole:
        kept = {}
    for table in ("reports", "evaluations"):
        kept |= objects.listed(parts_of(table, number))
    objects.fetch_all([(key, paths.folder / key) for key in kept], kept)
    for path in (paths.settings, paths.part("trials", number)):
        objects.fetch(path.relative_to(paths.folder).as_posix(), path)


def parts_of(table: str, number: int) -> str:
    """Beginning of the keys of a trial's parts of a table."""
    return f"results/{table}/{number:05d}-"
