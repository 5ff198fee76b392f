"""The driver: starts Ray, puts the parts of a run together, and lets Ray Tune run the search."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

from optuna.pruners import BasePruner
from ray.tune import Callback
from rich.console import Console

from common.errors import UsageError
from common.texts import option_words
from results import load
from results.loader import ranked, ratings
from tuning.algorithms.registry import DEFAULT, algorithm_of
from tuning.cli.console import busy, say
from tuning.experiment.callbacks import callbacks_named
from tuning.experiment.folder import Experiment, again_words
from tuning.experiment.option_values import SCHEDULERS
from tuning.experiment.settings import Settings
from tuning.memory.machine import Look, Probe, cluster
from tuning.memory.placement import Placement
from tuning.memory.planner import Planner
from tuning.runtime.cluster import address_source, check_folder, cluster_address, is_ray_running
from tuning.runtime.ray_session import NodeLostError, as_lost_node, ray_logs, ray_session, sent_environment
from tuning.search.promotion.choosing import Choosing, LastPart
from tuning.search.promotion.confirmation import Confirmation
from tuning.search.promotion.thawing import Thawing
from tuning.search.proposals.drawing import Drawing, Draws
from tuning.search.proposals.learning import read_learned
from tuning.search.proposals.plan import PLAN, Plan, limits, seen_by
from tuning.search.record.ledger import Ledger, plans_wait
from tuning.search.record.record import Record
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import Costs, Key, front_of_search
from tuning.search.run.adapters import MOST_TRIALS, tuner
from tuning.search.run.phases import Losses
from tuning.search.run.preparation import (
    plan_resources,
    prepare,
    prepare_lessons,
    refuse_nothing_to_learn,
    refuse_what_cannot_fit,
)
from tuning.search.run.progress import Progress
from tuning.search.run.run_control import Retention, RunControl
from tuning.search.run.search import Search
from tuning.search.run.time_left import Work
from tuning.search.run.watches import BudgetWatch, ClusterWatch, StartWatch, StorageWatch
from tuning.storage.search_files import SearchFiles
from tuning.trial.checkpoint import Checkpoints, KeptCheckpoints
from tuning.trial.records import TrialRecords
from tuning.trial.trainable import run_trial

if TYPE_CHECKING:
    import pandas as pd


def search(
    experiment: Experiment,
    plan: Plan,
    console: Console,
    files: SearchFiles | None = None,
    at_end: Callable[[], None] = lambda: None,
    asked: set[str] | None = None,
) -> str | None:
    """Start Ray, prepare the scenario, and run trials until the experiment has as many as its settings say.

    Ray on this machine is started again when its processes are lost, and the search goes on. `at_end` is called once the
    experiment has its trials, as long as Ray is there. See `run_trials` for what is `asked`, and for what is returned.

    Raises:
        UsageError: if trials have nothing to learn, or do not fit into this machine's memory.
        FolderError: if nodes of a cluster do not have the experiment's folder, and it has no storage.
        KeyboardInterrupt: if a signal stopped the search.
        NodeLostError: if Ray's processes are lost again and again, or a Ray that was not started here has no node left.
    """
    address, losses = cluster_address(experiment.settings.address), Losses()  # of Ray's last node, without a step between them
    # A cluster, and a Ray that this process had already, belong to the user.
    is_own = not address and not is_ray_running()

    while True:
        try:
            with ExitStack() as stack:
                with busy(console, f"joining {address}" if address else "starting Ray"):
                    stack.enter_context(ray_session(address, address_source(experiment.settings.address)))
                if address and (files is None or files.checkpoints is None):
                    check_folder(experiment.paths.folder)
                with as_lost_node():
                    if not experiment.settings.env:
                        site = experiment.settings.site_task
                        prepare(site, console, seens=seen_by(plan, experiment.settings.aim.weights))
                        if experiment.settings.teacher != "none":
                            prepare_lessons(site, console)
                look = Probe()
                planner = plan_resources(experiment.settings, console, look)
                refuse_nothing_to_learn(plan, planner)
                refuse_what_cannot_fit(plan, planner)
                reason = run_trials(experiment, plan, planner, console, run_trial, look, files, asked)
                if reason is None:
                    with as_lost_node():
                        at_end()
                return reason
        except NodeLostError:
            losses = losses.another(int(load(experiment.paths.folder).trials["steps"].sum()))
            if not is_own or losses.are_too_many:
                raise
            say(console, "Ray's processes on this machine were lost; they are started again")


def run_trials(
    experiment: Experiment,
    plan: Plan,
    planner: Planner,
    console: Console,
    trainable: Callable[[dict[str, Any]], None],
    look: Look | None = None,
    files: SearchFiles | None = None,
    asked: set[str] | None = None,
) -> str | None:
    """Let Tune run the trials that the study proposes. Ray is running.

    With a `look` at the cards of nodes it follows a cluster of which nodes come and go. Of `REOPENING` it does what is `asked`,
    and takes it from that set: it is not to be done again where Ray is started again.

    Returns why the search stopped before the experiment had its trials; None if it did not. Raises a KeyboardInterrupt if a
    signal stopped it, a NodeLostError if Ray has no node left.
    """
    files, asked = files or SearchFiles(), set() if asked is None else asked
    parts = Parts.of(experiment, plan, planner, console, files)
    if "extend" in asked:
        _extend(parts, experiment, console)
    if "retry_failed" in asked:
        say(console, f"failed trials that begin anew: {_numbers(parts.record.retry())}")
    asked.clear()
    if line := _used_up(parts, experiment.settings):
        say(console, line)
    search, control = parts.search(), parts.control
    control.start()
    watches = list(parts.watches())
    if look is not None:
        nodes = partial(cluster, experiment.settings.gpu_memory, look, experiment.settings.device)
        watches.append(ClusterWatch(parts.placement, search, control, nodes))
    try:
        with parts.progress, control.signals(), sent_environment(), as_lost_node():
            while True:
                before = search.handed_out
                tuner(experiment.paths, trainable, search, watches).fit()
                # Tune's run ends early after many trials.
                if control.is_stopping or search.handed_out - before < MOST_TRIALS:
                    break
                # Its parts refer to one another.
                gc.collect()
    except NodeLostError:
        # A search that was told to stop is not started again.
        if not control.is_stopping:
            raise
    finally:
        control.close()
    if control.failed_alike:
        asked.add("retry_failed")  # of the run that continues, once the cause is mended
    return parts.end()


def _used_up(parts: Parts, settings: Settings) -> str:
    """What is used up of trials and budget, and what goes on; empty where nothing is."""
    trials, budget, ended, more = parts.record.study.trials(), parts.ledger.budget, list[str](), list[str]()
    begun = sum(Key.CONFIRMS not in trial.user_attrs for trial in trials)
    is_spent = budget is not None and parts.ledger.is_spent()
    confirms = parts.last_part is not None and parts.last_part.next(frozenset()) is not None
    if begun >= settings.most_trials and all(trial.state.is_finished() for trial in trials) and (is_spent or not confirms):
        ended.append(f"all {begun} trials have ended" if begun > 1 else "the one trial has ended")
        more.append("a larger --trials")
    # Without --budget that of more trials may be larger.
    if budget and is_spent and not (more and replace(settings, trials=begun + 1).limit != budget):
        used = replace(budget, amount=parts.ledger.used())
        ended.append(f"the budget, {budget.shown}, is spent: {used.shown} were used")
        more.append("a larger --budget")
    return f"{', and '.join(ended)}; {' with '.join(more)} goes on" if more else ""


def _extend(parts: Parts, experiment: Experiment, console: Console) -> None:
    if parts.ledger.is_spent():
        raise UsageError("--extend: the budget of this experiment is spent, so no trial can go on; give a larger --budget too")
    continued, without_checkpoint = parts.record.extend(lambda number: parts.checkpoints(number).steps > 0)
    say(console, f"complete trials that continue to {experiment.settings.steps:,} steps, by number: {_numbers(continued)}")
    if without_checkpoint:
        numbers = _numbers(without_checkpoint)
        say(console, f"complete trials that stay as they are, without a checkpoint (--keep-checkpoints): {numbers}")


def _numbers(trials: list[int]) -> str:
    return ", ".join(map(str, trials)) or "none"


@dataclass(frozen=True)
class Parts:
    """The parts of a run; each is made when it is first used."""

    experiment: Experiment  # new or continued, and locked
    plan: Plan  # what is searched
    planner: Planner  # says how much memory and how many cores trials get
    console: Console  # shows progress
    files: SearchFiles  # what becomes of the search's files
    record: Record  # of its trials, mended after a run that was killed

    @classmethod
    def of(cls, experiment: Experiment, plan: Plan, planner: Planner, console: Console, files: SearchFiles) -> Self:
        """Open the record of an experiment, and make its results follow from its study."""
        settings = experiment.settings
        rows = TrialRecords(experiment, files.written)
        record = Record(StudyMemory.open(experiment, pruner_of(settings)), rows, settings.steps, settings.evaluations)
        trials = load(experiment.paths.folder).trials
        record.mend(experiment.paths, dict(zip(trials["trial"].tolist(), trials["state"].tolist(), strict=True)))
        record.set_aside()
        return cls(experiment, plan, planner, console, files, record)

    @cached_property
    def before(self) -> pd.DataFrame:
        """Rows of the trials before this run."""
        return load(self.experiment.paths.folder).trials

    def checkpoints(self, number: int) -> KeptCheckpoints:
        """The checkpoints of a trial, wherever they are."""
        stored = self.files.checkpoints
        return stored(number) if stored else Checkpoints(self.experiment.paths.checkpoints(number))

    @cached_property
    def placement(self) -> Placement:
        """Where trials run."""
        return Placement(self.planner)

    @cached_property
    def costs(self) -> Costs:
        """What trials cost of the budget."""
        return Costs.under(self.experiment.settings.limit, self.plan.space, self.planner.cost)

    @cached_property
    def ledger(self) -> Ledger:
        """What was used of the budget."""
        settings = self.experiment.settings
        return Ledger(self.record.study, settings.limit, settings.rung_steps, most_steps=settings.steps, costs=self.costs)

    @cached_property
    def last_part(self) -> LastPart | None:
        """The part of the budget that trains the best again; None for none."""
        settings = self.experiment.settings
        if not (of_budget := settings.confirming_parts):
            return None
        # In the space of this search, as its first trial is: bounds of the user's may exclude a value of the preset.
        spec = replace(algorithm_of(settings), space=self.plan.space)
        default = spec.preset(DEFAULT, self.plan.fixed, limits(settings.steps))
        return LastPart(Confirmation(self.costs, default, settings.steps, settings.rung_steps), self.ledger, *of_budget)

    @cached_property
    def thawing(self) -> Thawing | None:
        """Decides which trial goes on; None where each runs until it ends."""
        settings = self.experiment.settings
        if not settings.freezes:
            return None
        return Thawing(
            self.record.study, self.costs, self.drawing.distributions, settings.steps, settings.rung_steps, settings.seed,
            self.ledger.steps_promised, settings.aim.second is not None, self.plans_wait,
        )  # fmt: skip

    @cached_property
    def plans_wait(self) -> Callable[[int | None], bool]:
        """Whether policies with a plan wait, where the search draws whether they have one and the user said nothing of it."""
        if PLAN not in self.drawing.distributions or self.plan.space[PLAN].own:
            return lambda as_frozen: False
        return partial(plans_wait, self.record.study, self.costs, self.experiment.settings.rung_steps)

    @cached_property
    def drawing(self) -> Drawing:
        """How new trials are drawn."""
        experiment, plan = self.experiment, self.plan
        return Drawing(
            experiment.settings, plan.space, plan.fixed, limits(experiment.settings.steps), plan.starts,
            self.placement.excess, read_learned(experiment, plan.space),
        )  # fmt: skip

    @property
    def choosing(self) -> Choosing:
        """Chooses trials."""
        draws, most = Draws(self.record.study, self.drawing, self.plans_wait), self.experiment.settings.most_trials
        return Choosing(draws, most, self.ledger, self.thawing, self.last_part)

    @cached_property
    def progress(self) -> Progress:
        """Shows how far the search is."""
        work = Work(self.ledger, Costs(self.plan.space, self.planner.cost), self.last_part)
        folder, again = self.experiment.paths.folder, again_words(self.experiment.again)
        return Progress(self.console, self.experiment.settings, self.before, work, folder, again)

    @cached_property
    def control(self) -> RunControl:
        """Stops the run."""
        experiment, before, study = self.experiment, self.before, self.record.study
        ended = before[~before["state"].isin(["running", "frozen"])]
        searched = ended[ended["state"].isin(["complete", "pruned"]) & ended["confirms"].isna()]
        best = ranked(searched[ratings(searched).notna()])["trial"].tolist()[:1]

        def spared() -> list[int]:
            return front_of_search(study.trials()) if experiment.settings.aim.second else best

        retention = Retention(self.checkpoints, experiment.settings.kept_trials, final_scores(ended), spared)
        retention.enforce(before.loc[before["state"] == "frozen", "trial"].tolist())
        is_sound = before["state"].isin(["complete", "frozen", "pruned", "oom"]).any()
        return RunControl(experiment.paths, retention, self.progress, sound=bool(is_sound))

    def search(self) -> Search:
        """Hands trials out and writes what becomes of them."""
        settings = self.experiment.settings
        usual = self.placement.prediction(self.plan.space.complete(self.plan.fixed, limits(settings.steps)))

        def at_once() -> int:
            return settings.concurrency or self.placement.at_once(usual)

        return Search(
            self.record, self.choosing, self.control, self.placement, settings, self.experiment.paths, self.files, at_once
        )  # fmt: skip

    def watches(self) -> Iterator[Callback]:
        """What Tune calls beside the search."""
        yield self.progress
        yield StartWatch(self.control, ray_logs)
        yield BudgetWatch(self.ledger, self.control)
        yield StorageWatch(self.files, self.control)
        yield from callbacks_named(self.experiment.settings.callback)

    def end(self) -> str | None:
        """Write what the end of a run leaves to be written.

        Returns why it stopped before its end; None if it did not. Raises a KeyboardInterrupt if a signal stopped it.
        """
        control, is_stopped = self.control, self.control.is_stopping and not self.control.is_finishing
        self.ledger.note_time()
        again = option_words("retry_failed", True) if control.failed_alike else []
        self.progress.end(is_stopped, control.reason or "", again)
        self.files.gather()
        if self.experiment.settings.aim.second:
            self.record.mark_front(load(self.experiment.paths.folder))
        if is_stopped and control.reason is None:
            raise KeyboardInterrupt
        return control.reason


def pruner_of(settings: Settings) -> BasePruner:
    """The pruner of an experiment.

    With a preset all trials are alike: those that are left of ones that were stopped would be the lucky ones.
    """
    return SCHEDULERS["none" if settings.preset else settings.scheduler].build(settings.steps, settings.evaluations)


def final_scores(ended: pd.DataFrame) -> dict[int, float]:
    """Ratings of ended trials by number: of complete and pruned ones of the search; NaN for the others."""
    scores = ratings(ended).where(ended["state"].isin(["complete", "pruned"]) & ended["confirms"].isna())
    return dict(zip(ended["trial"].tolist(), scores.tolist(), strict=True))
