"""The driver: runs the search of an experiment through Ray Tune."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console

from envs.scenarios.scenario import Scenario
from results import load
from results.loader import ratings
from tuning.algorithms.registry import algorithm_of
from tuning.algorithms.spec import DEFAULT
from tuning.cli.console import say
from tuning.experiment.errors import UsageError
from tuning.experiment.folder import Experiment, ExperimentPaths
from tuning.experiment.settings import Settings
from tuning.memory.machine import Look, Probe
from tuning.memory.placement import Placement
from tuning.memory.planner import Planner
from tuning.runtime.credentials import keep_credentials
from tuning.runtime.ray_address import address_source, cluster_address
from tuning.runtime.ray_session import NodeLostError, as_lost_node, is_ray_running, ray_session
from tuning.runtime.shared_folder import check_folder
from tuning.search.proposals.plan import Plan, limits, seen_by
from tuning.storage.search_files import SearchFiles

if TYPE_CHECKING:
    import pandas as pd
    from ray.tune import Callback, Tuner

    from tuning.search.run.scheduler import StudyScheduler
    from tuning.search.run.searcher import StudySearcher

MOST_LOSSES = 5  # of Ray's last node, without a step between them


def search(
    experiment: Experiment,
    scenario: Scenario,
    plan: Plan,
    console: Console,
    extended: bool = False,
    files: SearchFiles | None = None,
) -> str | None:
    """Start Ray, prepare the scenario, and run trials until the experiment has as many as its settings say.

    Ray on this machine is started again when its processes are lost, and the search goes on.

    Args:
        experiment: see `run_trials`.
        scenario: of the experiment.
        plan: see `run_trials`.
        console: shows progress.
        extended: see `run_trials`.
        files: see `run_trials`.

    Returns:
        See `run_trials`.

    Raises:
        UsageError: if trials have nothing to learn, or do not fit into this machine's memory.
        FolderError: if nodes of a cluster do not have the experiment's folder, and it has no storage.
        KeyboardInterrupt: if a signal stopped the search.
        NodeLostError: if Ray's processes are lost again and again, or a Ray that was not started here has no node left.
    """
    address, losses, before = cluster_address(experiment.settings.address), 0, -1.0
    # A cluster, and a Ray that this process had already, belong to the user.
    is_own = not address and not is_ray_running()
    while True:
        try:
            with ExitStack() as stack:
                # Without a terminal, as in a notebook, there is no line that could be replaced.
                with console.status("starting Ray") if console.is_terminal else nullcontext():
                    stack.enter_context(ray_session(address, address_source(experiment.settings.address)))
                from tuning.search.run.preparation import prepare, prepare_lessons
                from tuning.trial.trainable import run_trial

                if address and (files is None or files.checkpoints is None):
                    check_folder(experiment.paths.folder)
                with as_lost_node():
                    prepare(scenario, console, seens=seen_by(plan, experiment.settings.aim.weights))
                    if experiment.settings.teacher != "none":
                        prepare_lessons(experiment.settings.task, console)
                look = Probe()
                planner = plan_resources(experiment.settings, console, look)
                refuse_nothing_to_learn(plan, planner)
                refuse_what_cannot_fit(plan, planner)
                return run_trials(experiment, plan, planner, console, run_trial, extended, look, files)
        except NodeLostError:
            if files:
                files.gather()
            steps = float(load(experiment.paths.folder).trials["steps"].sum())
            losses, before = losses + 1 if steps == before else 1, steps
            if not is_own or losses > MOST_LOSSES:
                raise
            say(console, "Ray's processes on this machine were lost; they are started again")


def run_trials(
    experiment: Experiment,
    plan: Plan,
    planner: Planner,
    console: Console,
    trainable: Callable[[dict[str, Any]], None],
    extended: bool = False,
    look: Look | None = None,
    files: SearchFiles | None = None,
) -> str | None:
    """Let Tune run the trials that the study proposes. Ray is running.

    Args:
        experiment: new or continued, and locked.
        plan: what is searched.
        planner: says how much memory and how many cores trials get.
        console: shows progress.
        trainable: runs one trial; see `tuning.trial.trainable.run_trial`.
        extended: whether complete trials continue to the budget of steps, if it is larger than theirs was.
        look: tells the cards of nodes, to follow a cluster of which nodes come and go; None where the nodes stay.
        files: what becomes of the search's files; by default they are local.

    Returns:
        Why the search stopped before the experiment had its trials; None if it did not.

    Raises:
        KeyboardInterrupt: if a signal stopped the search.
        NodeLostError: if Ray has no node left.
    """
    from tuning.memory.machine import cluster
    from tuning.search.promotion.confirmation import Confirmation
    from tuning.search.promotion.last_part import LastPart
    from tuning.search.promotion.retention import Retention
    from tuning.search.promotion.thawing import Thawing
    from tuning.search.record.costs import Costs
    from tuning.search.record.front_marks import mark_front
    from tuning.search.record.ledger import Ledger
    from tuning.search.record.recovery import extend, set_aside, settle
    from tuning.search.record.study import StudyMemory
    from tuning.search.run.budget_watch import BudgetWatch
    from tuning.search.run.callbacks import callbacks_named
    from tuning.search.run.cluster_watch import ClusterWatch
    from tuning.search.run.progress import Progress
    from tuning.search.run.run_control import RunControl
    from tuning.search.run.scheduler import StudyScheduler
    from tuning.search.run.searcher import StudySearcher
    from tuning.search.run.storage_watch import StorageWatch
    from tuning.search.run.work import Work
    from tuning.trial.evaluation_schedule import due_steps
    from tuning.trial.records import TrialRecords

    settings, paths, placement = experiment.settings, experiment.paths, Placement(planner)
    files = files or SearchFiles()
    memory = StudyMemory.open(experiment, plan.space, plan.fixed, limits(settings.steps), plan.starts, placement.excess)
    records = TrialRecords(experiment, files.written, files.checkpoints)
    settle(memory, records, paths, settings.reports)
    set_aside(memory, records, settings.steps)
    rung_steps = due_steps(1, settings.steps, settings.reports)
    costs = Costs.under(settings.limit, plan.space, planner.cost)
    ledger = Ledger(memory, settings.limit, rung_steps, most_steps=settings.steps, costs=costs)
    if extended and ledger.is_spent():
        raise UsageError("--extend: the budget of this experiment is spent, so no trial can go on; give a larger --budget too")
    if extended:
        continued, without_checkpoint = extend(memory, records, settings.steps)
        say(console, f"complete trials that continue to {settings.steps:,} steps: {_numbers(continued)}")
        if without_checkpoint:
            numbers = _numbers(without_checkpoint)
            say(console, f"complete trials that stay as they are, without a checkpoint (--keep-checkpoints): {numbers}")
    usual = placement.prediction(plan.space.complete(plan.fixed, limits(settings.steps)))
    before = load(paths.folder).trials
    ended = before[~before["state"].isin(["running", "frozen"])]
    last_part = None
    if parts := settings.confirming_parts:
        # In the space of this search, as its first trial is: bounds of the user's may exclude a value of the preset.
        spec = replace(algorithm_of(settings), space=plan.space)
        default = spec.preset(DEFAULT, plan.fixed, limits(settings.steps))
        last_part = LastPart(Confirmation(costs, default, settings.steps, rung_steps), ledger, *parts)
    work = Work(ledger, Costs(plan.space, planner.cost), last_part)
    progress = Progress.of(console, settings, before, work, paths.folder)
    frozen = before.loc[before["state"] == "frozen", "trial"].tolist()
    spared = memory.front if settings.aim.second else tuple
    retention = Retention(paths, settings.kept_trials, final_scores(ended), frozen, spared, files.checkpoints)
    retention.enforce()
    sound = before["state"].isin(["complete", "frozen", "pruned", "oom"]).any()
    control = RunControl(paths, retention, progress, sound=bool(sound))
    control.start()
    adapt = settings.on_oom == "adapt"
    thawing = None
    if settings.freezes:
        drawn_from = plan.space.distributions(plan.fixed, limits(settings.steps))
        two = settings.aim.second is not None
        thawing = Thawing(memory, costs, drawn_from, settings.steps, rung_steps, settings.seed, ledger.steps_promised, two)
    searcher = StudySearcher(
        memory, records, paths.folder, settings.most_trials, control, placement, settings.retries, adapt,
        settings.trust_scenario, ledger, thawing, last_part,
        lambda: settings.concurrency or placement.at_once(usual), files,
    )  # fmt: skip
    searcher.take_up(memory.adopt_unfinished())
    scheduler = StudyScheduler(memory, searcher, settings.reports, settings.steps, settings.aim)
    watches = [] if look is None else [ClusterWatch(placement, searcher, control, partial(cluster, settings.gpu_memory, look))]
    try:
        with progress, control.signals(), as_lost_node():
            callbacks: list[Callback] = [
                progress,
                BudgetWatch(ledger, control),
                StorageWatch(files, control),
                *watches,
                *callbacks_named(settings.callback),
            ]
            _tuner(paths, trainable, searcher, scheduler, callbacks).fit()
    except NodeLostError:
        # A search that was told to stop is not started again.
        if not control.is_stopping:
            raise
    finally:
        control.close()
    ledger.note_time()
    progress.end(control.is_stopping and not control.is_finishing, control.reason or "")
    files.gather()
    if settings.aim.second:
        mark_front(records, load(paths.folder))
    if control.is_stopping and control.reason is None and not control.is_finishing:
        raise KeyboardInterrupt
    return control.reason


def final_scores(ended: pd.DataFrame) -> dict[int, float]:
    """Ratings of ended trials by number: of complete and pruned ones of the search; NaN for the others.

    Args:
        ended: rows of `trials`.
    """
    scores = ratings(ended).where(ended["state"].isin(["complete", "pruned"]) & ended["confirms"].isna())
    return dict(zip(ended["trial"].tolist(), scores.tolist(), strict=True))


def _tuner(
    paths: ExperimentPaths,
    trainable: Callable[[dict[str, Any]], None],
    searcher: StudySearcher,
    scheduler: StudyScheduler,
    callbacks: list[Callback],
) -> Tuner:
    """Ray Tune with our searcher and scheduler, and without what the experiment does itself: retries, names, output."""
    from ray import tune

    from tuning.search.run.quiet_tune import QuietTune
    from tuning.trial.protocol import BUNDLE, LABELS, NUMBER

    def place(config: dict[str, Any]) -> tune.PlacementGroupFactory:
        labels: dict[str, Any] = {"bundle_label_selector": [config[LABELS]]} if LABELS in config else {}
        return tune.PlacementGroupFactory([config[BUNDLE]], **labels)

    keep_credentials()
    return tune.Tuner(
        tune.with_resources(trainable, place),
        tune_config=tune.TuneConfig(
            search_alg=searcher,
            scheduler=scheduler,
            # The searcher limits how many run at once, as nodes come and go.
            num_samples=-1,
            # The next trial uses the process again: importing torch and building CityLearn takes seconds.
            reuse_actors=True,
            # Tune's own names hold every hyperparameter and are too long for Windows.
            trial_dirname_creator=lambda trial: f"{trial.config[NUMBER]:05d}",
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


def plan_resources(settings: Settings, console: Console, look: Look) -> Planner:
    """Predictions and limits of memory for trials on the running Ray; prints a line if they learn without a card.

    Args:
        settings: of the experiment.
        console: to print to.
        look: tells the cards of nodes.
    """
    from tuning.memory.machine import machine
    from tuning.memory.planner import Calibration
    from tuning.memory.scenario_sizes import sizes_of

    kinds, line = machine(settings.gpu_memory, look, tell=partial(say, console))
    if line:
        say(console, line)
    sizes = sizes_of(settings.task.site, settings.backend, settings.aim.weights.observes_day_peak)
    return Planner.of(settings, sizes, kinds, Calibration())


def refuse_nothing_to_learn(plan: Plan, planner: Planner) -> None:
    """Refuse a search in which trials might have no action to learn.

    Args:
        plan: of the experiment.
        planner: knows the numbers of actions and chargers.

    Raises:
        UsageError: if all actions of the site are chargers' and the plan does not fix `learn_charging` to true.
    """
    if "learn_charging" not in plan.space:
        return  # all actions are learned
    sizes, learned = planner.sizes, plan.space["learn_charging"]
    is_open = learned.search is not None and "learn_charging" not in plan.fixed
    if sizes.chargers == sizes.actions and (is_open or not plan.fixed.get("learn_charging", learned.default)):
        raise UsageError("all actions of this site are chargers', so policies have to learn these: --set learn_charging=true")


def refuse_what_cannot_fit(plan: Plan, planner: Planner) -> None:
    """Refuse a search if the trials that the user named do not fit into the machine's memory.

    Args:
        plan: of the experiment.
        planner: predicts memory.

    Raises:
        UsageError: for a start assignment that does not fit; without any, for the default with the fixed values.
    """
    placement = Placement(planner)
    assignments = plan.starts or (plan.space.complete(plan.fixed, limits(planner.settings.steps)),)
    for assignment in assignments:
        excess, why = placement.excess(assignment)
        if excess > 0:
            raise UsageError(f"a trial with these settings {why}")


def _numbers(trials: list[int]) -> str:
    return ", ".join(map(str, trials)) or "none"
