"""What becomes of a search's files beside their writing: nothing where they are local, a mirror where they have a storage."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from common.json_values import checked, parsed
from common.storage.location import StorageError
from common.storage.objects import Objects
from common.storage.working_copy import INDEX, WorkingCopy
from results.live import OWNER_FILE, PROGRESS_FILE
from results.schema import FOLDER
from tuning.experiment.folder import STATED, ExperimentPaths
from tuning.storage.journal_mirror import JournalMirror
from tuning.storage.lease import Guarded, Lease, OvertakenError

PROGRESS_SECONDS = 3.0  # at least, between two uploads of the progress
STOP_SECONDS = 5.0  # between two attempts to tell trials to stop, once nothing else can be changed
STATE = "state.json"  # a checkpoint without it is none: it is put last and removed first
TRIALS = "trials/"  # what else a folder of the user has at the end of a search
# What a driver reads: folders end with a slash. Checkpoints stay in the storage.
READ = (*STATED, OWNER_FILE, f"{FOLDER}/")
_ROWS = "results/trials/"
_RUNNING = "running-"  # begins the names of the files that tell trials that their run goes on


@dataclass(frozen=True)
class Home:
    """Where a trial's files are."""

    experiment: str  # folder of the experiment, as nodes of a cluster see it
    run: str  # name of the run
    trusted: bool = False  # whether it may run code of the scenario; no file says so
    storage: str = ""  # URI of the experiment, where its files are not in the folder
    lease: int = 0  # number of the run there, see `tuning.storage.lease`


class SearchFiles:
    """The files of a search in a local folder: what is written is where it belongs."""

    def written(self, path: Path) -> None:
        """A file was written or removed."""

    def flush(self) -> None:
        """What was written has to be where it belongs before a trial goes on."""

    def hand_out(self, home: Home, number: int) -> Home:
        """A trial is handed out to a process; where that finds its files."""
        return home

    def fetch(self, path: Path) -> None:
        """Get a file that a trial's process may have left."""

    @property
    def checkpoints(self) -> Callable[[int], StoredCheckpoints] | None:
        """Gives the checkpoints of a trial that are elsewhere; None where they are local."""
        return None

    def gather(self) -> None:
        """The search has ended: its folder is to have all that it should have."""

    @property
    def failure(self) -> str | None:
        """Why the search cannot go on, in a line; None as long as it can."""
        return None


class StoredFiles(SearchFiles):
    """The files of a search whose experiment has a storage, as the driver sees them. To enter it fetches what the storage has.

    `flush` mirrors what was written since the last one in this order: rows that trials told, the study, rows of trials. So what
    a kill leaves is what a kill between two writes of one event leaves on a disk, and `tuning.search.record.record` mends it.
    `is_whole` says that the folder is one of the user's, which has everything at the end.
    """

    def __init__(self, paths: ExperimentPaths, objects: Objects, lease: Lease, is_whole: bool = False) -> None:
        self._paths, self._objects, self._lease, self._is_whole = paths, objects, lease, is_whole
        self._own = Guarded(objects.location, lease.confirm)
        self._journal = JournalMirror(paths.study)
        self._written: dict[str, Path] = {}  # since the last flush, by key
        self._seen: dict[str, tuple[int, int] | None] = {}  # time and size of files that are written elsewhere, by key
        self._removals: list[Callable[[], None]] = []  # of checkpoints that are not kept
        self._saved: set[int] = set()  # numbers of trials that may have checkpoints
        self._failure: Exception | None = None
        self._progress_at = self._stopped_at = -math.inf

    def __enter__(self) -> Self:
        """Make the folder what the storage has."""
        self._paths.folder.mkdir(parents=True, exist_ok=True)
        # A run that was killed may have written files that never got to the storage.
        (self._paths.folder / INDEX).unlink(missing_ok=True)
        copy = WorkingCopy(self._paths.folder, self._objects)
        if self._is_whole:
            # A new folder says first which place it copies, so that the same command goes on after a kill.
            copy.pull(())
        # It is an experiment's once it has what else is read.
        copy.pull(READ[1:])
        copy.pull(READ[:1])
        self._paths.results.mkdir(exist_ok=True)  # no storage holds an empty folder
        self._journal.fetch(self._objects)
        # Trials of a run that was killed stop.
        self._own.remove(self._objects.listed(_RUNNING))
        parts = (key.split("/") for key in self._objects.listed(TRIALS))
        self._saved = {int(part[1]) for part in parts if len(part) > 2 and part[1].isascii() and part[1].isdecimal()}
        self._seen = {key: file_state(self._paths.folder / key) for key in READ[:-1]}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        is_told = self.failure is not None
        self._progress_at = -math.inf
        self.flush()
        if self._failure and not is_told and error is None:
            raise self._failure

    def written(self, path: Path) -> None:
        """A file was written or removed."""
        self._written[path.relative_to(self._paths.folder).as_posix()] = path

    def flush(self) -> None:
        """Mirror what was written; after a failure nothing but that trials are to stop."""
        if self.failure:
            self._stop_trials()
            return
        try:
            self._look_at_folder()
            rows = {key: path for key, path in self._written.items() if key.startswith(_ROWS)}
            self._mirror(self._changed() | {key: path for key, path in self._written.items() if key not in rows})
            self._journal.put(self._own)
            self._mirror(rows)
            self._written.clear()
            while self._removals:
                self._removals.pop(0)()
        except (StorageError, OvertakenError) as error:
            self._failure = error

    def hand_out(self, home: Home, number: int) -> Home:
        """A trial is handed out to a process, once the storage has all that is known of it."""
        self._saved.add(number)
        self.flush()
        return replace(home, storage=self._objects.location.uri, lease=self._lease.number)

    def fetch(self, path: Path) -> None:
        """Get a file that a trial's process may have left."""
        try:
            with suppress(FileNotFoundError):
                self._objects.fetch(path.relative_to(self._paths.folder).as_posix(), path)
        except StorageError as error:
            self._failure = self._failure or error

    @property
    def checkpoints(self) -> Callable[[int], StoredCheckpoints]:
        """Gives the checkpoints of a trial. They are removed after all that was written before."""
        return lambda number: StoredCheckpoints(self._objects, number, number in self._saved, self._own, self._removals.append)

    def gather(self) -> None:
        """Fetch the checkpoints that trials have written, where the folder is the user's.

        Raises:
            StorageError: if the storage was lost.
            OvertakenError: if another run has the experiment.
        """
        self.flush()
        if self.failure:
            raise self._failure or OvertakenError(self.failure)
        if self._is_whole:
            WorkingCopy(self._paths.folder, self._objects).pull([TRIALS])

    @property
    def failure(self) -> str | None:
        """Why the search cannot go on, in a line; None as long as it can."""
        return self._lease.overtaken or (str(self._failure) if self._failure else None)

    def _mirror(self, paths: dict[str, Path]) -> None:
        there = {key: path for key, path in paths.items() if path.exists()}
        try:
            self._own.put_all(there.items())
        except FileNotFoundError:
            # One that is removed at this moment, as the mark of the run by a signal.
            there, before = {key: path for key, path in there.items() if path.exists()}, there
            if len(there) == len(before):
                raise
            self._own.put_all(there.items())
        self._own.remove(paths.keys() - there.keys())

    def _changed(self) -> dict[str, Path]:
        """What has changed of the files that are written elsewhere: settings, owner, progress and the run's marks."""
        marks = {path.name for path in self._paths.folder.glob(f"{_RUNNING}*")}
        keys = {*READ[:-1], *marks, *(key for key in self._seen if key.startswith(_RUNNING))}
        if time.monotonic() - self._progress_at >= PROGRESS_SECONDS:
            keys.add(PROGRESS_FILE)
        changed = {}
        for key in sorted(keys):
            path = self._paths.folder / key
            if self._seen.get(key) != (state := file_state(path)):
                self._seen[key], changed[key] = state, path
        if PROGRESS_FILE in changed:
            self._progress_at = time.monotonic()
        return changed

    def _look_at_folder(self) -> None:
        """See that the folder is still there: what vanished with it must not be removed from the storage too."""
        if self._seen.get(READ[0]) and not (self._paths.folder / READ[0]).exists():
            place = self._objects.location
            raise StorageError(
                f"{self._paths.settings} was deleted while the search ran, so it stops; {place} has all before: continue with "
                f"--resume {place}"
            )

    def _stop_trials(self) -> None:
        marks = [key for key, state in self._seen.items() if key.startswith(_RUNNING) and state]
        if not marks or time.monotonic() - self._stopped_at < STOP_SECONDS:
            return
        self._stopped_at = time.monotonic()
        with suppress(StorageError, OvertakenError):
            Guarded(self._objects.location, self._lease.confirm, 0.0).remove(marks)
            self._seen.update(dict.fromkeys(marks))


class StoredCheckpoints:
    """What a driver knows and removes of a trial's checkpoints; `due` takes removals that are made later."""

    def __init__(
        self, objects: Objects, number: int, may_be_there: bool, guarded: Guarded, due: Callable[[Callable[[], None]], None]
    ) -> None:
        self._objects, self._folder, self._may_be_there = objects, checkpoints_of(number), may_be_there
        self._own, self._due = guarded, due

    @property
    def steps(self) -> int:
        """Steps of the newest one; 0 without one."""
        return max((int(name) for name in complete(self._listed())), default=0)

    def keep_one(self) -> None:
        """Remove all but the newest, what it needs, and the one that is rated; nothing where the newest is not whole."""
        self._due(self._keep_one)

    def remove(self) -> None:
        """Remove all of them."""
        if self._may_be_there:
            self._due(lambda: self._remove(self._listed()))

    def _keep_one(self) -> None:
        names = self._listed()
        if newest := complete(names)[-1:]:
            state = f"{newest[0]}/{STATE}"
            files, rated = named_files(self._objects, self._folder + state)
            needed = {name if "/" in name else f"{newest[0]}/{name}": nbytes for name, nbytes in files.items()}
            if needed and all(names.get(name) == nbytes for name, nbytes in needed.items()):
                spared = {name for name in names if name.startswith(f"{rated:012d}/")}
                self._remove(names.keys() - needed.keys() - {state} - spared)

    def _listed(self) -> dict[str, int]:
        """Lengths of the objects below the trial's folder, by their names there."""
        there = self._objects.listed(self._folder) if self._may_be_there else {}
        return {key.removeprefix(self._folder): stamp.nbytes for key, stamp in there.items()}

    def _remove(self, names: Iterable[str]) -> None:
        remove_states_first(self._own, [self._folder + name for name in names])


def checkpoints_of(number: int) -> str:
    """Beginning of the keys of a trial's checkpoints."""
    return f"{TRIALS}{number:05d}/"


def remove_states_first(guarded: Guarded, keys: Iterable[str]) -> None:
    """Remove objects of checkpoints, so that whatever a kill leaves is a checkpoint or none."""
    given = set(keys)
    states = {key for key in given if key.endswith(f"/{STATE}")}
    guarded.remove(states)
    guarded.remove(given - states)


def complete(names: Iterable[str]) -> list[str]:
    """Names of the checkpoints that were put to their end, oldest first, among names below a trial's folder."""
    parts = (name.partition("/") for name in names)
    return sorted(folder for folder, _, name in parts if name == STATE and folder.isascii() and folder.isdecimal())


def named_files(objects: Objects, key: str) -> tuple[dict[str, int], int]:
    """Lengths of the files that a checkpoint's state names, by name, and steps of the one that is rated; none where damaged."""
    try:
        content = parsed(objects.read(key).decode())["content"]
        files = checked(content["files"], dict[str, dict[str, Any]], "files")
        return {name: int(file["bytes"]) for name, file in files.items()}, int(content["trial"]["kept_steps"])
    except (ValueError, KeyError, TypeError, FileNotFoundError):
        return {}, 0


def file_state(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written; None without it."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_mtime_ns, stat.st_size
