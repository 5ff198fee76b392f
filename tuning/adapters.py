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
    EVALUATION,
    EXPERIMENT,
    HYPERPARAMETERS,
    NUMBER,
    OUT_OF_MEMORY,
    OUTCOME,
    SCORE,
    DriverOnly,
)
from tuning.records import TrialRecords
from tuning.study import Proposal, StudyMemory


class StudySearcher(DriverOnly, Searcher):
    """Hands out what an earlier run left unfinished, then what the study proposes, up to a number of trials."""

    def __init__(self, memory: StudyMemory, records: TrialRecords, experiment: Path, trials: int) -> None:
        # Without a metric, as not every report has a score.
        super().__init__()
        self._memory, self._records, self._experiment, self._trials = memory, records, experiment, trials
        self._unfinished = deque(memory.unfinished())
        self._numbers: dict[str, int] = {}
        self._pruned: set[int] = set()

    def number(self, trial_id: str) -> int:
        """Number of the trial that Tune calls `trial_id`."""
        return self._numbers[trial_id]

    def mark_pruned(self, number: int) -> None:
        """Say that a trial was stopped by the pruner and did not end by itself."""
        self._pruned.add(number)

    def suggest(self, trial_id: str) -> dict[str, Any] | str:  # type: ignore[override]
        """Configuration of the next trial, or FINISHED."""
        if self._unfinished:
            proposal = self._unfinished.popleft()
        elif self._memory.asked < self._trials:
            proposal = self._memory.ask()
        else:
            return str(Searcher.FINISHED)
        self._numbers[trial_id] = proposal.number
        self._records.begin(proposal)
        return _configuration(proposal, self._experiment)

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Tell the study and the results what became of a trial."""
        number = self._numbers[trial_id]
        result = result or {}
        score = float(result.get(SCORE, math.nan))
        # The row first: a kill between the two leaves the study with a trial that it hands out again.
        if error:
            self._memory.fail(number, self._records.end(number, "failed"))
        elif result.get(OUTCOME) == OUT_OF_MEMORY:
            self._memory.run_out_of_memory(number, self._records.end(number, OUT_OF_MEMORY))
        elif number in self._pruned:
            self._records.end(number, "pruned")
            self._memory.prune(number)
        elif not math.isfinite(score):
            self._records.update(number, error=f"its score is {score}: the training diverged")
            self._memory.fail(number, self._records.end(number, "failed"))
        else:
            self._records.end(number, "complete")
            self._memory.complete(number, score)

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


def _configuration(proposal: Proposal, experiment: Path) -> dict[str, Any]:
    return {NUMBER: proposal.number, HYPERPARAMETERS: proposal.hyperparameters, EXPERIMENT: str(experiment)}
