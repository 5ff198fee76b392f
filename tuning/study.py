"""The Optuna study of an experiment: the only memory of its search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import TrialState

from search_spaces import Assignment, SearchSpace
from tuning.experiment import Experiment
from tuning.settings import Settings

HYPERPARAMETERS = "hyperparameters"  # user attribute of a trial: the full assignment
REASON = "reason"  # user attribute of a failed trial: why


@dataclass(frozen=True)
class Proposal:
    """A trial to run: its number for ever, and its assignment."""

    number: int
    hyperparameters: Assignment


class StudyMemory:
    """Asks and tells an experiment's study.

    The file is Optuna's journal, which survives kills and which its dashboard reads. What Optuna draws
    has the space's inner names (`log2_batch_size`); the assignment itself is a user attribute.

    Args:
        experiment: the experiment.
        space: of its algorithm.
        fixed: values that are not searched.
        limits: what conditions of the space may name beside hyperparameters.
        starts: full assignments of the first trials.
    """

    def __init__(
        self,
        experiment: Experiment,
        space: SearchSpace,
        fixed: Assignment,
        limits: Mapping[str, float],
        starts: Sequence[Assignment] = (),
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._settings, self._space, self._fixed, self._limits = experiment.settings, space, fixed, limits
        path = str(experiment.paths.study)
        # The lock by exclusive creation needs no symbolic links, which Windows grants to few users.
        storage = JournalStorage(JournalFileBackend(path, lock_obj=JournalFileOpenLock(path)))
        self._study = optuna.create_study(
            storage=storage,
            study_name=experiment.settings.name,
            direction="maximize",
            pruner=_pruner(self._settings),
            load_if_exists=True,
        )
        self._starts = starts
        self._running: dict[int, optuna.Trial] = {}

    def ask(self) -> Proposal:
        """Propose a new trial."""
        number = len(self._study.get_trials(deepcopy=False))
        # A sampler of its own for each trial: what it draws depends on the experiment's seed, the
        # trial's number and what is known by then, not on what this process asked before.
        seed = int(np.random.SeedSequence([self._settings.seed, number]).generate_state(1)[0])
        self._study.sampler = _sampler(self._settings.sampler, seed)
        fixed = self._fixed
        if number < len(self._starts):
            # What lies within the search the sampler learns from; the rest holds for this trial alone.
            within, outside = self._space.inner(self._starts[number])
            self._study.enqueue_trial(within)
            fixed = {**outside, **fixed}
        trial = self._study.ask()
        hyperparameters = self._space.suggest(trial, fixed, self._limits)
        trial.set_user_attr(HYPERPARAMETERS, hyperparameters)
        self._running[trial.number] = trial
        return Proposal(trial.number, hyperparameters)

    def unfinished(self) -> list[Proposal]:
        """Trials that were asked and never told: a run that ended before they did left them."""
        proposals = []
        for frozen in self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if HYPERPARAMETERS not in frozen.user_attrs:
                # It ended between asking and drawing; no training can have begun.
                self._study.tell(frozen.number, state=TrialState.FAIL)
                continue
            self._running[frozen.number] = optuna.Trial(self._study, frozen._trial_id)
            proposals.append(Proposal(frozen.number, frozen.user_attrs[HYPERPARAMETERS]))
        return proposals

    @property
    def asked(self) -> int:
        """Number of trials that were ever asked, whatever became of them."""
        return len(self._study.get_trials(deepcopy=False))

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

    def run_out_of_memory(self, number: int, reason: str) -> None:
        """Tell that a trial did not fit: a violated constraint, which the sampler learns from, unlike from a failure."""
        trial = self._running.pop(number)
        trial.set_user_attr(REASON, reason)
        trial.set_constraint("memory", 1.0)
        self._study.tell(trial, state=TrialState.PRUNED)

    def fail(self, number: int, reason: str) -> None:
        """Tell that a trial failed."""
        trial = self._running.pop(number)
        trial.set_user_attr(REASON, reason)
        self._study.tell(trial, state=TrialState.FAIL)


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
