"""The Optuna study of an experiment: everything that its search knows."""

from __future__ import annotations

import math
import shutil
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Self

import optuna
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from common.paths import shortened
from search_spaces import Assignment, SearchSpace
from search_spaces.earlier import in_todays_names
from tuning.experiment.folder import Experiment, ExperimentPaths
from tuning.experiment.settings import Settings
from tuning.search.promotion.pruners import PRUNERS
from tuning.search.proposals.drawing import Affordable, Drawing, Excess, already_tried
from tuning.search.proposals.learned import read_learned
from tuning.search.proposals.sampler_view import Values
from tuning.search.proposals.two_aims import Gains, on_front, with_gains
from tuning.search.record.agreement import begun, check_agreement
from tuning.search.record.attributes import (
    CONFIRM_ROLE,
    CONFIRM_RUN,
    CONFIRM_STEPS,
    CONFIRMS,
    GAINS,
    HYPERPARAMETERS,
    MEASURED,
    REASON,
    REFUSED,
    REQUIRED,
    SAME_AS,
)
from tuning.search.record.errors import DamagedStudyError
from tuning.search.record.journal import SealedStorage, has_entries, is_sealed, open_mended_journal, seal_path
from tuning.search.record.of_trials import OfTrials
from tuning.trial.proposal import Proposal
from tuning.trial.records import TrialRecords

_SECONDS = "seconds"  # user attribute of a study: wall time of all runs so far
_UNTIMED = "untimed steps"  # of trials by number, while no time was noted
_AT_LAST_TIME = "steps at last time"  # of trials by number, as a run began that notes no time
_WHOLE = "whole"  # user attribute of a study into which all earlier trials were copied


class StudyMemory:
    """Asks the study of an experiment for trials and tells it how they end.

    The file is Optuna's journal, which Optuna's dashboard can read. Only a process that holds the experiment's lock opens it.

    A trial is drawn in a copy of the study, then written in one append with its assignment. So a kill leaves no partial
    trial, and the next run draws the same. Optuna's parameters have the inner names of the space (`log2_batch_size`); the
    assignment is a user attribute.

    Optuna never changes a trial that has ended. To continue ended trials with a larger budget, all trials are copied into a new
    study in the same file, these as running ones. It is the experiment's study from then on.

    Args:
        storage: the opened journal.
        study: of the experiment, in this journal.
        drawing: how trials are drawn.
    """

    def __init__(self, storage: SealedStorage, study: optuna.Study, drawing: Drawing) -> None:
        self._storage, self._study, self._drawing = storage, study, drawing
        self._settings = drawing.settings
        self._running: dict[int, optuna.Trial] = {}
        self._steps_of = OfTrials(_used)
        self._known: list[FrozenTrial] = []  # all trials, as of the stamp
        self._used: dict[int, dict[int, int]] = {}  # what `used_steps` gave, likewise
        self._stamp: tuple[str, int] | None = None

    @classmethod
    def open(
        cls,
        experiment: Experiment,
        space: SearchSpace,
        fixed: Assignment,
        limits: Mapping[str, float],
        starts: Sequence[Assignment] = (),
        excess: Excess | None = None,
    ) -> Self:
        """Open the study of an experiment, or create it; the journal is mended first.

        Args:
            experiment: the experiment.
            space: see `Drawing`, as for the following.
            fixed: see there.
            limits: see there.
            starts: see there.
            excess: see there.

        Raises:
            DamagedStudyError: if its journal is not as it was written, or not of this experiment.
            UsageError: if what it learned from others is not as it was written.
        """
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        storage = _open_journal(experiment)
        study = _current(storage, experiment.settings)
        learned = read_learned(experiment, space)
        return cls(storage, study, Drawing(experiment.settings, space, fixed, limits, starts, excess, learned))

    def ask(self) -> Proposal:
        """Draw a new trial, and add it."""
        return self.add(self.draw())

    def draw(self, values: Values = MappingProxyType({}), affordable: Affordable | None = None) -> FrozenTrial:
        """Draw the next trial. Nothing is written: as long as the study stays as it is, the next call draws the same.

        One that does not fit into memory has ended, with a violated constraint. One with an assignment that has been tried has
        ended with the known outcome.

        Args:
            values: see `tuning.search.proposals.sampler_view.as_seen`.
            affordable: see `Drawing.draw`.
        """
        known = self.trials()
        drawn = self._drawing.draw(known, self._study.study_name, values, self.pace, affordable)
        if drawn.user_attrs.get(REFUSED):
            drawn.state, drawn.datetime_complete = TrialState.PRUNED, datetime.now()
        elif (same := already_tried(drawn, known)) is not None:
            drawn.set_user_attr(SAME_AS, same.number)
            drawn.state, drawn.values = same.state, same.values
            drawn.datetime_complete = datetime.now()
            drawn.system_attrs |= deepcopy(same.system_attrs)  # constraints among them
            if GAINS in same.user_attrs:
                drawn.set_user_attr(GAINS, deepcopy(same.user_attrs[GAINS]))
                drawn.intermediate_values = dict(same.intermediate_values)
        return drawn

    def add(self, drawn: FrozenTrial) -> Proposal:
        """Add a trial that was drawn.

        Args:
            drawn: see `draw`.
        """
        number = self.count
        self._study.add_trial(drawn)
        if drawn.state is TrialState.RUNNING:
            self._adopt(number)
        return self._proposal(self._trial(number))

    @property
    def searched(self) -> int:
        """Number of all trials of the search itself, in any state."""
        return sum(CONFIRMS not in trial.user_attrs for trial in self.trials())

    @property
    def in_vain(self) -> int:
        """How many of the last trials of the search have nothing to run.

        They repeat another one, or do not fit into the memory of now.
        """
        trials = [trial for trial in self.trials() if CONFIRMS not in trial.user_attrs]
        return next((count for count, trial in enumerate(reversed(trials)) if not self._is_in_vain(trial)), len(trials))

    def _is_in_vain(self, trial: FrozenTrial) -> bool:
        if REFUSED not in trial.user_attrs:
            return SAME_AS in trial.user_attrs
        # It was refused on the machine of then.
        excess = self._drawing.excess
        return excess is not None and excess(self._proposal(trial).hyperparameters)[0] > 0

    def frozen(self) -> list[int]:
        """Numbers of the frozen trials of the search."""
        waiting = (trial for trial in self.trials() if trial.state is TrialState.WAITING)
        return [trial.number for trial in waiting if CONFIRMS not in trial.user_attrs]

    def front(self) -> list[int]:
        """Numbers of the trials of the search that no other one is better than in both of two objectives.

        Those are among them that only a running trial is better than, as that one may fail.
        """
        trials = [trial for trial in self.trials() if CONFIRMS not in trial.user_attrs]
        still = [trial for trial in trials if trial.state is not TrialState.RUNNING]
        return list(dict.fromkeys(trial.number for some in (trials, still) for trial in on_front(some)))

    def unfinished(self) -> list[Proposal]:
        """Trials that have not ended: this process runs them, or an earlier run did not get to their end."""
        return [self._proposal(trial) for trial in self.trials() if trial.state is TrialState.RUNNING]

    def adopt_unfinished(self) -> list[Proposal]:
        """Take over the trials of an earlier run that have not ended, so that their scores and ends can be told here.

        Returns:
            See `unfinished`.
        """
        adopted = self.unfinished()
        for proposal in adopted:
            self._adopt(proposal.number)
        return adopted

    def freeze(self, number: int) -> None:
        """Put a running trial aside; `thaw` continues it. In the study it waits.

        Args:
            number: of the trial.
        """
        self._storage.set_trial_state_values(self._running.pop(number)._trial_id, TrialState.WAITING)

    def note_steps_of_confirming(self, number: int, steps: int) -> None:
        """Write the most steps of a trial that confirms and has not ended.

        Args:
            number: of the trial.
            steps: with which it began.
        """
        self._storage.set_trial_user_attr(self._trial(number)._trial_id, CONFIRM_STEPS, steps)

    def thaw(self, number: int) -> Proposal:
        """Continue a frozen trial.

        Args:
            number: of the trial.
        """
        self._storage.set_trial_state_values(self._trial(number)._trial_id, TrialState.RUNNING)
        self._adopt(number)
        return self._proposal(self._trial(number))

    def used_steps(self, least: int) -> dict[int, int]:
        """Due steps of the last evaluation of each trial that ran, by number.

        Args:
            least: what counts for a trial that failed before its first evaluation.
        """
        trials = self.trials()
        if least in self._used:
            return self._used[least]
        used = {}
        for trial in trials:
            steps = self._steps_of(trial)
            if steps is not None:
                used[trial.number] = least if steps < 0 else steps
        self._used[least] = used
        return used

    @property
    def seconds_before(self) -> float:
        """Wall time of the search so far, as `note_seconds` wrote it; 0 where it did not."""
        return float(self._study.user_attrs.get(_SECONDS, 0.0))

    @property
    def untimed_steps(self) -> dict[int, int]:
        """Steps of trials, by number, that were taken under a budget of steps or none, so that their time is not known."""
        return {int(number): int(steps) for number, steps in self._study.user_attrs.get(_UNTIMED, {}).items()}

    def note_untimed(self, steps: Mapping[int, int]) -> None:
        """Write which steps were taken while no time was noted; see `untimed_steps`."""
        self._study.set_user_attr(_UNTIMED, {str(number): own for number, own in steps.items()})

    @property
    def steps_at_last_time(self) -> dict[int, int] | None:
        """Steps of trials, by number, when a run began that notes no time after one that did; None where none did."""
        noted: dict[str, int] | None = self._study.user_attrs.get(_AT_LAST_TIME)
        return None if noted is None else {int(number): int(steps) for number, steps in noted.items()}

    def note_steps_at_last_time(self, steps: Mapping[int, int] | None) -> None:
        """Write `steps_at_last_time`; None as soon as time is noted again."""
        told = None if steps is None else {str(number): own for number, own in steps.items()}
        self._study.set_user_attr(_AT_LAST_TIME, told)

    @property
    def pace(self) -> float:
        """Steps in a second of the search so far, by its evaluations; NaN before the first one, and where no time is noted."""
        steps, seconds = sum(self.used_steps(0).values()) - sum(self.untimed_steps.values()), self.seconds_before
        return steps / seconds if steps and seconds else math.nan

    def note_seconds(self, seconds: float) -> None:
        """Write the wall time of the search so far."""
        self._study.set_user_attr(_SECONDS, seconds)

    def _proposal(self, trial: FrozenTrial) -> Proposal:
        attributes = trial.user_attrs
        assignment = self._drawing.space.whole(in_todays_names(attributes[HYPERPARAMETERS]))
        names = (SAME_AS, REFUSED, CONFIRMS, CONFIRM_RUN, CONFIRM_ROLE)
        return Proposal(trial.number, assignment, *(attributes.get(name) for name in names))

    def proposals(self) -> list[Proposal]:
        """All trials by number, in any state."""
        return [self._proposal(frozen) for frozen in self.trials()]

    def trials(self) -> list[FrozenTrial]:
        """All trials as Optuna has them, by number; not to be changed."""
        stamp = self._study.study_name, self._storage.written
        if stamp != self._stamp:
            self._known, self._used, self._stamp = self._study.get_trials(deepcopy=False), {}, stamp
        return self._known

    def _trial(self, number: int) -> FrozenTrial:
        return self.trials()[number]

    def state(self, number: int) -> TrialState:
        """State of a trial."""
        return self._trial(number).state

    @property
    def count(self) -> int:
        """Number of all trials, in any state."""
        return len(self.trials())

    def reopen(self, numbers: Collection[int]) -> None:
        """Make complete trials unfinished again; `adopt_unfinished` then takes them over.

        Args:
            numbers: of these trials.
        """
        name = f"{self._settings.name}, {self._settings.steps} steps"
        names = optuna.get_all_study_names(self._storage)
        if name in names and name != self._study.study_name:
            # A run was killed while it copied trials.
            optuna.delete_study(study_name=name, storage=self._storage)
        while name == self._study.study_name:
            # The same budget a second time, after another one in between.
            name += " again"
        new = optuna.create_study(storage=self._storage, study_name=name, direction="maximize", pruner=_pruner(self._settings))
        for trial in self._study.get_trials():
            if trial.number in numbers:
                trial.state, trial.values, trial.datetime_complete = TrialState.RUNNING, None, None
                # By its end it misses them by another amount, and Optuna ignores what is set twice.
                kept = {key: value for key, value in trial.system_attrs.items() if not key.endswith(f":{REQUIRED}")}
                trial.system_attrs = kept
            new.add_trial(trial)
        new.set_user_attr(_SECONDS, self.seconds_before)
        for name in (_UNTIMED, _AT_LAST_TIME):
            if (noted := self._study.user_attrs.get(name)) is not None:
                new.set_user_attr(name, noted)
        new.set_user_attr(_WHOLE, True)
        self._study = new
        self._running = {}

    def _adopt(self, number: int) -> None:
        self._running[number] = optuna.Trial(self._study, self._trial(number)._trial_id)

    def report(self, number: int, steps: int, score: float, gains: Gains | None = None) -> bool:
        """Tell what an evaluation is ranked by; the pruner compares these.

        Args:
            number: of the running trial.
            steps: at which the evaluation was due.
            score: rating of it, see `envs.objective.aim.Aim.rating`.
            gains: of two objectives; None with one.

        Returns:
            Whether the study did not have it yet. A trial that goes on reports its last evaluation again, in case a kill came
            before the study had it.
        """
        trial = self._running[number]
        frozen = self._trial(number)
        if steps in frozen.intermediate_values:
            return False
        if gains is not None:
            # First: an evaluation that counts has its gains.
            trial.set_user_attr(GAINS, with_gains(frozen, steps, gains))
        trial.report(score, steps)
        return True

    def should_prune(self, number: int) -> bool:
        """Whether the pruner stops a running trial."""
        return self._running[number].should_prune()

    def complete(self, number: int, score: float, shortfall: float | None = None) -> None:
        """Tell that a trial ended with a finite score.

        Args:
            number: of the trial.
            score: what the search maximises, see `envs.objective.aim.Aim.goal`.
            shortfall: by how much requirements are missed; None without any.
        """
        trial = self._running.pop(number)
        _require(trial, shortfall)
        self._study.tell(trial, score)

    def prune(self, number: int, shortfall: float | None = None) -> None:
        """Tell that a trial was stopped by the pruner; its last reported rating counts.

        Args:
            number: of the trial.
            shortfall: see `complete`.
        """
        trial = self._running.pop(number)
        _require(trial, shortfall)
        self._study.tell(trial, state=TrialState.PRUNED)

    def run_out_of_memory(self, number: int, reason: str, missing: int = 1) -> None:
        """Tell that a trial did not fit: a violated constraint. The sampler learns from it; it ignores failures.

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


def _used(trial: FrozenTrial) -> int | None:
    """Due steps of a trial's last evaluation; below 0 where it failed before the first, None where it did not run."""
    if {SAME_AS, REFUSED} & trial.user_attrs.keys():
        return None
    return max(trial.intermediate_values, default=-1 if trial.state.is_finished() else 0)


def _require(trial: optuna.Trial, shortfall: float | None) -> None:
    """Tell by how much a trial misses the requirements: a constraint, as Optuna's is met at 0 and below."""
    if shortfall is not None:
        trial.set_constraint(REQUIRED, shortfall)


def check_study(experiment: Experiment) -> None:
    """Check that the study of an existing experiment can be continued, before anything is started or written.

    Raises:
        DamagedStudyError: if its journal is not as it was written, or not of this experiment.
        ResultsError: if the row of a trial is missing, damaged or of another experiment.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if not experiment.paths.study.exists() and not begun(experiment.paths) and not is_sealed(experiment.paths.study):
        return  # a run was stopped before it had a study
    storage = _open_journal(experiment)
    if optuna.get_all_study_names(storage):
        trials = _current(storage, experiment.settings).get_trials(deepcopy=False)
        check_agreement(trials, TrialRecords(experiment), experiment.paths)


def read_trials(experiment: Experiment) -> list[FrozenTrial]:
    """Trials of an experiment that may be in use, by number; its folder is not written to.

    Args:
        experiment: any; without a study it has no trials.

    Raises:
        DamagedStudyError: if its journal is not as it was written, or not of this experiment.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    own = experiment.paths
    if not own.study.exists() and not begun(own) and not is_sealed(own.study):
        return []
    # A trial is in the study before it has a row, so the rows are listed first: more may be begun meanwhile.
    rows = begun(own)
    # To open a journal mends it, so a copy is opened. The seal goes first: it may be older than the journal, and not newer.
    with TemporaryDirectory() as folder:
        copy = replace(experiment, paths=ExperimentPaths(Path(folder)))
        for path in (seal_path(own.study), own.study):
            try:
                if path.exists():
                    shutil.copyfile(path, Path(folder) / path.name)
            except OSError as error:
                raise DamagedStudyError(path, error.strerror or str(error)) from error
        try:
            storage = _open_journal(copy)
            trials: list[FrozenTrial] = []
            if optuna.get_all_study_names(storage):
                trials = _current(storage, experiment.settings).get_trials(deepcopy=False)
        except DamagedStudyError as error:
            raise DamagedStudyError(own.folder / error.path.name, error.why) from error
    if rows and rows[-1] >= len(trials):
        raise DamagedStudyError(own.study, f"it lacks trial {rows[-1]} of the results")
    return trials


def _open_journal(experiment: Experiment) -> SealedStorage:
    """The opened journal of an experiment: its own, or an empty one where there are no trials yet."""
    path = experiment.paths.study
    if (rows := begun(experiment.paths)) and not (path.exists() and has_entries(path)):
        raise DamagedStudyError(path, f"it is missing or empty, and {len(rows)} trials have results")
    storage = open_mended_journal(path)
    names = optuna.get_all_study_names(storage)
    if not names and path.stat().st_size:
        raise DamagedStudyError(path, "it holds no study")
    if names and experiment.settings.name not in names:
        raise DamagedStudyError(path, f"it is of the experiment {names[0]}, not of {experiment.settings.name}")
    for name in names:
        if storage.get_study_directions(storage.get_study_id_from_name(name)) != [StudyDirection.MAXIMIZE]:
            raise DamagedStudyError(path, f"its study {shortened(name)} does not maximize one score")
    return storage


def _current(storage: SealedStorage, settings: Settings) -> optuna.Study:
    """The experiment's study: the last one into which all trials were copied, or the first."""
    pruner = _pruner(settings)
    study = optuna.create_study(
        storage=storage, study_name=settings.name, direction="maximize", pruner=pruner, load_if_exists=True
    )
    # Optuna's summaries would copy all trials.
    for known in storage.get_all_studies():
        if known.user_attrs.get(_WHOLE):
            study = optuna.load_study(storage=storage, study_name=known.study_name, pruner=pruner)
    return study


def _pruner(settings: Settings) -> optuna.pruners.BasePruner:
    # With a preset all trials are alike: those that are left of ones that were stopped would be the lucky ones.
    return PRUNERS["none" if settings.preset else settings.scheduler](settings.steps, settings.reports)
