"""The Optuna study of an experiment: the only memory of its search."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import FrozenTrial, TrialState

from search_spaces import Assignment, SearchSpace
from tuning.experiment.folder import Experiment
from tuning.experiment.settings import Settings
from tuning.trial.proposal import Proposal

# User attributes of a trial.
HYPERPARAMETERS = "hyperparameters"  # the full assignment
REASON = "reason"  # why it failed
REFUSED = "refused"  # why it cannot fit and was not started
SAME_AS = "same_as"  # number of the trial with the same assignment whose outcome it has

# Names of the constraints: bytes that are missing, below 0 where some are left. Optuna lets none be set twice.
PREDICTED = "predicted memory"
MEASURED = "measured memory"
_WHOLE = "whole"  # user attribute of a study that all earlier trials were taken over into


# Bytes by which an assignment does not fit, below 0 where it does, and why not.
Excess = Callable[[Assignment], tuple[int, str]]


class StudyMemory:
    """Asks and tells an experiment's study.

    The file is Optuna's journal, which its dashboard reads; whoever opens it holds the experiment's lock. A trial is drawn
    in a copy of the study and then written at once, with its assignment, so that no kill leaves half of one and the next run
    draws what this one would have. What Optuna draws has the space's inner names (`log2_batch_size`); the assignment itself is
    a user attribute.

    Optuna never changes a trial that has ended. So where ended trials go on with a larger budget, a new study in the same
    file takes over all trials, these as running ones, and is the experiment's from then on.

    Args:
        experiment: the experiment.
        space: of its algorithm.
        fixed: values that are not searched.
        limits: what conditions of the space may name beside hyperparameters.
        starts: full assignments of the first trials.
        excess: of an assignment; None where memory is no matter.
    """

    def __init__(
        self,
        experiment: Experiment,
        space: SearchSpace,
        fixed: Assignment,
        limits: Mapping[str, float],
        starts: Sequence[Assignment] = (),
        excess: Excess | None = None,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._settings, self._space, self._fixed, self._limits = experiment.settings, space, fixed, limits
        self._storage = _open(experiment.paths.study)
        self._study = _current(self._storage, self._settings)
        self._starts, self._excess = starts, excess
        self._running: dict[int, optuna.Trial] = {}

    def ask(self) -> Proposal:
        """Propose a new trial; one that cannot fit, or whose assignment has been tried, ends at once.

        The one with a violated constraint, the other with the outcome that is known.
        """
        drawn = self._draw()
        refused = drawn.user_attrs.get(REFUSED)
        known = None if refused else self._tried(drawn)
        if refused:
            drawn.state, drawn.datetime_complete = TrialState.PRUNED, datetime.now()
        elif known is not None:
            drawn.set_user_attr(SAME_AS, known.number)
            drawn.state, drawn.values = known.state, known.values
            drawn.datetime_complete = datetime.now()
            drawn.system_attrs |= known.system_attrs  # constraints among them
        self._study.add_trial(drawn)
        if known is None and not refused:
            self._go_on(drawn.number)
        return _proposal(drawn)

    def unfinished(self) -> list[Proposal]:
        """Trials that were asked and never told: a run that ended before they did left them."""
        running = self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        for frozen in running:
            self._go_on(frozen.number)
        return [_proposal(frozen) for frozen in running]

    def proposals(self) -> list[Proposal]:
        """All trials that were ever asked, by number, whatever became of them."""
        return [_proposal(frozen) for frozen in self._study.get_trials(deepcopy=False)]

    def state(self, number: int) -> TrialState:
        """State of a trial."""
        return self._study.get_trials(deepcopy=False)[number].state

    @property
    def asked(self) -> int:
        """Number of trials that were ever asked, whatever became of them."""
        return len(self._study.get_trials(deepcopy=False))

    def reopen(self, numbers: Collection[int]) -> None:
        """Let trials that are complete go on: they are unfinished from then on.

        Args:
            numbers: of these trials.
        """
        name = f"{self._settings.name}, {self._settings.steps} steps"
        names = optuna.get_all_study_names(self._storage)
        if name in names and name != self._study.study_name:
            # A run that was killed while it took trials over.
            optuna.delete_study(study_name=name, storage=self._storage)
        while name == self._study.study_name:
            # Once more to the same budget, after trials ended there with another one.
            name += " again"
        new = optuna.create_study(storage=self._storage, study_name=name, direction="maximize", pruner=_pruner(self._settings))
        for trial in self._study.get_trials():
            if trial.number in numbers:
                trial.state, trial.values, trial.datetime_complete = TrialState.RUNNING, None, None
            new.add_trial(trial)
        new.set_user_attr(_WHOLE, True)
        self._study = new
        self._running = {}

    def _draw(self) -> FrozenTrial:
        """A new trial with its assignment, in a copy of the study."""
        known = self._study.get_trials()
        number = len(known)
        # A sampler of its own for each trial: what it draws depends on the experiment's seed, the
        # trial's number and what is known by then, not on what this process asked before.
        seed = int(np.random.SeedSequence([self._settings.seed, number]).generate_state(1)[0])
        copy = optuna.create_study(
            study_name=self._study.study_name,
            direction="maximize",
            sampler=_sampler(self._settings.sampler, seed),
            pruner=_pruner(self._settings),
        )
        copy.add_trials(known)
        fixed = self._fixed
        if number < len(self._starts):
            # What lies within the search the sampler learns from; the rest holds for this trial alone.
            within, outside = self._space.inner(self._starts[number])
            copy.enqueue_trial(within)
            fixed = {**outside, **fixed}
        trial = copy.ask()
        assignment = self._space.suggest(trial, fixed, self._limits)
        trial.set_user_attr(HYPERPARAMETERS, assignment)
        if self._excess:
            excess, why = self._excess(assignment)
            trial.set_constraint(PREDICTED, excess)
            if excess > 0:
                trial.set_user_attr(REFUSED, why)
        return copy.get_trials()[number]

    def _tried(self, drawn: FrozenTrial) -> FrozenTrial | None:
        """The first trial with the same assignment that ended other than by a failure, if anything is searched at all."""
        if not drawn.params:
            return None
        ended = self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
        # What did not fit then may fit now: on another card, or with what was learned since.
        tried = (trial for trial in ended if REFUSED not in trial.user_attrs)
        same = (trial for trial in tried if trial.user_attrs[HYPERPARAMETERS] == drawn.user_attrs[HYPERPARAMETERS])
        return next(same, None)

    def _go_on(self, number: int) -> None:
        frozen = self._study.get_trials(deepcopy=False)[number]
        self._running[number] = optuna.Trial(self._study, frozen._trial_id)

    def report(self, number: int, steps: int, score: float) -> None:
        """Tell the score of a running trial's evaluation, due after so many steps."""
        trial = self._running[number]
        known = self._study.get_trials(deepcopy=False)[number].intermediate_values
        # A trial that goes on says again what it knew last, in case a kill came before the study heard it.
        if steps not in known:
            trial.report(score, steps)

    def should_prune(self, number: int) -> bool:
        """Whether the pruner gives a running trial up."""
        return self._running[number].should_prune()

    def complete(self, number: int, score: float) -> None:
        """Tell that a trial ended with a finite score."""
        self._study.tell(self._running.pop(number), score)

    def prune(self, number: int) -> None:
        """Tell that a trial was stopped by the pruner; its last reported score counts."""
        self._study.tell(self._running.pop(number), state=TrialState.PRUNED)

    def run_out_of_memory(self, number: int, reason: str, missing: int = 1) -> None:
        """Tell that a trial did not fit: a violated constraint, which the sampler learns from, unlike from a failure.

        Args:
            number: of the trial.
            reason: in words.
            missing: bytes, above 0.
        """
        trial = self._running.pop(number)
        trial.set_user_attr(REASON, reason)
        trial.set_constraint(MEASURED, missing)
        self._study.tell(trial, state=TrialState.PRUNED)

    def fail(self, number: int, reason: str) -> None:
        """Tell that a trial failed."""
        trial = self._running.pop(number)
        trial.set_user_attr(REASON, reason)
        self._study.tell(trial, state=TrialState.FAIL)


def _open(path: Path) -> JournalStorage:
    """The journal, without what a kill in the middle of a write left: half a line, which would spoil the next one."""
    name = str(path)
    for left in path.parent.glob(f"{path.name}.lock*"):
        left.unlink()
    if path.is_file():
        with path.open("rb+") as file:
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)
    # The lock by exclusive creation needs no symbolic links, which Windows grants to few users.
    return JournalStorage(JournalFileBackend(name, lock_obj=JournalFileOpenLock(name)))


def _current(storage: JournalStorage, settings: Settings) -> optuna.Study:
    """The experiment's study: the first one, or the last that took over all trials of the one before."""
    pruner = _pruner(settings)
    study = optuna.create_study(
        storage=storage, study_name=settings.name, direction="maximize", pruner=pruner, load_if_exists=True
    )
    for summary in optuna.get_all_study_summaries(storage):
        if summary.user_attrs.get(_WHOLE):
            study = optuna.load_study(storage=storage, study_name=summary.study_name, pruner=pruner)
    return study


def _proposal(trial: FrozenTrial) -> Proposal:
    attributes = trial.user_attrs
    return Proposal(trial.number, attributes[HYPERPARAMETERS], attributes.get(SAME_AS), attributes.get(REFUSED))


def _sampler(name: str, seed: int) -> optuna.samplers.BaseSampler:
    if name == "random":
        return optuna.samplers.RandomSampler(seed=seed)
    if name == "gp":
        return optuna.samplers.GPSampler(seed=seed, warn_independent_sampling=False)
    if name == "cmaes":
        return optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
    return optuna.samplers.TPESampler(seed=seed)


def _pruner(settings: Settings) -> optuna.pruners.BasePruner:
    if settings.pruner == "median":
        return optuna.pruners.MedianPruner(n_startup_trials=5)
    if settings.pruner == "hyperband":
        # The first evaluation is the least that a trial gets.
        return optuna.pruners.HyperbandPruner(min_resource=settings.steps // settings.reports, max_resource=settings.steps)
    return optuna.pruners.NopPruner()
