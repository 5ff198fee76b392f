"""Two thin adapters through which Ray Tune uses the study."""

from __future__ import annotations

import math
from collections import deque
from pathlib import Path
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from tuning.protocol import (
    DISK_FULL,
    EVALUATION,
    EXPERIMENT,
    HYPERPARAMETERS,
    MESSAGE,
    NUMBER,
    OUT_OF_MEMORY,
    OUTCOME,
    RUN,
    SCORE,
    STOPPED,
    DriverOnly,
)
from tuning.records import TrialRecords
from tuning.run_control import RunControl
from tuning.study import Proposal, StudyMemory

# A process may die of its node or of the system's need for memory as often as it likes, as long as its trial gets on.
MOST_LOSSES = 5  # without a new checkpoint between them


class StudySearcher(DriverOnly, Searcher):
    """Hands out what is unfinished, then what the study proposes, up to a number of trials.

    A trial whose process crashed or was lost is handed out once more and goes on from its checkpoint; for Tune that is
    another trial. Crashes are counted, losses are not.

    Args:
        memory: the study.
        records: rows of the trials.
        experiment: folder of the experiment.
        trials: their number.
        control: of this run.
        retries: how often a trial that crashes is started again.
    """

    def __init__(
        self, memory: StudyMemory, records: TrialRecords, experiment: Path, trials: int, control: RunControl, retries: int
    ) -> None:
        # Without a metric, as not every report has a score.
        super().__init__()
        self._memory, self._records, self._experiment, self._trials = memory, records, experiment, trials
        self._control, self._retries = control, retries
        self._waiting = deque(memory.unfinished())
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
        }

    def _next(self) -> Proposal | None:
        if self._waiting:
            return self._waiting.popleft()
        while self._memory.asked < self._trials:
            proposal = self._memory.ask()
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
            self._memory.run_out_of_memory(number, self._end(number, OUT_OF_MEMORY))
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

    def _again(self, number: int, reason: str, steps: int) -> None:
        self._waiting.append(self._proposals[number])
        self._control.left(number)
        self._control.say(f"trial {number}: {reason}; it goes on from {steps:,} steps")

    def _end(self, number: int, state: str) -> str:
        reason, score = self._records.end(number, state)
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
