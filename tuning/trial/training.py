"""The training of a trial: update by update to its budget, with evaluations, reports and checkpoints."""

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from common.measure import SCORE
from envs.objective.aim import Outcome, Row
from envs.objective.evaluate import Policy
from envs.yardsticks.lessons import lessons
from results.schema import USED
from search_spaces import Assignment
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Update, finite
from tuning.experiment.folder import Experiment
from tuning.storage.trial_files import TrialFiles
from tuning.trial.checkpoint import Checkpoint, Checkpoints
from tuning.trial.checkpoint_files import OF_AN_AIM, TrialState
from tuning.trial.device import CPU, Device
from tuning.trial.evaluations import evaluations_due
from tuning.trial.monitor import Measurements, Monitor
from tuning.trial.policy import acting_in, plan_alone_in, trial_setup, used_share
from tuning.trial.protocol import Ending, Evaluated, Handout, Report
from tuning.trial.provenance import provenance
from tuning.trial.records import rated_columns

if TYPE_CHECKING:
    from envs.gym.episodes import Episodes
    from envs.task import SiteEvaluator

REPORT_SECONDS = 5.0  # at least, between two reports without an evaluation; a trial waits until Tune has taken a report
CHECKPOINT_SECONDS = 300.0  # at most, plus one update, between two checkpoints


@contextmanager
def _without_collection() -> Iterator[None]:
    """Look for no garbage meanwhile: of what PyTorch and RLlib import there is none, and to look takes a sixth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Training:
    """A trial in its process, from a checkpoint to the end of its budget. All that it tells leaves it by `updates`."""

    def __init__(
        self,
        experiment: Experiment,
        handout: Handout,
        goes_on: Callable[[], bool],
        device: Device = CPU,
        monitor: Monitor | None = None,
        files: TrialFiles | None = None,
    ) -> None:
        """Build the trainer of a trial, and restore the newest undamaged checkpoint that the search knows of.

        Checkpoints after this one are removed: the trial makes them again. Where it no longer `goes_on`, it writes a checkpoint
        and ends.
        """
        self._files, self._measurements = files or TrialFiles(experiment), Measurements(device, monitor, time.perf_counter())
        self._handout, self._goes_on, self._monitor = handout, goes_on, monitor
        self._settings, self._scenario = experiment.settings, experiment.scenario
        self._task = self._settings.task.seeing(handout.hyperparameters)
        self._checkpoints = Checkpoints(experiment.paths.checkpoints(handout.number))
        self._checkpoints.drop_after(handout.checkpoint)
        checkpoint, damage = self._checkpoints.newest()
        self.state = checkpoint.trial if checkpoint else TrialState()
        self._checkpoints.drop_after(self.state.steps)
        self._files.begun()
        used = self._build(device, checkpoint)
        # A value that this process lacks, such as the commit without git, stays as the driver wrote it.
        here = {name: value for name, value in provenance().items() if value}
        columns = {USED + name: value for name, value in used.items()} | {
            "device": device.name, "num_envs": self.trainer.num_envs, **here
        }  # fmt: skip
        steps = self.state.steps
        where = f"trial {handout.number}: {'; '.join(damage)}; it continues from {steps:,} steps" if damage else ""
        self._begun = Report(steps, restored=True, columns=columns, message=where)
        self._last_save = time.perf_counter()
        self._reports: list[dict[str, Any]] = []  # that were not told yet
        self._evaluator: SiteEvaluator | Episodes | None = None

    def _build(self, device: Device, checkpoint: Checkpoint | None) -> Assignment:
        """Build the trainer, from a checkpoint, a teacher or nothing; the hyperparameters that it works with."""
        settings, handout = self._settings, self._handout
        fallback = handout.place.fallback
        device.reset_peak()
        with _without_collection():
            self.trainer = trainer = algorithm(settings.algo).build(
                trial_setup(settings, handout.seed, fallback.apply(handout.hyperparameters), device.is_gpu, fallback.parts)
            )
        with ExitStack() as undo:
            undo.callback(trainer.stop)
            trainer.watch(self._measurements.environment, self._measurements.learner)
            # Before a checkpoint is restored: it may hold values that have changed in training, as a decaying learning rate.
            used = {**trainer.used(), **used_share(settings, trainer.weights)}
            if checkpoint:
                checkpoint.restore(trainer)
            elif settings.teacher != "none":
                with self._measurements.learner.running():
                    trainer.imitate(lessons(settings.site_task))
            undo.pop_all()
        return used

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # Whatever fails in this: the next trial of this process needs the card and the memory.
        with ExitStack() as ending:
            if self._evaluator:
                ending.callback(self._evaluator.close)
            ending.callback(self.trainer.stop)

    def updates(self) -> Iterator[Report]:
        """Train update by update.

        Yields:
            That it begins, its evaluations and checkpoints, and now and then its steps.
        """
        state, settings, reported = self.state, self._settings, time.perf_counter()
        yield self._begun
        if settings.teacher != "none" and not state.steps:
            yield self._evaluated_copy()
        if self.evaluations:
            # The study may lack it, as after a kill between two of its writes.
            yield Report(state.steps, evaluated=self._evaluated(), columns=self._columns())
        while self.evaluations < settings.ending_evaluation:
            if not self._goes_on():
                may_save = self._task.resumes_anywhere and state.steps > self._checkpoints.steps
                stopped = self._saved() if may_save else Report(state.steps)
                yield replace(stopped, ending=Ending.STOPPED)
                return
            if self._monitor:
                self._monitor.check()
            start = time.perf_counter()
            update = self.trainer.update()
            steps = update.steps
            collected, state.steps = steps - state.steps, steps
            state.updates += 1
            rate = collected / (time.perf_counter() - start)
            # If several evaluations become due in one update, the policy is evaluated once.
            evaluations = self._evaluate() if self._due(steps) > self.evaluations else []
            doubt = self._doubt(evaluations) if evaluations and not self.state.evaluated_steps else ""
            if evaluations:
                self._rate(evaluations)
            self._add_report(update, rate, evaluations)
            is_due = self._task.resumes_anywhere and time.perf_counter() - self._last_save > CHECKPOINT_SECONDS
            if evaluations or is_due:
                yield replace(self._saved(evaluations), message=doubt)
            elif time.perf_counter() - reported > REPORT_SECONDS:
                reported = time.perf_counter()
                yield Report(steps)

    def untold(self) -> Report:
        """What was not told yet when it failed: the reports before a failure help to explain it."""
        return Report(self.state.steps, reports=self._taken_reports(), columns=self._columns())

    def _due(self, steps: int) -> int:
        return evaluations_due(steps, self._settings.steps, self._settings.evaluations)

    @property
    def evaluations(self) -> int:
        """Number of evaluations so far."""
        return self._due(self.state.evaluated_steps)

    def _evaluated(self) -> Evaluated:
        return Evaluated(self.evaluations, self.state.evaluated_steps, self._outcome())

    def _rate(self, evaluations: Sequence[Row]) -> None:
        """Note an evaluation, and rate the trial by it where it is the one that counts, see `Settings.keep`."""
        state, aim = self.state, self._settings.aim
        outcome, kept = self._outcome_of(evaluations), self._outcome()
        new, rated = aim.rating(outcome), aim.rating(kept)
        # Of equal ones the later. One without a number ends the trial.
        if self._settings.keep == "last" or not state.kept_steps or not math.isfinite(new) or not new < rated:
            state.kept_steps = state.steps
            for name in ("score", *OF_AN_AIM):
                setattr(state, name, finite(getattr(outcome, name)))
        if not state.evaluated_steps and (alone := plan_alone_in(self.trainer, self._task)):
            state.plan_score = finite(SCORE.value(self._evaluate(alone)))
        state.evaluated_steps = state.steps

    def _outcome_of(self, evaluations: Sequence[Row]) -> Outcome:
        return self._settings.aim.outcome(evaluations)

    def _outcome(self) -> Outcome:
        """How the evaluation came out that it is rated by. What it should have and the state has not, is not finite."""
        state, aim = self.state, self._settings.aim
        of_second = (
            math.nan if value is None and aim.second else value for value in (state.objective_2, state.gain, state.gain_2)
        )
        return Outcome(
            math.nan if state.score is None else state.score,
            math.nan if state.objective is None and not aim.is_score else state.objective,
            math.inf if state.shortfall is None and aim.requirements else state.shortfall,
            *of_second,
        )

    def _evaluate(self, other: Callable[[Any], Policy] | None = None) -> Sequence[Row]:
        """Rows of an evaluation of the trial's policy, or of another one that knows what evaluates it."""
        with self._measurements.evaluation.running():
            if self._evaluator is None:
                self._evaluator = self._task.evaluator(self.trainer.shares)
            policy = other(self._evaluator) if other else acting_in(self.trainer, self._task, "validation").policy
            return self._evaluator.rows(policy)

    def _doubt(self, evaluations: Sequence[Row]) -> str:
        """A line where the first policy of a search comes out otherwise in the same episodes of an environment; else empty."""
        if self._handout.number or self._task.resumes_anywhere:
            return ""
        again = self._evaluate()  # in the same copies, which may remember
        # And in other ones, as what is drawn where one is made may differ too.
        if self._evaluator:
            self._evaluator.close()
            self._evaluator = None
        if again == evaluations == self._evaluate():
            return ""
        return (
            f"{self._task.title}: the same policy comes out otherwise in the same episodes, so they do not follow from their "
            "seeds alone; a search that is interrupted goes on, but not as it would have"
        )

    def _evaluated_copy(self) -> Report:
        """Evaluate the copy that training begins with. It is in the results at 0 steps, and counts as no evaluation."""
        evaluations = self._evaluate()
        line = f"trial {self._handout.number}: the copy of {self._settings.teacher} scores {SCORE.value(evaluations):+.4f}"
        return Report(evaluations=self._rows(evaluations), message=line)

    def _add_report(self, update: Update, rate: float, evaluations: Sequence[Row]) -> None:
        measured = self._measurements.take(self.state)
        self._reports.append(
            {
                "trial": self._handout.number,
                "update": self.state.updates,
                "steps": self.state.steps,
                "time": datetime.now(UTC),
                "seconds": self.state.seconds,
                **(rated_columns(self._settings.aim, self._outcome_of(evaluations)) if evaluations else {"score": None}),
                **update.losses,
                "steps_per_second": rate,
                **measured,
            }
        )

    def _saved(self, evaluations: Sequence[Row] = ()) -> Report:
        """Write a checkpoint, and tell all up to it. The search knows of a checkpoint only once it has what it was told."""
        if not self._task.resumes_anywhere:
            # Its state cannot be saved. What follows depends on this evaluation's number alone, in this process or another.
            self.trainer.begin_episodes(self.evaluations)
        self._checkpoints.save(self.trainer, self.state)
        self._files.saved()
        self._last_save = time.perf_counter()
        return Report(
            self.state.steps,
            saved=True,
            evaluated=self._evaluated() if evaluations else None,
            reports=self._taken_reports(),
            evaluations=self._rows(evaluations),
            columns=self._columns(),
        )

    def _rows(self, evaluations: Sequence[Row]) -> list[dict[str, Any]]:
        same = {
            "trial": self._handout.number,
            "steps": self.state.steps,
            "scenario": self._scenario,
            "split": "validation",
            "backend": self._settings.stepped_by,
        }
        return [{**same, **row} for row in evaluations]

    def _taken_reports(self) -> list[dict[str, Any]]:
        taken, self._reports = self._reports, []
        return taken

    def _columns(self) -> dict[str, Any]:
        state = self.state
        measured = asdict(state)
        del measured["evaluated_steps"]
        named = state.environment_seconds + state.learner_seconds + state.evaluation_seconds
        rated = rated_columns(self._settings.aim, self._outcome()) if state.evaluated_steps else {"score": None}
        return measured | rated | {"further_episodes": None, "rest_seconds": state.seconds - named}
