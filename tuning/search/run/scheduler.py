"""Tells Ray Tune whether a trial continues: an adapter to the study's pruner and to freeze-thaw."""

from __future__ import annotations

import math
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from envs.objective.aim import SCORE_ALONE, Aim
from tuning.search.record.study import StudyMemory
from tuning.search.run.searcher import StudySearcher
from tuning.trial.evaluation_schedule import due_steps
from tuning.trial.idleness import is_given_up
from tuning.trial.protocol import EVALUATION, NUMBER, DriverOnly, outcome_of


class StudyScheduler(DriverOnly, FIFOScheduler):
    """Stops a trial when the study's pruner decides so, or where another one goes on in its place.

    Args:
        memory: the study.
        searcher: knows the numbers of the trials.
        reports: evaluations of a trial; after the last one it is complete and is not stopped any more.
        steps: of a trial.
        aim: what ranks evaluations.
    """

    def __init__(self, memory: StudyMemory, searcher: StudySearcher, reports: int, steps: int, aim: Aim = SCORE_ALONE) -> None:
        super().__init__()
        self._aim = aim
        self._memory, self._searcher, self._reports, self._steps = memory, searcher, reports, steps

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        """The next trial to run. Trials whose place is gone are taken back from Tune first."""
        if self._searcher.withdrawn:
            for trial in tuple(tune_controller.get_live_trials()):
                number = trial.config[NUMBER]
                # Tune counts a trial that ended in an error as live; its number may wait again in another one.
                if number not in self._searcher.withdrawn or trial.status == Trial.ERROR:
                    continue
                if trial.status == Trial.PENDING:
                    # Tune itself would keep a process, with its resources, for each trial that is stopped before it began.
                    if trial in tune_controller._staged_trials:
                        tune_controller._unstage_trial_with_resources(trial)
                    tune_controller.stop_trial(trial)
                else:
                    self._searcher.keep(number)
        return super().choose_trial_to_run(tune_controller)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """Report an evaluation to the study and ask its pruner."""
        if result.get(EVALUATION) is None:
            return str(TrialScheduler.CONTINUE)
        number = self._searcher.number(trial.trial_id)
        evaluation = int(result[EVALUATION])
        outcome = outcome_of(result)
        rating = self._aim.rating(outcome)
        if not math.isfinite(rating):
            # No step of a budget is worth more of it. It ends as one that failed.
            return str(TrialScheduler.STOP if self._searcher.ledger.budget else TrialScheduler.CONTINUE)
        # The due steps are the same for all trials; the steps taken are rounded up to whole updates.
        is_new = self._memory.report(number, due_steps(evaluation, self._steps, self._reports), rating, outcome.gains)
        self._searcher.ledger.note_time()
        if evaluation >= self._reports:
            return str(TrialScheduler.CONTINUE)
        # The mean of fresh trainings would be that of the lucky ones, if any of them was stopped.
        may_stop = not self._searcher.confirms(number)
        if may_stop and (is_given_up(result, self._steps, self._reports) or self._memory.should_prune(number)):
            self._searcher.mark_pruned(number)
            return str(TrialScheduler.STOP)
        return str(TrialScheduler.CONTINUE if self._searcher.goes_on(number, is_new) else TrialScheduler.STOP)
