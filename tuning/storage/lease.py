"""One run at a time writes an experiment in a storage, in place of the lock that the file system of one machine gives.

    runs/00000003.json    the third run: its process, host and token; created only where there is none

The run puts its object again every `BEAT_SECONDS` with a counter, and at its end with the word that it has ended. A run that
begins takes the next number. Where the run before has not ended, it watches that object for `WATCH_SECONDS`. If it changes, the
new run is refused. If not, it creates its own, and beats for `SETTLE_SECONDS` before it reads.

A run begins a request that writes only within `VALID_SECONDS` of a beat after which it saw no newer run. So one that was paused
or cut off beats and looks first. Two clocks of its machine must both say so: one stands still while the machine is suspended.
An attempt takes at most `PATIENCE` and one request more. So all that the driver before has begun is over when the new one
reads. A trial's upload of a large file may end after that.
No clocks of two machines are compared. A trial's process looks for the next number before each request that writes.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from common.errors import UsageError, UserError
from common.json_values import checked, parsed
from common.storage.faults import StorageLostError
from common.storage.location import Location, StorageError
from common.storage.objects import Objects, at_once
from common.storage.stores import Content
from common.units import MIB

T = TypeVar("T")

BEAT_SECONDS = 5.0  # between two beats
VALID_SECONDS = 5.0  # after a beat, in which its run begins to write
PATIENCE = 5.0  # of one attempt, seconds; a request in it takes as much at most
WATCH_SECONDS = 30.0  # without a beat, after which a run is taken for lost; more than `BEAT_SECONDS` and four times `PATIENCE`
LARGE = 8 * MIB  # bytes; a file of more may keep a server busy for longer than `PATIENCE`
LARGE_PATIENCE = 20.0  # of one attempt at such a file, seconds: it ends before others have waited and settled
SETTLE_SECONDS = VALID_SECONDS + 2 * PATIENCE
LOOK_SECONDS = 1.0  # between two looks at another run's beat
LOST_SECONDS = 60.0  # see `Guarded`
RUNS = "runs/"


class OvertakenError(UserError):
    """A newer run has taken the experiment over; this one writes nothing more."""


class Lease:
    """The right of a run to write an experiment, while it is entered; `take` gets one.

    Attributes:
        number: of the run, from 1 on.
        lost: the run before in words, if it did not end by itself; else empty.
    """

    def __init__(self, objects: Objects, number: int, lost: str = "") -> None:
        self.number, self.lost = number, lost
        self._objects = objects
        since = datetime.now(UTC).isoformat(timespec="seconds")
        # The token tells two runs apart that are alike otherwise: a create whose answer was lost knows its own object by it.
        self._own = {"process": os.getpid(), "host": socket.gethostname(), "since": since, "token": uuid.uuid4().hex}
        self._beats = 0
        self._since = _clocks()  # of the last beat that saw no newer run
        self._newer, self._is_removed = "", False
        self._lock, self._over = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._go_on_beating, name="lease", daemon=True)

    @classmethod
    def take(cls, objects: Objects, say: Callable[[str], None] = lambda line: None) -> Self:
        """Begin the next run of an experiment; waits where the run before may be alone with its machine.

        Raises:
            UsageError: if another run works on the experiment.
            OvertakenError: if another one takes it over while this one waits.
        """
        before = _newest(objects)
        lost, run = "", _run(objects, before) if before else {}
        if before and not run.get("ended"):
            lost = _in_words(run, before)
            say(f"{lost} has not ended: looking for {WATCH_SECONDS + SETTLE_SECONDS:.0f} s whether it is alive")
            if _lives(objects, before):
                raise _in_use(objects, lost)
        lease = cls(objects, before + 1, lost)
        # Nothing is written by the run before, if it comes back, once this exists and it has looked.
        if not objects.create(run_key(lease.number), json.dumps(lease._own).encode()):
            raise _in_use(objects, _in_words(_run(objects, lease.number), lease.number))
        if before and _run(objects, before).get("token") != run.get("token"):
            # Another one removed the experiment meanwhile, and a third one may have begun it anew.
            objects.remove([run_key(lease.number)])
            raise UsageError(f"{objects.location} was just removed by another run: start the command again")
        if lost:
            lease._settle()
        return lease

    def __enter__(self) -> Self:
        self.beat()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        if not (self._newer or self._is_removed):
            # Without it the next run waits a little longer.
            with suppress(StorageError, OSError):
                self._put(ended=True)

    def beat(self) -> None:
        """Show that this run is alive; OvertakenError if there is a newer one."""
        with self._lock:
            if self._is_removed:
                return
            self._refuse_if_overtaken()
            since = _clocks()
            self._beats += 1
            self._put()
            if (last := _newest(self._objects)) > self.number:
                self._newer = _in_words(_run(self._objects, last), last)
                self._refuse_if_overtaken()
            self._since = since

    def confirm(self) -> None:
        """See that this run may write now; OvertakenError if a newer one has taken over."""
        self._refuse_if_overtaken()
        # A clock of the day may be put back.
        if any(not 0 <= now - then <= VALID_SECONDS for now, then in zip(_clocks(), self._since, strict=True)):
            self.beat()

    def remove(self) -> None:
        """End the run, and remove what tells of runs: their experiment was removed."""
        self.confirm()
        with self._lock:
            self._is_removed = True
        for number in range(1, self.number + 1):
            self._objects.remove([run_key(number)])

    @property
    def overtaken(self) -> str:
        """Why this run is over; empty as long as it holds the experiment."""
        place = self._objects.location
        told = f"another run has taken over {place} ({self._newer}), so this one has stopped and writes nothing more"
        return told if self._newer else ""

    def _refuse_if_overtaken(self) -> None:
        if self.overtaken:
            raise OvertakenError(self.overtaken)

    def _put(self, ended: bool = False) -> None:
        self._objects.put(run_key(self.number), json.dumps(self._own | {"beats": self._beats, "ended": ended}).encode())

    def _settle(self) -> None:
        """Wait for what the run before has begun, and beat: others see that this run is alive."""
        left = SETTLE_SECONDS
        while True:
            # Without a beat, `confirm` looks before the next write.
            with suppress(StorageError):
                self.beat()
            if left <= 0:
                return
            time.sleep(min(BEAT_SECONDS, left))
            left -= BEAT_SECONDS

    def _go_on_beating(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            # Without a beat, `confirm` looks before the next write, and says what is wrong.
            with suppress(StorageError, OvertakenError, OSError):
                self.beat()


class Guarded:
    """Changes of objects, confirmed before each attempt: `confirm` raises where this process may change nothing.

    An attempt is short; after `lost_seconds` of failing ones the storage is lost.
    """

    def __init__(self, place: Location, confirm: Callable[[], None], lost_seconds: float = LOST_SECONDS) -> None:
        self._hasty, self._patient = Objects(place, PATIENCE), Objects(place, LARGE_PATIENCE)
        self._confirm, self._lost_seconds = confirm, lost_seconds

    def put(self, key: str, content: Content) -> None:
        """See `Objects.put`."""
        is_large = isinstance(content, Path) and content.stat().st_size > LARGE
        objects = self._patient if is_large else self._hasty
        self._attempted(lambda: objects.put(key, content))

    def put_all(self, pairs: Iterable[tuple[str, Content]]) -> None:
        """Put many at once, in no order."""
        at_once(lambda pair: self.put(*pair), pairs)

    def remove(self, keys: Iterable[str]) -> None:
        """Remove many at once, in no order."""
        at_once(lambda key: self._attempted(lambda: self._hasty.remove([key])), keys)

    def _attempted(self, attempt: Callable[[], T]) -> T:
        until = time.monotonic() + self._lost_seconds
        while True:
            try:
                self._confirm()
                return attempt()
            except StorageLostError:
                if time.monotonic() > until:
                    raise


def run_key(number: int) -> str:
    """Key of a run's object."""
    return f"{RUNS}{number:08d}.json"


def has_ended(objects: Objects) -> bool:
    """Whether no run holds an experiment, as far as can be told without waiting."""
    number = _newest(objects)
    return not number or bool(_run(objects, number).get("ended"))


def _newest(objects: Objects) -> int:
    names = (key.removeprefix(RUNS).removesuffix(".json") for key in objects.listed(RUNS))
    return max((int(name) for name in names if name.isascii() and name.isdecimal()), default=0)


def _lives(objects: Objects, number: int) -> bool:
    """Whether a run beats, or another one has taken its place, within `WATCH_SECONDS`; not where it ends meanwhile."""
    first, until = objects.stamp(run_key(number)), time.monotonic() + WATCH_SECONDS
    while time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
        if _newest(objects) > number:
            return True
        if objects.stamp(run_key(number)) != first:
            return not _run(objects, number).get("ended")
    return False


def _run(objects: Objects, number: int) -> dict[str, Any]:
    try:
        return checked(parsed(objects.read(run_key(number)).decode()), dict[str, Any], "its content")
    except (FileNotFoundError, ValueError):
        return {}


def _in_words(run: dict[str, Any], number: int) -> str:
    if {"process", "host", "since"} <= run.keys():
        return f"process {run['process']} on {run['host']} since {run['since']}"
    return f"run {number}"


def _in_use(objects: Objects, holder: str) -> UsageError:
    return UsageError(f"{objects.location} is in use by {holder}: wait for it to end, or stop it with Ctrl-C")


def _clocks() -> tuple[float, float]:
    """Time of this process, and of day, which goes on while the machine is suspended; seconds."""
    return time.monotonic(), time.time()
