"""Tells Ray Tune whether a trial continues: an adapter."""

from __future__ import annotations

from typing import Any

from ray.tune.experiment import Trial
from ray.tune.result import DONE
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from tuning.search.run.search import Search
from tuning.trial.protocol import DriverOnly, handout_in, report_in


class StudyScheduler(DriverOnly, FIFOScheduler):
    """Passes on what trials report, and stops those that give way or are stopped for good."""

    def __init__(self, search: Search) -> None:
        super().__init__()
        self._search = search

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        """The next trial to run. Trials whose place is gone are taken back from Tune first."""
        if withdrawn := self._search.withdrawn:
            for trial in tuple(tune_controller.get_live_trials()):
                number = handout_in(trial.config).number
                # Tune counts a trial that ended in an error as live; its number may wait again in another one.
                if number not in withdrawn or trial.status == Trial.ERROR:
                    continue
                if trial.status == Trial.PENDING:
                    # Tune itself would keep a process, with its resources, for each trial that is stopped before it began.
                    if trial in tune_controller._staged_trials:
                        tune_controller._unstage_trial_with_resources(trial)
                    tune_controller.stop_trial(trial)
                else:
                    self._search.keep(number)
        return super().choose_trial_to_run(tune_controller)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """Write what a trial reported; whether it goes on."""
        report = report_in(result)
        # At its end Tune passes on the last report once more.
        if report is None or result.get(DONE):
            return str(TrialScheduler.CONTINUE)
        goes_on = self._search.take(handout_in(trial.config).number, report)
        return str(TrialScheduler.CONTINUE if goes_on else TrialScheduler.STOP)
