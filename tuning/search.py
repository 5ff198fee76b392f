"""Run an experiment's search through Ray Tune."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from typing import Any

from rich.console import Console

from envs.scenario import Scenario
from results import load
from tuning.experiment import Experiment
from tuning.plan import Plan, limits
from tuning.resources import default_concurrency, gpu_share

OBJECT_STORE_BYTES = 150 * 2**20  # trials pass a few kilobytes; Ray's default is a third of the memory

_ENVIRONMENT = {
    # One thread per process: a trial owns one core, and more threads only thrash.
    "OMP_NUM_THREADS": "1",
    # Results are written by ourselves; Tune's CSV, JSON and TensorBoard copies are not needed.
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    # Ctrl-C is handled in `tuning.run`.
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    # Closing environments may take longer than Tune's two seconds, after which it would lose the next trial.
    "TUNE_FUNCTION_THREAD_TIMEOUT_S": "60",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    # Under `uv run` Ray would copy the project for its workers, in which compiled code and caches beside it are lost each time.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    # The new output engine prints a line even where `verbose` is 0.
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def search(experiment: Experiment, scenario: Scenario, plan: Plan, console: Console) -> None:
    """Run trials until the experiment has as many as its settings say.

    Args:
        experiment: new or continued.
        scenario: of its settings.
        plan: what is searched.
        console: shows how far it is.
    """
    os.environ.update(_ENVIRONMENT)
    # Set before ray is imported, which speaks at once.
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    import ray

    settings = experiment.settings
    with console.status("starting Ray"):
        ray.init(
            address=settings.address or "local",
            include_dashboard=None if settings.address else False,
            object_store_memory=None if settings.address else OBJECT_STORE_BYTES,
            log_to_driver=False,
            logging_level=logging.CRITICAL,
        )
    try:
        from tuning.prepare import prepare
        from tuning.trial import run_trial

        prepare(scenario, console)
        run_trials(experiment, plan, console, run_trial)
    finally:
        ray.shutdown()


def run_trials(experiment: Experiment, plan: Plan, console: Console, trainable: Callable[[dict[str, Any]], None]) -> None:
    """Let Tune run what the study proposes, on a Ray that is started.

    Args:
        experiment: new or continued.
        plan: what is searched.
        console: shows how far it is.
        trainable: runs one trial; see `tuning.trial.run_trial`.
    """
    import ray
    from ray import tune

    from tuning.adapters import StudyScheduler, StudySearcher
    from tuning.progress import Progress
    from tuning.protocol import NUMBER
    from tuning.records import TrialRecords
    from tuning.study import StudyMemory

    settings, paths = experiment.settings, experiment.paths
    memory = StudyMemory(experiment, plan.space, plan.fixed, limits(settings.steps), plan.starts)
    searcher = StudySearcher(memory, TrialRecords(experiment), paths.folder, settings.trials)
    resources = ray.cluster_resources()
    concurrency = settings.concurrency or default_concurrency(resources)
    share = gpu_share(int(resources.get("GPU", 0)), concurrency)
    before = load(paths.folder).trials
    ended = before[before["state"] != "running"]
    scored = ended.dropna(subset=["score"])
    best = max(zip(scored["score"].tolist(), scored["trial"].tolist(), strict=True), default=None)
    unfinished = before[before["state"] == "running"]
    resumed = dict(zip(unfinished["trial"].tolist(), unfinished["steps"].tolist(), strict=True))
    states = {str(state): int(count) for state, count in ended["state"].value_counts().items()}
    with Progress(console, settings.trials, settings.steps, states, best, resumed) as progress:
        tune.Tuner(
            tune.with_resources(trainable, tune.PlacementGroupFactory([{"CPU": 1, **({"GPU": share} if share else {})}])),
            tune_config=tune.TuneConfig(
                search_alg=searcher,
                scheduler=StudyScheduler(memory, searcher, settings.reports, settings.steps),
                num_samples=-1,
                max_concurrent_trials=concurrency,
                # A process has imported torch and built CityLearn once it has run a trial.
                reuse_actors=True,
                # Tune's own names hold every hyperparameter and are too long for Windows.
                trial_dirname_creator=lambda trial: f"{trial.config[NUMBER]:05d}",
            ),
            run_config=tune.RunConfig(
                name=paths.tune.name,
                storage_path=str(paths.folder),
                verbose=0,
                callbacks=[progress],
                failure_config=tune.FailureConfig(max_failures=0),
            ),
        ).fit()
