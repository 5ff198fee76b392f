"""What becomes of a search's files beside their writing: nothing where they are local, uploads where they have a storage."""

from __future__ import annotations

import math
import re
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from common import files
from common.storage.location import StorageError
from results.live import OWNER_FILE, PROGRESS_FILE
from tuning.experiment.folder import ExperimentPaths
from tuning.storage.confirmed import confirmed
from tuning.storage.epoch import LARGE, LARGE_PATIENCE, Epoch, OvertakenError
from tuning.storage.journal_chunks import fetch_journal, put_journal, trim_journal
from tuning.storage.stored_checkpoints import StoredCheckpoints
from tuning.storage.upload_queue import Change, UploadQueue, make

if TYPE_CHECKING:
    from common.storage.objects import Objects

JOURNAL_SECONDS = 10.0  # at most, from a change of the journal to its upload
# What a driver reads: folders end with a slash. Checkpoints stay in the storage.
READ = ("experiment.json", "space.toml", "learned.json", OWNER_FILE, "results/")
OF_TRIALS = "trials/"  # what else a folder of the user has at the end of a search
_RUNNING = "running-"  # begins the names of the files that tell trials that their run goes on
_TURN = re.compile(r"trials/[0-9]{5,}\.turn")


@dataclass(frozen=True)
class Home:
    """Where a trial's files are.

    Attributes:
        experiment: folder of the experiment, as nodes of a cluster see it.
        run: name of the run.
        trusted: whether it may run code of the scenario; no file says so.
        storage: URI of the experiment, where its files are not in the folder.
        turn: what the trial's turn object holds as long as no other process has the trial.
    """

    experiment: str
    run: str
    trusted: bool = False
    storage: str = ""
    turn: str = ""


class SearchFiles:
    """The files of a search in a local folder: what is written is where it belongs."""

    def written(self, path: Path) -> None:
        """A file was written or removed."""

    def hand_out(self, home: Home, number: int) -> Home:
        """A trial is handed out to a process; where that finds its files."""
        return home

    def take_back(self, number: int) -> None:
        """The process of a trial has ended."""

    @property
    def checkpoints(self) -> Callable[[int], StoredCheckpoints] | None:
        """Gives the checkpoints of a trial that are elsewhere; None where they are local."""
        return None

    def gather(self) -> None:
        """All results are read next."""

    @property
    def failure(self) -> str | None:
        """Why the search cannot go on, in a line; None as long as it can."""
        return None

    def refuse_if_overtaken(self) -> None:
        """Raise an `OvertakenError` if another run has the experiment."""


class StoredFiles(SearchFiles):
    """The files of a search whose experiment has a storage, as the driver sees them. Trials' processes have their own.

    Each change of the driver reaches the storage in the order in which it was made, a little later. So the storage is at any
    time a state in which the local folder was. A trial begins when its turn object is there, which is put after its row and its
    entry in the study. So a trial never writes what the study does not know.
    """

    def __init__(
        self, paths: ExperimentPaths, objects: Objects, epoch: Epoch, hasty: Objects | None = None, is_whole: bool = False
    ) -> None:
        """Put it together; to enter it fetches what the storage has.

        Args:
            paths: of the local folder.
            objects: of the experiment.
            epoch: of this run, held.
            hasty: the same objects with little patience, for changes; see `UploadQueue`.
            is_whole: whether the folder is one of the user's, which has everything at the end.
        """
        self._paths, self._objects, self._epoch, self._is_whole = paths, objects, epoch, is_whole
        self._hasty = hasty or objects
        self._queue = UploadQueue(self._hasty, epoch.confirm, self._look, last=self._remove_marks)
        self._failure: Exception | None = None
        self._turns = 0
        self._saved: set[int] = set()  # numbers of trials that may have checkpoints
        self._journal_at = -math.inf  # when it was last queued
        self._seen: dict[str, tuple[int, int] | None] = {}  # time and size of files that are looked at, by key
        self._length = self._uploaded = 0  # of the journal, as it was queued and as it was uploaded last
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        self._fetch()
        self._queue.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if not self.failure:
                self._look(journal=True)
                if self._failure:
                    raise self._failure
                self._queue.barrier()
        except (StorageError, OvertakenError, OSError):
            if error is None:
                raise
        finally:
            self._queue.close()

    def _fetch(self) -> None:
        """Make the folder what the storage has, and both whole."""
        from common.storage.working_copy import INDEX, WorkingCopy

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
        fetch_journal(self._objects, self._paths.study)
        make(self._hasty, self._epoch.confirm, self._trim)
        keys = self._objects.listed("trials/")
        turns = [key for key in keys if _TURN.fullmatch(key)]
        # Trials of a run that was killed stop, and write nothing more.
        make(self._hasty, self._epoch.confirm, lambda objects: objects.remove([*turns, *objects.listed(_RUNNING)]))
        names = (key.split("/") for key in keys)
        self._saved = {int(name[1]) for name in names if len(name) > 2 and name[1].isascii() and name[1].isdecimal()}
        for key in READ:
            if not key.endswith("/"):
                self._seen[key] = _state(self._paths.folder / key)

    def _trim(self, objects: Objects) -> None:
        self._length = self._uploaded = trim_journal(objects, self._paths.study)

    def written(self, path: Path) -> None:
        """A file was written or removed: the storage gets it after all that came before."""
        self._queue.keep_up()
        with self._lock:
            self._look(journal=True)
            self._add_file(path.relative_to(self._paths.folder).as_posix(), path)

    def hand_out(self, home: Home, number: int) -> Home:
        """A trial is handed out to a process, which waits for its turn object."""
        self._turns += 1
        self._saved.add(number)
        turn = f"{self._epoch.number}-{self._turns}-{uuid.uuid4().hex}"
        with self._lock:
            self._look(journal=True)
            self._add(f"turn {number}", lambda objects: objects.put(turn_key(number), turn.encode()))
        return replace(home, storage=self._objects.location.uri, turn=turn)

    def take_back(self, number: int) -> None:
        """The process of a trial has ended. One that goes on all the same may write no more, and its marker is fetched."""
        if self._failure:
            return
        self._queue.add(f"turn {number}", lambda objects: objects.remove([turn_key(number)]))
        marker = self._paths.memory_marker(number)
        try:
            self._queue.barrier()
            with suppress(FileNotFoundError):
                self._objects.fetch(marker.relative_to(self._paths.folder).as_posix(), marker)
        except (StorageError, OvertakenError) as error:
            with self._lock:
                self._failure = error

    @property
    def checkpoints(self) -> Callable[[int], StoredCheckpoints]:
        """Gives the checkpoints of a trial. What removes some comes after all changes that were made before."""
        return lambda number: _InOrder(self._objects, number, self._in_order)

    def _in_order(self, number: int, change: Change, leaves_none: bool) -> None:
        """Queue what removes checkpoints of a trial."""
        if number not in self._saved:
            return  # at each end of a trial, those of all others are removed that are not kept
        if leaves_none:
            self._saved.discard(number)
        with self._lock:
            self._look(journal=True)
            self._add(f"checkpoints {number}", change)

    def gather(self) -> None:
        """Fetch the checkpoints that trials have written, where the folder is the user's."""
        from common.storage.working_copy import WorkingCopy

        if self._failure:
            raise self._failure
        with self._lock:
            self._look(journal=True)
        self._queue.barrier()
        if self._is_whole:
            WorkingCopy(self._paths.folder, self._objects).pull([OF_TRIALS])

    @property
    def failure(self) -> str | None:
        """Why the search cannot go on, in a line; None as long as it can."""
        if self._epoch.overtaken:
            return self._epoch.overtaken
        failure = self._failure or self._queue.failure
        return str(failure) if failure else None

    def refuse_if_overtaken(self) -> None:
        """See that no other run has the experiment.

        Raises:
            OvertakenError: if one has.
        """
        if self._epoch.overtaken:
            raise OvertakenError(self._epoch.overtaken)

    def _look(self, journal: bool = False) -> None:
        """Queue what has changed of the files that are written elsewhere: the journal, the live file, the run's marks.

        Args:
            journal: whether it has to be up to date, as for what is queued next.
        """
        try:
            with self._lock:
                self._look_at_folder()
                if journal or time.monotonic() - self._journal_at > JOURNAL_SECONDS:
                    self._look_at_journal()
                running = {path.name for path in self._paths.folder.glob(self._paths.running("*").name)}
                known = {key for key in self._seen if key.startswith(_RUNNING)}
                for key in [*READ[:4], *sorted(running | known), PROGRESS_FILE]:
                    path = self._paths.folder / key
                    if self._seen.get(key) != (state := _state(path)):
                        self._add_file(key, path)
                        self._seen[key] = state
        except PermissionError:
            # Windows refuses to open a file that another thread replaces at this moment; the next look finds it.
            if journal or not files.IS_WINDOWS:
                raise

    def _look_at_folder(self) -> None:
        """See that the folder is still there: what vanished with it must not be removed from the storage too."""
        if self._failure or not self._seen.get(READ[0]) or (self._paths.folder / READ[0]).exists():
            return
        place = self._objects.location
        self._failure = StorageError(
            f"{self._paths.settings} was deleted while the search ran, so it stops; {place} has all before: continue with "
            f"--resume {place}"
        )

    def _look_at_journal(self) -> None:
        path = self._paths.study
        end = path.stat().st_size if path.exists() else 0
        if end != self._length:
            self._length, self._journal_at = end, time.monotonic()
            self._add("journal", lambda objects: self._put_journal(objects, end))

    def _put_journal(self, objects: Objects, end: int) -> None:
        put_journal(objects, self._paths.study, self._uploaded, end)
        self._uploaded = end

    def _add_file(self, key: str, path: Path) -> None:
        """Queue the content that a file has now, or that it is gone."""
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            # Trials are told to stop also after a failure.
            add = self._queue.add if key.startswith(_RUNNING) else self._add
            add(key, lambda objects: objects.remove([key]))
            return
        if len(content) > LARGE:
            self._add(key, lambda objects: confirmed(self._patient(), self._epoch.confirm).put(key, content))
        else:
            self._add(key, lambda objects: objects.put(key, content))

    def _patient(self) -> Objects:
        """The same objects, for a change that takes long."""
        from common.storage.objects import Objects

        return Objects(self._objects.location, LARGE_PATIENCE)

    def _add(self, name: str, change: Change) -> None:
        """Queue a change; nothing happens after a failure."""
        if not self._failure:
            self._queue.add(name, change)

    def _remove_marks(self, objects: Objects) -> None:
        """Tell the run's trials to stop, once nothing else can be changed."""
        objects.remove([key for key in list(self._seen) if key.startswith(_RUNNING)])


class _InOrder(StoredCheckpoints):
    """Checkpoints that are read at once, and removed after all changes that were made before."""

    def __init__(self, objects: Objects, number: int, queued: Callable[[int, Change, bool], None]) -> None:
        super().__init__(objects, number)
        self._number, self._queued = number, queued

    def keep_one(self) -> None:
        """Remove all before the newest."""
        number = self._number
        self._queued(number, lambda objects: StoredCheckpoints(objects, number).keep_one(), False)

    def remove(self) -> None:
        """Remove all of them."""
        number = self._number
        self._queued(number, lambda objects: StoredCheckpoints(objects, number).remove(), True)


def turn_key(number: int) -> str:
    """Key of the object that says which process has a trial."""
    return f"trials/{number:05d}.turn"


def _state(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written; None without it."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size
