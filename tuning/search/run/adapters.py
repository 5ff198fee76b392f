"""Ray Tune sees a search by two adapters: they give it trials, and tell it whether one goes on. They remember nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.result import DONE
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from tuning.search.run.search import Search
from tuning.trial.protocol import DriverOnly, Ending, Report, handout_in, report_in


class StudySearcher(DriverOnly, Searcher):
    """Translates Tune's calls into those of a search. It remembers which trial Tune means, and nothing else."""

    def __init__(self, search: Search) -> None:
        # Without a metric: not every report has a score.
        super().__init__()
        self._search = search
        self._numbers: dict[str, int] = {}

    def number(self, trial_id: str) -> int:
        """Number of the trial that Tune calls `trial_id`."""
        return self._numbers[trial_id]

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:  # type: ignore[override]
        """Configuration of the next trial, None while there may be one later, or FINISHED."""
        handout = self._search.hand_out()
        if handout is None:
            # A running trial may have to be handed out again.
            return None if self._search.running else str(Searcher.FINISHED)
        self._numbers[trial_id] = handout.number
        return handout.config()

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """The process of a trial has ended; one without a report never began."""
        self._search.end(self._numbers[trial_id], report_in(result) or Report(ending=Ending.STOPPED), error)

    def save(self, checkpoint_path: str) -> None:
        """Save nothing for Tune, which calls this: the study has everything."""
        Path(checkpoint_path).touch()

    def restore(self, checkpoint_path: str) -> None:
        """See `save`."""


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
