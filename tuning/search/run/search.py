"""The trials of one run: what is handed out, what becomes of each, and what is written of it. Ray Tune's adapters call this."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Set
from dataclasses import dataclass, field

from optuna.trial import FrozenTrial

from envs.objective.aim import Outcome
from tuning.experiment.folder import ExperimentPaths
from tuning.experiment.settings import Settings
from tuning.memory.placement import Placement
from tuning.memory.planner import FALLBACKS
from tuning.memory.prediction import PLACES, size
from tuning.search.promotion.choosing import MOST_IN_VAIN, Choosing
from tuning.search.record.record import Record, last_line, take_memory_marker
from tuning.search.record.trials import state_of
from tuning.search.run.phases import LIVE, Event, Losses, Phase, Write, after, memory_saving, next_attempt
from tuning.search.run.run_control import RunControl
from tuning.storage.search_files import Home, SearchFiles
from tuning.trial.idleness import is_given_up
from tuning.trial.proposal import Proposal
from tuning.trial.protocol import Ending, Handout, Limits, Report

NO_OUTCOME = Outcome(math.nan)


@dataclass
class RunningTrial:
    """A trial of this run.

    Attributes:
        proposal: the trial.
        phase: where it is.
        losses: of its process, since its last new checkpoint.
        is_alone: whether nothing runs beside it, as it ran out of memory.
        is_thawed: whether it went on in this run, and was not evaluated again since.
        outcome: of its last evaluation in this run.
    """

    proposal: Proposal
    phase: Phase = Phase.WAITING
    losses: Losses = field(default_factory=Losses)
    is_alone: bool = False
    is_thawed: bool = False
    outcome: Outcome = NO_OUTCOME


class Search:
    """Hands out unfinished trials first, then those that are chosen.

    A trial is handed out again, from its checkpoint, after each of these; for Tune that is another trial:

    - It crashed: `--retries` times.
    - Its process was lost: any number of times, as long as it gets new checkpoints (`tuning.search.run.phases`).
    - It ran out of memory: once, with nothing else running, as other trials may have been the cause. After that it may save
      memory.

    Args:
        record: of its trials.
        choosing: chooses them.
        control: of this run.
        placement: grants memory and cores.
        settings: of the experiment.
        paths: likewise.
        files: what becomes of its files.
        at_once: most trials that are handed out at once; None for as many as Tune asks for.
    """

    def __init__(
        self,
        record: Record,
        choosing: Choosing,
        control: RunControl,
        placement: Placement,
        settings: Settings,
        paths: ExperimentPaths,
        files: SearchFiles,
        at_once: Callable[[], int] | None = None,
    ) -> None:
        self._record, self._choosing, self._control, self._placement = record, choosing, control, placement
        self._settings, self._paths, self._files, self._at_once = settings, paths, files, at_once
        self._home = Home(str(paths.folder), control.run, settings.trust_scenario)
        self._trials: dict[int, RunningTrial] = {}
        self._queue: deque[int] = deque()  # trials that wait, in this order
        self._told_in_vain = False
        for proposal in record.study.adopt_unfinished():
            self._wait(proposal)

    @property
    def running(self) -> Set[int]:
        """Numbers of the trials that are handed out: they run, or wait for a place."""
        return {number for number, trial in self._trials.items() if trial.phase in LIVE}

    @property
    def withdrawn(self) -> Set[int]:
        """Numbers of the trials that are to be taken back from Tune."""
        return {number for number, trial in self._trials.items() if trial.phase is Phase.WITHDRAWN}

    @property
    def is_full(self) -> bool:
        """Whether as many trials run as may run at once."""
        running = len(self.running)
        return bool(running and self._at_once and running >= self._at_once())

    def proposal(self, number: int) -> Proposal:
        """A trial that was handed out in this run."""
        return self._trials[number].proposal

    def send_away(self, number: int) -> None:
        """Let a trial that runs write a checkpoint and end, as its node goes; then it is handed out again."""
        if self._trials[number].phase is Phase.RUNNING:
            self._move(number, Event.SENT_AWAY)
            self._control.leave(number)

    def withdraw(self, number: int) -> None:
        """Take a trial back that still waits for a place; it is handed out again for another one."""
        if self._trials[number].phase is Phase.RUNNING:
            self._move(number, Event.WITHDRAWN)

    def keep(self, number: int) -> None:
        """Note that a trial which was to be taken back has begun; it runs where it is."""
        self._move(number, Event.BEGAN)

    def hand_out(self) -> Handout | None:
        """The next trial, as its process gets it; None where there is none, or none yet."""
        if self._control.is_stopping or self.is_full:
            return None
        number = self._next()
        return None if number is None else self._handed_out(number)

    def _wait(self, proposal: Proposal, is_thawed: bool = False) -> None:
        """Add a trial to those that wait. It may have run out of memory in an earlier run, beside others."""
        alone = self._record.standing(proposal.number).out_of_memory > 0
        self._trials[proposal.number] = RunningTrial(proposal, is_alone=alone, is_thawed=is_thawed)
        self._queue.append(proposal.number)

    def _next(self) -> int | None:
        """Number of the trial that is handed out next. One of an earlier run that fits no node any more ends instead."""
        while (self._queue or self._choose()) and not self._is_blocked(self._queue[0]):
            number = self._queue.popleft()
            proposal = self._trials[number].proposal
            # It waits for a node that is gone, as one like it may come. Ray tells an autoscaler.
            excess, why = self._placement.excess_ever(proposal.hyperparameters)
            if excess <= 0:
                return number
            # It was begun on a larger machine; Ray would wait for one for ever.
            self._move(number, Event.REFUSED)
            self._record.begin(proposal, self._predicted(proposal))
            self._record.run_out_of_memory(number, why, excess)
            self._tell_end(number)
            self._forget(number)
        return None

    def _is_blocked(self, number: int) -> bool:
        """Whether a trial has to wait, as it or one that runs is to be alone."""
        running = self.running
        return bool(running) and (self._trials[number].is_alone or any(self._trials[other].is_alone for other in running))

    def _choose(self) -> bool:
        """Let the trial wait that begins or goes on next, and write that it does; whether there is one."""
        running = self.running
        if any(self._trials[number].is_alone for number in running) or self._choosing.ledger.is_spent(running):
            return False
        chosen = None
        if self._choosing.is_searching(running):
            chosen = self._choosing.of_search(self._drawn(), running)
        chosen = chosen or self._choosing.of_confirmation(running)
        if chosen is None:
            return False
        is_frozen, study = state_of(chosen) == "frozen", self._record.study
        self._wait(study.thaw(chosen.number) if is_frozen else study.add(chosen), is_frozen)
        return True

    def _drawn(self) -> FrozenTrial | None:
        """The trial that would begin next. Draws that have nothing to run are added with their ends on the way."""
        while (drawn := self._choosing.drawn()) is not None and drawn.state.is_finished():
            self._add_ended(drawn)
        if drawn is None and self._choosing.is_in_vain and not self._told_in_vain:
            self._told_in_vain = True
            self._control.say(
                f"no new trial begins: the last {MOST_IN_VAIN} proposals were tried before or do not fit into memory; "
                "a wider space (--space) or fewer fixed values (--set) leave more to try"
            )
        return drawn

    def _add_ended(self, drawn: FrozenTrial) -> None:
        proposal = self._record.study.add(drawn)
        number = proposal.number
        if proposal.refused:
            self._control.say(f"trial {number}: {proposal.refused}; it is not started")
            self._record.rows.refuse(proposal, self._predicted(proposal))
            self._control.on_ended(number, "oom", None)
            return
        self._control.say(f"trial {number}: has the assignment of trial {proposal.same_as}, and is not run again")
        self._control.on_ended(number, *self._record.rows.repeat(proposal))

    def _handed_out(self, number: int) -> Handout:
        """Grant a trial its memory and cores, write that it begins, and give what its process needs."""
        self._move(number, Event.HANDED_OUT)
        trial, standing = self._trials[number], self._record.standing(number)
        proposal, times = trial.proposal, standing.out_of_memory
        fallback = memory_saving(times)
        place = self._placement.place(number, proposal.hyperparameters, fallback, alone=times > 0)
        granted, request = place.grant, place.request
        columns = {
            "granted_vram_bytes": granted.vram_bytes,
            "granted_ram_bytes": granted.ram_bytes,
            "gpu_share": granted.gpu_share,
            "savings": fallback.name or None,
        }
        self._record.begin(proposal, self._predicted(proposal) | columns)
        limits = Limits(
            granted.vram_bytes, granted.ram_bytes, FALLBACKS.index(fallback), granted.bundle | request.resources, request.labels
        )  # fmt: skip
        seed, confirms = self._record.rows.seed(number), proposal.confirms is not None
        # The storage has its turn after its row.
        home = self._files.hand_out(self._home, number)
        return Handout(number, proposal.hyperparameters, seed, standing.checkpoint, limits, home, confirms)

    def _predicted(self, proposal: Proposal) -> dict[str, object]:
        prediction = self._placement.prediction(proposal.hyperparameters)
        return {f"predicted_{place}_bytes": prediction.uncorrected(place) for place in PLACES}

    def take(self, number: int, report: Report) -> bool:
        """A trial told something; whether it goes on."""
        trial = self._trials[number]
        is_new = self._record.take(number, report)
        if report.ending is Ending.CRASHED:
            self._record.count_crash(number, report.message)
        if report.evaluated is None:
            return True
        trial.outcome = report.evaluated.outcome
        if not math.isfinite(self._record.rows.aim.rating(trial.outcome)):
            # No step of a budget is worth more of it. It ends as one that failed.
            return self._choosing.ledger.budget is None
        self._choosing.ledger.note_time()
        if is_new:
            trial.is_thawed = False
        if report.evaluated.number >= self._settings.reports:
            return True
        # The mean of fresh trainings would be that of the lucky ones, if any of them was stopped.
        if trial.proposal.confirms is None and self._is_stopped(number, report.evaluated.number):
            self._move(number, Event.STOPPED)
        elif not self._keeps_slot(number):
            self._move(number, Event.YIELDED)
        return trial.phase not in (Phase.STOPPING, Phase.YIELDING)

    def _is_stopped(self, number: int, evaluation: int) -> bool:
        """Whether a trial is stopped for good: by the pruner, or as its policy does nothing."""
        idle = self._record.standing(number).does_nothing
        given_up = bool(idle) and is_given_up(evaluation, self._settings.steps, self._settings.reports)
        return given_up or self._record.study.should_prune(number)

    def _keeps_slot(self, number: int) -> bool:
        """Whether a trial keeps its slot after an evaluation. If not, it is frozen when its process has ended."""
        trial, others = self._trials[number], self.running - {number}
        if not self._choosing.is_paid(number, others):
            return False
        # The evaluation with which a thawed trial begins decided already that it goes on. To decide again beside what began
        # since could freeze it before it learned anything, and then the next one, for ever.
        if self._choosing.thawing is None or trial.proposal.confirms is not None or trial.is_thawed:
            return True
        # A trial that ran out of memory waits until it can run alone.
        if any(self._trials[waiting].is_alone for waiting in self._queue):
            return False
        return self._choosing.keeps(number, self._drawn(), others)

    def end(self, number: int, last: Report, has_failed: bool) -> None:
        """The process of a trial has ended: write what becomes of it.

        Args:
            number: of the trial.
            last: what it told last in this run.
            has_failed: whether the process ended by an error, or was lost.
        """
        self._files.take_back(number)
        self._record.rows.leave(number)
        self._control.has_left(number)
        self._settle(number, last, has_failed)
        self._placement.free(number)
        self._forget(number)

    def _forget(self, number: int) -> None:
        """Forget a trial that ended or was frozen: Tune asks at each pass of its loop which trials run."""
        if self._trials[number].phase in (Phase.ENDED, Phase.FROZEN):
            del self._trials[number]

    def _settle(self, number: int, last: Report, has_failed: bool) -> None:
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
            # Of this run none is told to stop: one without a turn waited in vain for the storage to have it.
            leaves = self._trials[number].phase is Phase.LEAVING
            self._try_again(number, "its node goes" if leaves else "its turn to begin did not come in time")

    def _take_memory_marker(self, number: int) -> int | None:
        """Memory that a process had when it ended itself because of it, bytes; None where it did not."""
        marked = take_memory_marker(self._paths, number)
        if marked is not None:
            self._files.written(self._paths.memory_marker(number))  # it is gone
        return marked

    def _fail_or_try_again(self, number: int) -> None:
        """After the process of a trial ended by an error: hand the trial out again, or let it fail."""
        trial, standing = self._trials[number], self._record.standing(number)
        if not standing.error:
            trial.losses = trial.losses.another(standing.checkpoint)
        may_try = standing.crashes <= self._settings.retries if standing.error else not trial.losses.are_too_many
        if may_try:
            self._try_again(number, last_line(standing.error) or "its process was lost")
            return
        self._write(number, Event.FAILED, standing.error)
        self._control.on_failed(standing.error or None)

    def _run_out_of_memory(self, number: int, error: str) -> None:
        """After a trial ran out of memory: hand it out again, or let it end as too large."""
        standing = self._record.count_out_of_memory(number, error)
        self._trials[number].is_alone = True
        if attempt := next_attempt(standing.out_of_memory, self._settings.on_oom == "adapt"):
            self._try_again(number, f"out of memory ({last_line(error)}); {attempt}")
        else:
            self._write(number, Event.TOO_LARGE, error)

    def _try_again(self, number: int, reason: str) -> None:
        self._write(number, Event.TRIED_AGAIN)
        steps = self._record.standing(number).checkpoint
        self._control.say(f"trial {number}: {reason}; it continues from {steps:,} steps")

    def _move(self, number: int, event: Event) -> Write:
        trial = self._trials[number]
        trial.phase, write = after(trial.phase, event)
        return write

    def _write(self, number: int, event: Event, error: str = "") -> None:
        """Move a trial whose process has ended, and write what the table of transitions says."""
        write, trial, record = self._move(number, event), self._trials[number], self._record
        if write is Write.COMPLETE:
            record.complete(number, trial.outcome)
        elif write is Write.PRUNE:
            record.prune(number, trial.outcome)
        elif write is Write.FAIL:
            record.fail(number, error)
        elif write is Write.OUT_OF_MEMORY:
            record.run_out_of_memory(number, error, self._placement.missing(number, record.rows.measured(number)))
        elif write is Write.FREEZE:
            self._freeze(number)
        elif write is Write.LEAVE:
            self._control.on_left(number)
        if trial.phase is Phase.WAITING:
            self._queue.append(number)
        elif trial.phase is Phase.ENDED:
            self._tell_end(number)

    def _tell_end(self, number: int) -> None:
        trial, row = self._trials[number], self._record.rows.measured(number)
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
        first = self._choosing.thawing.repeats().get(number) if self._choosing.thawing else None
        if first is not None:
            noticed = f"policy does the same as trial {first} in every hour of all of its evaluations"
            self._record.rows.update(number, noticed=noticed)
            self._control.say(f"trial {number}: {noticed}; it does not go on")

    def _why_diverged(self, number: int) -> str:
        """Why a trial that came to its end has no value; empty where it has one."""
        outcome, aim = self._trials[number].outcome, self._record.rows.aim
        if math.isfinite(goal := aim.goal(outcome)):
            return ""
        what = "score" if outcome.objective is None else aim.names.replace(" ", " or ")
        why = "the training diverged" if not math.isfinite(outcome.score) else "the site gives it no value"
        return f"its {what} is {goal}: {why}"
