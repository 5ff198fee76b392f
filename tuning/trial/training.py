"""The training of a trial: update by update to its budget, with evaluations, reports and checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from common.storage.location import StorageError
from envs.objective.aim import Outcome
from envs.objective.columns import evaluation_columns, evaluation_row
from envs.objective.evaluate import Evaluation, EvaluationEnv, evaluate, score
from envs.task import Task
from results.table_files import add_rows, drop_rows_after
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Trainer, Update
from tuning.experiment.folder import Experiment
from tuning.experiment.permission import Mark
from tuning.memory.planner import FALLBACKS, Fallback
from tuning.storage.trial_files import FencedError, TrialFiles
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.checkpoint_files import OF_AN_AIM, TrialState
from tuning.trial.device import CPU, Device
from tuning.trial.evaluation_schedule import evaluations_due
from tuning.trial.idleness import noticed_in
from tuning.trial.measurements import Measurements
from tuning.trial.monitor import Monitor
from tuning.trial.policy import policy_in
from tuning.trial.protocol import (
    EVALUATED,
    EVALUATION,
    GAIN,
    GAIN_2,
    IDLE,
    MESSAGE,
    OBJECTIVE_2,
    OUTCOME,
    SCORE,
    STEPS,
    STOPPED,
)  # fmt: skip
from tuning.trial.records import TrialRecords
from tuning.trial.report_copies import ReportCopies
from tuning.trial.setup import teacher_lessons, trial_setup, used_share

REPORT_SECONDS = 5.0  # at least, between two reports without an evaluation; a trial waits until Tune has taken a report
CHECKPOINT_SECONDS = 300.0  # at most, plus one update, between two checkpoints


class Training:
    """A trial in its process, from its newest checkpoint to the end of its budget.

    Attributes:
        state: how far it is.
        trainer: of its algorithm.
    """

    def __init__(
        self,
        experiment: Experiment,
        records: TrialRecords,
        number: int,
        trainer: Trainer,
        state: TrialState,
        running: Mark,
        monitor: Monitor | None,
        measurements: Measurements,
        damage: Sequence[str],
        started: float,
        task: Task,
        copies: ReportCopies,
        files: TrialFiles,
    ) -> None:
        """Put it together; `begin` builds the parts.

        Args:
            experiment: of the trial.
            records: with its row.
            number: of the trial.
            trainer: at `state`.
            state: how far the trial is.
            running: exists as long as the trial may run.
            monitor: watches this process; None without one.
            measurements: of this process; they time the trainer.
            damage: a line for each newer checkpoint, which are damaged.
            started: when building began, by `time.perf_counter`.
            task: with what the policy sees.
            copies: of its reports, for other programs.
            files: what becomes of its files.
        """
        self.trainer, self.state = trainer, state
        self._monitor, self._measurements = monitor, measurements
        self._settings, self._paths = experiment.settings, experiment.paths
        self._records, self._number, self._running = records, number, running
        self._damage, self._task, self._copies, self._files = damage, task, copies, files
        self._scenario = experiment.scenario
        self._last_save = started
        self._reports: list[dict[str, Any]] = []
        self._evaluation_env: EvaluationEnv | None = None
        self._checkpoints = Checkpoints(self._paths.checkpoints(number))

    @classmethod
    def begin(
        cls,
        experiment: Experiment,
        records: TrialRecords,
        number: int,
        hyperparameters: dict[str, Any],
        running: Mark,
        device: Device = CPU,
        monitor: Monitor | None = None,
        fallback: Fallback = FALLBACKS[0],
        files: TrialFiles | None = None,
    ) -> Self:
        """Build the trainer of a trial, and restore the newest undamaged checkpoint, if there is one.

        Checkpoints and results after this one are removed: the trial makes them again. The values that the trainer uses are
        written into the trial's row.

        Args:
            experiment: of the trial.
            records: with its row.
            number: of the trial.
            hyperparameters: of it.
            running: exists as long as the trial may run.
            device: that it learns on.
            monitor: watches this process; None without one.
            fallback: how the trial saves memory.
            files: what becomes of its files; by default they are local.
        """
        files = files or TrialFiles(experiment)
        started = time.perf_counter()
        settings, paths = experiment.settings, experiment.paths
        checkpoints = Checkpoints(paths.checkpoints(number))
        checkpoint, damage = checkpoints.newest()
        state = checkpoint.trial if checkpoint else TrialState()
        checkpoints.drop_after(state.steps)
        # Without a checkpoint, the copy of a teacher is evaluated again, whose rows are at 0 steps.
        last = state.steps if checkpoint else -1
        dropped = [table for table in ("reports", "evaluations") if drop_rows_after(paths.folder, table, number, last)]
        files.begun()
        for table in dropped:
            files.written(paths.part(table, number))
        device.reset_peak()
        trainer = algorithm(settings.algo).build(
            trial_setup(settings, records.seed(number), fallback.apply(hyperparameters), device.is_gpu, fallback.parts)
        )
        with ExitStack() as undo:
            undo.callback(trainer.stop)
            measurements = Measurements(device, monitor, started)
            trainer.watch(measurements.environment, measurements.learner)
            # Before a checkpoint is restored: it may hold values that have changed in training, as a decaying learning rate.
            used = {**trainer.used(), **used_share(settings, trainer.weights)}
            records.write_used(number, used, device=device.name, num_envs=trainer.num_envs)
            if checkpoint:
                checkpoint.restore(trainer)
            elif settings.teacher != "none":
                with measurements.learner.running():
                    trainer.imitate(teacher_lessons(settings))
            task = settings.task.seeing(hyperparameters)
            copies = ReportCopies.begin(settings, paths, number)
            undo.pop_all()
        return cls(
            experiment, records, number, trainer, state, running, monitor, measurements, damage, started, task, copies, files
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # Whatever fails in this: the next trial of this process needs the card and the memory.
        with ExitStack() as ending:
            if self._evaluation_env:
                ending.callback(self._evaluation_env.close)
            ending.callback(self.trainer.stop)
            ending.callback(self._files.ended)
            ending.callback(self._copies.close)
            if isinstance(error, Exception) and not isinstance(error, (OSError, StorageError, FencedError)):
                # The reports before a failure help to explain it. After an error of the file system or of the storage, or where
                # the trial is another process's, nothing can be written.
                self._write_reports()

    def updates(self) -> Iterator[dict[str, Any]]:
        """Train update by update.

        Yields:
            Reports for Tune: the steps, and after an evaluation its number and score.
        """
        state, settings, reported = self.state, self._settings, time.perf_counter()
        if self._damage:
            damage = "; ".join(self._damage)
            yield {STEPS: state.steps, MESSAGE: f"trial {self._number}: {damage}; it continues from {state.steps:,} steps"}
        if settings.teacher != "none" and not state.steps:
            yield {STEPS: 0, MESSAGE: f"trial {self._number}: {self._evaluate_copy()}"}
        if self.evaluations:
            # A kill may have come between the checkpoint and the report of its evaluation.
            yield self._evaluated()
        while self.evaluations < settings.reports:
            if not self._running.exists():
                if state.steps > self._checkpoints.steps:
                    self._save([])
                yield {STEPS: state.steps, OUTCOME: STOPPED}
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
            if evaluations:
                found = settings.aim.outcome([evaluation_row(evaluation) for evaluation in evaluations])
                state.evaluated_steps = steps
                for name in ("score", *OF_AN_AIM):
                    setattr(state, name, _finite(getattr(found, name)))
            self._add_report(update, rate, bool(evaluations))
            if evaluations or time.perf_counter() - self._last_save > CHECKPOINT_SECONDS:
                self._save(evaluations)
            if evaluations:
                yield self._evaluated()
            elif time.perf_counter() - reported > REPORT_SECONDS:
                reported = time.perf_counter()
                yield {STEPS: steps}

    def _due(self, steps: int) -> int:
        """Evaluations that are due after some steps, with the budget that holds now."""
        return evaluations_due(steps, self._settings.steps, self._settings.reports)

    @property
    def evaluations(self) -> int:
        """Number of evaluations so far."""
        return self._due(self.state.evaluated_steps)

    def _evaluated(self) -> dict[str, Any]:
        outcome = self._outcome()
        known = {name: value for name in OF_AN_AIM if (value := getattr(outcome, name)) is not None}
        idle = {IDLE: True} if noticed_in(self._paths.folder, self._number) else {}
        steps, evaluated = self.state.steps, self.state.evaluated_steps
        earlier = {EVALUATED: evaluated} if evaluated < steps else {}
        return {STEPS: steps, EVALUATION: self.evaluations, SCORE: outcome.score, **known, **idle, **earlier}

    def _outcome(self) -> Outcome:
        """How the last evaluation came out. What it should have and the state has not, is not finite."""
        state, aim = self.state, self._settings.aim
        of_second = (math.nan if own is None and aim.second else own for own in (state.objective_2, state.gain, state.gain_2))
        return Outcome(
            math.nan if state.score is None else state.score,
            math.nan if state.objective is None and not aim.is_score else state.objective,
            math.inf if state.shortfall is None and aim.requirements else state.shortfall,
            *of_second,
        )

    def _evaluate(self) -> list[Evaluation]:
        with self._measurements.evaluation.running():
            if self._evaluation_env is None:
                self._evaluation_env = self._task.evaluation_env(own_layout=self.trainer.shares)
            return evaluate(self._evaluation_env, policy_in(self.trainer, self._task, "validation"))

    def _evaluate_copy(self) -> str:
        """Evaluate the copy that training begins with. It is in the results at 0 steps, and counts as no report."""
        evaluations = self._evaluate()
        self._write_evaluations(evaluations)
        return f"the copy of {self._settings.teacher} scores {score(evaluations):+.4f}"

    def _add_report(self, update: Update, rate: float, is_evaluated: bool) -> None:
        measured = self._measurements.take(self.state)
        self._reports.append(
            {
                "trial": self._number,
                "update": self.state.updates,
                "steps": self.state.steps,
                "time": datetime.now(UTC),
                "seconds": self.state.seconds,
                **(self._rated() if is_evaluated else {"score": None}),
                **update.losses,
                "steps_per_second": rate,
                **measured,
            }
        )

    def _rated(self) -> dict[str, float | None]:
        """Columns of the last evaluation: its score and, where something else is aimed at, what it is worth."""
        if not self.state.evaluated_steps:
            return {"score": None}
        aim, outcome = self._settings.aim, self._outcome()
        columns: dict[str, float | None] = {"score": outcome.score}
        if (outcome.objective, outcome.shortfall) != (None, None):
            # Below all others where there is none: an empty one would stand for the score.
            rating = aim.rating(outcome) if math.isfinite(aim.rating(outcome)) else -math.inf
            columns |= {"objective": outcome.objective, "shortfall": outcome.shortfall, "rating": rating}
            if aim.second:
                columns |= {name: getattr(outcome, name) for name in (OBJECTIVE_2, GAIN, GAIN_2)}
        return columns

    def _save(self, evaluations: list[Evaluation]) -> None:
        """Write evaluations, reports and a checkpoint, in this order: a checkpoint never knows more than the results."""
        self._write_evaluations(evaluations)
        self._write_reports()
        self._checkpoints.save(self.trainer, self.state)
        self._files.saved()
        self._last_save = time.perf_counter()

    def _write_evaluations(self, evaluations: list[Evaluation]) -> None:
        state, settings = self.state, self._settings
        rows = [
            {
                "trial": self._number,
                "steps": state.steps,
                "scenario": self._scenario,
                "split": "validation",
                "backend": settings.stepped_by,
                **evaluation_row(evaluation),
            }
            for evaluation in evaluations
        ]
        if rows:
            self._files.written(add_rows(self._paths.folder, "evaluations", self._number, rows, measures=evaluation_columns()))

    def _write_reports(self) -> None:
        """Write the reports since the last call, and the measurements so far into the trial's row."""
        state = self.state
        if self._reports:
            self._files.written(add_rows(self._paths.folder, "reports", self._number, self._reports))
            self._copies.add(self._reports)
            self._reports = []
        measured = asdict(state)
        del measured["evaluated_steps"]
        named = state.environment_seconds + state.learner_seconds + state.evaluation_seconds
        noticed = noticed_in(self._paths.folder, self._number)
        self._records.update(self._number, **(measured | self._rated()), noticed=noticed, rest_seconds=state.seconds - named)


def _finite(value: float | None) -> float | None:
    """What a checkpoint keeps of a value: JSON takes none that is not finite."""
    return value if value is not None and math.isfinite(value) else None
