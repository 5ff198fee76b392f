"""Progress of a search on a terminal, in a notebook or in a log."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ray.tune import Callback
from ray.tune.experiment import Trial
from rich.console import Console

from common.texts import counted
from results.live import MOST_EVENTS, MOST_POINTS, PROGRESS_FILE, LiveSearch, LiveTrial, Phase
from results.live_view import BETWEEN, LiveRegion, LiveView, replaces_lines, texts
from results.loader import ratings
from tuning.cli.console import say
from tuning.runtime.ray_session import check_nodes
from tuning.search.run.machine_watch import MachineWatch, granted_of_cluster
from tuning.search.run.time_left import BudgetLeft
from tuning.trial.protocol import DriverOnly, handout_in, report_in

if TYPE_CHECKING:
    import pandas as pd

    from tuning.experiment.settings import Settings
    from tuning.search.run.time_left import Work

LINE_SECONDS = 30.0  # between two lines without a terminal
REFRESH_SECONDS = 0.5
FILE_SECONDS = 2.0  # between two writings of the file that `python -m results.watch` reads
LOOK_SECONDS = 5.0  # between two checks of Ray's nodes


class Progress(DriverOnly, Callback):
    """On a terminal a view that is updated in place; in a notebook or a log a line every `LINE_SECONDS`.

    With a folder, the same is in a file of it, for `python -m results.watch`, with the options that a command which continues
    needs `again`. `before` are its rows of `trials` so far. Without a budget there is no `work`.
    """

    def __init__(
        self, console: Console, settings: Settings, before: pd.DataFrame, work: Work | None = None, folder: Path | None = None,
        again: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._console, self._folder, self._again = console, folder, tuple(again)
        self._aim = settings.aim.measured(settings.task.columns)
        self._trials, self._steps = 0 if settings.limit else int(settings.most_trials), settings.steps
        is_ended = ~before["state"].isin(["running", "frozen"])
        self._ended = {"complete": 0, "pruned": 0, "oom": 0, "failed": 0} | before.loc[
            is_ended, "state"
        ].value_counts().to_dict()
        self._begun = set(before["trial"].tolist())
        self._frozen = set(before.loc[before["state"] == "frozen", "trial"].tolist())
        self._best = _best(before)
        unfinished = before[~is_ended]
        resumed = dict(zip(unfinished["trial"].tolist(), unfinished["steps"].tolist(), strict=True))
        self._start = time.monotonic()
        self._trial_steps = dict(resumed)  # of all trials that have not ended before
        self._begun_steps = sum(resumed.values())
        self._running: dict[int, LiveTrial] = {}
        self._work, self._budget = work, settings.limit
        self._budget_left = BudgetLeft(self._budget, work, time.monotonic) if work and self._budget else None
        self._live = LiveRegion(console) if replaces_lines(console) else None
        self._curve: list[tuple[float, float]] = []
        self._add_to_curve()
        self._events: list[str] = []  # the last ones
        self._told_lines = 0
        self._phase: Phase = "running"
        self._reason = ""
        self._filed = -math.inf
        self._watch = MachineWatch(() if settings.device == "cpu" else None, granted=granted_of_cluster)
        self._shown = 0.0
        self._looked = time.monotonic()

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        self._write_file()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def on_trial_start(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """A trial was started."""
        number = handout_in(trial.config).number
        steps = self._trial_steps.get(number, 0)
        self._running[number] = LiveTrial(number, "continuing" if steps else "starting", steps)
        self._begun.add(number)
        self._frozen.discard(number)

    def on_trial_result(self, iteration: int, trials: list[Trial], trial: Trial, result: dict[str, Any], **info: Any) -> None:
        """A trial reported."""
        report, handout = report_in(result), handout_in(trial.config)
        if report is None or report.ending:
            return
        if report.message:
            self.say(report.message)
        if report.restored:
            return
        number, steps, evaluated = handout.number, report.steps, report.evaluated
        self._trial_steps[number] = steps
        if self._budget_left:
            self._budget_left.on_report()
        self._show_steps(number, steps)
        if evaluated is None:
            return
        outcome = evaluated.outcome
        rating = self._aim.rating(outcome)
        is_candidate = math.isfinite(rating) and not handout.confirms
        # Of equal ones the first, as everywhere.
        if is_candidate and (self._best is None or (rating, -number) > (self._best[0], -self._best[1])):
            self._best = rating, number
            self._add_to_curve()
        self._show_steps(number, steps, self._aim.told_rating(rating) if math.isfinite(rating) else f"{rating:g}")
        # A trial that goes on begins with the last evaluation before its checkpoint, without its figures: that was told.
        if report.evaluations:
            latest = self._aim.outcome(report.evaluations)
            told, best = self._aim.told(latest), self._aim.told_rating(rating)
            # Of two that miss a requirement the line says so once.
            kept = f"; its best: {best}" if self._aim.rating(latest) < rating and not told.endswith(best) else ""
            self.say(f"trial {number}: {told} at {evaluated.steps:,} steps{kept}")

    def _show_steps(self, number: int, steps: int, rating: str = "") -> None:
        """Note how far a trial that runs is; without a rating, that of its last evaluation stays."""
        if number in self._running:
            self._running[number] = LiveTrial(number, "training", steps, rating or self._running[number].rating)

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        """One pass of Tune's loop has ended. Raises a NodeLostError if Ray has no node left."""
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            check_nodes()
        for line in self._watch.look(bool(self._running)):
            self.say(line)
        if now - self._filed >= FILE_SECONDS:
            self._write_file()
        if now - self._shown < (REFRESH_SECONDS if self._live else LINE_SECONDS):
            return
        self._shown = now
        if self._live:
            self._live.show(LiveView(self.state()))
        else:
            say(self._console, BETWEEN.join(self.parts()))

    def parts(self) -> list[str]:
        """The state of the search, in short texts."""
        return texts(self.state())

    def state(self) -> LiveSearch:
        """The search now."""
        elapsed = time.monotonic() - self._start
        trained = sum(self._trial_steps.values()) - self._begun_steps
        speed = trained / elapsed if trained > 0 and elapsed > 0.0 else None
        done, amounts = self._done()
        return LiveSearch(
            experiment=self._folder.name if self._folder else "",
            written=datetime.now(UTC).timestamp(),
            phase=self._phase,
            again=self._again,
            reason=self._reason,
            done=done,
            amounts=tuple(amounts),
            trials=tuple(self._running[number] for number in sorted(self._running)),
            most_steps=self._steps,
            rating="score" if self._aim.is_score else "value",
            best=f"{self._aim.told_rating(self._best[0])} (trial {self._best[1]})" if self._best else "",
            curve=tuple(self._curve),
            steps_per_second=speed,
            elapsed=elapsed,
            left=self._budget_left.seconds() if self._budget_left else speed and self._steps_at_most() / speed,
            left_is_bound=self._budget_left is None,
            machine=tuple(self._watch.text.split(", ")) if self._watch.text else (),
            events=tuple(self._events),
            events_before=self._told_lines - len(self._events),
        )

    def _steps_at_most(self) -> int:
        """Steps that are left without a budget, if no more trials are stopped."""
        taken = sum(trial.steps for trial in self._running.values())
        return (self._trials - sum(self._ended.values())) * self._steps - taken

    def _done(self) -> tuple[float, list[str]]:
        ended = [f"{count} {state}" for state, count in self._ended.items() if count]
        number = sum(self._ended.values())
        if self._work and self._budget:
            ended += [f"{len(self._frozen)} frozen"] if self._frozen else []
            begun = len(self._begun)  # also those that a run left when it was stopped
            used = min(1.0, self._work.used() / self._budget.amount)
            trials = counted(begun, "trial") + (f" ({', '.join(ended)})" if ended else "")
            return used, [f"{used:.0%} of {self._budget.shown}", trials]
        done = f"{number}/{self._trials} trials done"
        if len(ended) > 1 or self._ended["complete"] != number:
            done += f" ({', '.join(ended)})"
        parts = sum(min(1.0, trial.steps / self._steps) for trial in self._running.values())
        return (number + parts) / self._trials if self._trials else 0.0, [done]

    def _add_to_curve(self) -> None:
        """Add the best so far to its curve; one that misses a requirement has no place on its scale."""
        if self._best and not self._aim.is_missed(self._best[0]):
            # A search has few improvements; where it has many, the first matter least.
            self._curve = [*self._curve, (time.monotonic() - self._start, self._best[0])][-MOST_POINTS:]

    def end(self, is_stopped: bool, reason: str = "", again: Sequence[str] = ()) -> None:
        """Say in the file that the run has ended, and what else continues it. Without a reason it was a signal."""
        self._phase, self._reason = "stopped" if is_stopped else "complete", reason
        self._again += tuple(again)
        self._write_file()

    def _write_file(self) -> None:
        self._filed = time.monotonic()
        if self._folder is None:
            return
        try:
            self.state().write(self._folder)
        except OSError as error:
            if os.name == "nt" and isinstance(error, PermissionError):
                # There a file cannot be replaced while another process reads it. The next one follows.
                return
            self._folder = None
            self.say(f"{PROGRESS_FILE} cannot be written ({error.strerror}), so this run cannot be watched from elsewhere")

    def on_left(self, number: int) -> None:
        """A trial has stopped running and will be continued."""
        self._running.pop(number, None)

    def on_frozen(self, number: int) -> None:
        """A trial has stopped running and may be continued."""
        self._frozen.add(number)
        self.on_left(number)

    def on_ended(self, number: int, state: str) -> None:
        """A trial ended."""
        self._begun.add(number)
        self._running.pop(number, None)
        self._ended[state] += 1
        if state != "complete":
            self.say(f"trial {number}: {state}")

    def say(self, line: str) -> None:
        """Print a line, on a terminal above the view."""
        self._events = [*self._events, line][-MOST_EVENTS:]
        self._told_lines += 1
        say(self._console, line)


def _best(before: pd.DataFrame) -> tuple[float, int] | None:
    scored = before[before["confirms"].isna()].dropna(subset=["score"])
    rated = zip(ratings(scored).tolist(), scored["trial"].tolist(), strict=True)
    return max((pair for pair in rated if math.isfinite(pair[0])), key=lambda pair: (pair[0], -pair[1]), default=None)
