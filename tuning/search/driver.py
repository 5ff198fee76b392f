"""Run an experiment's search through Ray Tune."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from rich.console import Console

from envs.scenarios.scenario import Scenario
from results import load
from tuning.experiment.errors import UsageError
from tuning.experiment.folder import Experiment
from tuning.experiment.settings import Settings
from tuning.memory.allocation import concurrency
from tuning.memory.planner import Planner
from tuning.runtime.ray_session import NodeLostError, as_lost_node, ray_session
from tuning.search.plan import Plan, limits

MOST_LOSSES = 5  # of Ray's last node, without a step between them


def search(experiment: Experiment, scenario: Scenario, plan: Plan, console: Console, extended: bool = False) -> str | None:
    """Run trials until the experiment has as many as its settings say; see `run_trials`.

    Where Ray's node on this machine is lost, it is started again and the search goes on.

    Raises:
        NodeLostError: if it is lost again and again, or a cluster has no node left.
    """
    address, losses, before = experiment.settings.address, 0, -1.0
    while True:
        try:
            with ExitStack() as stack:
                with console.status("starting Ray"):
                    stack.enter_context(ray_session(address))
                from tuning.search.preparation import prepare
                from tuning.trial.training import run_trial

                with as_lost_node():
                    prepare(scenario, console)
                planner = plan_resources(experiment.settings, console)
                refuse_nothing_to_learn(plan, planner)
                refuse_what_cannot_fit(plan, planner)
                return run_trials(experiment, plan, planner, console, run_trial, extended)
        except NodeLostError:
            steps = float(load(experiment.paths.folder).trials["steps"].sum())
            losses, before = losses + 1 if steps == before else 1, steps
            if address or losses > MOST_LOSSES:
                raise
            console.print("Ray's processes on this machine were lost; they are started again", highlight=False)


def run_trials(
    experiment: Experiment,
    plan: Plan,
    planner: Planner,
    console: Console,
    trainable: Callable[[dict[str, Any]], None],
    extended: bool = False,
) -> str | None:
    """Let Tune run what the study proposes, on a Ray that is started.

    Args:
        experiment: new or continued, and locked.
        plan: what is searched.
        planner: says what trials are granted.
        console: shows how far it is.
        trainable: runs one trial; see `tuning.trial.training.run_trial`.
        extended: whether trials that are complete go on to the budget, where it is larger than theirs was.

    Returns:
        Why it was stopped before it had its trials; None where it was not.

    Raises:
        KeyboardInterrupt: if it was told to stop by a signal.
        NodeLostError: if Ray has no node left.
    """
    from ray import tune

    from tuning.search.adapters import StudyScheduler, StudySearcher
    from tuning.search.progress import Progress
    from tuning.search.recovery import extend, settle
    from tuning.search.retention import Retention
    from tuning.search.run_control import RunControl
    from tuning.search.study import StudyMemory
    from tuning.trial.protocol import BUNDLE, NUMBER
    from tuning.trial.records import TrialRecords

    settings, paths = experiment.settings, experiment.paths
    memory = StudyMemory(experiment, plan.space, plan.fixed, limits(settings.steps), plan.starts, planner.excess)
    records = TrialRecords(experiment)
    settle(memory, records, paths, settings.reports)
    if extended:
        going, left = extend(memory, records, settings.steps)
        console.print(f"complete trials that go on to {settings.steps:,} steps: {_numbers(going)}", highlight=False)
        if left:
            console.print(f"left as they are, without a checkpoint (--keep-checkpoints): {_numbers(left)}", highlight=False)
    usual = planner.prediction(plan.space.complete(plan.fixed, limits(settings.steps)))
    before = load(paths.folder).trials
    ended = before[before["state"] != "running"]
    progress = Progress.of(console, settings, before)
    scores = ended["score"].where(ended["state"].isin(["complete", "pruned"]))
    retention = Retention(paths, settings.kept_trials, dict(zip(ended["trial"].tolist(), scores.tolist(), strict=True)))
    control = RunControl(paths, retention, progress, sound=bool((ended["state"] != "failed").any()))
    adapt = settings.on_oom == "adapt"
    searcher = StudySearcher(memory, records, paths.folder, settings.trials, control, planner, settings.retries, adapt)
    try:
        with progress, control.signals(), as_lost_node():
            tune.Tuner(
                tune.with_resources(trainable, lambda config: tune.PlacementGroupFactory([config[BUNDLE]])),
                tune_config=tune.TuneConfig(
                    search_alg=searcher,
                    scheduler=StudyScheduler(memory, searcher, settings.reports, settings.steps),
                    num_samples=-1,
                    max_concurrent_trials=settings.concurrency or concurrency(usual, planner.budget),
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
                    # Trials that are to go on are handed out again by the searcher.
                    failure_config=tune.FailureConfig(max_failures=0),
                ),
            ).fit()
    except NodeLostError:
        # Whoever told it to stop does not want it started again.
        if not control.is_stopping:
            raise
    finally:
        control.close()
    if control.is_stopping and control.reason is None:
        raise KeyboardInterrupt
    return control.reason


def plan_resources(settings: Settings, console: Console) -> Planner:
    """What trials take and get, on a Ray that is started; says what they have where that is no card.

    Args:
        settings: of the experiment.
        console: for what is worth a line.
    """
    from envs.scenarios.scenario import scenario
    from tuning.memory.calibration import Calibration
    from tuning.memory.machine import machine
    from tuning.memory.scenario_sizes import sizes_of

    budget, device, line = machine(settings.gpu_memory)
    if line:
        console.print(line, highlight=False, soft_wrap=True)
    return Planner(settings, sizes_of(scenario(settings.scenario), settings.backend), budget, device, Calibration())


def refuse_nothing_to_learn(plan: Plan, planner: Planner) -> None:
    """See that trials have actions to learn: of a site whose every action is a charger's, the chargers'.

    Raises:
        UsageError: if the plan leaves open, or denies, that those are learned.
    """
    if "learn_charging" not in plan.space:
        return  # all actions are learned
    sizes, learned = planner.sizes, plan.space["learn_charging"]
    is_open = learned.search is not None and "learn_charging" not in plan.fixed
    if sizes.chargers == sizes.actions and (is_open or not plan.fixed.get("learn_charging", learned.default)):
        raise UsageError(
            "every action of this site is a charger's, so these are what there is to learn: --set learn_charging=true"
        )


def refuse_what_cannot_fit(plan: Plan, planner: Planner) -> None:
    """See that what the user asks for fits into the machine's memory.

    Raises:
        UsageError: for a first trial, or with the values that are not searched even the default one, that does not.
    """
    assignments = plan.starts or (plan.space.complete(plan.fixed, limits(planner.settings.steps)),)
    for assignment in assignments:
        excess, why = planner.excess(assignment)
        if excess > 0:
            raise UsageError(f"a trial with these settings {why}")


def _numbers(trials: list[int]) -> str:
    return ", ".join(map(str, trials)) or "none"
