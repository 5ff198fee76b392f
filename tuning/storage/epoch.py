"""One run at a time writes an experiment in a storage, in place of the lock that the file system of one machine gives.

    epochs/00000003.json    the third run: its process, host and token; created only where there is none
    epochs/00000003.beat    a counter, which the run puts again every `BEAT_SECONDS`
    epochs/00000003.ended   the run has ended by itself

A run that begins takes the next number. Where the run before has not ended, it watches the counter for `WATCH_SECONDS`. If the
counter moves, the new run is refused. If not, it creates its own epoch, and beats for `SETTLE_SECONDS` before it reads.

A run begins a request that writes only within `VALID_SECONDS` of a beat after which it saw no newer epoch. So one that was
paused or cut off beats and looks first. Two clocks of its machine must both say so: one stands still while the machine is
suspended. An attempt takes at most `PATIENCE` and one request more. So all that the run before has begun is over when the new
one reads. No clocks of two machines are compared.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self

from common.errors import UsageError, UserError
from common.json_values import checked, parsed
from common.storage.location import StorageError
from common.units import MIB

if TYPE_CHECKING:
    from common.storage.objects import Objects

BEAT_SECONDS = 5.0  # between two beats
WATCH_SECONDS = (
    30.0  # without a beat, after which a run is taken for lost; longer than `BEAT_SECONDS` and four times `PATIENCE`
)
VALID_SECONDS = 5.0  # after a beat, in which its run begins to write
PATIENCE = 5.0  # of one attempt, seconds; a request in it takes as much at most
LARGE = 8 * MIB  # bytes; a file of more may keep a server busy for longer than `PATIENCE`
# Of one attempt at such a file, seconds. With one request more it ends before `WATCH_SECONDS` and `SETTLE_SECONDS` are over.
LARGE_PATIENCE = 20.0
SETTLE_SECONDS = VALID_SECONDS + 2 * PATIENCE
LOOK_SECONDS = 1.0  # between two looks at another run's beat

FOLDER = "epochs"
_NAME = re.compile(rf"{FOLDER}/([0-9]{{8}})\.json")


class OvertakenError(UserError):
    """A newer run has taken the experiment over; this one writes nothing more."""


class Epoch:
    """The number of the run that may write an experiment, held while it is entered.

    Attributes:
        number: of the run, from 1 on.
        lost: the run before in words, if it did not end by itself; else None.
    """

    def __init__(
        self,
        objects: Objects,
        number: int,
        lost: str | None,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Put it together; `take` creates it in the storage.

        Args:
            objects: of the experiment.
            number: of the run.
            lost: see `Epoch`.
            clock: time of this process, seconds.
            wall_clock: time of day, which goes on while the machine is suspended, seconds.
        """
        self.number, self.lost = number, lost
        self._objects, self._clock, self._wall_clock = objects, clock, wall_clock
        self._beats = 0
        self._since = self._now()  # of the last beat that saw no newer run
        self._newer: str | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on_beating, name="epoch", daemon=True)

    @classmethod
    def take(
        cls,
        objects: Objects,
        say: Callable[[str], None] = lambda line: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        wall_clock: Callable[[], float] = time.time,
    ) -> Self:
        """Begin the next run of an experiment; waits where the run before may be alone with its machine.

        Args:
            objects: of the experiment.
            say: tells the user why it waits.
            clock: time of this process, seconds.
            sleep: waits.
            wall_clock: see `Epoch`.

        Raises:
            UsageError: if another run works on the experiment.
            OvertakenError: if another one takes it over while this one waits.
            StorageError: if the storage cannot be read or written.
        """
        stamps = objects.listed(f"{FOLDER}/")
        before = newest(stamps)
        lost = None
        if before and ended_key(before) not in stamps:
            lost = _owner(objects, before)
            say(f"{lost} has not ended: looking for {WATCH_SECONDS + SETTLE_SECONDS:.0f} s whether it is alive")
            if _moves(objects, before, clock, sleep):
                raise _in_use(objects, lost)
        number = before + 1
        # Nothing is written by the run before, if it comes back, once this exists and it has looked.
        if not objects.create(_name(number), json.dumps(_own()).encode()):
            raise _in_use(objects, _owner(objects, number))
        if before and objects.stamp(_name(before)) != stamps[_name(before)]:
            # Another one removed the experiment meanwhile, and a third one may have begun it anew.
            objects.remove([_name(number)])
            raise UsageError(f"{objects.location} was just removed by another run: start the command again")
        made = cls(objects, number, lost, clock, wall_clock)
        if lost:
            made._settle(sleep)
        return made

    def __enter__(self) -> Self:
        self.beat()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        if self._newer is None:
            # Without it the next run waits a little longer.
            with suppress(StorageError, OSError):
                self._objects.put(ended_key(self.number), b"")

    def beat(self) -> None:
        """Show that this run is alive, and look whether a newer one has taken over.

        Raises:
            StorageError: if the storage cannot be written or read.
            OvertakenError: if there is a newer one.
        """
        with self._lock:
            self._refuse_if_overtaken()
            since = self._now()
            self._beats += 1
            self._objects.put(_beat(self.number), str(self._beats).encode())
            last = newest(self._objects.listed(f"{FOLDER}/"))
            if last > self.number:
                self._newer = _owner(self._objects, last)
                self._refuse_if_overtaken()
            self._since = since

    def confirm(self) -> None:
        """See that this run may write now; called before each write.

        Raises:
            StorageError: if it cannot be told.
            OvertakenError: if a newer run has taken over.
        """
        self._refuse_if_overtaken()
        # A clock of the day may be put back.
        if any(not 0 <= now - then <= VALID_SECONDS for now, then in zip(self._now(), self._since, strict=True)):
            self.beat()

    @property
    def overtaken(self) -> str | None:
        """Why this run is over; None as long as it holds the experiment."""
        if self._newer is None:
            return None
        place = self._objects.location
        return f"another run has taken over {place} ({self._newer}), so this one has stopped and writes nothing more"

    def _refuse_if_overtaken(self) -> None:
        if self.overtaken:
            raise OvertakenError(self.overtaken)

    def _now(self) -> tuple[float, float]:
        return self._clock(), self._wall_clock()

    def _settle(self, sleep: Callable[[float], None]) -> None:
        """Wait for what the run before has begun, and beat: others see that this run is alive."""
        left = SETTLE_SECONDS
        while True:
            # Without a beat, `confirm` looks before the next write.
            with suppress(StorageError):
                self.beat()
            if left <= 0:
                return
            sleep(min(BEAT_SECONDS, left))
            left -= BEAT_SECONDS

    def _go_on_beating(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            # Without a beat, `confirm` looks before the next write, and says what is wrong.
            with suppress(StorageError, OvertakenError, OSError):
                self.beat()


def newest(keys: Iterable[str]) -> int:
    """The greatest number of an epoch among keys; 0 without one."""
    return max((int(match[1]) for key in keys if (match := _NAME.fullmatch(key))), default=0)


def _moves(objects: Objects, number: int, clock: Callable[[], float], sleep: Callable[[float], None]) -> bool:
    """Whether a run beats, or another one has taken its place, within `WATCH_SECONDS`; not where it ends meanwhile."""
    first, until = objects.listed(f"{FOLDER}/").get(_beat(number)), clock() + WATCH_SECONDS
    while clock() < until:
        sleep(LOOK_SECONDS)
        stamps = objects.listed(f"{FOLDER}/")
        if newest(stamps) > number:
            return True
        if ended_key(number) in stamps:
            return False
        if stamps.get(_beat(number)) != first:
            return True
    return False


def _in_use(objects: Objects, holder: str) -> UsageError:
    return UsageError(f"{objects.location} is in use by {holder}: wait for it to end, or stop it with Ctrl-C")


def _name(number: int) -> str:
    """Key of an epoch."""
    return f"{FOLDER}/{number:08d}.json"


def _beat(number: int) -> str:
    return f"{FOLDER}/{number:08d}.beat"


def ended_key(number: int) -> str:
    """Key of the object that says that a run has ended by itself."""
    return f"{FOLDER}/{number:08d}.ended"


def _own() -> dict[str, str | int]:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    # The token tells two runs apart that are alike otherwise: a create whose answer was lost knows its own object by it.
    return {"process": os.getpid(), "host": socket.gethostname(), "since": since, "token": uuid.uuid4().hex}


def _owner(objects: Objects, number: int) -> str:
    """The run of an epoch in words."""
    try:
        text = objects.read(_name(number)).decode()
        owner = checked(parsed(text), dict[str, str | int], "its content")
        return f"process {owner['process']} on {owner['host']} since {owner['since']}"
    except (FileNotFoundError, ValueError, KeyError):
        return f"run {number}"
