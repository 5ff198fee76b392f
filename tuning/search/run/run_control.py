"""One run of a search: what stops it, and what follows when a trial ends, as which checkpoints are kept."""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from common.texts import raised
from tuning.experiment.folder import ExperimentPaths
from tuning.runtime.processes import on_stop_signals
from tuning.trial.checkpoint import KeptCheckpoints

ALIKE = 3  # first failures at the same line of code that stop a search: a bug, not a bad assignment


class Listener(Protocol):
    """Shows what happens to trials."""

    def say(self, line: str) -> None:
        """Show a line."""

    def on_ended(self, number: int, state: str) -> None:
        """A trial ended."""

    def on_left(self, number: int) -> None:
        """A trial has stopped running and will be continued."""

    def on_frozen(self, number: int) -> None:
        """A trial has stopped running and may be continued."""


class RunControl:
    """Stops a run, by a signal or for a reason, without losing anything.

    A file in the experiment's folder tells trials, on every machine, that the run goes on. When the file is removed, each trial
    writes a checkpoint and ends.

    Attributes:
        run: name of the run.
        is_stopping: whether trials have been told to stop.
        is_finishing: whether they were told so as the search is at its end.
        reason: why, in words for the user; None for a signal.
    """

    def __init__(self, paths: ExperimentPaths, retention: Retention, listener: Listener, sound: bool) -> None:
        """Put it together; the run begins with `start`.

        `sound` says whether a trial of this experiment has ended without a failure before.
        """
        self.run = uuid.uuid4().hex[:8]
        self.is_stopping = self.is_finishing = False
        self.reason: str | None = None
        self.failed_alike = False  # that is why
        self._retention, self._listener, self._sound = retention, listener, sound
        self._failures: list[str] = []
        self._paths, self._file = paths, paths.running(self.run)

    def start(self) -> None:
        """Begin the run, on a locked experiment: its trials may run, and trials of a killed run stop."""
        for stale in self._paths.folder.glob(self._paths.running("*").name):
            stale.unlink()
        self._file.touch()

    def stop(self, reason: str | None = None) -> None:
        """Start no more trials, and let those that run write a checkpoint and end. The reason of the first call holds."""
        if not self.is_stopping:
            self.is_stopping, self.reason = True, reason
            self._file.unlink(missing_ok=True)
        elif self.is_finishing and reason:
            # Such as a full disk, where the last checkpoints are written.
            self.is_finishing, self.reason = False, reason

    def finish(self) -> None:
        """End the search: start no more trials, and let those that run write a checkpoint and be frozen."""
        if not self.is_stopping:
            self.is_finishing = True
            self.stop()

    def leave(self, number: int) -> None:
        """Let a trial that runs write a checkpoint and end, as its node goes."""
        self._paths.leaving(self.run, number).touch()

    def has_left(self, number: int) -> None:
        """Note that the process of a trial that was to leave its node has ended."""
        self._paths.leaving(self.run, number).unlink(missing_ok=True)

    def close(self) -> None:
        """End the run: remove the files that tell trials that it goes on, and where not."""
        for file in self._paths.folder.glob(f"{self._file.name}*"):
            file.unlink(missing_ok=True)

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Stop the run at the first Ctrl-C or SIGTERM, and at once at the second.

        Raises a KeyboardInterrupt at the second signal.
        """

        def act(count: int) -> None:
            if count > 1:
                raise KeyboardInterrupt
            self.stop()
            self._listener.say("stopping: trials write their checkpoints; a second Ctrl-C stops at once")

        with on_stop_signals(act):
            yield

    def say(self, line: str) -> None:
        """Show a line."""
        self._listener.say(line)

    def on_left(self, number: int) -> None:
        """A trial has stopped running and will be continued."""
        self._listener.on_left(number)

    def on_frozen(self, number: int) -> None:
        """A trial has stopped running and may be continued; of its checkpoints the newest is kept."""
        self._sound = True
        self._retention.on_frozen(number)
        self._listener.on_frozen(number)

    def on_ended(self, number: int, state: str, score: float | None) -> None:
        """A trial ended; checkpoints that are not kept any more are removed."""
        self._sound = self._sound or state != "failed"
        self._retention.on_ended(number, score if state in ("complete", "pruned") else None)
        self._listener.on_ended(number, state)

    def on_failed(self, error: str | None) -> None:
        """A trial failed and is not tried again. If the first trials all fail at the same line, the search stops.

        Without an error its process was lost, which is no such failure.
        """
        if self._sound or error is None:
            return
        self._failures.append(_place(error))
        if len(self._failures) >= ALIKE and len(set(self._failures)) == 1:
            self.failed_alike = True
            self.stop(f"the first {len(self._failures)} trials failed alike, so the search was stopped:\n{error.strip()}")


def _place(error: str) -> str:
    frames = [line.strip() for line in error.splitlines() if line.lstrip().startswith("File ")]
    return os.linesep.join([*frames[-1:], raised(error).partition(":")[0]])


class Retention:
    """Removes checkpoints of ended trials that are not among the best, and all but the newest of frozen ones.

    It does so at `enforce`, and when a trial has ended or is frozen. The second newest is for a kill while one is written.

    Args:
        checkpoints: gives those of a trial by its number.
        kept: number of trials that keep their checkpoints, see `Settings.kept_trials`.
        scores: of the trials that ended before, by number; None or NaN for those without one.
        spared: gives numbers of trials that keep theirs beside the best, such as those on the front of two objectives.
    """

    def __init__(
        self,
        checkpoints: Callable[[int], KeptCheckpoints],
        kept: float,
        scores: Mapping[int, float | None],
        spared: Callable[[], Collection[int]] = tuple,
    ) -> None:
        self._checkpoints, self._kept, self._scores, self._spared = checkpoints, kept, dict(scores), spared
        self._removed: set[int] = set()  # numbers of the trials that have none any more

    def on_ended(self, number: int, score: float | None) -> None:
        """Add a trial that ended, and remove the checkpoints that are not kept any more.

        Args:
            number: of the trial.
            score: its last; None if its checkpoints are not kept in any case.
        """
        self._scores[number] = score
        self._removed.discard(number)
        self._remove()

    def on_frozen(self, number: int) -> None:
        """Remove the older checkpoints of a trial that was frozen: it goes on from its newest."""
        self._checkpoints(number).keep_one()

    def enforce(self, frozen: Iterable[int] = ()) -> None:
        """Remove the checkpoints that are not kept of trials that ended before, and of those that were `frozen`."""
        for number in frozen:
            self.on_frozen(number)
        self._remove()

    def _remove(self) -> None:
        for number in not_kept(self._scores, self._kept).difference(self._spared(), self._removed):
            self._checkpoints(number).remove()
            self._removed.add(number)


def not_kept(scores: Mapping[int, float | None], kept: float) -> set[int]:
    """Numbers of the ended trials that lose their checkpoints."""
    scored = [(score, -number) for number, score in scores.items() if score is not None and math.isfinite(score)]
    # Of equal ones the earlier trial.
    scored.sort(reverse=True)
    best = {-number for _, number in scored[: len(scored) if math.isinf(kept) else int(kept)]}
    return set(scores) - best
