"""What becomes of a trial whose process has ended: it goes on, waits, is frozen or has ended for good."""

import math
from collections.abc import Callable, Mapping

from common.texts import raised
from tuning.experiment.folder import ExperimentPaths
from tuning.experiment.settings import Settings
from tuning.memory.placement import Placement
from tuning.memory.prediction import size
from tuning.search.record.record import Record, take_memory_marker
from tuning.search.record.trials import state_of
from tuning.search.run.phases import Event, Phase, RunningTrials, Write, next_attempt
from tuning.search.run.run_control import RunControl
from tuning.storage.search_files import SearchFiles
from tuning.trial.protocol import Ending, Report


class Ends:
    """Moves trials whose process has ended, and writes what the table of transitions says.

    A trial is handed out again, from its checkpoint, after each of these; for Tune that is another trial:

    - It crashed: `--retries` times.
    - Its process was lost: any number of times, as long as it gets new checkpoints (`tuning.search.run.phases`).
    - It ran out of memory: once, with nothing else running, as other trials may have been the cause. After that it may save
      memory.

    `given_up` gives the trials that add nothing and do not go on, each with what its policy does.
    """

    def __init__(
        self,
        record: Record,
        trials: RunningTrials,
        control: RunControl,
        placement: Placement,
        settings: Settings,
        paths: ExperimentPaths,
        files: SearchFiles,
        given_up: Callable[[], Mapping[int, str]],
    ) -> None:
        self._record, self._trials, self._control = record, trials, control
        self._placement, self._settings, self._paths, self._files = placement, settings, paths, files
        self._given_up = given_up

    def settle(self, number: int, last: Report, has_failed: bool) -> None:
        """The process of a trial has ended: write what becomes of it.

        `last` is what it told last in this run. It `has_failed` where it ended by an error, or was lost.
        """
        if last.ending is Ending.OUT_OF_MEMORY and not has_failed:
            self._run_out_of_memory(number, last.message)
        elif has_failed and (marked := self._take_memory_marker(number)) is not None:
            self._run_out_of_memory(number, f"host memory: its process had {size(marked)} and was ended at once")
        elif has_failed:
            self._fail_or_try_again(number)
        elif last.ending is None:
            error = self._why_diverged(number)
            self._write(number, Event.DIVERGED if error else Event.DONE, error)
        elif last.ending is Ending.STOPPED and self._control.is_finishing:
            self._write(number, Event.PUT_ASIDE)
        elif last.ending is not Ending.STOPPED or self._control.is_stopping or self._files.failure:
            self._write(number, Event.INTERRUPTED)
            if last.ending is not Ending.STOPPED:
                self._control.stop(last.message)
        elif self._trials[number].phase is Phase.WITHDRAWN:
            self._write(number, Event.RETURNED)
        else:
            # Of this run none is told to stop; a run that takes over removes the mark by which this one goes on.
            leaves = self._trials[number].phase is Phase.LEAVING
            self._try_again(number, "its node goes" if leaves else "it was stopped by another run")

    def _take_memory_marker(self, number: int) -> int | None:
        """Memory that a process had when it ended itself because of it, bytes; None where it did not."""
        marker = self._paths.memory_marker(number)
        self._files.fetch(marker)
        marked = take_memory_marker(self._paths, number)
        if marked is not None:
            self._files.written(marker)  # it is gone
        return marked

    def _fail_or_try_again(self, number: int) -> None:
        """After the process of a trial ended by an error: hand the trial out again, or let it fail."""
        trial, standing = self._trials[number], self._record.study.standing(number)
        if not standing.error:
            trial.losses = trial.losses.another(standing.checkpoint)
        may_try = standing.crashes <= self._settings.retries if standing.error else not trial.losses.are_too_many
        if may_try:
            self._try_again(number, raised(standing.error) or "its process was lost")
            return
        self._write(number, Event.FAILED, standing.error)
        self._control.on_failed(standing.error or None)

    def _run_out_of_memory(self, number: int, error: str) -> None:
        """After a trial ran out of memory: hand it out again, or let it end as too large."""
        standing = self._record.count(number, "out_of_memory", error)
        self._trials[number].is_alone = True
        if attempt := next_attempt(standing.out_of_memory, self._settings.on_oom == "adapt"):
            self._try_again(number, f"out of memory ({raised(error)}); {attempt}")
        else:
            self._write(number, Event.TOO_LARGE, error)

    def _try_again(self, number: int, reason: str) -> None:
        self._write(number, Event.TRIED_AGAIN)
        steps = self._record.study.standing(number).checkpoint
        self._control.say(f"trial {number}: {reason}; it continues from {steps:,} steps")

    def _write(self, number: int, event: Event, error: str = "") -> None:
        """Move a trial whose process has ended, and write what the table of transitions says."""
        write, trial, record = self._trials.move(number, event), self._trials[number], self._record
        if write is Write.COMPLETE:
            record.complete(number, trial.outcome)
        elif write is Write.PRUNE:
            record.prune(number, trial.outcome)
        elif write is Write.FAIL:
            record.fail(number, error)
        elif write is Write.OUT_OF_MEMORY:
            record.run_out_of_memory(number, error, self._placement.missing(number, record.rows.row(number)))
        elif write is Write.FREEZE:
            self._freeze(number)
        elif write is Write.LEAVE:
            self._control.on_left(number)
        if trial.phase is Phase.WAITING:
            self._trials.queue.append(number)
        elif trial.phase is Phase.ENDED:
            self.tell(number)

    def tell(self, number: int) -> None:
        """Tell that a trial has ended, and learn what memory it took."""
        trial, row = self._trials[number], self._record.rows.row(number)
        state = state_of(self._record.study.trial(number))
        if state in ("complete", "pruned"):
            # Only these took all the memory that they need.
            self._placement.learn(number, row)
        if noticed := row.get("noticed"):
            self._control.say(f"trial {number}: {noticed}")
        # One that confirms is never the best, so its checkpoint is not kept in place of another.
        is_rated = state in ("complete", "pruned") and trial.proposal.confirms is None
        self._control.on_ended(number, state, self._record.rows.aim.rating(trial.outcome) if is_rated else None)

    def _freeze(self, number: int) -> None:
        self._record.freeze(number)
        self._control.on_frozen(number)
        if noticed := self._given_up().get(number):
            self._record.rows.update(number, noticed=noticed)
            self._control.say(f"trial {number}: {noticed}; it does not go on")

    def _why_diverged(self, number: int) -> str:
        outcome, aim = self._trials[number].outcome, self._record.rows.aim
        if math.isfinite(goal := aim.goal(outcome)):
            return ""
        what = "score" if outcome.objective is None else aim.names.replace(" ", " or ")
        why = "the training diverged" if not math.isfinite(outcome.score) else "no value of it was given"
        return f"its {what} is {goal}: {why}"
