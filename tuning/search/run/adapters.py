"""Ray Tune sees a search by two adapters: they give it trials, and tell it whether one goes on. They remember nothing else.

`tuner` is Tune with both of them, and without what a search does itself.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ray import tune
from ray.tune import Callback
from ray.tune.experiment import Trial
from ray.tune.progress_reporter import TrialProgressCallback
from ray.tune.result import DONE
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from tuning.experiment.folder import ExperimentPaths
from tuning.runtime.ray_session import count_killed_as_lost
from tuning.search.run.search import Search
from tuning.trial.protocol import DriverOnly, Ending, Report, drop_rows, handout_in, report_in

# Tune keeps 100 kB of each trial that it ever had, so after so many a run of Tune ends, and another one goes on. It drains
# first, so that with many trials at once it takes more of them.
MOST_TRIALS, AT_LEAST_EACH = 500, 20


class StudySearcher(DriverOnly, Searcher):
    """Translates Tune's calls into those of a search. It remembers which trial Tune means, and nothing else."""

    def __init__(self, search: Search) -> None:
        # Without a metric: not every report has a score.
        super().__init__()
        self._search = search
        self._numbers: dict[str, int] = {}

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:  # type: ignore[override]
        """Configuration of the next trial, None while there may be one later, or FINISHED."""
        is_full = len(self._numbers) >= max(MOST_TRIALS, AT_LEAST_EACH * len(self._search.running))
        handout = None if is_full else self._search.hand_out()
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


def tuner(
    paths: ExperimentPaths,
    trainable: Callable[[dict[str, Any]], None],
    search: Search,
    callbacks: list[Callback],
) -> tune.Tuner:
    """Ray Tune with our searcher and scheduler, and without what the experiment does itself: retries, names, output."""

    def place(config: dict[str, Any]) -> tune.PlacementGroupFactory:
        granted, request = handout_in(config).place.grant, handout_in(config).place.request
        labels: dict[str, Any] = {"bundle_label_selector": [request.labels]} if request.labels else {}
        return tune.PlacementGroupFactory([granted.bundle | request.resources], **labels)

    count_killed_as_lost()
    return tune.Tuner(
        tune.with_resources(trainable, place),
        tune_config=tune.TuneConfig(
            search_alg=StudySearcher(search),
            scheduler=StudyScheduler(search),
            # The searcher limits how many run at once, as nodes come and go.
            num_samples=-1,
            # The next trial uses the process again: importing torch and building CityLearn takes seconds.
            reuse_actors=True,
            # Tune's own names hold every hyperparameter and are too long for Windows.
            trial_dirname_creator=lambda trial: f"{handout_in(trial.config).number:05d}",
        ),
        run_config=tune.RunConfig(
            name=paths.tune.name,
            storage_path=str(paths.folder),
            verbose=0,
            callbacks=[*callbacks, QuietTune()],
            # The searcher hands crashed trials out again.
            failure_config=tune.FailureConfig(max_failures=0),
        ),
    )


class QuietTune(DriverOnly, TrialProgressCallback):
    """In place of Tune's own callback, which prints a line for a trial that is taken back before it began, also if quiet."""

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any) -> None:
        """Print nothing, and keep Tune from holding rows that were written, as its snapshots have all last results in them."""
        drop_rows(result)

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Print nothing."""

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Print nothing."""
