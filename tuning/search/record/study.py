"""The Optuna study of an experiment: the only record of its trials, their assignments, evaluations, states and ends.

It also keeps the time that the search took.
"""

import math
import shutil
from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Self

import optuna
from optuna.pruners import BasePruner, NopPruner
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from common.paths import shortened
from results.frames import read_frame
from tuning.algorithms.registry import algorithm_of
from tuning.experiment.folder import Experiment, ExperimentPaths
from tuning.experiment.settings import Settings
from tuning.search.record.journal import DamagedStudyError, JournaledStorage, has_entries, open_mended_journal
from tuning.search.record.trials import Gains, Key, OfTrials, Standing, was_run
from tuning.trial.protocol import Proposal

_WHOLE = "whole"  # user attribute of a study into which all earlier trials were copied
_SECONDS = "seconds"  # wall time of all runs so far


class StudyMemory:
    """What a search knows of its trials.

    The file is Optuna's journal, which Optuna's dashboard can read. Only a process that holds the experiment's lock opens it.

    A trial is added in one append with its assignment, so a kill leaves no partial trial. Optuna's parameters have the inner
    names of the space (`log2_batch_size`); the assignment is a user attribute.

    Optuna never changes a trial that has ended. To continue ended trials with a larger budget, all trials are copied into a new
    study in the same file, these as running ones. It is the experiment's study from then on.

    Attributes:
        name: of the study; Hyperband assigns trials to its brackets by it.
    """

    def __init__(self, storage: JournaledStorage, settings: Settings, pruner: BasePruner) -> None:
        self._storage, self._settings = storage, settings
        self._study = _current(storage, settings, pruner)
        self.name = self._study.study_name
        self._space = algorithm_of(settings).space
        self._running: dict[int, optuna.Trial] = {}
        self._steps_of, self._standing_of = OfTrials(_used), OfTrials(Standing.of)
        self._known: list[FrozenTrial] = []  # all trials, as of the stamp
        self._used: dict[int, dict[int, int]] = {}  # what `used_steps` gave, likewise
        self._stamp: tuple[str, int] | None = None

    @classmethod
    def open(cls, experiment: Experiment, pruner: BasePruner | None = None) -> Self:
        """Open the study of an experiment, or create it; the journal is mended first.

        Raises a DamagedStudyError if its journal cannot be read, or is not of this experiment.
        """
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        return cls(_open_journal(experiment), experiment.settings, pruner or NopPruner())

    def add(self, drawn: FrozenTrial) -> Proposal:
        """Add a trial that was drawn."""
        number = len(self.trials())
        if drawn.state is TrialState.RUNNING:
            drawn.set_user_attr(Key.STANDING, Standing(budget=self._settings.steps).attribute())
        self._study.add_trial(drawn)
        if drawn.state is TrialState.RUNNING:
            self._adopt(number)
        return self.proposal(number)

    def adopt_unfinished(self) -> list[Proposal]:
        """Take over the trials that have not ended: this process runs them, or an earlier run did not get to their end."""
        adopted = [trial.number for trial in self.trials() if trial.state is TrialState.RUNNING]
        for number in adopted:
            self._adopt(number)
        return [self.proposal(number) for number in adopted]

    def freeze(self, number: int) -> None:
        """Put a running trial aside; `thaw` continues it. In the study it waits."""
        self._storage.set_trial_state_values(self._running.pop(number)._trial_id, TrialState.WAITING)

    def thaw(self, number: int) -> Proposal:
        """Continue a frozen trial."""
        self._storage.set_trial_state_values(self.trial(number)._trial_id, TrialState.RUNNING)
        self._adopt(number)
        return self.proposal(number)

    def standing(self, number: int) -> Standing:
        """From where a trial goes on, and how often it was begun in vain."""
        return self._standing_of(self.trial(number))

    def stand(self, number: int, change: Callable[[Standing], Standing]) -> None:
        """Change what is kept of a running trial beside its evaluations. Nothing is written where it stays."""
        before = self.standing(number)
        if (after := change(before)) != before:
            self._running[number].set_user_attr(Key.STANDING, after.attribute())

    def used_steps(self, least: int) -> dict[int, int]:
        """Due steps of the last evaluation of each trial that ran, by number.

        A trial that failed before its first one counts as `least`.
        """
        trials = self.trials()
        if least not in self._used:
            steps = {trial.number: self._steps_of(trial) for trial in trials if was_run(trial)}
            self._used[least] = {number: least if taken < 0 else taken for number, taken in steps.items()}
        return self._used[least]

    @property
    def seconds(self) -> float:
        """Wall time of the search in all of its runs, as it was set last; 0 before that."""
        return float(self._study.user_attrs.get(_SECONDS, 0.0))

    @seconds.setter
    def seconds(self, seconds: float) -> None:
        self._study.set_user_attr(_SECONDS, seconds)

    def proposal(self, number: int) -> Proposal:
        """A trial as it was proposed."""
        attributes = self.trial(number).user_attrs
        names = (Key.SAME_AS, Key.REFUSED, Key.CONFIRMS, Key.CONFIRM_RUN, Key.CONFIRM_ROLE)
        assignment = self._space.whole(attributes[Key.HYPERPARAMETERS])  # what is newer than the study has its default
        return Proposal(number, assignment, *(attributes.get(name) for name in names))

    def trials(self) -> list[FrozenTrial]:
        """All trials as Optuna has them, by number; not to be changed."""
        stamp = self.name, self._storage.written
        if stamp != self._stamp:
            self._known, self._used, self._stamp = self._study.get_trials(deepcopy=False), {}, stamp
        return self._known

    def trial(self, number: int) -> FrozenTrial:
        """A trial as Optuna has it."""
        return self.trials()[number]

    def reopen(self, numbers: Collection[int], afresh: bool = False) -> None:
        """Make trials that have ended unfinished again; `adopt_unfinished` then takes them over.

        They go on from their checkpoints, or begin `afresh`.
        """
        name = f"{self._settings.name}, {self._settings.steps} steps"
        if name == self.name:
            # The same budget a second time.
            name += " again"
        if name in optuna.get_all_study_names(self._storage):
            # It is over, or a run was killed while it copied trials.
            optuna.delete_study(study_name=name, storage=self._storage)
        new = optuna.create_study(
            storage=self._storage, study_name=name, direction="maximize", pruner=self._study.pruner
        )  # fmt: skip
        for trial in self._study.get_trials():
            if trial.number in numbers:
                trial.state, trial.values, trial.datetime_complete = TrialState.RUNNING, None, None
                # By its end it misses them by another amount, and Optuna ignores what is set twice.
                kept = {key: value for key, value in trial.system_attrs.items() if not key.endswith(f":{Key.REQUIRED}")}
                trial.system_attrs = kept
                if afresh:
                    trial.intermediate_values = {}
                    told = (Key.GAINS, Key.REASON)
                    trial.user_attrs = {key: value for key, value in trial.user_attrs.items() if key not in told}
                    trial.set_user_attr(Key.STANDING, Standing(budget=self._settings.steps).attribute())
            new.add_trial(trial)
        for key, value in self._study.user_attrs.items():
            if key != _WHOLE:
                new.set_user_attr(key, value)
        new.set_user_attr(_WHOLE, True)
        self._study, self.name = new, new.study_name
        self._running = {}

    def _adopt(self, number: int) -> None:
        self._running[number] = optuna.Trial(self._study, self.trial(number)._trial_id)

    def report(self, number: int, steps: int, rating: float, gains: Gains | None = None) -> bool:
        """Tell what an evaluation is ranked by; the pruner compares these.

        Returns:
            Whether the study did not have it yet. A trial that goes on reports its last evaluation again, in case a kill came
            before the study had it.
        """
        running, known = self._running[number], self.trial(number)
        if steps in known.intermediate_values:
            return False
        if self._settings.env and not known.intermediate_values:
            running.set_user_attr(Key.MAY_TIE, True)
        if gains is not None:
            # First: an evaluation that counts has its gains.
            running.set_user_attr(Key.GAINS, {**known.user_attrs.get(Key.GAINS, {}), str(steps): list(gains)})
        running.report(rating, steps)
        return True

    def should_prune(self, number: int) -> bool:
        """Whether the pruner stops a running trial."""
        return self._running[number].should_prune()

    def complete(self, number: int, goal: float, shortfall: float | None = None) -> None:
        """Tell that a trial came to its end. `goal` is what the search maximises, finite."""
        trial = self._leave(number, {Key.REQUIRED: shortfall})
        self._study.tell(trial, goal)

    def stop(
        self, number: int, state: TrialState, reason: str = "", misses: Mapping[str, float | None] = MappingProxyType({})
    ) -> None:
        """Tell that a trial ended before its end.

        Args:
            number: of the trial.
            state: `PRUNED` where its last rating counts, or where it did not fit into memory; `FAIL` for an error. The sampler
                learns from what is missed, and ignores failures.
            reason: in words.
            misses: by how much it misses each constraint.
        """
        trial = self._leave(number, misses)
        if reason:
            trial.set_user_attr(Key.REASON, reason)
        self._study.tell(trial, state=state)

    def _leave(self, number: int, misses: Mapping[str, float | None]) -> optuna.Trial:
        """A running trial that is to end, with its constraints: one is met at 0 and below.

        A constraint may be there already, as after a kill between this and the end; Optuna lets none be set twice.
        """
        trial, known = self._running.pop(number), self.trial(number).constraints
        for name, value in misses.items():
            if value is not None and name not in known:
                trial.set_constraint(name, value)
        return trial


def with_outcome_of(drawn: FrozenTrial, same: FrozenTrial) -> FrozenTrial:
    """A trial that was drawn with the assignment of another one, which has ended, as one with the outcome of that."""
    drawn.set_user_attr(Key.SAME_AS, same.number)
    drawn.state, drawn.values = same.state, same.values
    drawn.datetime_complete = datetime.now()
    drawn.system_attrs |= deepcopy(same.system_attrs)  # constraints among them
    if Key.GAINS in same.user_attrs:
        drawn.set_user_attr(Key.GAINS, deepcopy(same.user_attrs[Key.GAINS]))
        drawn.intermediate_values = dict(same.intermediate_values)
    return drawn


def _used(trial: FrozenTrial) -> int:
    """Due steps of a trial's last evaluation; below 0 where it ended before the first."""
    return max(trial.intermediate_values, default=-1 if trial.state.is_finished() else 0)


def read_trials(experiment: Experiment) -> list[FrozenTrial]:
    """Trials of an experiment that may be in use, by number; its folder is not written to.

    Without a study there are none. Raises a DamagedStudyError if its journal cannot be read, is of another experiment, or lacks
    trials of the results.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    paths = experiment.paths
    # A trial is in the study before it has a row, so the rows are read first: more may be begun meanwhile.
    rows = read_frame(paths.folder, "trials", ["trial"]).frame["trial"].tolist()
    trials = _read(experiment) if paths.study.exists() else []
    if unknown := [number for number in rows if number >= len(trials)]:
        raise DamagedStudyError(paths.study, f"it lacks trial {shortened(', '.join(map(str, unknown)))} of the results")
    return trials


def _read(experiment: Experiment) -> list[FrozenTrial]:
    paths = experiment.paths
    # To open a journal mends it, so a copy is opened.
    with TemporaryDirectory() as folder:
        copy = replace(experiment, paths=ExperimentPaths(Path(folder)))
        try:
            shutil.copyfile(paths.study, copy.paths.study)
        except OSError as error:
            raise DamagedStudyError(paths.study, error.strerror or str(error)) from error
        try:
            storage = _open_journal(copy)
            if not optuna.get_all_study_names(storage):
                return []
            return _current(storage, experiment.settings, NopPruner()).get_trials(deepcopy=False)
        except DamagedStudyError as error:
            raise DamagedStudyError(paths.folder / error.path.name, error.why) from error


def _open_journal(experiment: Experiment) -> JournaledStorage:
    """The opened journal of an experiment: its own, or an empty one where there are no trials yet."""
    path = experiment.paths.study
    storage = open_mended_journal(path)
    names = optuna.get_all_study_names(storage)
    if not names and has_entries(path):
        raise DamagedStudyError(path, "it holds no study")
    if names and experiment.settings.name not in names:
        raise DamagedStudyError(path, f"it is of the experiment {names[0]}, not of {experiment.settings.name}")
    for name in names:
        if storage.get_study_directions(storage.get_study_id_from_name(name)) != [StudyDirection.MAXIMIZE]:
            raise DamagedStudyError(path, f"its study {shortened(name)} does not maximize one score")
    return storage


def _current(storage: JournaledStorage, settings: Settings, pruner: BasePruner) -> optuna.Study:
    """The experiment's study: the last one into which all trials were copied, or the first."""
    study = optuna.create_study(
        storage=storage, study_name=settings.name, direction="maximize", pruner=pruner, load_if_exists=True
    )
    # Optuna's summaries would copy all trials.
    for known in storage.get_all_studies():
        if known.user_attrs.get(_WHOLE):
            study = optuna.load_study(storage=storage, study_name=known.study_name, pruner=pruner)
    return study


def pace(memory: StudyMemory) -> float:
    """Steps in a second of a search so far, by its evaluations; NaN before the first one."""
    steps = sum(memory.used_steps(0).values())
    return steps / memory.seconds if steps and memory.seconds else math.nan
