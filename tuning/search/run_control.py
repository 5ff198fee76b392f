"""One run of a search: how it is told to stop, and what follows from the end of a trial beside its telling."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from tuning.experiment.folder import ExperimentPaths
from tuning.search.retention import Retention

ALIKE = 3  # first failures at the same place that stop a search: a bug, not a bad assignment


class Listener(Protocol):
    """Who shows what happens to trials."""

    def say(self, line: str) -> None:
        """Show a line."""

    def ended(self, number: int, state: str) -> None:
        """A trial ended."""

    def left(self, number: int) -> None:
        """A trial was left for later."""


class RunControl:
    """Stops a run, by a signal or for a reason, so that nothing is lost.

    Trials see from a file that the run goes on, wherever they are: when it is removed, each writes a checkpoint and ends.

    Attributes:
        run: name of the run.
        is_stopping: whether trials are told to stop.
        reason: why, in words for whoever started it; None for a signal.
    """

    def __init__(self, paths: ExperimentPaths, retention: Retention, listener: Listener, sound: bool) -> None:
        """Begin a run, on an experiment that is locked.

        Args:
            paths: of the experiment.
            retention: which checkpoints are kept.
            listener: shows what happens.
            sound: whether a trial of this experiment has ended well before.
        """
        self.run = uuid.uuid4().hex[:8]
        self.is_stopping = False
        self.reason: str | None = None
        self._retention, self._listener, self._sound = retention, listener, sound
        self._failures: list[str] = []
        self._file = paths.running(self.run)
        # What a killed run left: its trials, if any live on, are to stop.
        for left in paths.folder.glob(paths.running("*").name):
            left.unlink()
        self._file.touch()

    def stop(self, reason: str | None = None) -> None:
        """Let no more trials begin, and those that run write a checkpoint and end.

        Args:
            reason: see `RunControl`; the first one counts.
        """
        if not self.is_stopping:
            self.is_stopping, self.reason = True, reason
            self._file.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove what tells trials to go on."""
        self._file.unlink(missing_ok=True)

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Take Ctrl-C and SIGTERM, which clusters send before they take a node away, as a wish to stop; a second as an order.

        Raises:
            KeyboardInterrupt: at the second one.
        """

        def on_signal(number: int, frame: FrameType | None) -> None:
            if self.is_stopping:
                raise KeyboardInterrupt
            self.stop()
            self._listener.say("stopping: trials write their checkpoints; once more stops at once")

        if threading.current_thread() is not threading.main_thread():
            # Only the main thread is sent signals.
            yield
            return
        before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def say(self, line: str) -> None:
        """Show a line."""
        self._listener.say(line)

    def left(self, number: int) -> None:
        """A trial was left, to be gone on with."""
        self._listener.left(number)

    def ended(self, number: int, state: str, score: float | None) -> None:
        """A trial ended; checkpoints that are not to be kept are removed."""
        self._sound = self._sound or state != "failed"
        self._retention.ended(number, score if state in ("complete", "pruned") else None)
        self._listener.ended(number, state)

    def failed(self, error: str | None) -> None:
        """A trial failed for good; the first ones at the same place stop the search.

        Args:
            error: its traceback; None where its process was lost.
        """
        if self._sound or error is None:
            return
        self._failures.append(_place(error))
        if len(self._failures) >= ALIKE and len(set(self._failures)) == 1:
            self.stop(f"the first {len(self._failures)} trials failed alike, so the search was stopped:\n{error.strip()}")


def _place(error: str) -> str:
    """Where and with what kind of error a traceback ends."""
    lines = error.strip().splitlines()
    frames = [line.strip() for line in lines if line.lstrip().startswith("File ")]
    return os.linesep.join([*frames[-1:], lines[-1].partition(":")[0]])
