"""Changes of an experiment on their way to its storage, in the order in which they were made."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from common.storage.faults import StorageLostError
from common.storage.location import StorageError
from tuning.storage.confirmed import confirmed

if TYPE_CHECKING:
    from common.storage.objects import Objects

TICK_SECONDS = 1.0  # between two calls of `look` while nothing else happens
MOST_LAG_SECONDS = 10.0  # that a change waits, before who adds others waits too
LOST_SECONDS = 60.0  # of failing attempts at one change, after which the storage is lost

Change = Callable[["Objects"], None]  # makes one change, and repeats safely


@dataclass
class _Waiting:
    """A change that is due.

    Attributes:
        name: of what it concerns; of two that follow each other with one name, the later is enough.
        change: makes it.
        since: when it was added, by `time.monotonic`.
    """

    name: str
    change: Change
    since: float


class UploadQueue:
    """A thread that makes changes one after the other. After an error it makes one more at most, and ends."""

    def __init__(
        self,
        objects: Objects,
        confirm: Callable[[], None],
        look: Callable[[], None],
        tick_seconds: float | None = None,
        last: Change | None = None,
    ) -> None:
        """Prepare it; `start` begins.

        Args:
            objects: that are changed, with little patience: this tries again.
            confirm: called before each request that changes one; raises where this process may make none.
            look: adds changes that the thread sees by itself; called now and then, by the thread.
            tick_seconds: between two of these calls; `TICK_SECONDS` by default.
            last: made after a failure, as soon as the storage allows it; by default nothing is.
        """
        self._objects, self._confirm, self._look, self._last = objects, confirm, look, last
        self._tick = TICK_SECONDS if tick_seconds is None else tick_seconds
        self._waiting: deque[_Waiting] = deque()
        self._is_busy = self._is_closed = False
        self._failure: Exception | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="uploads", daemon=True)

    def start(self) -> None:
        """Begin to make changes."""
        self._thread.start()

    @property
    def failure(self) -> Exception | None:
        """Why no more changes are made; None while they are."""
        return self._failure

    def keep_up(self) -> None:
        """Wait while changes are late, so that storage is never far behind."""
        with self._changed:
            self._changed.wait_for(lambda: self._failure or not self._is_late())

    def add(self, name: str, change: Change) -> None:
        """Add a change. Nothing happens after a failure.

        Args:
            name: see `_Waiting`.
            change: makes it.
        """
        with self._changed:
            if self._failure:
                return
            if self._waiting and self._waiting[-1].name == name:
                self._waiting[-1].change = change
            else:
                self._waiting.append(_Waiting(name, change, time.monotonic()))
            self._changed.notify_all()

    def barrier(self) -> None:
        """Wait until all changes that were added are made.

        Raises:
            Exception: that of the first change that could not be made, such as `StorageLostError` or `OvertakenError`.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._failure or not (self._waiting or self._is_busy))
            if self._failure:
                raise self._failure

    def close(self) -> None:
        """End the thread once it has made all changes, or failed."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join()

    def _is_late(self) -> bool:
        return bool(self._waiting) and time.monotonic() - self._waiting[0].since > MOST_LAG_SECONDS

    def _run(self) -> None:
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._waiting or self._is_closed, self._tick)
                    if not self._waiting and self._is_closed:
                        return
                    due = self._waiting.popleft() if self._waiting else None
                    self._is_busy = due is not None
                if due is None:
                    self._look()
                    continue
                self._make(due.change)
                with self._changed:
                    self._is_busy = False
                    self._changed.notify_all()
        except Exception as error:  # noqa: BLE001 - the thread that needs the changes raises it
            with self._changed:
                self._failure, self._is_busy = error, False
                self._waiting.clear()
                self._changed.notify_all()
            self._make_last()

    def _make_last(self) -> None:
        """Make the change that follows a failure; try again until the end, unless another process has taken over."""
        own = confirmed(self._objects, self._confirm)
        while self._last:
            try:
                self._last(own)
            except StorageError:
                with self._changed:
                    if self._changed.wait_for(lambda: self._is_closed, self._tick):
                        return
            except Exception:  # noqa: BLE001 - such as of a newer run, which has stopped the trials itself; the failure is told
                return
            else:
                return

    def _make(self, change: Change) -> None:
        make(self._objects, self._confirm, change)


def make(objects: Objects, confirm: Callable[[], None], change: Change) -> None:
    """Make a change, by several attempts where the storage fails.

    Args:
        objects: that are changed, with little patience.
        confirm: called before each attempt and each request: meanwhile another process may have taken over.
        change: makes it.

    Raises:
        StorageLostError: after `LOST_SECONDS` of attempts.
        Exception: what `confirm` raises.
    """
    own, until = confirmed(objects, confirm), time.monotonic() + LOST_SECONDS
    while True:
        try:
            confirm()
            change(own)
        except StorageLostError:
            if time.monotonic() > until:
                raise
        else:
            return
