"""Gives Ray Tune its trials: an adapter to the study."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial, TrialState
from ray.tune.search import Searcher

from search_spaces import Assignment
from tuning.memory.placement import Placement
from tuning.memory.planner import FALLBACKS, Planner
from tuning.memory.prediction import PLACES, size
from tuning.search.promotion.last_part import LastPart
from tuning.search.promotion.retries import Losses, memory_saving, next_attempt
from tuning.search.promotion.thawing import Thawing
from tuning.search.record.ledger import Ledger
from tuning.search.record.study import StudyMemory
from tuning.search.run.run_control import RunControl
from tuning.storage.search_files import SearchFiles
from tuning.trial.proposal import Proposal
from tuning.trial.protocol import (
    BUNDLE,
    CONFIRMING,
    DISK_FULL,
    EXPERIMENT,
    FALLBACK,
    HYPERPARAMETERS,
    LABELS,
    MESSAGE,
    NUMBER,
    OUT_OF_MEMORY,
    OUTCOME,
    RAM_LIMIT,
    RUN,
    STOPPED,
    STORAGE_LOST,
    TRUSTED,
    VRAM_LIMIT,
    DriverOnly,
    outcome_of,
)
from tuning.trial.records import FROZEN, TrialRecords

MOST_IN_VAIN = 20  # trials in a row that repeat others or do not fit; then the space has no more to try


class StudySearcher(DriverOnly, Searcher):
    """Hands out unfinished trials first, then trials that the study proposes, up to a number of trials.

    A trial is handed out again, from its checkpoint, after each of these; for Tune that is another trial:

    - It crashed: `retries` times.
    - Its process was lost: any number of times, as long as it gets new checkpoints (`tuning.search.promotion.retries`).
    - It ran out of memory: once, with nothing else running, as other trials may have been the cause. After that it may save
      memory.

    Attributes:
        ledger: what was used of the budget.

    Args:
        memory: the study.
        records: rows of the trials.
        experiment: folder of the experiment.
        trials: most trials that are begun.
        control: of this run.
        planner: grants memory and cores; a `Placement` where the kinds of nodes matter to others too.
        retries: how often a trial that crashes is started again.
        adapt: whether a trial that runs out of memory alone saves some, see `tuning.memory.planner`.
        trusted: whether trials may run code of the scenario; it is not in the experiment's folder.
        ledger: of the budget; None for no limit.
        thawing: decides which trial goes on; None to let each trial run until it ends.
        last_part: of the budget, in which the best is trained again; None for none.
        at_once: most trials that are handed out at once; None for as many as Tune asks for.
        files: what becomes of the search's files; by default they are local.
    """

    def __init__(
        self,
        memory: StudyMemory,
        records: TrialRecords,
        experiment: Path,
        trials: float,
        control: RunControl,
        planner: Planner | Placement,
        retries: int,
        adapt: bool = False,
        trusted: bool = False,
        ledger: Ledger | None = None,
        thawing: Thawing | None = None,
        last_part: LastPart | None = None,
        at_once: Callable[[], int] | None = None,
        files: SearchFiles | None = None,
    ) -> None:
        # Without a metric: not every report has a score.
        super().__init__()
        self._memory, self._records, self._experiment, self._trials = memory, records, experiment, trials
        self._placement = planner if isinstance(planner, Placement) else Placement(planner)
        self._control, self._retries, self._adapt = control, retries, adapt
        self._at_once = at_once
        self._trusted, self._thawing, self._last_part = trusted, thawing, last_part
        self.ledger = ledger or Ledger(memory, None, 0)
        self._files = files or SearchFiles()
        self._waiting: deque[Proposal] = deque()
        # Numbers of trials that ran out of memory: nothing runs beside them.
        self._alone: set[int] = set()
        self._numbers: dict[str, int] = {}
        self._proposals: dict[int, Proposal] = {}
        self._running: set[int] = set()
        self._pruned: set[int] = set()
        self._freezing: set[int] = set()
        # Numbers of trials that were thawed, until they are evaluated again.
        self._thawed: set[int] = set()
        self._losses: dict[int, Losses] = {}
        self._leaving: set[int] = set()
        self._withdrawn: set[int] = set()
        self._told_in_vain = False

    @property
    def handed_out(self) -> Set[int]:
        """Numbers of the trials that run, or wait for a place."""
        return self._running

    def hyperparameters(self, number: int) -> Assignment:
        """Of a trial that was handed out in this run."""
        return self._proposals[number].hyperparameters

    def confirms(self, number: int) -> bool:
        """Whether a trial that was handed out in this run trains another one's assignment again."""
        return number in self._proposals and self._proposals[number].confirms is not None

    def leave(self, number: int) -> None:
        """Let a trial that runs write a checkpoint and end, as its node goes; then it is handed out again.

        Args:
            number: of the trial.
        """
        if number not in self._leaving:
            self._leaving.add(number)
            self._control.leave(number)

    def withdraw(self, number: int) -> None:
        """Take a trial back that still waits for a place; it is handed out again for another one.

        Args:
            number: of the trial.
        """
        self._withdrawn.add(number)

    @property
    def withdrawn(self) -> Set[int]:
        """Numbers of the trials that are to be taken back from Tune."""
        return self._withdrawn

    def keep(self, number: int) -> None:
        """Note that a trial which was to be taken back has begun; it runs where it is."""
        self._withdrawn.discard(number)

    def take_up(self, unfinished: Iterable[Proposal]) -> None:
        """Add trials of an earlier run that have not ended; they are handed out first.

        Args:
            unfinished: see `StudyMemory.adopt_unfinished`.
        """
        for proposal in unfinished:
            self._waiting.append(proposal)
            if self._records.state(proposal.number) and self._records.times_out_of_memory(proposal.number):
                self._alone.add(proposal.number)

    def number(self, trial_id: str) -> int:
        """Number of the trial that Tune calls `trial_id`."""
        return self._numbers[trial_id]

    def mark_pruned(self, number: int) -> None:
        """Note that the pruner stopped a trial, which otherwise counts as complete."""
        self._pruned.add(number)

    def goes_on(self, number: int, is_new: bool) -> bool:
        """Whether a running trial keeps its slot after an evaluation. If not, it is frozen when its process has ended.

        Args:
            number: of the trial.
            is_new: whether the study did not have the evaluation yet.
        """
        if is_new:
            self._thawed.discard(number)
        others = self._running - {number}
        kept = not self._is_over(number, others)
        # The evaluation with which a thawed trial begins decided already that it goes on. To decide again beside what began
        # since could freeze it before it learned anything, and then the next one, for ever.
        if kept and self._thawing and not self.confirms(number) and number not in self._thawed:
            # A trial that ran out of memory waits until it can run alone.
            kept = not self._alone & {proposal.number for proposal in self._waiting} and number == self._thawing.choose(
                self._candidate(), self._search_steps_left(others), as_frozen=number
            )
        if not kept:
            self._freezing.add(number)
        return kept

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:  # type: ignore[override]
        """Configuration of the next trial, None while there may be one later, or FINISHED."""
        if self._at_once and self._running and len(self._running) >= self._at_once():
            return None
        proposal = None if self._control.is_stopping else self._next()
        if proposal is None:
            # A running trial may have to be handed out again.
            return None if self._running else str(Searcher.FINISHED)
        number = proposal.number
        self._numbers[trial_id], self._proposals[number] = number, proposal
        self._running.add(number)
        self._records.begin(proposal)
        config = {
            NUMBER: number,
            HYPERPARAMETERS: proposal.hyperparameters,
            EXPERIMENT: str(self._experiment),
            RUN: self._control.run,
            TRUSTED: self._trusted,
            **({CONFIRMING: True} if proposal.confirms is not None else {}),
            **self._granted(proposal),
        }
        # After its row is written.
        return config | self._files.hand_out(number)

    def _granted(self, proposal: Proposal) -> dict[str, Any]:
        """Keys of a trial's configuration with its memory and cores; they are written into its row too."""
        number, times = proposal.number, self._records.times_out_of_memory(proposal.number)
        fallback = memory_saving(times)
        place = self._placement.place(number, proposal.hyperparameters, fallback, alone=times > 0)
        granted, request = place.grant, place.request
        self._records.update(
            number,
            **self._predicted(proposal),
            granted_vram_bytes=granted.vram_bytes,
            granted_ram_bytes=granted.ram_bytes,
            gpu_share=granted.gpu_share,
            savings=fallback.name or None,
        )
        limits = {VRAM_LIMIT: granted.vram_bytes, RAM_LIMIT: granted.ram_bytes}
        labels = {LABELS: request.labels} if request.labels else {}
        return {BUNDLE: granted.bundle | request.resources, **labels, **limits, FALLBACK: FALLBACKS.index(fallback)}

    def _predicted(self, proposal: Proposal) -> dict[str, int]:
        prediction = self._placement.prediction(proposal.hyperparameters)
        return {f"predicted_{place}_bytes": prediction.uncorrected(place) for place in PLACES}

    def _next(self) -> Proposal | None:
        if self._running & self._alone:
            return None
        if self._waiting:
            # A trial that runs alone waits until the others have ended, and nothing begins meanwhile.
            if self._running and self._waiting[0].number in self._alone:
                return None
            proposal = self._waiting.popleft()
            # It waits for a node that is gone, as one like it may come. Ray tells an autoscaler.
            excess, why = self._placement.excess_ever(proposal.hyperparameters)
            if excess <= 0:
                return proposal
            # It was begun on a larger machine; Ray would wait for one for ever.
            self._records.update(proposal.number, error=why)
            self._memory.run_out_of_memory(proposal.number, self._end(proposal.number, OUT_OF_MEMORY), excess)
            return self._next()
        if self.ledger.is_spent(self._running):
            return None
        chosen = None if self._is_confirming(self._running) else self._next_of_search()
        chosen = chosen or self._next_that_confirms()
        if chosen is None:
            return None
        # It may have run on a larger machine, or out of memory beside others.
        if self._records.state(chosen.number) and self._records.times_out_of_memory(chosen.number):
            self._alone.add(chosen.number)
        self._waiting.append(chosen)
        return self._next()

    def _next_of_search(self) -> Proposal | None:
        """The trial that goes on or begins; None where there is none."""
        drawn = self._candidate()
        if self._thawing:
            number = self._thawing.choose(drawn, self._search_steps_left(self._running))
        else:
            number = next(iter(self._memory.frozen()), None)
        if number is not None:
            self._thawed.add(number)
            return self._memory.thaw(number)
        return None if drawn is None else self._memory.add(drawn)

    def _next_that_confirms(self) -> Proposal | None:
        """The trial that trains the best or the default again; None where there is none, or none yet."""
        if self._last_part is None or not all(map(self.confirms, self._running)):
            return None  # what runs may yet be among the best
        if not self._last_part.pays(self._running):
            return None
        again = self._last_part.next(self._running)
        if again is None:
            return None
        return self._memory.add(again) if again.state is TrialState.RUNNING else self._memory.thaw(again.number)

    def _search_steps_left(self, running: Set[int]) -> float:
        """Steps that the budget has left for the search itself."""
        return self._last_part.search_steps_left(running) if self._last_part else self.ledger.steps_left(running)

    def _is_over(self, number: int, others: set[int]) -> bool:
        """Whether the budget does not pay for a trial to go on."""
        return self.ledger.is_spent(others) or (not self.confirms(number) and self._is_confirming(others))

    def _is_confirming(self, running: Set[int]) -> bool:
        """Whether what is left of the budget is for the confirmation, and pays for one."""
        return self._last_part is not None and self._last_part.has_begun(running)

    def _candidate(self) -> FrozenTrial | None:
        """The trial that would begin next; None where there are as many as there may be.

        Those that end at once, as they do not fit into memory or were tried before, are added and told on the way.
        """
        while self._memory.searched < self._trials:
            if math.isinf(self._trials) and self._memory.in_vain >= MOST_IN_VAIN:
                self._say_in_vain()
                return None
            drawn = self._thawing.draw() if self._thawing else self._memory.draw()
            if not drawn.state.is_finished():
                return drawn
            proposal = self._memory.add(drawn)
            if proposal.refused:
                self._control.say(f"trial {proposal.number}: {proposal.refused}; it is not started")
                self._records.refuse(proposal, self._predicted(proposal))
                self._control.on_ended(proposal.number, OUT_OF_MEMORY, None)
                continue
            self._control.say(f"trial {proposal.number}: has the assignment of trial {proposal.same_as}, and is not run again")
            state, score = self._records.repeat(proposal)
            self._control.on_ended(proposal.number, state, score)
        return None

    def _say_in_vain(self) -> None:
        """Tell once in a run why no trial begins any more."""
        if not self._told_in_vain:
            self._told_in_vain = True
            self._control.say(
                f"no new trial begins: the last {MOST_IN_VAIN} proposals were tried before or do not fit into memory; "
                "a wider space (--space) or fewer fixed values (--set) leave more to try"
            )

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Write how a trial ended into its row, then tell the study.

        The row comes first: after a kill between the two, the next run tells the study what the row has.
        """
        number = self._numbers[trial_id]
        self._running.discard(number)
        self._files.take_back(number)
        is_leaving, is_withdrawn = number in self._leaving, number in self._withdrawn and not error
        self._withdrawn.discard(number)
        if is_leaving:
            self._leaving.discard(number)
            self._control.has_left(number)
        result = {OUTCOME: STOPPED} if is_withdrawn else result or {}
        self._settle(number, result, error, is_leaving, is_withdrawn)
        self._placement.free(number)

    def _settle(self, number: int, result: dict[str, Any], error: bool, is_leaving: bool, is_withdrawn: bool) -> None:
        """What follows after the process of a trial has ended.

        Args:
            number: of the trial.
            result: its last report; that it was stopped, where it never began.
            error: whether its process ended in an error.
            is_leaving: whether it was told to leave its node.
            is_withdrawn: whether it was taken back before it began.
        """
        outcome, found = result.get(OUTCOME), outcome_of(result)
        goal = self._records.aim.goal(found)
        if error:
            self._on_error(number)
        elif outcome == STOPPED and self._control.is_finishing:
            self._freeze(number)
        elif outcome == STOPPED and is_withdrawn and not self._control.is_stopping:
            self._waiting.append(self._proposals[number])
        elif outcome == STOPPED and not (self._control.is_stopping or self._files.failure):
            # Of this run none is told to stop: one without a turn waited in vain for the storage to have it.
            reason = "its node goes" if is_leaving else "its turn to begin did not come in time"
            self._again(number, reason, self._records.checkpoint_steps(number))
        elif outcome in (STOPPED, DISK_FULL, STORAGE_LOST):
            # The next run continues it.
            self._control.on_left(number)
            if outcome != STOPPED:
                self._control.stop(str(result[MESSAGE]))
        elif outcome == OUT_OF_MEMORY:
            self._on_out_of_memory(number)
        elif number in self._freezing:
            self._freezing.discard(number)
            self._freeze(number)
        elif number in self._pruned:
            self._end(number, "pruned")
            self._memory.prune(number, found.shortfall)
        elif not math.isfinite(goal):
            what = "score" if found.objective is None else self._records.aim.names.replace(" ", " or ")
            why = "the training diverged" if not math.isfinite(found.score) else "the site gives it no value"
            self._records.update(number, error=f"its {what} is {goal}: {why}")
            self._memory.fail(number, self._end(number, "failed"))
        else:
            self._end(number, "complete")
            self._memory.complete(number, goal, found.shortfall)

    def _freeze(self, number: int) -> None:
        self._records.update(number, state=FROZEN)
        self._memory.freeze(number)
        self._control.on_frozen(number)
        first = self._thawing.repeats().get(number) if self._thawing else None
        if first is not None:
            noticed = f"policy does the same as trial {first} in every hour of all of its evaluations"
            self._records.update(number, noticed=noticed)
            self._control.say(f"trial {number}: {noticed}; it does not go on")

    def _on_error(self, number: int) -> None:
        """After the process of a trial ended in an error: hand the trial out again, or let it fail."""
        if (marked := self._records.take_memory_marker(number)) is not None:
            self._records.count_out_of_memory(number, f"host memory: its process had {size(marked)} and was ended at once")
            self._on_out_of_memory(number)
            return
        (crashes, error), steps = self._records.crashes(number), self._records.checkpoint_steps(number)
        if error is None:
            self._losses[number] = self._losses.get(number, Losses()).another(steps)
            if not self._losses[number].are_too_many:
                self._again(number, "its process was lost", steps)
                return
        elif crashes <= self._retries:
            self._again(number, error.strip().rpartition("\n")[2], steps)
            return
        self._memory.fail(number, self._end(number, "failed"))
        self._control.on_failed(error)

    def _on_out_of_memory(self, number: int) -> None:
        """After a trial ran out of memory: hand it out again, or let it end as too large."""
        row = self._records.measured(number)
        self._alone.add(number)
        if attempt := next_attempt(row["out_of_memory"], self._adapt):
            self._again(number, f"out of memory ({self._records.reason(number)}); {attempt}", row["steps"])
        else:
            missing = self._placement.missing(number, row)
            self._memory.run_out_of_memory(number, self._end(number, OUT_OF_MEMORY), missing)

    def _again(self, number: int, reason: str, steps: int) -> None:
        self._waiting.append(self._proposals[number])
        self._control.on_left(number)
        self._control.say(f"trial {number}: {reason}; it continues from {steps:,} steps")

    def _end(self, number: int, state: str) -> str:
        reason, score = self._records.end(number, state)
        if state in ("complete", "pruned"):
            # Only these took all the memory that they need.
            self._placement.learn(number, self._records.measured(number))
        if noticed := self._records.measured(number).get("noticed"):
            self._control.say(f"trial {number}: {noticed}")
        # One that confirms is never the best, so its checkpoint is not kept in place of another.
        self._control.on_ended(number, state, None if self.confirms(number) else score)
        return reason

    def save(self, checkpoint_path: str) -> None:
        """Save nothing for Tune, which calls this: the study has everything."""
        Path(checkpoint_path).touch()

    def restore(self, checkpoint_path: str) -> None:
        """See `save`."""
