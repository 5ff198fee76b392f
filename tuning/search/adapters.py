"""Two thin adapters through which Ray Tune uses the study."""

from __future__ import annotations

import math
from collections import deque
from pathlib import Path
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from tuning.memory.fallbacks import FALLBACKS
from tuning.memory.planner import Planner
from tuning.memory.prediction import PLACES, size
from tuning.search.run_control import RunControl
from tuning.search.study import Proposal, StudyMemory
from tuning.trial.protocol import (
    BUNDLE,
    DISK_FULL,
    EVALUATION,
    EXPERIMENT,
    HYPERPARAMETERS,
    MESSAGE,
    NUMBER,
    OUT_OF_MEMORY,
    OUTCOME,
    RAM_LIMIT,
    RUN,
    RUNG,
    SCORE,
    STOPPED,
    VRAM_LIMIT,
    DriverOnly,
)
from tuning.trial.records import TrialRecords

# A process may die of its node or of the system's need for memory as often as it likes, as long as its trial gets on.
MOST_LOSSES = 5  # without a new checkpoint between them


class StudySearcher(DriverOnly, Searcher):
    """Hands out what is unfinished, then what the study proposes, up to a number of trials.

    A trial whose process crashed or was lost is handed out once more and goes on from its checkpoint; for Tune that is
    another trial. Crashes are counted, losses are not. One that ran out of memory is handed out once more too, when nothing
    else runs, so that one that is too big is told from one that had bad neighbours; after that it may save memory.

    Args:
        memory: the study.
        records: rows of the trials.
        experiment: folder of the experiment.
        trials: their number.
        control: of this run.
        planner: says what trials are granted.
        retries: how often a trial that crashes is started again.
        adapt: whether a trial that runs out of memory alone is to save some, see `tuning.memory.fallbacks`.
    """

    def __init__(
        self,
        memory: StudyMemory,
        records: TrialRecords,
        experiment: Path,
        trials: int,
        control: RunControl,
        planner: Planner,
        retries: int,
        adapt: bool = False,
    ) -> None:
        # Without a metric, as not every report has a score.
        super().__init__()
        self._memory, self._records, self._experiment, self._trials = memory, records, experiment, trials
        self._control, self._planner, self._retries, self._adapt = control, planner, retries, adapt
        self._waiting = deque(memory.unfinished())
        # Those that are to have the machine for themselves, as they ran out of memory.
        self._alone = {
            proposal.number
            for proposal in self._waiting
            if records.state(proposal.number) and records.times_out_of_memory(proposal.number)
        }
        self._numbers: dict[str, int] = {}
        self._proposals: dict[int, Proposal] = {}
        self._running: set[int] = set()
        self._pruned: set[int] = set()
        self._losses: dict[int, tuple[int, int]] = {}  # how often in a row, at how many steps

    def number(self, trial_id: str) -> int:
        """Number of the trial that Tune calls `trial_id`."""
        return self._numbers[trial_id]

    def mark_pruned(self, number: int) -> None:
        """Say that a trial was stopped by the pruner and did not end by itself."""
        self._pruned.add(number)

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:  # type: ignore[override]
        """Configuration of the next trial, None while there may be one later, or FINISHED."""
        proposal = None if self._control.is_stopping else self._next()
        if proposal is None:
            # One that runs may be handed out again.
            return None if self._running else str(Searcher.FINISHED)
        number = proposal.number
        self._numbers[trial_id], self._proposals[number] = number, proposal
        self._running.add(number)
        self._records.begin(proposal)
        return {
            NUMBER: number,
            HYPERPARAMETERS: proposal.hyperparameters,
            EXPERIMENT: str(self._experiment),
            RUN: self._control.run,
            **self._granted(proposal),
        }

    def _granted(self, proposal: Proposal) -> dict[str, Any]:
        """What of a trial's configuration says what it may take; it is written into its row too."""
        number, times = proposal.number, self._records.times_out_of_memory(proposal.number)
        # The first time it had neighbours, the second it was alone: from then on it climbs.
        rung = FALLBACKS[min(max(times - 1, 0), len(FALLBACKS) - 1)]
        granted = self._planner.grant(proposal.hyperparameters, rung, alone=times > 0)
        self._records.update(
            number,
            **self._predicted(proposal),
            granted_vram_bytes=granted.vram_bytes,
            granted_ram_bytes=granted.ram_bytes,
            gpu_share=granted.gpu_share,
            savings=rung.name or None,
        )
        limits = {VRAM_LIMIT: granted.vram_bytes, RAM_LIMIT: granted.ram_bytes}
        return {BUNDLE: granted.bundle, **limits, RUNG: FALLBACKS.index(rung)}

    def _predicted(self, proposal: Proposal) -> dict[str, int]:
        prediction = self._planner.prediction(proposal.hyperparameters)
        return {f"predicted_{place}_bytes": prediction.uncorrected(place) for place in PLACES}

    def _next(self) -> Proposal | None:
        if self._running & self._alone:
            return None
        if self._waiting:
            # One that is to be alone waits for the others to end, and nothing is begun meanwhile.
            if self._running and self._waiting[0].number in self._alone:
                return None
            proposal = self._waiting.popleft()
            excess, why = self._planner.excess(proposal.hyperparameters)
            if excess <= 0:
                return proposal
            # Begun on a larger machine: Ray would wait for ever for one.
            self._records.update(proposal.number, error=why)
            self._memory.run_out_of_memory(proposal.number, self._end(proposal.number, OUT_OF_MEMORY), excess)
            return self._next()
        while self._memory.asked < self._trials:
            proposal = self._memory.ask()
            if proposal.refused:
                self._control.say(f"trial {proposal.number}: {proposal.refused}; it is not started")
                self._records.refuse(proposal, self._predicted(proposal))
                self._control.ended(proposal.number, OUT_OF_MEMORY, None)
                continue
            if proposal.same_as is None:
                return proposal
            self._control.say(f"trial {proposal.number}: has the assignment of trial {proposal.same_as}, and is not run again")
            state, score = self._records.repeat(proposal)
            self._control.ended(proposal.number, state, score)
        return None

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Tell the study and the results what became of a trial.

        The row always comes first: a kill between the two leaves the study with a trial that runs, and the next run tells it
        what the row says.
        """
        number = self._numbers[trial_id]
        self._running.discard(number)
        result = result or {}
        outcome, score = result.get(OUTCOME), float(result.get(SCORE, math.nan))
        if error:
            self._on_error(number)
        elif outcome in (STOPPED, DISK_FULL):
            # It goes on with the next run.
            self._control.left(number)
            if outcome == DISK_FULL:
                self._control.stop(str(result[MESSAGE]))
        elif outcome == OUT_OF_MEMORY:
            self._on_out_of_memory(number)
        elif number in self._pruned:
            self._end(number, "pruned")
            self._memory.prune(number)
        elif not math.isfinite(score):
            self._records.update(number, error=f"its score is {score}: the training diverged")
            self._memory.fail(number, self._end(number, "failed"))
        else:
            self._end(number, "complete")
            self._memory.complete(number, score)

    def _on_error(self, number: int) -> None:
        """Hand a trial out again whose process ended in an error, or tell that it failed."""
        if (marked := self._records.marked_memory(number)) is not None:
            self._records.run_out(number, f"host memory: its process had {size(marked)} and was ended at once")
            self._on_out_of_memory(number)
            return
        (crashes, error), steps = self._records.crashes(number), self._records.checkpoint_steps(number)
        if error is None:
            times, before = self._losses.get(number, (0, -1))
            self._losses[number] = (times + 1 if before == steps else 1), steps
            if self._losses[number][0] <= MOST_LOSSES:
                self._again(number, "its process was lost", steps)
                return
        elif crashes <= self._retries:
            self._again(number, error.strip().rpartition("\n")[2], steps)
            return
        self._memory.fail(number, self._end(number, "failed"))
        self._control.failed(error)

    def _on_out_of_memory(self, number: int) -> None:
        """Hand a trial out again that ran out of memory, alone, or tell that it does not fit."""
        row = self._records.measured(number)
        times, reason = row["out_of_memory"], self._records.reason(number)
        self._alone.add(number)
        if times == 1:
            self._again(number, f"out of memory ({reason}); next it is alone on the machine", row["steps"])
        elif self._adapt and times < len(FALLBACKS) + 1:
            self._again(number, f"out of memory ({reason}); next with {FALLBACKS[times - 1].name}", row["steps"])
        else:
            missing = self._planner.missing(row)
            self._memory.run_out_of_memory(number, self._end(number, OUT_OF_MEMORY), missing)

    def _again(self, number: int, reason: str, steps: int) -> None:
        self._waiting.append(self._proposals[number])
        self._control.left(number)
        self._control.say(f"trial {number}: {reason}; it goes on from {steps:,} steps")

    def _end(self, number: int, state: str) -> str:
        reason, score = self._records.end(number, state)
        if state in ("complete", "pruned"):
            # One that was cut off did not take what it would have.
            self._planner.learn(self._records.measured(number))
        self._control.ended(number, state, score)
        return reason

    def save(self, checkpoint_path: str) -> None:
        """Tune saves searchers; this one has nothing that is not in the study."""
        Path(checkpoint_path).touch()

    def restore(self, checkpoint_path: str) -> None:
        """See `save`."""


class StudyScheduler(DriverOnly, FIFOScheduler):
    """Stops a trial when the study's pruner says so.

    Args:
        memory: the study.
        searcher: knows the trials' numbers.
        reports: evaluations of a trial; after its last one it is complete, and there is nothing left to stop.
        steps: of a trial.
    """

    def __init__(self, memory: StudyMemory, searcher: StudySearcher, reports: int, steps: int) -> None:
        super().__init__()
        self._memory, self._searcher, self._reports, self._steps = memory, searcher, reports, steps

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """Report an evaluation to the study and ask its pruner."""
        if result.get(EVALUATION) is None:
            return str(TrialScheduler.CONTINUE)
        number = self._searcher.number(trial.trial_id)
        evaluation = int(result[EVALUATION])
        if not math.isfinite(float(result[SCORE])):
            return str(TrialScheduler.CONTINUE)
        # Not the steps that were taken: these are rounded up to whole updates and differ from trial to trial.
        self._memory.report(number, self._steps * evaluation // self._reports, float(result[SCORE]))
        if evaluation >= self._reports or not self._memory.should_prune(number):
            return str(TrialScheduler.CONTINUE)
        self._searcher.mark_pruned(number)
        return str(TrialScheduler.STOP)
