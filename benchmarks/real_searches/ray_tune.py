"""Stock Ray Tune over our trainable: its OptunaSearch and its ASHAScheduler, with a budget of time.

The space is that of our search, fitted to the site: the same ranges on the same scales. OptunaSearch cannot say its conditions,
such as `batch_size` within `n_steps`. The trial cuts what was drawn, and OptunaSearch learns from the point that it drew.
Presets to start with, draws near them, expected costs and requirements of memory are ours alone, and so are not there.
"""

import itertools
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ray.tune.search.optuna import OptunaSearch
from ray.tune.stopper import Stopper

from benchmarks.real_searches import ours
from benchmarks.real_searches.experiments import best_evaluated
from benchmarks.real_searches.records import Task, Winner
from tuning.experiment.folder import open_experiment
from tuning.experiment.settings import Settings
from tuning.search.run.opening import Checked

FOLDER, FIXED, RUN_NAME = "folder", "fixed", "ray-tune"
SCORE, EVALUATION = "score", "evaluation"  # of what trials report


class SpentSteps(Stopper):
    """Ends a search when its trials have taken so many steps together; never where that is 0."""

    def __init__(self, most: int) -> None:
        self._most, self._steps = most, dict[str, int]()

    @property
    def steps(self) -> int:
        """Of all trials, as they told."""
        return sum(self._steps.values())

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """Take what a trial told; it may always go on."""
        self._steps[trial_id] = max(self._steps.get(trial_id, 0), result.get("steps", 0))
        return False

    def stop_all(self) -> bool:
        """Whether all are spent."""
        return 0 < self._most <= self.steps


class EvaluatedOnly(OptunaSearch):
    """OptunaSearch without reports that have no score. A trial of ours also tells how far it is between two evaluations."""

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """Pass on an evaluation."""
        if self.metric in result:
            super().on_trial_result(trial_id, result)


def claimed_number(folder: Path) -> int:
    """A number that no other trial of the folder has; from 0, in the order in which trials begin."""
    for number in itertools.count():
        try:
            os.close(os.open(folder / f"claimed-{number:05d}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            continue
        return number
    raise AssertionError


def run_drawn(config: dict[str, Any]) -> None:
    """Trainable: our trial with the assignment that a drawn point stands for. It writes itself what it tells."""
    from psutil import virtual_memory
    from ray import tune

    from tuning.algorithms.registry import algorithm_of
    from tuning.memory.allocation import Grant
    from tuning.search.proposals.plan import limits
    from tuning.trial.protocol import Proposal, report_in
    from tuning.trial.records import TrialRecords
    from tuning.trial.trainable import run_trial

    folder = Path(config[FOLDER])
    point = {name: value for name, value in config.items() if name not in (FOLDER, FIXED)}
    experiment, number = open_experiment(folder), claimed_number(folder)
    space = algorithm_of(experiment.settings).space
    assignment = space.assignment(point, config[FIXED], limits(experiment.settings.steps))
    records, to_tune = TrialRecords(experiment), tune.report
    handout = records.hand_out(Proposal(number, assignment))
    home, host = replace(handout.home, run=RUN_NAME, trusted=True), Grant(0.0, 0, virtual_memory().total)

    def report(result: dict[str, Any]) -> None:
        if told := report_in(result):
            records.take(number, told)
            result |= {EVALUATION: told.evaluated.number} if told.evaluated else {}
        to_tune(result)

    with patch("ray.tune.report", report):
        run_trial(replace(handout, home=home, place=replace(handout.place, grant=host)).config())


def drawn_from(checked: Checked) -> dict[str, Any]:
    """Distributions by inner name, as OptunaSearch takes them."""
    from tuning.search.proposals.plan import limits

    return dict(checked.plan.space.distributions(checked.plan.fixed, limits(checked.settings.steps)))


def settings(task: Task) -> Settings:
    """Settings of the folder that trials write to; no preset begins."""
    return replace(ours.settings(task), start_from=())


def search(task: Task) -> Winner:
    """Search until the time is over; the best evaluation wins, at whatever time of its trial."""
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler

    from tuning.runtime.ray_session import ray_session
    from tuning.search.run.opening import check_new, open_checked

    # A result without a score is no fault: see `EvaluatedOnly`.
    os.environ["TUNE_DISABLE_STRICT_METRIC_CHECKING"] = "1"
    with ray_session(num_cpus=task.terms.cores):
        checked = check_new(settings(task))
        taken = ours.prepared_seconds(checked, task.terms.seconds)
        paths = open_checked(checked).experiment.paths
        running = paths.running(RUN_NAME)
        running.touch()
        space = drawn_from(checked)
        tuner = tune.Tuner(
            tune.with_resources(
                tune.with_parameters(_with_constants, constants={FOLDER: str(paths.folder), FIXED: checked.plan.fixed}),
                {"cpu": 1},
            ),
            tune_config=tune.TuneConfig(
                search_alg=EvaluatedOnly(space, metric=SCORE, mode="max", seed=task.seed),
                scheduler=ASHAScheduler(time_attr=EVALUATION, metric=SCORE, mode="max", max_t=task.terms.evaluations),
                num_samples=-1,
                max_concurrent_trials=task.terms.cores,
                time_budget_s=task.terms.seconds - taken if task.terms.seconds else None,
                # Ours keeps its processes too: importing torch takes seconds.
                reuse_actors=True,
            ),
            run_config=tune.RunConfig(
                name="tune", storage_path=str(paths.folder), verbose=1, stop=SpentSteps(task.terms.total_steps)
            ),
        )
        try:
            tuner.fit()
        finally:
            running.unlink(missing_ok=True)
    return replace(best_evaluated(paths.folder), prepared_seconds=taken)


def _with_constants(config: dict[str, Any], constants: dict[str, Any]) -> None:
    run_drawn({**config, **constants})
