"""The driver: runs the search of an experiment through Ray Tune."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console

from common.errors import UsageError
from results import load
from tuning.cli.console import say
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
    from ray.tune import Callback, Tuner

    from tuning.search.run.parts import Parts
    from tuning.search.run.search import Search

MOST_LOSSES = 5  # of Ray's last node, without a step between them


def search(
    experiment: Experiment,
    plan: Plan,
    console: Console,
    extended: bool = False,
    files: SearchFiles | None = None,
) -> str | None:
    """Start Ray, prepare the scenario, and run trials until the experiment has as many as its settings say.

    Ray on this machine is started again when its processes are lost, and the search goes on.

    Args:
        experiment: see `run_trials`.
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
                    prepare(experiment.settings.task, console, seens=seen_by(plan, experiment.settings.aim.weights))
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
    from tuning.search.run.cluster_watch import ClusterWatch
    from tuning.search.run.parts import Parts

    files = files or SearchFiles()
    parts = Parts.of(experiment, plan, planner, console, files)
    if extended:
        _extend(parts, experiment, console)
    search, control = parts.search(), parts.control
    control.start()
    watches = list(parts.watches())
    if look is not None:
        nodes = partial(cluster, experiment.settings.gpu_memory, look)
        watches.append(ClusterWatch(parts.placement, search, control, nodes))
    try:
        with parts.progress, control.signals(), as_lost_node():
            _tuner(experiment.paths, trainable, search, watches).fit()
    except NodeLostError:
        # A search that was told to stop is not started again.
        if not control.is_stopping:
            raise
    finally:
        control.close()
    return parts.end()


def _extend(parts: Parts, experiment: Experiment, console: Console) -> None:
    """Reopen complete trials for a larger budget, and tell which."""
    if parts.ledger.is_spent():
        raise UsageError("--extend: the budget of this experiment is spent, so no trial can go on; give a larger --budget too")
    continued, without_checkpoint = parts.record.extend(parts.checkpoint_steps)
    say(console, f"complete trials that continue to {experiment.settings.steps:,} steps: {_numbers(continued)}")
    if without_checkpoint:
        numbers = _numbers(without_checkpoint)
        say(console, f"complete trials that stay as they are, without a checkpoint (--keep-checkpoints): {numbers}")


def _tuner(
    paths: ExperimentPaths,
    trainable: Callable[[dict[str, Any]], None],
    search: Search,
    callbacks: list[Callback],
) -> Tuner:
    """Ray Tune with our searcher and scheduler, and without what the experiment does itself: retries, names, output."""
    from ray import tune

    from tuning.search.run.adapters import StudyScheduler, StudySearcher
    from tuning.search.run.watches import QuietTune
    from tuning.trial.protocol import handout_in

    def place(config: dict[str, Any]) -> tune.PlacementGroupFactory:
        limits = handout_in(config).limits
        labels: dict[str, Any] = {"bundle_label_selector": [dict(limits.labels)]} if limits.labels else {}
        return tune.PlacementGroupFactory([dict(limits.resources)], **labels)

    keep_credentials()
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
    sizes = sizes_of(settings.task)
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
